import type { Usage } from '../../fleet/router/routing.js';
import type { Api } from '../apis/api.js';
import { type AnswerHead, PassedAnswer } from '../proxy/answers/passed-answer.js';
import type { Chosen } from './picking.js';

/** Progress and end of an answer, for what is reserved for its request. */
type Reserved = Pick<Chosen, 'route' | 'pair' | 'end' | 'sent'>;

/**
 * What is reserved for one request, from the choice to the end of its answer,
 * also where the gateway sent it elsewhere. It is released exactly once.
 */
export class PickedRoute {
  /** What the body of its request looks like; see `sketchOf`. */
  readonly sketch: number;
  readonly #first: Chosen;
  #reserved: Reserved | undefined;
  #answer: PassedAnswer | undefined;
  #isReleased = false;
  /** What waits for the worker that the gateway has sent it to, while that one is being reserved. */
  #waiting: ((serving: Reserved) => void)[] | undefined;

  /** `sketch`: what its body looks like. */
  constructor(chosen: Chosen, sketch: number) {
    this.sketch = sketch;
    this.#first = chosen;
    this.#reserved = chosen;
  }

  /** Where it was to go, in order. */
  get endpoints(): readonly string[] {
    return this.#first.endpoints;
  }

  get decision(): Chosen['route']['decision'] {
    return this.#first.route.decision;
  }

  /** The worker where the request counts now; undefined where that is none. */
  get servedBy(): { readonly group: string; readonly target: string } | undefined {
    return this.#reserved?.route.decision;
  }

  /**
   * Another worker than the first one answered: the request counts there from
   * now on. `hasFailed`: whether the first one was tried in vain.
   */
  moveTo(endpoint: string, hasFailed: boolean): void {
    const { route } = this.#first;
    if (hasFailed)
      route.failed({ kind: 'unreachable', detail: `the gateway was answered by its fallback ${endpoint}` });
    // A gateway that shows the head of an answer behind its end.
    if (this.#isReleased) return;
    this.#reserved = undefined;
    this.#waiting = [];
    this.#first.end();
    route.release();
    void this.#first.moveTo(endpoint).then((moved) => {
      const waiting = this.#waiting ?? [];
      this.#waiting = undefined;
      if (moved !== undefined) for (const use of waiting) use(moved);
      if (!this.#isReleased) {
        this.#reserved = moved;
        return;
      }
      if (moved !== undefined) this.#end(moved);
    });
  }

  /** Hands over what is reserved at the worker that answered, as soon as that is known; never where it is of none. */
  withServing(use: (serving: Reserved) => void): void {
    if (this.#reserved !== undefined) use(this.#reserved);
    else this.#waiting?.push(use);
  }

  /** The head of the answer has come. */
  beginAnswer(head: Omit<AnswerHead, 'hasLength'>, api: Api): void {
    // Nothing is held back of it, since nothing is added to it here.
    this.#answer = new PassedAnswer({ ...head, hasLength: true }, this.decision.tokensPerBlock, api);
    this.withServing(({ pair }) => pair?.begun());
  }

  onData(piece: Buffer): void {
    if (this.#answer?.hasData === false) this.withServing(({ pair }) => pair?.firstPiece(piece));
    this.#answer?.onData(piece, this.#reserved?.route ?? NOWHERE);
  }

  onEnd(): void {
    this.#answer?.onEnd(this.#reserved?.route ?? NOWHERE);
  }

  /** It is over, however it ended; may be called again. */
  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    const reserved = this.#reserved;
    this.#reserved = undefined;
    if (reserved !== undefined) this.#end(reserved);
  }

  #end({ route, pair, end }: Reserved): void {
    end();
    pair?.ended(this.#answer);
    route.release(this.usage);
  }

  /** What the engine said of it so far; undefined where it said nothing. */
  get usage(): Usage | undefined {
    return this.#answer?.usage;
  }
}

/** Stands in for a route while there is none. */
const NOWHERE: Chosen['route'] = {
  decision: undefined as never,
  prefillDone: () => undefined,
  progress: () => undefined,
  release: () => undefined,
  failed: () => undefined,
};
