import type { WorkerFault } from '../../core/health/worker-fault.js';
import type { Decision, Route, SeenTransfer, Usage } from '../../fleet/router/routing.js';
import { toRouteTransfer } from '../../fleet/router/service/selection-message.js';
import type { RouteEvent, RouteUsage } from '../../gen/kvaccord/v1/router.js';
import { boundTransfer, isCount, toUsage } from './route-messages.js';

/** What is reported of a route that was reserved. */
export type ReportedEvent = Exclude<
  NonNullable<RouteEvent['event']>,
  { readonly $case: 'reserve' } | { readonly $case: 'reservePair' }
>;

/** Who hears of a route. */
export interface StreamRouteListener {
  report(event: ReportedEvent): void;
  fail(decision: Decision, fault: WorkerFault): void;
}

/** How the part of one worker is reported. */
interface PartEvents {
  readonly answered: ReportedEvent;
  released(usage: RouteUsage): ReportedEvent;
}

const ANSWERING: PartEvents = {
  answered: { $case: 'prefillDone', value: {} },
  released: (value) => ({ $case: 'release', value }),
};

const PREFILL: PartEvents = {
  answered: { $case: 'prefillFirstToken', value: {} },
  released: (value) => ({ $case: 'prefillRelease', value }),
};

/** The part of one worker in a route: of the prefill worker this is all of it. */
class StreamPart implements Route {
  readonly decision: Decision;
  readonly #events: PartEvents;
  readonly #listener: StreamRouteListener;
  #isAnswered = false;
  #isReleased = false;

  constructor(decision: Decision, events: PartEvents, listener: StreamRouteListener) {
    this.decision = decision;
    this.#events = events;
    this.#listener = listener;
  }

  /** After the release the id is another route's. */
  protected report(event: ReportedEvent): void {
    if (!this.#isReleased) this.#listener.report(event);
  }

  prefillDone(): void {
    if (this.#isAnswered) return;
    this.#isAnswered = true;
    this.report(this.#events.answered);
  }

  progress(_outputTokens: number): void {
    // A prefill worker generates one token, and nobody waits for more.
  }

  release(usage?: Usage): void {
    this.report(this.#events.released(toUsage(usage)));
    this.#isReleased = true;
  }

  failed(fault: WorkerFault): void {
    this.#listener.fail(this.decision, fault);
  }
}

/** A route that the router of another process has reserved. */
export class StreamRoute extends StreamPart {
  readonly prefill: Route | undefined;
  #isTransferred = false;

  constructor(decision: Decision, listener: StreamRouteListener) {
    super(decision, ANSWERING, listener);
    const { pair } = decision;
    this.prefill =
      pair === undefined
        ? undefined
        : new StreamPart(pair.prefill, PREFILL, {
            report: (event) => this.report(event),
            fail: listener.fail,
          });
  }

  transferred(seen: SeenTransfer): void {
    if (this.prefill === undefined || this.#isTransferred) return;
    this.#isTransferred = true;
    this.report({ $case: 'transfer', value: toRouteTransfer(boundTransfer(seen)) });
  }

  override progress(outputTokens: number): void {
    if (isCount(outputTokens)) this.report({ $case: 'outputTokens', value: outputTokens });
  }
}
