import { EXIT_CONFLICT, EXIT_OK, EXIT_TIMEOUT, EXIT_TRANSPORT, EXIT_USAGE } from '../exit-codes.js';
import type { WaitOutcome } from './await-agreement.js';

/** The exit code of an outcome and its message. */
export function explainOutcome(
  outcome: WaitOutcome,
  timeoutMs: number,
): { readonly exitCode: number; readonly text: string } {
  const waited = `after ${timeoutMs / 1_000} s`;
  switch (outcome.type) {
    case 'agreed':
      return { exitCode: EXIT_OK, text: `the workers agreed on ${outcome.tokensPerBlock} tokens per block` };
    case 'conflict':
      return { exitCode: EXIT_CONFLICT, text: outcome.text };
    case 'timed_out':
      return { exitCode: EXIT_TIMEOUT, text: `timed out ${waited}: ${outcome.text}` };
    case 'unreachable':
      return { exitCode: EXIT_TRANSPORT, text: `nobody could be reached ${waited}: ${outcome.text}` };
    case 'refused':
      return { exitCode: EXIT_USAGE, text: outcome.text };
  }
}
