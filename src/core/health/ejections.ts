import type { WorkerFault } from './worker-fault.js';

/** When a worker is ejected, and for how long. */
export interface EjectionOptions {
  /** Failed requests, with no answers between, after which a worker is ejected; 0: never. */
  readonly afterFailures: number;
  /** How long the first time; each further time in a row is twice as long. */
  readonly baseMs: number;
  /** The longest time. */
  readonly maxMs: number;
}

/** The command's defaults: an engine restarts within 30 s to 5 minutes, and a try costs one request a second way. */
export const DEFAULT_EJECTION_OPTIONS: EjectionOptions = {
  afterFailures: 3,
  baseMs: 5_000,
  maxMs: 300_000,
};

/** A worker that may be chosen, as it stands in the list of its group. */
export interface EjectionMember {
  readonly target: string;
  /** The start of its engine. */
  readonly instanceId: string;
  /** Where its engine is; with another address or another start an ejected one is tried immediately. */
  readonly address: string;
}

/** What changed for a worker. */
export type EjectionChange =
  | {
      readonly type: 'ejected';
      readonly target: string;
      readonly fault: WorkerFault;
      /** Failed requests that led to it. */
      readonly failures: number;
      readonly forMs: number;
      /** How often in a row, this time included. */
      readonly times: number;
    }
  | {
      readonly type: 'returned';
      readonly target: string;
      /** Its try was answered, no other worker is left, or it left the list: then it begins with none when it is there again. */
      readonly why: 'answered' | 'last' | 'left';
    };

/** A failure counts two, an answer takes one away: a worker that fails more than a third of its requests is found, too. */
const FAILURE_POINTS = 2;

/** These say so much that one is enough: nothing came from the worker, or nothing was computed there, for many seconds. */
const SURE: ReadonlySet<WorkerFault['kind']> = new Set(['silent', 'stalled', 'timeout']);

/** A worker in good order for so many times its last ejection, and at least a minute, is ejected for the shortest time again. */
const GOOD_TIMES = 2;
const MIN_GOOD_MS = 60_000;

/** A worker whose time is over and that no request chose for so long gets the next one, whatever it costs there. */
const OVERDUE_MS = 10_000;

/** Part of the time that is drawn, lest all workers come back in the same moment. */
const JITTER = 0.2;

interface Ejected {
  readonly untilMs: number;
  /** Requests that are its try: one, or more where it alone can serve them. */
  tries: number;
}

interface Watched {
  instanceId: string;
  address: string;
  points: number;
  /** Failed requests since the last time in good order. */
  failures: number;
  /** Undefined while it gets requests. */
  ejected: Ejected | undefined;
  /** Ejections in a row. */
  times: number;
  lastForMs: number;
  returnedMs: number;
}

/**
 * Which workers of one group get no requests because their requests failed, whatever is reported of them. Time comes in with
 * each call. It never leaves the group without a worker, and every ejected worker gets another try when its time is over.
 */
export class Ejections {
  readonly #options: EjectionOptions;
  /** Evenly from 0 up to but not including 1. */
  readonly #draw: () => number;
  readonly #workers = new Map<string, Watched>();
  readonly #ejected = new Map<string, Watched>();

  constructor(options: EjectionOptions, modules: { readonly draw: () => number }) {
    this.#options = options;
    this.#draw = modules.draw;
  }

  /** Whether any worker is ejected: the one question of a decision while all is well. */
  get hasAny(): boolean {
    return this.#ejected.size > 0;
  }

  /** Workers that are ejected, by target. */
  get ejected(): Iterable<string> {
    return this.#ejected.keys();
  }

  /** Whether it is ejected, also while its try runs. */
  isEjected(target: string): boolean {
    return this.#ejected.has(target);
  }

