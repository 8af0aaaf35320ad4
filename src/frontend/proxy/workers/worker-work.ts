import type { Clock } from '../../../edge/platform/clock.js';
import type { Decision } from '../../../fleet/router/routing.js';
import { type AskedEngine, askForWork, type WorkSign } from './engine-work.js';

/** The slowest engine computes so many prompt tokens in a millisecond; it may say nothing while it does. */
const PROMPT_TOKENS_PER_MS = 1;

/** A prompt counts for so many times as long as it takes: it may wait before it is computed. */
const QUEUE_TIMES = 2;

/** Bytes of a body for each token, at least. */
const BYTES_PER_TOKEN = 4;

/** What is known of the length of a prompt. */
type PromptSize = Pick<Decision, 'cachedBlocks' | 'promptTokens' | 'tokensPerBlock'>;

/** How often in a row an engine has to show that it stands still. */
const MIN_SIGNS = 2;

/** When a worker last showed that its engine computes, whichever request it was for, and what it showed when it was asked. */
export class WorkerWork {
  #workedMs = Number.NEGATIVE_INFINITY;
  /** The longest time that a prompt which it was sent lately may take, and when that was sent. */
  #longestMs = 0;
  #longestSentMs = Number.NEGATIVE_INFINITY;
  #isAsked = false;
  #askedMs = Number.NEGATIVE_INFINITY;
  #counters: string | undefined;
  /** Answers in a row that showed no work, and whether one of them had no counters to show. */
  #stood = 0;
  #isMute = false;
  #isLogged = false;

  /** A request goes to it; where its tokens are not known, the length of its body says how many it may have. */
  sent({ promptTokens, cachedBlocks, tokensPerBlock }: PromptSize, bodyBytes: number, nowMs: number): void {
    const tokens =
      promptTokens === undefined ? bodyBytes / BYTES_PER_TOKEN : promptTokens - cachedBlocks * tokensPerBlock;
    const takesMs = tokens / PROMPT_TOKENS_PER_MS;
    if (takesMs < this.#longestMs && this.#isLatelySent(nowMs)) return;
    this.#longestMs = takesMs;
    this.#longestSentMs = nowMs;
  }

  /** Something came that it has computed. */
  worked(nowMs: number): void {
    this.#workedMs = nowMs;
    if (this.#askedMs === Number.NEGATIVE_INFINITY) return;
    this.#askedMs = Number.NEGATIVE_INFINITY;
    this.#counters = undefined;
    this.#stood = 0;
    this.#isMute = false;
    this.#isLogged = false;
  }

  /**
   * Milliseconds without a sign of work, as far as a request that waits since `sinceMs` shows, less those that its longest
   * prompt may take.
   */
  idleMs(sinceMs: number, nowMs: number): number {
    const idleSinceMs = Math.max(sinceMs, this.#workedMs);
    return nowMs - idleSinceMs - (this.#isLatelySent(idleSinceMs) ? this.#longestMs : 0);
  }

  /** Whether the longest prompt may be computed at this time: it may have waited as long as it takes. */
  #isLatelySent(atMs: number): boolean {
    return atMs <= this.#longestSentMs + QUEUE_TIMES * this.#longestMs;
  }

  /** What it showed when it was asked, since it last worked; undefined where that is not enough to judge it. */
  get shown(): Exclude<WorkSign, 'works' | 'unknown'> | undefined {
    if (this.#stood < MIN_SIGNS) return undefined;
    return this.#isMute ? 'mute' : 'stands';
  }

  /** True once for each time that it stands still: it is to be logged. */
  isNewStall(): boolean {
    const isNew = !this.#isLogged;
    this.#isLogged = true;
    return isNew;
  }

  /** Asks it, unless it is being asked or was less than `waitMs` ago; `engine` is called only where it is asked. */
  ask(engine: () => AskedEngine, waitMs: number, clock: Clock): void {
    const nowMs = clock.monotonicMs();
    if (this.#isAsked || nowMs - this.#askedMs < waitMs) return;
    this.#isAsked = true;
    this.#askedMs = nowMs;
    const before = this.#counters;
    void askForWork(engine(), before, waitMs, { clock }).then(({ sign, counters }) => {
      this.#isAsked = false;
      // It has worked meanwhile: what was asked before that says nothing.
      if (this.#askedMs !== nowMs) return;
      if (sign === 'works') this.worked(clock.monotonicMs());
      this.#counters = counters;
      if (sign === 'works') return;
      this.#stood = sign === 'unknown' ? 0 : this.#stood + 1;
      this.#isMute ||= sign === 'mute';
    });
  }
}
