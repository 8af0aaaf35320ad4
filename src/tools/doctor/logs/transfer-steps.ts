/**
 * The step at which a transfer of KV blocks ended:
 * - `not_taken_up`: the prefill engine was not given a place for the blocks;
 * - `not_received`: the decode engine waited for them;
 * - `unknown`: the line does not say.
 */
export type TransferStep = 'not_taken_up' | 'not_received' | 'unknown';

const STEPS: readonly (readonly [pattern: RegExp, step: TransferStep])[] = [
  // SGLang: "Request … timed out after 300.0s in KVPoll.Bootstrapping", of the prefill engine.
  [/KVPoll\.Bootstrapping/, 'not_taken_up'],
  // SGLang's decode engine, and vLLM's "RDMA read TIMED OUT".
  [/KVPoll\.WaitingForInput|TIMED OUT/, 'not_received'],
];

/** The step that reasons of failed transfers name; the first that names one counts. */
export function transferStepOf(reasons: Iterable<string>): TransferStep {
  for (const reason of reasons) {
    const step = STEPS.find(([pattern]) => pattern.test(reason))?.[1];
    if (step !== undefined) return step;
  }
  return 'unknown';
}
