import type { Decision, Usage } from './routing.js';

/** Requests of one worker that are looked at together: enough that one evicted prefix is no alarm. */
const WINDOW_REQUESTS = 50;

/** Below this part of what was expected, expectations do not come true. */
const FAILING_PART = 0.5;

/** From this part on they do again; apart from the other, so that a worker on the edge is not told of over and over. */
const RECOVERED_PART = 0.75;

/** Predictions of a worker stopped to come true, or do so again. */
export interface TruthFinding {
  readonly target: string;
  readonly isFailing: boolean;
  readonly requests: number;
  /** Prompt tokens that it should have had cached in these requests. */
  readonly predictedTokens: number;
  /** How many of them its engine says it had. */
  readonly confirmedTokens: number;
}

/**
 * Prompt tokens that an engine should report as cached. Of a prompt of whole
 * blocks that it holds to the end, an engine computes the last block again: it
 * needs the last token's logits. 0 where the tokens were not known.
 */
export function predictedCachedTokens({ cachedBlocks, tokensPerBlock, promptTokens = 0 }: Decision): number {
  if (promptTokens < 1) return 0;
  return Math.min(cachedBlocks, Math.floor((promptTokens - 1) / tokensPerBlock)) * tokensPerBlock;
}

/**
 * Compares what the index said of workers' caches with what their engines tell
 * of the same requests afterwards. Only exact pictures are judged; that an
 * engine had more than was expected (another request was there first) never
 * counts against it, nor does it make up for another request.
 */
export class TruthCheck {
  readonly #workers = new Map<string, WorkerTruth>();

  /** Takes one finished request; comes back when that changes what is to be thought of its worker. */
  record(decision: Decision, usage: Usage): TruthFinding | undefined {
    const { target, instanceId, isExact } = decision;
    const { cachedTokens } = usage;
    if (!isExact || cachedTokens === undefined || !(cachedTokens >= 0)) return undefined;
    const predicted = predictedCachedTokens(decision);
    if (predicted === 0) return undefined;
    let truth = this.#workers.get(target);
    if (truth?.instanceId !== instanceId) {
      truth = new WorkerTruth(instanceId);
      this.#workers.set(target, truth);
    }
    if (!truth.add(predicted, Math.min(cachedTokens, predicted))) return undefined;
    const { isFailing, predictedTokens, confirmedTokens } = truth;
    return { target, isFailing, requests: WINDOW_REQUESTS, predictedTokens, confirmedTokens };
  }

  /** Forgets all workers but these. */
  keepOnly(targets: ReadonlySet<string>): void {
    for (const target of this.#workers.keys()) if (!targets.has(target)) this.#workers.delete(target);
  }
}

/** The last requests of one engine start. */
class WorkerTruth {
  readonly instanceId: string;
  isFailing = false;
  predictedTokens = 0;
  confirmedTokens = 0;
  readonly #predicted = new Float64Array(WINDOW_REQUESTS);
  readonly #confirmed = new Float64Array(WINDOW_REQUESTS);
  #requests = 0;

  constructor(instanceId: string) {
    this.instanceId = instanceId;
  }

  /** Whether the judgement is another one now. */
  add(predicted: number, confirmed: number): boolean {
    const at = this.#requests % WINDOW_REQUESTS;
    this.predictedTokens += predicted - (this.#predicted[at] ?? 0);
    this.confirmedTokens += confirmed - (this.#confirmed[at] ?? 0);
    this.#predicted[at] = predicted;
    this.#confirmed[at] = confirmed;
    this.#requests += 1;
    if (this.#requests < WINDOW_REQUESTS) return false;
    const part = this.confirmedTokens / this.predictedTokens;
    const wasFailing = this.isFailing;
    this.isFailing = part < (wasFailing ? RECOVERED_PART : FAILING_PART);
    return this.isFailing !== wasFailing;
  }
}

/** What an operator is told of it. */
export function truthWords(finding: TruthFinding): string {
  const { target, isFailing, requests, predictedTokens, confirmedTokens } = finding;
  const numbers = `of ${predictedTokens} prompt tokens that it should have had cached in its last ${requests} requests with a match, its engine reports ${confirmedTokens}`;
  if (!isFailing) return `Predictions for worker ${target} come true again: ${numbers}.`;
  return (
    `Predictions for worker ${target} do not come true: ${numbers}. ` +
    'Look at its block size (kv-accord status), at LoRA names and cache salts that the ' +
    'requests have and the router is not told, at the hash seed and tokenizer of its engine, and at evictions under load.'
  );
}