  /** Takes the workers that may be chosen now. Those that left are forgotten. */
  setMembers(members: readonly EjectionMember[], nowMs: number): EjectionChange[] {
    const left = new Set(this.#workers.keys());
    for (const { target, instanceId, address } of members) {
      left.delete(target);
      const worker = this.#workers.get(target);
      if (worker === undefined) this.#workers.set(target, newWorker(instanceId, address));
      else if (worker.instanceId !== instanceId || worker.address !== address) {
        worker.instanceId = instanceId;
        worker.address = address;
        worker.points = 0;
        worker.failures = 0;
        if (worker.ejected !== undefined) worker.ejected = { untilMs: nowMs, tries: 0 };
      }
    }
    const changes: EjectionChange[] = [];
    for (const target of left) {
      if (this.#ejected.delete(target)) changes.push({ type: 'returned', target, why: 'left' });
      this.#workers.delete(target);
    }
    if (this.#ejected.size > 0 && this.#ejected.size === this.#workers.size)
      for (const [target, worker] of this.#workers)
        changes.push(this.#bringBack(target, worker, 'last', nowMs));
    return changes;
  }

  /** A request failed at a worker. What is known of another start of its engine does not count. */
  failed(target: string, instanceId: string, fault: WorkerFault, nowMs: number): EjectionChange | undefined {
    const { afterFailures } = this.#options;
    const worker = this.#workers.get(target);
    if (worker === undefined || worker.instanceId !== instanceId || afterFailures === 0) return undefined;
    if (worker.ejected !== undefined) {
      // What was sent before it was ejected says nothing new.
      const { tries, untilMs } = worker.ejected;
      return tries > 0 || nowMs >= untilMs ? this.#eject(target, worker, fault, 1, nowMs) : undefined;
    }
    const most = afterFailures * FAILURE_POINTS;
    worker.points = SURE.has(fault.kind) ? most : Math.min(most, worker.points + FAILURE_POINTS);
    worker.failures += 1;
    // The last one that gets requests goes on getting them.
    if (worker.points < most || this.#ejected.size + 1 >= this.#workers.size) return undefined;
    return this.#eject(target, worker, fault, worker.failures, nowMs);
  }

  /** A worker answered a request, at least with the first piece of an answer. */
  answered(target: string, nowMs: number): EjectionChange | undefined {
    const worker = this.#workers.get(target);
    if (worker === undefined) return undefined;
    if (worker.ejected !== undefined && worker.ejected.tries > 0)
      return this.#bringBack(target, worker, 'answered', nowMs);
    if (worker.points > 0) worker.points -= 1;
    if (worker.points === 0) worker.failures = 0;
    return undefined;
  }

  /** Those that get no request now: ejected, and their time is not over, or their try runs. Never all workers. */
  barred(nowMs: number): readonly string[] {
    const barred: string[] = [];
    for (const [target, { ejected }] of this.#ejected)
      if (ejected !== undefined && (ejected.tries > 0 || nowMs < ejected.untilMs)) barred.push(target);
    return barred;
  }

  /** One whose try is long due, because requests cost less elsewhere; undefined where there is none. */
  overdue(nowMs: number): string | undefined {
    for (const [target, { ejected }] of this.#ejected)
      if (ejected !== undefined && ejected.tries === 0 && nowMs >= ejected.untilMs + OVERDUE_MS)
        return target;
    return undefined;
  }

  /** A request goes to this worker. True where that is the try of an ejected one. */
  chosen(target: string): boolean {
    const ejected = this.#workers.get(target)?.ejected;
    if (ejected === undefined) return false;
    ejected.tries += 1;
    return true;
  }

  /** A request that was its try is over. Where it showed nothing, the next request is the try. */
  tried(target: string): void {
    const ejected = this.#workers.get(target)?.ejected;
    if (ejected !== undefined && ejected.tries > 0) ejected.tries -= 1;
  }

  #eject(
    target: string,
    worker: Watched,
    fault: WorkerFault,
    failures: number,
    nowMs: number,
  ): EjectionChange {
    const { baseMs, maxMs } = this.#options;
    const isRepeated =
      worker.ejected !== undefined ||
      nowMs - worker.returnedMs < Math.max(MIN_GOOD_MS, GOOD_TIMES * worker.lastForMs);
    this.#ejected.set(target, worker);
    worker.times = isRepeated ? worker.times + 1 : 1;
    const fullMs = baseMs * 2 ** Math.min(worker.times - 1, 32);
    const forMs = Math.min(maxMs, fullMs) * (1 - JITTER * this.#draw());
    worker.lastForMs = forMs;
    worker.ejected = { untilMs: nowMs + forMs, tries: 0 };
    worker.points = 0;
    worker.failures = 0;
    return { type: 'ejected', target, fault, failures, forMs, times: worker.times };
  }

  #bringBack(target: string, worker: Watched, why: 'answered' | 'last', nowMs: number): EjectionChange {
    worker.ejected = undefined;
    worker.returnedMs = nowMs;
    worker.points = 0;
    this.#ejected.delete(target);
    return { type: 'returned', target, why };
  }
}

function newWorker(instanceId: string, address: string): Watched {
  return {
    instanceId,
    address,
    points: 0,
    failures: 0,
    ejected: undefined,
    times: 0,
    lastForMs: 0,
    returnedMs: Number.NEGATIVE_INFINITY,
  };
}
