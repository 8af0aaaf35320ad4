import type { Route, Usage } from '../../../fleet/router/routing.js';
import type { Api } from '../../apis/api.js';
import { AnswerWatch } from './answer-watch.js';
import { WholeEvents } from './whole-events.js';

/** How often progress is reported, in events of a stream, where blocks are smaller. */
const MIN_EVENTS_PER_PROGRESS = 16;

/** The head of a worker's answer, as far as the proxy looks at it. */
export interface AnswerHead {
  readonly status: number;
  readonly isEventStream: boolean;
  /** Whether it says its length. */
  readonly hasLength: boolean;
  /** Whether its body can be read here: it is not compressed. */
  readonly isPlain: boolean;
}

/** An answer while it goes to the client: what is read of it, and reported to the router. */
export class PassedAnswer {
  /** Whether its head said its length. */
  readonly hasLength: boolean;
  readonly #isSuccess: boolean;
  readonly #isComputed: boolean;
  readonly #isStream: boolean;
  readonly #watch: AnswerWatch | undefined;
  readonly #events: WholeEvents | undefined;
  readonly #eventsPerProgress: number;
  readonly #eventsBeforeTokens: number;
  #nextProgress: number;
  #hasData = false;
  #isPrefillDone = false;

  constructor(
    { status, isEventStream, hasLength, isPlain }: AnswerHead,
    tokensPerBlock: number,
    {
      eventsBeforeTokens = 0,
      isAnsweredByServer = false,
    }: Pick<Api, 'eventsBeforeTokens' | 'isAnsweredByServer'>,
  ) {
    this.#eventsBeforeTokens = eventsBeforeTokens;
    this.#isComputed = !isAnsweredByServer;
    this.hasLength = hasLength;
    this.#isSuccess = status >= 200 && status < 300;
    this.#isStream = isEventStream;
    this.#watch = this.#isSuccess && isPlain ? new AnswerWatch(isEventStream) : undefined;
    // Where the length is given, or the body is compressed, no event of another sender can follow.
    this.#events = this.#isSuccess && isPlain && isEventStream && !hasLength ? new WholeEvents() : undefined;
    this.#eventsPerProgress = Math.max(MIN_EVENTS_PER_PROGRESS, tokensPerBlock);
    this.#nextProgress = this.#eventsPerProgress;
  }

  /** Whether a part of the body has come. */
  get hasData(): boolean {
    return this.#hasData;
  }

  /** Whether what has come so far shows that the engine computes, and not its HTTP server alone answers. */
  get showsWork(): boolean {
    return this.#isComputed && this.#isSuccess && (this.#isStream ? this.#isPrefillDone : this.#hasData);
  }

  /** What the engine says of the request; undefined where it says nothing. */
  get usage(): Usage | undefined {
    return this.#watch?.usage;
  }

  /**
   * The next piece of the body. Comes back with what may be passed on now; undefined for nothing yet. Of a stream of events
   * only whole ones are.
   */
  onData(piece: Buffer, route: Route): Buffer | undefined {
    this.#look(piece, route);
    return this.#events === undefined ? piece : this.#events.take(piece);
  }

  /** What ends the stream in place of its worker, with this as its last event; undefined where the connection alone can show it. */
  lastEvent(event: string): string | undefined {
    if (this.#events === undefined) return undefined;
    return this.#events.isWithin ? `\n\n${event}` : event;
  }

  #look(piece: Buffer, route: Route): void {
    this.#hasData = true;
    const watch = this.#watch;
    watch?.add(piece);
    const isPastHead = watch === undefined || watch.events > this.#eventsBeforeTokens;
    if (this.#isStream && this.#isSuccess && (this.#eventsBeforeTokens === 0 || isPastHead))
      this.#prefillDone(route);
    if (watch === undefined) return;
    if (watch.events < this.#nextProgress) return;
    this.#nextProgress = watch.events + this.#eventsPerProgress;
    route.progress(watch.events);
  }

  /** The body has ended as it should. Comes back with what was not passed on yet. */
  onEnd(route: Route): Buffer | undefined {
    if (this.#isSuccess) this.#prefillDone(route);
    return this.#events?.flush();
  }

  #prefillDone(route: Route): void {
    if (this.#isPrefillDone || !this.#isComputed) return;
    this.#isPrefillDone = true;
    route.prefillDone();
  }
}
