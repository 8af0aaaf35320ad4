import { openAgreementSource } from '../../../app/open-agreement-source.js';
import { jsonText, withoutControls } from '../../../core/text/printable.js';
import type { CommandBody } from '../../command.js';
import { awaitAgreement } from '../../shared/await-agreement.js';
import { explainOutcome } from '../../shared/explain-outcome.js';
import { LiveLine } from '../../shared/live-line.js';
import type { waitSettings } from './settings.js';

/** Runs `kv-accord wait`: prints the agreed size, and ends by the documented codes. */
export const runWait: CommandBody<typeof waitSettings> = async (settings, context) => {
  const { clock, signal, stdout, stderr, isTerminal } = context;
  const { source, close } = await openAgreementSource(settings, context);
  try {
    source.start();
    const outcome = await awaitAgreement(
      source,
      { timeoutMs: settings.timeoutMs, group: settings.group, frontendUses: settings.frontendUses },
      { clock, signal, progress: isTerminal ? new LiveLine(stderr) : undefined },
    );
    const { exitCode, text } = explainOutcome(outcome, settings.timeoutMs);
    if (settings.json) {
      const size = outcome.type === 'agreed' ? outcome.tokensPerBlock : null;
      stdout.write(
        `${jsonText({ outcome: outcome.type, tokens_per_block: size, exit_code: exitCode, text })}\n`,
      );
    } else if (outcome.type === 'agreed') {
      stdout.write(`${outcome.tokensPerBlock}\n`);
    }
    if (outcome.type !== 'agreed') stderr.write(`kv-accord wait: ${withoutControls(text)}\n`);
    return exitCode;
  } finally {
    await close();
  }
};
