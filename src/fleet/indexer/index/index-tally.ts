/** What a KV event is, for metrics. */
export const EVENT_TYPES = ['snapshot', 'stored', 'removed', 'cleared'] as const;

/**
 * What became of a KV event, for metrics: taken, of another block size (V3), of
 * the epoch's width but from a worker that differs otherwise (A7), or stopped
 * by a bound.
 */
export const EVENT_RESULTS = ['applied', 'other_width', 'dissenting', 'no_room'] as const;

/** How a broken stream of events came back: where it was left, or with a snapshot. */
export const GAP_OUTCOMES = ['resumed', 'snapshot'] as const;

/** A kind of KV event, as a label. */
export type EventType = (typeof EVENT_TYPES)[number];
/** What became of a KV event, as a label. */
export type EventResult = (typeof EVENT_RESULTS)[number];
/** How a gap was closed, as a label. */
export type GapOutcome = (typeof GAP_OUTCOMES)[number];

/**
 * What came in for one group since it is there, over all its epochs. Plain
 * numbers: thousands of events a second are counted here, and metrics read
 * them when asked.
 */
export class IndexTally {
  readonly #events = new Map<string, number>();
  readonly #gaps = new Map<GapOutcome, number>();

  countEvent(type: EventType, result: EventResult): void {
    const key = `${type} ${result}`;
    this.#events.set(key, (this.#events.get(key) ?? 0) + 1);
  }

  countGap(outcome: GapOutcome): void {
    this.#gaps.set(outcome, this.gapsOf(outcome) + 1);
  }

  eventsOf(type: EventType, result: EventResult): number {
    return this.#events.get(`${type} ${result}`) ?? 0;
  }

  gapsOf(outcome: GapOutcome): number {
    return this.#gaps.get(outcome) ?? 0;
  }
}
