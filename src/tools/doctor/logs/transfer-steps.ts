/**
 * The step at which a transfer of KV blocks ended:
 * - `not_taken_up`: the prefill engine was not given a place for the blocks;
 * - `not_received`: the decode engine waited for them;
 * - `too_slow`: blocks moved, or seemed to, until the time limit of the library;
 * - `handshake`: the two engines did not agree before it;
 * - `unknown`: the line does not say.
 */
export type TransferStep = 'not_taken_up' | 'not_received' | 'too_slow' | 'handshake' | 'unknown';

const STEPS: readonly (readonly [pattern: RegExp, step: TransferStep])[] = [
  // SGLang: "Request … timed out after 300.0s in KVPoll.Bootstrapping", of the prefill engine.
  [/KVPoll\.Bootstrapping/, 'not_taken_up'],
  // SGLang's decode engine, and vLLM's "RDMA read TIMED OUT".
  [/KVPoll\.WaitingForInput|TIMED OUT/, 'not_received'],
  // Mooncake: "Sync batch data transfer timeout after 33061142969ns".
  [/data transfer timeout/, 'too_slow'],
  // vLLM: "NIXL transfer failure: handshake_setup_failed", "Handshake failed for request cmpl-1".
  [/^handshake/, 'handshake'],
];

/** The step that reasons of failed transfers name; the first that names one counts. */
export function transferStepOf(reasons: Iterable<string>): TransferStep {
  for (const reason of reasons) {
    const step = STEPS.find(([pattern]) => pattern.test(reason))?.[1];
    if (step !== undefined) return step;
  }
  return 'unknown';
}

/** The host at which the prefill engine was asked, where it leads each engine to itself: `handshake_failed at localhost`. */
export function ownHostOf(reasons: Iterable<string>): string | undefined {
  for (const reason of reasons) {
    const host = /^handshake\w* at (localhost|127\.[\d.]{5,12}|0\.0\.0\.0|::1?)$/.exec(reason)?.[1];
    if (host !== undefined) return host;
  }
  return undefined;
}
