import { reduce } from '../../core/agreement/reduce.js';
import {
  type AgreementEffect,
  type AgreementEvent,
  isOtherIdentity,
} from '../../core/agreement/state/events.js';
import type { AgreementOptions } from '../../core/agreement/state/options.js';
import type { AgreementState } from '../../core/agreement/state/state.js';
import { createAgreement } from '../../core/agreement/state/state.js';
import type { FleetView } from '../../core/agreement/view/snapshot.js';
import { viewFleet } from '../../core/agreement/view/snapshot.js';
import type { CacheView } from '../../core/contract/wire/cache-view.js';
import { readReport } from '../../core/contract/worker-report.js';
import type { PairLookup } from '../../core/pairs/pair-lookup.js';
import type { PairRemark } from '../../core/pairs/pairs-in-service.js';
import type { ChannelAnswer, ChannelQuestion } from '../../core/pairs/side-channels.js';
import type { FinishedTransfer } from '../../core/pairs/transfer-cost.js';
import type { Clock, Timer } from '../../edge/platform/clock.js';
import type { Logger } from '../../edge/platform/logger.js';
import { CapabilityReport } from '../../gen/kvaccord/v1/capabilities.js';
import type { Endpoint, ExpectedWorkers } from '../discovery/source.js';

/**
 * How long changes are gathered before the answers for all clients are prepared
 * again. Preparing walks all members, and thousands may report within one
 * second; an opening or shutting gate never waits for it.
 */
const GATHER_MS = 50;

/** Answers that are prepared together with a log line within one gathering's time; the rest are gathered. */
const MAX_HURRIED = 10;

/** After a fault in the agreement itself: its tick is due still, and fails perhaps again. */
const FAULT_PAUSE_MS = 1_000;

/** Where this program failed on the state of the fleet: in the `agreement` itself, or in a `listener` to it. */
export type FleetFault = 'agreement' | 'listener';

const FAULT_MESSAGES: Readonly<Record<FleetFault, string>> = {
  agreement:
    'The agreement met a fault of this program; it stays as it was and is tried again. Please report it.',
  listener: 'A part of this program failed on the state of the fleet; the others go on. Please report it.',
};

/** What others may want to know as it happens. */
export interface FleetListener {
  /** The prepared answers are new. */
  onView?(view: FleetView): void;
  /** A member sent a report, and it was taken. */
  onReport?(target: string, report: CapabilityReport): void;
  /** The agreement came to something; see `AgreementEffect`. */
  onEffect?(effect: AgreementEffect): void;
}

export interface FleetRunnerModules {
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Carries the agreement: hands it events with the time, sets the one timer it
 * asks for, writes its log lines, and keeps the answers that all clients read.
 */
export class FleetRunner {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #state: AgreementState;
  readonly #listeners = new Set<FleetListener>();
  readonly #faults: Record<FleetFault, number> = { agreement: 0, listener: 0 };
  /** Serialised, because thousands of reports as objects would cost several times as much memory. */
  readonly #reports = new Map<string, Uint8Array>();
  #view: FleetView;
  #deadline: { readonly atMs: number; readonly timer: Timer } | undefined;
  #gathering: Timer | undefined;
  /** Answers that were prepared with a log line, in the present gathering's time. */
  #hurry = { sinceMs: Number.NEGATIVE_INFINITY, count: 0 };
  /** Whether discovery has given a list. */
  #isListed = false;
  #isClosed = false;

  constructor(options: AgreementOptions, modules: FleetRunnerModules) {
    this.#clock = modules.clock;
    this.#logger = modules.logger;
    this.#state = createAgreement(options);
    this.#view = viewFleet(this.#state, this.#clock.monotonicMs());
  }

  /** The answers as last prepared: constant time, whatever the fleet's size. */
  get view(): FleetView {
    return this.#view;
  }

  /** Faults of this program that were contained, since the start. */
  get faults(): Readonly<Record<FleetFault, number>> {
    return this.#faults;
  }

  /** The last report of a member, as its sidecar sent it; undefined until it has sent one. */
  reportOf(target: string): CapabilityReport | undefined {
    const bytes = this.#reports.get(target);
    return bytes === undefined ? undefined : CapabilityReport.decode(bytes);
  }

  /** The same as it came, not to be changed: the same array until another report is taken. */
  reportDataOf(target: string): Uint8Array | undefined {
    return this.#reports.get(target);
  }

  /** How large that report is on the wire; 0 until there is one. */
  reportBytes(target: string): number {
    return this.#reports.get(target)?.length ?? 0;
  }

