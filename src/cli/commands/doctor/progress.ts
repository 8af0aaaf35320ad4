import type { Clock } from '../../../edge/platform/clock.js';
import type { TextOutput } from '../../../edge/platform/streams/standard-streams.js';
import { LiveLine } from '../../shared/live-line.js';

/** Often enough to be seen to move, seldom enough to cost nothing. */
const INTERVAL_MS = 100;

const BYTES_PER_MB = 1_000_000;

/** How far the reading of logs is, on one line of a terminal; elsewhere nothing is written. */
export class LogProgress {
  readonly #line: LiveLine | undefined;
  readonly #clock: Clock;
  #startedMs = 0;
  #shownMs = Number.NEGATIVE_INFINITY;
  #name = '';

  constructor(output: TextOutput, clock: Clock) {
    this.#line = output.isTerminal ? new LiveLine(output) : undefined;
    this.#clock = clock;
  }

  /** As `readLog` calls it, with the log's name in front. */
  readonly onProgress = (name: string, readBytes: number, totalBytes: number | undefined): void => {
    if (this.#line === undefined) return;
    const nowMs = this.#clock.monotonicMs();
    if (name !== this.#name) [this.#name, this.#startedMs] = [name, nowMs];
    if (nowMs - this.#shownMs < INTERVAL_MS) return;
    this.#shownMs = nowMs;
    const seconds = (nowMs - this.#startedMs) / 1_000;
    const rate = seconds < 1 ? '' : `, ${Math.round(readBytes / BYTES_PER_MB / seconds)} MB/s`;
    const share =
      totalBytes === undefined || totalBytes === 0
        ? ''
        : ` of ${megabytes(totalBytes)} (${Math.min(100, Math.floor((100 * readBytes) / totalBytes))} %)`;
    // The figures come first: a long path is cut at the terminal's edge.
    this.#line.showText(`${megabytes(readBytes)}${share}${rate} read of ${name}`);
  };

  /** Takes the line away. */
  clear(): void {
    this.#line?.clear();
  }
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / BYTES_PER_MB)} MB`;
}
