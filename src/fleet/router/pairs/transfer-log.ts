import { LRUCache } from 'lru-cache';
import { onOneLine } from '../../../core/text/printable.js';
import { workerName } from '../../../core/text/worker-name.js';
import type { Clock } from '../../../edge/platform/clock.js';
import type { Logger } from '../../../edge/platform/logger.js';
import type { Decision, SeenTransfer } from '../routing.js';

/** Milliseconds until the same is said again of the same pair, with the number of those between. */
const REPEAT_MS = 60_000;
/** Pairs that are remembered. */
const MAX_REMEMBERED = 1_024;
const MAX_DETAIL_CHARS = 200;

/** Logs transfers that failed, and those of which the decode worker computed the prompt again all the same. */
export class TransferLog {
  readonly #modules: { readonly clock: Clock; readonly logger: Logger };
  readonly #logged = new LRUCache<string, { atMs: number; since: number }>({ max: MAX_REMEMBERED });

  constructor(modules: { readonly clock: Clock; readonly logger: Logger }) {
    this.#modules = modules;
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
    const { clock, logger } = this.#modules;
    const nowMs = clock.monotonicMs();
    const key = `${what} ${group} ${pair?.prefill.target} ${target}`;
    const last = this.#logged.get(key);
    if (last !== undefined && nowMs - last.atMs < REPEAT_MS) {
      last.since += 1;
      return;
    }
    this.#logged.set(key, { atMs: nowMs, since: 0 });
    const fields = { group, worker_id: workerId, worker: target, prefill_worker: pair?.prefill.target };
    const since = last?.since ?? 0;
    logger.warn(since > 0 ? { ...fields, since_last_line: since } : fields, sentence);
  }
}