  /** Calls `listener` until the returned function is called. */
  listen(listener: FleetListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Discovery gives its full list, and how many members it expects where it knows. */
  listed(
    endpoints: readonly (Pick<Endpoint, 'target'> & Partial<Endpoint>)[],
    expected?: ExpectedWorkers,
  ): void {
    const identities = new Map(endpoints.map(({ target, identity }) => [target, identity]));
    for (const target of this.#reports.keys()) {
      const isAnother = isOtherIdentity(this.#state.members.get(target)?.identity, identities.get(target));
      if (!identities.has(target) || isAnother) this.#reports.delete(target);
    }
    this.#dispatch({
      type: 'listed',
      members: endpoints.map(({ target, draining, identity, unscheduled }) => ({
        target,
        draining: draining === true,
        identity,
        unscheduled: unscheduled === true,
      })),
      expected,
    });
    // No client is to read for the gathering's time that there are no workers.
    if (!this.#isListed) this.#prepare();
    this.#isListed = true;
  }

  /** Discovery says why its list is empty or old; undefined: nothing is wrong with it. */
  discoveryProblem(problem: string | undefined): void {
    this.#dispatch({ type: 'discovery', problem });
  }

  /** A sidecar sent a report; what breaks a bound is refused here. Whether it was kept. */
  reported(target: string, report: CapabilityReport): boolean {
    if (!this.#state.members.has(target)) return false; // a session that outlived its listing
    const read = readReport(report);
    if ('problems' in read) {
      this.#reports.delete(target);
      this.#dispatch({ type: 'report_refused', target, problems: read.problems });
      return false;
    }
    this.#reports.set(target, CapabilityReport.encode(report).finish());
    this.#dispatch({ type: 'report', target, report: read });
    this.#notify((listener) => listener.onReport?.(target, report));
    return true;
  }

  /** A sidecar was heard. */
  alive(target: string): void {
    this.#dispatch({ type: 'alive', target });
  }

  /** A session broke; `reason` is for an operator. */
  broken(target: string, reason: string): void {
    this.#dispatch({ type: 'broken', target, reason });
  }

  /** The index says how much it knows of what a member holds. */
  cacheViewChanged(target: string, instanceId: string, level: CacheView, reason: string): void {
    this.#dispatch({ type: 'cache_view', target, instanceId, level, reason });
  }

  /** A router found that results contradict the cache view of a member; an empty reason: they agree again. */
  doubted(target: string, instanceId: string, reason: string): void {
    this.#dispatch({ type: 'doubt', target, instanceId, reason });
  }

  /** A router gives a member no requests at present, for this reason; empty: it does so again. */
  ejected(target: string, reason: string): void {
    this.#dispatch({ type: 'ejection', target, reason });
  }

  /** V3: the index met store events of another width and did not apply them. */
  mismatchedEvents(target: string, instanceId: string, tokensPerBlock: number, count: number): void {
    this.#dispatch({ type: 'mismatched_events', target, instanceId, tokensPerBlock, count });
  }

  /** The pairs of a group, to look up; undefined where no group has that name. Ask again after every change of groups. */
  pairsOf(group: string): PairLookup | undefined {
    return this.#state.groups.get(group)?.pairs;
  }

  /** P2: the decode side answered about a side channel, or could not be asked. */
  channelAnswered(group: string, question: ChannelQuestion, answer: ChannelAnswer): void {
    this.#dispatch({ type: 'channel_answer', group, question, answer });
  }

  /** P2: whom to ask a question again; undefined where it is of no use any more. */
  questionAgain(group: string, question: ChannelQuestion): ChannelQuestion | undefined {
    return this.#state.groups.get(group)?.pairs.askAgain(question);
  }

  /** P6: a transfer between two workers came to its end; `transfer` is undefined where it is not known what it took. */
  transferDone(
    group: string,
    prefillTarget: string,
    decodeTarget: string,
    transfer: FinishedTransfer | undefined,
  ): void {
    const pairs = this.#state.groups.get(group)?.pairs;
    this.#remark(group, pairs?.transferDone(prefillTarget, decodeTarget, transfer));
  }

  /** P6: a transfer failed, or the decode worker computed what it should have received; `reason` is for an operator. */
  transferFailed(group: string, prefillTarget: string, decodeTarget: string, reason: string): void {
    const nowMs = this.#clock.monotonicMs();
    const pairs = this.#state.groups.get(group)?.pairs;
    const remark = pairs?.transferFailed(prefillTarget, decodeTarget, reason, nowMs);
    if (remark === undefined) return;
    this.#remark(group, remark);
    // The agreement notes when it is to be tried again.
    this.#dispatch({ type: 'pairs_changed' });
  }

  /** Stops all timers. */
  close(): void {
    this.#isClosed = true;
    this.#deadline?.timer.clear();
    this.#gathering?.clear();
    this.#listeners.clear();
  }

  #dispatch(event: AgreementEvent): void {
    if (this.#isClosed) return;
    const nowMs = this.#clock.monotonicMs();
    const { version, tickedAtMs } = this.#state;
    let effects: readonly AgreementEffect[];
    try {
      effects = reduce(this.#state, event, nowMs);
    } catch (error) {
      // From a timer there is no caller to catch it; from a message the stream that it came on ends as well.
      this.#fault('agreement', error);
      this.#setDeadline(nowMs, FAULT_PAUSE_MS);
      if (event.type === 'tick') return;
      throw error;
    }
    this.#setDeadline(nowMs);
    for (const effect of effects) this.#carryOut(effect);
    const has = (wanted: AgreementEffect['type']): boolean => effects.some(({ type }) => type === wanted);
    // The end of a settle time shows in the reasons although nothing else changed.
    const isNews = this.#state.version !== version || this.#state.tickedAtMs !== tickedAtMs;
    if (has('gate') || (has('log') && this.#mayHurry(nowMs))) this.#prepare();
    else if (isNews) this.#gathering ??= this.#clock.setTimer(GATHER_MS, () => this.#prepare());
  }

  /** Whether a log line's answer may be prepared with it: thousands of workers may be lost within one second. */
  #mayHurry(nowMs: number): boolean {
    if (nowMs - this.#hurry.sinceMs >= GATHER_MS) this.#hurry = { sinceMs: nowMs, count: 0 };
    this.#hurry.count += 1;
    return this.#hurry.count <= MAX_HURRIED;
  }

  #remark(group: string, remark: PairRemark | undefined): void {
    if (remark === undefined) return;
    const { level, code, worker, message } = remark;
    this.#carryOut({ type: 'log', level, code, group, worker, message });
  }

  /** A worker as programs that read the log find it: by its name, and by its address. */
  #fieldsOf(worker: string): Readonly<Record<string, string>> {
    const workerId = this.#state.members.get(worker)?.report?.workerId;
    return workerId === undefined || workerId === '' ? { worker } : { worker_id: workerId, worker };
  }

  #carryOut(effect: AgreementEffect): void {
    if (effect.type === 'log') {
      this.#logger[effect.level](
        {
          code: effect.code,
          ...(effect.group === '' ? {} : { group: effect.group }),
          ...(effect.worker === undefined ? {} : this.#fieldsOf(effect.worker)),
        },
        effect.message,
      );
    }
    this.#notify((listener) => listener.onEffect?.(effect));
  }

  #prepare(): void {
    this.#gathering?.clear();
    this.#gathering = undefined;
    if (this.#isClosed) return;
    try {
      this.#view = viewFleet(this.#state, this.#clock.monotonicMs());
    } catch (error) {
      this.#fault('agreement', error);
      return; // the answers stay those that were prepared last
    }
    this.#notify((listener) => listener.onView?.(this.#view));
  }

  /** One listener that fails keeps nothing from the others, and no worker's report ends the process by it. */
  #notify(call: (listener: FleetListener) => void): void {
    for (const listener of [...this.#listeners]) {
      try {
        call(listener);
      } catch (error) {
        this.#fault('listener', error);
      }
    }
  }

  #fault(part: FleetFault, error: unknown): void {
    this.#faults[part] += 1;
    this.#logger.error({ error }, FAULT_MESSAGES[part]);
  }

  /** Sets the timer that the agreement asks for; after a fault not before `pauseMs`, so that it is tried again and not all the time. */
  #setDeadline(nowMs: number, pauseMs = 0): void {
    const asked = this.#state.dueAtMs;
    const dueAtMs = asked === undefined ? undefined : Math.max(asked, nowMs + pauseMs);
    if (dueAtMs === this.#deadline?.atMs) return;
    this.#deadline?.timer.clear();
    this.#deadline = undefined;
    if (dueAtMs === undefined) return;
    const timer = this.#clock.setTimer(dueAtMs - nowMs, () => {
      this.#deadline = undefined;
      this.#dispatch({ type: 'tick' });
    });
    this.#deadline = { atMs: dueAtMs, timer };
  }
}
