import { onOneLine } from '../../../core/text/printable.js';
import { workerName } from '../../../core/text/worker-name.js';
import type { Clock } from '../../../edge/platform/clock.js';
import { LimitedWarnings } from '../../../edge/platform/limited-warnings.js';
import type { Logger } from '../../../edge/platform/logger.js';
import type { Decision, SeenTransfer } from '../routing.js';

/** Milliseconds until the same is said again of the same pair, with the number of those between. */
const REPEAT_MS = 60_000;
const MAX_DETAIL_CHARS = 200;

/** Logs transfers that failed, and those of which the decode worker computed the prompt again all the same. */
export class TransferLog {
  readonly #warnings: LimitedWarnings;

  constructor(modules: { readonly clock: Clock; readonly logger: Logger }) {
    this.#warnings = new LimitedWarnings({ repeatMs: REPEAT_MS }, modules);
  }

  /** What became of the blocks of a request that two workers shared. */
  seen({ transferredTokens, recomputedTokens, failure }: SeenTransfer, decision: Decision): void {
    const { pair } = decision;
    if (pair === undefined) return;
    const names = `${workerName(pair.prefill)} → ${workerName(decision)}`;
    if (failure !== undefined)
      this.#warn(
        'failed',
        decision,
        `The pair ${names} failed a request: ${onOneLine(failure, MAX_DETAIL_CHARS)}. Compare the two engines with kv-accord status --pairs`,
      );
    else if (recomputedTokens > 0)
      this.#warn(
        'recomputed',
        decision,
        `Decode worker ${workerName(decision)} computed ${recomputedTokens} of ${recomputedTokens + transferredTokens} prompt tokens again that ${workerName(pair.prefill)} had computed for it: its KV cache did not come over. See the log of the decode engine`,
      );
  }

  #warn(what: string, { group, target, workerId, pair }: Decision, sentence: string): void {
    const fields = { group, worker_id: workerId, worker: target, prefill_worker: pair?.prefill.target };
    this.#warnings.warn(`${what} ${group} ${pair?.prefill.target} ${target}`, fields, sentence);
  }
}
