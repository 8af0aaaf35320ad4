import type { Decision, DecisionKind } from '../../../engines/diagnosis/log-findings.js';
import type { LogLine } from '../../../engines/diagnosis/log-line.js';
import type { Origin } from '../sightings.js';
import { BoundedCounts } from './bounded-counts.js';
import type { DecisionTally } from './log-summary.js';
import { ModelCounts } from './model-counts.js';
import { RateBuckets } from './rate-buckets.js';
import { GaugeTally, SpreadTally } from './spreads.js';

const MAX_WORKERS = 64;
/** Requests whose other line has not come yet. */
const MAX_OPEN_REQUESTS = 4_096;

class KindTally {
  readonly byWorker = new BoundedCounts(MAX_WORKERS);
  readonly foundByWorker = new BoundedCounts(MAX_WORKERS);
  readonly rate = new RateBuckets();
  readonly found = new RateBuckets();
  readonly load = new GaugeTally();
  readonly first: LogLine;
  last: LogLine;
  count = 0;
  withoutCache = 0;
  cachedBlocks = 0;

  constructor(first: LogLine) {
    this.first = first;
    this.last = first;
  }
}

/** What is to be seen of each kind's lines, which can be long. */
const ABOUT: Readonly<Record<DecisionKind, string>> = {
  selected: 'Selected',
  routed: 'overlap_blocks=',
  best: '[ROUTING]',
  blind: 'Selected',
};

/** Counts routing decisions, each once, from the lines that report the most. */
export class Decisions {
  readonly #kinds = new Map<DecisionKind, KindTally>();
  readonly #overlaps = new Map<string, number>();
  readonly #firstTokens = new Map<string, number>();
  readonly #cold = new SpreadTally();
  readonly #warm = new SpreadTally();
  #largestTreeSize: number | undefined;
  readonly #promptRate = new RateBuckets();
  readonly #models = new ModelCounts();
  #prompts = 0;
  #promptTokens = 0;
  #engineCachedTokens = 0;

  add(kind: DecisionKind, line: LogLine, decision: Decision): void {
    const { worker, cachedBlocks, treeSize, loadBlocks, model } = decision;
    if (model !== undefined && cachedBlocks !== undefined) this.#models.addDecision(model, cachedBlocks > 0);
    let tally = this.#kinds.get(kind);
    if (tally === undefined) {
      tally = new KindTally(line);
      this.#kinds.set(kind, tally);
    }
    tally.count += 1;
    tally.last = line;
    tally.byWorker.add(worker);
    tally.load.add(loadBlocks);
    tally.rate.addLine(line, cachedBlocks ?? 0);
    if (cachedBlocks === 0) tally.withoutCache += 1;
    else if (cachedBlocks !== undefined) {
      tally.found.addLine(line, 0);
      tally.foundByWorker.add(worker);
    }
    tally.cachedBlocks += cachedBlocks ?? 0;
    if (treeSize !== undefined) this.#largestTreeSize = Math.max(this.#largestTreeSize ?? 0, treeSize);
  }

  /** How many blocks were cached for a request, by any of its ids. */
  addOverlap(ids: readonly string[], cachedBlocks: number): void {
    const firstTokenMs = takeAny(this.#firstTokens, ids);
    if (firstTokenMs === undefined) keep(this.#overlaps, ids, cachedBlocks);
    else this.#addFirstToken(firstTokenMs, cachedBlocks);
  }

  /** How long a request waited for its first token. */
  addFirstToken(ids: readonly string[], firstTokenMs: number): void {
    const cachedBlocks = takeAny(this.#overlaps, ids);
    if (cachedBlocks === undefined) keep(this.#firstTokens, ids, firstTokenMs);
    else this.#addFirstToken(firstTokenMs, cachedBlocks);
  }

  addPrompt(line: LogLine, promptTokens: number, cachedTokens: number, model: string | undefined): void {
    if (model !== undefined) this.#models.addPrompt(model, promptTokens, cachedTokens);
    this.#prompts += 1;
    this.#promptRate.addLine(line, cachedTokens, promptTokens);
    this.#promptTokens += promptTokens;
    this.#engineCachedTokens += cachedTokens;
  }

  finish(originOf: (line: LogLine, about: string) => Origin): DecisionTally | undefined {
    const [informative] = [...this.#kinds]
      .filter(([kind]) => kind !== 'blind')
      .sort(([, left], [, right]) => right.count - left.count);
    const [kind, tally] = informative ?? ['blind' as const, this.#kinds.get('blind')];
    if (tally === undefined) return undefined;
    return {
      count: tally.count,
      reporting: kind === 'blind' ? 0 : tally.count,
      withoutCache: tally.withoutCache,
      cachedBlocks: tally.cachedBlocks,
      largestTreeSize: this.#largestTreeSize,
      loadBlocks: tally.load.gauge,
      byWorker: tally.byWorker.counts,
      foundByWorker: tally.foundByWorker.counts,
      ...(this.#models.isEmpty ? {} : { byModel: this.#models.tallies }),
      rate: tally.rate.counts,
      cachedRate: tally.rate.sums,
      foundRate: tally.found.counts,
      first: originOf(tally.first, ABOUT[kind]),
      last: originOf(tally.last, ABOUT[kind]),
      prompts: this.#prompts,
      promptTokens: this.#promptTokens,
      engineCachedTokens: this.#engineCachedTokens,
      promptRate: this.#promptRate.counts,
      engineCachedRate: this.#promptRate.sums,
      firstTokenMs: { cold: this.#cold.spread, warm: this.#warm.spread },
    };
  }

  #addFirstToken(firstTokenMs: number, cachedBlocks: number): void {
    (cachedBlocks > 0 ? this.#warm : this.#cold).add(firstTokenMs);
  }
}

function takeAny(open: Map<string, number>, ids: readonly string[]): number | undefined {
  const found = ids.find((id) => open.has(id));
  if (found === undefined) return undefined;
  const value = open.get(found);
  for (const id of ids) open.delete(id);
  return value;
}

function keep(open: Map<string, number>, ids: readonly string[], value: number): void {
  for (const id of ids) open.set(id, value);
  while (open.size > MAX_OPEN_REQUESTS) {
    const [oldest] = open.keys();
    if (oldest === undefined) return;
    open.delete(oldest);
  }
}
