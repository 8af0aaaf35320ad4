import { LOAD_COLUMNS, type ViewDocument } from '../../../core/view/view-document.js';

/** Samples of a worker that are kept for its bars: two minutes. */
const MAX_SAMPLES = 60;

/** Shortest time between two samples. */
const SAMPLE_MS = 900;

/** Longest time that a rate looks back. */
const WINDOW_MS = 10_000;

type Column = (typeof LOAD_COLUMNS)[number];
type Row = readonly number[];

const AT = Object.fromEntries(LOAD_COLUMNS.map((name, at) => [name, at])) as Readonly<Record<Column, number>>;

/** What one worker does now. */
export interface WorkerNumbers {
  readonly activeRequests: number;
  readonly prefillingTokens: number;
  readonly decisions: number;
  readonly failedRequests: number;
  readonly ejections: number;
  readonly contradictions: number;
  /** Per second, over the last ten. */
  readonly requestsPerSecond: number;
  readonly tokensPerSecond: number;
  /** Of the requests of the last ten seconds, or of all where there was none; undefined where there never was one. */
  readonly firstTokenMs: number | undefined;
  /** Requests of each sample, the newest last. */
  readonly bars: readonly number[];
}

const NOTHING: WorkerNumbers = {
  activeRequests: 0,
  prefillingTokens: 0,
  decisions: 0,
  failedRequests: 0,
  ejections: 0,
  contradictions: 0,
  requestsPerSecond: 0,
  tokensPerSecond: 0,
  firstTokenMs: undefined,
  bars: [],
};

interface Sample {
  readonly atMs: number;
  readonly rows: ReadonlyMap<number, Row>;
}

/** Rates of workers, from the counters of one document after the other. */
export class Rates {
  #samples: Sample[] = [];
  #processId = '';
  #now: ReadonlyMap<number, Row> = new Map();

  /** Takes the next document. Another start of the process begins again. */
  add({ processId, atMs, loads }: ViewDocument): void {
    if (processId !== this.#processId) this.#samples = [];
    this.#processId = processId;
    this.#now = new Map(loads.map((row) => [row[0] ?? -1, row]));
    const last = this.#samples.at(-1);
    if (last !== undefined && atMs - last.atMs < SAMPLE_MS) return;
    this.#samples.push({ atMs, rows: this.#now });
    if (this.#samples.length > MAX_SAMPLES) this.#samples.shift();
  }

  /** What a worker does now; the time that has passed since the document counts too. */
  of(id: number, nowMs: number): WorkerNumbers {
    const row = this.#now.get(id);
    if (row === undefined) return NOTHING;
    const value = (name: Column): number => row[AT[name]] ?? 0;
    const since = this.#samples.find(({ atMs }) => atMs >= nowMs - WINDOW_MS) ?? this.#samples.at(-1);
    const before = since?.rows.get(id);
    const seconds = Math.max(1, (nowMs - (since?.atMs ?? nowMs)) / 1_000);
    // A counter that fell began again: what it has now came since.
    const grown = (name: Column): number => {
      const earlier = before?.[AT[name]] ?? 0;
      return value(name) < earlier ? value(name) : value(name) - earlier;
    };
    const firstTokens = grown('firstTokens');
    const all = value('firstTokens');
    return {
      activeRequests: value('activeRequests'),
      prefillingTokens: value('prefillingTokens'),
      decisions: value('decisions'),
      failedRequests: value('failedRequests'),
      ejections: value('ejections'),
      contradictions: value('contradictions'),
      requestsPerSecond: grown('decisions') / seconds,
      tokensPerSecond: grown('outputTokens') / seconds,
      firstTokenMs:
        firstTokens > 0
          ? grown('firstTokenMs') / firstTokens
          : all > 0
            ? value('firstTokenMs') / all
            : undefined,
      bars: this.#bars(id),
    };
  }

  #bars(id: number): number[] {
    const counts = this.#samples.map(({ rows }) => rows.get(id)?.[AT.decisions] ?? 0);
    return counts.slice(1).map((count, at) => Math.max(0, count - (counts[at] ?? 0)));
  }
}
