import {
  HOLDING_COLUMNS,
  LOAD_COLUMNS,
  type ViewHoldingRow,
  type ViewLoadRow,
} from '../../core/view/view-document.js';

/** One of `LOAD_COLUMNS`. */
export type LoadColumn = (typeof LOAD_COLUMNS)[number];
/** One of `HOLDING_COLUMNS`. */
export type HoldingColumn = (typeof HOLDING_COLUMNS)[number];

const LOAD_PLACES = new Map(LOAD_COLUMNS.map((name, place) => [name, place]));
const HOLDING_PLACES = new Map(HOLDING_COLUMNS.map((name, place) => [name, place]));

/** A number of a worker; 0 where it has no row. */
export function loadOf(row: ViewLoadRow | undefined, column: LoadColumn): number {
  return row?.[LOAD_PLACES.get(column) ?? -1] ?? 0;
}

/** A number of what a worker's cache holds; 0 where it has no row. */
export function holdingOf(row: ViewHoldingRow | undefined, column: HoldingColumn): number {
  return row?.[HOLDING_PLACES.get(column) ?? -1] ?? 0;
}

/** Rows by the id of their worker. */
export function byId<Row extends readonly number[]>(rows: readonly Row[]): ReadonlyMap<number, Row> {
  return new Map(rows.map((row) => [row[0] ?? -1, row]));
}

/** Samples that are kept of each worker: five minutes. */
const MAX_SAMPLES = 60;
/** Milliseconds between two samples. */
const SAMPLE_MS = 5_000;
/** Samples over which a rate is taken: half a minute, so that it does not jump. */
const RATE_SAMPLES = 6;

/** Rates of one worker, in 1/s. */
export interface Rates {
  readonly requests: number;
  readonly promptTokens: number;
  readonly outputTokens: number;
}

interface Sample {
  readonly atMs: number;
  readonly rows: ReadonlyMap<number, ViewLoadRow>;
}

/** The counters of all workers every few seconds, from which rates and small curves are made. */
export class LoadHistory {
  readonly #samples: Sample[] = [];

  /** Takes a sample, unless the one before is younger than `SAMPLE_MS`. True when it was taken. */
  take(atMs: number, rows: ReadonlyMap<number, ViewLoadRow>): boolean {
    const last = this.#samples.at(-1);
    if (last !== undefined && atMs - last.atMs < SAMPLE_MS) return false;
    this.#samples.push({ atMs, rows });
    if (this.#samples.length > MAX_SAMPLES) this.#samples.shift();
    return true;
  }

  /** Forgets all: another process counts from 0. */
  clear(): void {
    this.#samples.length = 0;
  }

  /** Undefined until there are two samples. */
  ratesOf(id: number): Rates | undefined {
    const last = this.#samples.at(-1);
    const first = this.#samples.at(-1 - Math.min(RATE_SAMPLES, this.#samples.length - 1));
    if (last === undefined || first === undefined || first === last) return undefined;
    const seconds = (last.atMs - first.atMs) / 1_000;
    const rate = (column: LoadColumn): number =>
      Math.max(0, loadOf(last.rows.get(id), column) - loadOf(first.rows.get(id), column)) / seconds;
    return {
      requests: rate('decisions'),
      promptTokens: rate('promptTokens'),
      outputTokens: rate('outputTokens'),
    };
  }

  /** Differences from sample to sample, oldest first. */
  curveOf(id: number, column: LoadColumn): readonly number[] {
    const curve: number[] = [];
    for (let at = 1; at < this.#samples.length; at += 1)
      curve.push(
        Math.max(
          0,
          loadOf(this.#samples[at]?.rows.get(id), column) -
            loadOf(this.#samples[at - 1]?.rows.get(id), column),
        ),
      );
    return curve;
  }
}
