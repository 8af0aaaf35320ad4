import type { PairClass } from '../../core/pairs/pair-words.js';
import {
  VIEW_PAIR_STATES,
  type ViewPair,
  type ViewPairGroup,
  type ViewPairState,
} from '../../core/view/view-pairs.js';
import { inOneUnit } from './format.js';
import { NEARNESS_LABELS } from './role-pairs.js';

const STATE_LABELS: Readonly<Record<ViewPairState, string>> = {
  can_pair: 'can pair',
  cannot_say: 'cannot be said',
  cannot_pair: 'cannot pair',
  set_aside: 'set aside',
};

/** A pair's state in words: `set aside, tried again in 25 s`. */
export function pairStateText({ state, isSlow, retryInMs }: ViewPair): string {
  const label = STATE_LABELS[state];
  if (state === 'set_aside' && retryInMs !== undefined)
    return `${label}, tried again in ${inOneUnit(retryInMs)}`;
  return isSlow === true ? `${label}, slow` : label;
}

/** `0.05 ms/MiB (21 GB/s)`; a dash before the first transfer that was measured. */
export function pairCostText({ msPerMib, gbPerS }: ViewPair): string {
  if (msPerMib === undefined || gbPerS === undefined) return '–';
  return `${short(msPerMib)} ms/MiB (${short(gbPerS)} GB/s)`;
}

/** What its class moves at least; a dash where nothing is promised. */
export function pairPromiseText({ promisedGbPerS }: ViewPair): string {
  return promisedGbPerS === undefined ? '–' : `${promisedGbPerS} GB/s`;
}

/** How near the two workers are, in words. */
export function pairNearnessText({ class: pairClass }: ViewPair): string {
  return NEARNESS_LABELS[pairClass as PairClass] ?? 'not known';
}

/** `3 can pair`, by state, the worst first; those that no pair is in are left out. */
export function pairCounts({
  counts,
}: ViewPairGroup): readonly { readonly state: ViewPairState; readonly text: string }[] {
  return VIEW_PAIR_STATES.filter((state) => counts[state] > 0).map((state) => ({
    state,
    text: `${counts[state]} ${STATE_LABELS[state]}`,
  }));
}

/** A worker of a matrix. */
export interface MatrixWorker {
  readonly target: string;
  readonly name: string;
}

/** A row for each prefill worker, with its pairs in the order of the decode workers. */
export function pairMatrix({ pairs }: ViewPairGroup): {
  readonly decodes: readonly MatrixWorker[];
  readonly rows: readonly {
    readonly prefill: MatrixWorker;
    readonly cells: readonly (ViewPair | undefined)[];
  }[];
} {
  const prefills = new Map(pairs.map(({ prefillTarget, prefill }) => [prefillTarget, prefill]));
  const decodes = new Map(pairs.map(({ decodeTarget, decode }) => [decodeTarget, decode]));
  const cells = new Map(pairs.map((pair) => [`${pair.prefillTarget}\n${pair.decodeTarget}`, pair]));
  return {
    decodes: [...decodes].map(([target, name]) => ({ target, name })),
    rows: [...prefills].map(([target, name]) => ({
      prefill: { target, name },
      cells: [...decodes.keys()].map((decode) => cells.get(`${target}\n${decode}`)),
    })),
  };
}

/** Pairs of which there is something to say beside their place in the matrix. */
export function pairsToExplain({ pairs }: ViewPairGroup): readonly ViewPair[] {
  return pairs.filter(
    ({ state, isSlow, isOffered }) => state !== 'can_pair' || isSlow === true || !isOffered,
  );
}

function short(value: number): string {
  return value >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(2)));
}
