import { LRUCache } from 'lru-cache';
import { workerName } from '../../core/text/worker-name.js';
import type { Clock } from '../../edge/platform/clock.js';
import type { Logger } from '../../edge/platform/logger.js';
import type { CatalogueGroup, CatalogueWorker } from '../../fleet/catalogue/catalogue.js';
import type { CheckResult } from './tokenizer-check.js';

/** Whose tokens a group's prompts get: `undecided` before the first answer of an engine. */
export type Choice = 'local' | 'engine' | 'undecided';

/** Compares with one worker's engine. */
export type Check = (worker: CatalogueWorker, model: string, signal: AbortSignal) => Promise<CheckResult>;

/** After a check that an engine did not answer. */
const RETRY_MS = 10_000;
const MAX_RESULTS = 8_192;

interface Known {
  readonly kind: CheckResult['kind'];
  /** Monotonic; it is checked again from then on. */
  readonly againMs: number;
}

/**
 * Knows for which groups the tokens made here may be used. Every instance of an
 * engine that is offered is compared once, one after the other and in the
 * background: a template or a tokenizer can change with any restart.
 */
export class CheckedGroups {
  readonly #check: Check;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #results = new LRUCache<string, Known>({ max: MAX_RESULTS });
  readonly #running = new Set<string>();
  readonly #reported = new LRUCache<string, CheckResult['kind']>({ max: MAX_RESULTS });
  readonly #ending = new AbortController();
  /** What was chosen for a group as it stood, until something is learned. */
  #choices = new WeakMap<CatalogueGroup, Choice>();

  constructor(modules: { readonly check: Check; readonly clock: Clock; readonly logger: Logger }) {
    this.#check = modules.check;
    this.#clock = modules.clock;
    this.#logger = modules.logger;
  }

  /** Whose tokens to use; begins to find out what is not known yet. */
  choiceFor(group: CatalogueGroup, model: string): Choice {
    const known = this.#choices.get(group);
    if (known !== undefined) return known;
    const askable = group.workers.filter(({ isOffered, baseUrl }) => isOffered && baseUrl !== undefined);
    const next = askable.find(({ instanceId }) => this.#isDue(instanceId));
    if (next !== undefined) this.#begin(group.group, next, model);
    const kinds = new Set(askable.map(({ instanceId }) => this.#results.get(instanceId)?.kind));
    const choice = choose(kinds);
    // Settled: nothing is to be learned of this group before it changes.
    if (next === undefined && !kinds.has('failed')) this.#choices.set(group, choice);
    return choice;
  }

  close(): void {
    this.#ending.abort();
  }

  #isDue(instanceId: string): boolean {
    const known = this.#results.get(instanceId);
    return known === undefined || this.#clock.monotonicMs() >= known.againMs;
  }

  #begin(group: string, worker: CatalogueWorker, model: string): void {
    if (this.#running.has(group) || this.#ending.signal.aborted) return;
    this.#running.add(group);
    void this.#check(worker, model, this.#ending.signal).then((result) => {
      this.#running.delete(group);
      if (this.#ending.signal.aborted) return;
      const againMs =
        result.kind === 'failed' ? this.#clock.monotonicMs() + RETRY_MS : Number.POSITIVE_INFINITY;
      this.#results.set(worker.instanceId, { kind: result.kind, againMs });
      this.#choices = new WeakMap();
      this.#report(group, worker, result);
    });
  }

  #report(group: string, worker: CatalogueWorker, result: CheckResult): void {
    const { kind: _kind, ...found } = result;
    const fields = { group, worker_id: worker.workerId, worker: worker.target, ...found };
    // The log says once what holds for a group, and of each engine that differs.
    if (result.kind !== 'different' && this.#reported.get(group) === result.kind) return;
    this.#reported.set(group, result.kind);
    if (result.kind === 'different')
      this.#logger.warn(
        fields,
        `The tokens of --tokenizer differ from those of the engine of worker ${workerName(worker)}: ${differenceMessage(result)}. ` +
          'For this group the engines are asked instead.',
      );
    else if (result.kind === 'same')
      this.#logger.info(fields, 'The tokens of --tokenizer are the same as those of the engine.');
    else
      this.#logger.info(
        fields,
        'The engine cannot be asked for tokens: those of --tokenizer are used without a check.',
      );
  }
}

function choose(kinds: ReadonlySet<CheckResult['kind'] | undefined>): Choice {
  if (kinds.has('different')) return 'engine';
  if (kinds.has('same')) return 'local';
  // Only once all were tried, or when none can be: before that, one of them may say no.
  return kinds.has(undefined) ? 'undecided' : 'local';
}

function differenceMessage(result: CheckResult & { readonly kind: 'different' }): string {
  const { probe, position, ours, engines } = result;
  return `of the probe "${probe}", position ${position} is ${ours ?? 'none'} here and ${engines ?? 'none'} there`;
}
