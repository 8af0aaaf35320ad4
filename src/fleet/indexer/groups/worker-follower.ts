import type { CacheView } from '../../../core/contract/wire/cache-view.js';
import type { RelayMessage, RelayReader } from '../../../core/relay/relay.js';
import type { Clock, Timer } from '../../../edge/platform/clock.js';
import type { ConnectGate, Connecting } from '../../../edge/platform/net/connect-gate.js';
import type { Random } from '../../../edge/platform/random.js';
import { FAULT_REASON, type StreamRefusals } from '../../../edge/platform/streams/stream-refusals.js';
import { backoffMs, MAX_BACKOFF_MS } from '../../../edge/platform/time/backoff.js';
import type { FleetIndex } from '../index/fleet-index.js';
import type { IndexTally } from '../index/index-tally.js';
import type { ReasonedCacheView } from '../index/known-rank.js';
import { type RelayEnd, RelayError, type RelayListener, type RelaySource } from '../relays/relay-source.js';
import type { QueuedTask, WorkQueue } from './work-queue.js';

/**
 * How long events of an instance wait that no report has named yet. Report and
 * events come over the same connection, so it is a moment; a stream that waits
 * longer begins again.
 */
const INSTANCE_WAIT_MS = 15_000;

/** Messages without blocks that are kept while a stream waits: the end of an empty snapshot, and what ranks stand at. */
const MAX_HELD_MESSAGES = 16;

/** Until a sidecar that knows nothing of KV events is asked again, in case it was replaced without a word. */
const UNSUPPORTED_WAIT_MS = 5 * 60_000;

/** A stream that lasted so long was a good one: the next failure is the first again. */
const LIVED_MS: number = MAX_BACKOFF_MS;

export interface WorkerFollowerModules {
  readonly clock: Clock;
  readonly random: Random;
  readonly index: FleetIndex;
  readonly queue: WorkQueue;
  /** Lets a few at a time take their snapshot. */
  readonly gate: ConnectGate;
  readonly tally: IndexTally;
  /** Counts streams that are ended for what came on them. */
  readonly refusals: StreamRefusals;
  /** The engine published something so many milliseconds ago that is in the index now. */
  onLag(lagMs: number): void;
  /** What is known of the worker may have changed. */
  onCacheView(target: string): void;
}

/** Where a follower stands. */
type FollowerState =
  /** There is no way to the worker now. */
  | { readonly type: 'unconnected'; readonly reason: string }
  /** In the line of those that want a snapshot. */
  | { readonly type: 'queued'; readonly reason: string }
  /** Asked; the source has not said yet where it begins. */
  | {
      readonly type: 'asking';
      readonly reader: RelayReader;
      readonly sinceMs: number;
      readonly reason: string;
    }
  /** What the source reports is applied. */
  | { readonly type: 'applying'; readonly reader: RelayReader; readonly sinceMs: number }
  /** The source names an instance that no report has named: it waits. */
  | {
      readonly type: 'held';
      readonly reader: RelayReader;
      readonly sinceMs: number;
      readonly start: StartMessage;
      /** What came after it, up to the first block; what follows stays with the sidecar. */
      readonly next: RelayMessage[];
      readonly timer: Timer;
    }
  /** The source names an instance that is over: nothing of it counts, a start of the next is due. */
  | {
      readonly type: 'outdated';
      readonly reader: RelayReader;
      readonly sinceMs: number;
      readonly instanceId: string;
      readonly timer: Timer;
    }
  /** The source broke; the timer leads back to `asking`. */
  | { readonly type: 'waiting'; readonly timer: Timer; readonly reason: string }
  | { readonly type: 'closed' };

type StartMessage = RelayMessage & { type: 'start' };

/** The names of a follower's states. */
export type FollowerStateName = FollowerState['type'];

/**
 * Keeps the index's entries of one worker, in one epoch, at what its source
 * reports: begins, resumes after a break, and begins again where that cannot be.
 */
export class WorkerFollower implements QueuedTask, Connecting {
  readonly target: string;
  readonly #modules: WorkerFollowerModules;
  #state: FollowerState = { type: 'unconnected', reason: 'there is no connection to its sidecar yet' };
  #source: RelaySource | undefined;
  #failures = 0;
  /** The instance that the agreement knows; empty when it knows none. */
  #instanceId = '';
  /** The size of the blocks that are asked for; undefined for the worker's own. */
  #rehashTo: number | undefined;
  /** The last instance that is known to be over. */
  #pastInstanceId = '';
  /** Whether a stream broke, and how it comes back is not known yet. */
  #hasGap = false;

  constructor(
    options: { readonly target: string; readonly instanceId: string },
    modules: WorkerFollowerModules,
  ) {
    this.target = options.target;
    this.#instanceId = options.instanceId;
    this.#modules = modules;
  }

  get state(): FollowerStateName {
    return this.#state.type;
  }

  /** The instance that the cache view is of. */
  get instanceId(): string {
    return this.#instanceId;
  }

  /** How much is known of what the worker holds. */
  get cacheView(): ReasonedCacheView {
    const state = this.#state;
    const { index } = this.#modules;
    switch (state.type) {
      case 'applying':
        return index.cacheViewOf(this.target);
      case 'held':
        return {
          level: this.#leftCacheView,
          reason: `its KV events name instance ${state.start.instanceId}, which no report has named yet`,
        };
      case 'outdated':
        return { level: 'none', reason: 'its KV events are still those of the instance before' };
      case 'closed':
        return { level: 'none', reason: 'its KV events are not followed' };
      default:
        return { level: this.#leftCacheView, reason: state.reason };
    }
  }

  /** While nothing is applied: what is held may be out of date, and stays for the time in which it may go on (G5). */
  get #leftCacheView(): CacheView {
    return this.#modules.index.instanceOf(this.target) === undefined ? 'none' : 'stale';
  }

  /** There is a way to the worker, another one, or none any more. */
  setSource(source: RelaySource | undefined): void {
    if (this.#state.type === 'closed') return;
    this.#source = source;
    if (source === undefined) {
      this.#leave();
      this.#setState({ type: 'unconnected', reason: 'the connection to its sidecar is lost' });
    } else this.#ask('its KV events were just asked for');
  }

  /** Blocks of another size are to be asked for; undefined for the worker's own. */
  setRehash(rehashTo: number | undefined): void {
    if (rehashTo === this.#rehashTo) return;
    this.#rehashTo = rehashTo;
    if (this.#state.type === 'closed' || this.#state.type === 'unconnected') return;
    this.#modules.index.forget(this.target);
    this.#ask('blocks of another size were just asked for');
  }

  /** The agreement knows another instance of the worker. */
  setInstance(instanceId: string): void {
    if (instanceId === this.#instanceId) return;
    this.forget(this.#instanceId);
    this.#instanceId = instanceId;
    const { index } = this.#modules;
    if (index.instanceOf(this.target) !== instanceId) index.forget(this.target);
    const state = this.#state;
    if (state.type === 'held' && state.start.instanceId === instanceId) {
      this.#begin(state.start, state);
      for (const message of state.next) if (this.state === 'applying') this.#apply(message);
    }
    // A sidecar that was restarted names its engine's instance only when it has asked the engine again:
    // the instance was not over, and what the stream reported of it meanwhile was left out.
    else if (state.type === 'outdated' && state.instanceId === instanceId)
      this.#ask('its instance is the one before again');
    this.#modules.onCacheView(this.target);
  }

  /** An instance is over (A8, G5): its entries go, and what is still reported of it is not applied. */
  forget(instanceId: string): void {
    if (instanceId === '') return;
    this.#pastInstanceId = instanceId;
    const state = this.#state;
    if (state.type === 'held' && state.start.instanceId === instanceId) this.#outdate(state, instanceId);
    this.#modules.onCacheView(this.target);
    if (this.#modules.index.instanceOf(this.target) !== instanceId) return;
    this.#modules.index.forget(this.target);
    if (state.type === 'applying') this.#outdate(state, instanceId);
  }

  /** Ends it; the index's entries stay, for the caller knows what becomes of them. */
  close(): void {
    this.#leave();
    this.#setState({ type: 'closed' });
    this.#modules.queue.delete(this);
  }

  /** For the queue: takes one message. */
  step(): boolean {
    const state = this.#state;
    if (!('reader' in state) || (state.type === 'held' && isEnoughHeld(state.next))) return false;
    let message: RelayMessage | undefined;
    try {
      message = state.reader.next();
    } catch (error) {
      if (!(error instanceof RelayError)) throw error;
      this.#refuse(error.message);
      return false;
    }
    if (message === undefined) return false;
    this.#take(message, state);
    return true;
  }

  /** For the queue: a step threw. The stream ends, and begins again from the beginning later. */
  failed(error: unknown): void {
    this.#modules.refusals.fault({ workerId: '', target: this.target }, error);
    if ('reader' in this.#state) this.#distrust(FAULT_REASON);
  }

  #take(
    message: RelayMessage,
    state: FollowerState & { readonly reader: RelayReader; sinceMs: number },
  ): void {
    if (message.type === 'start') {
      this.#start(message, state);
      return;
    }
    if (state.type === 'held') {
      state.next.push(message);
      return;
    }
    if (state.type === 'outdated') return; // of an instance that is over
    if (state.type === 'asking') {
      this.#refuse(`begins with a ${message.type}`);
      return;
    }
    this.#apply(message);
  }

  #start(message: StartMessage, state: { readonly reader: RelayReader; readonly sinceMs: number }): void {
    const { index } = this.#modules;
    // Whatever comes next, what was reported before does not hold any more.
    if (!message.resumed) index.forget(this.target);
    if (message.instanceId === this.#instanceId) this.#begin(message, state);
    else if (message.instanceId === this.#pastInstanceId) this.#outdate(state, message.instanceId);
    else {
      const { reader, sinceMs } = state;
      // The same engine start under another name: what is held is this instance's from now on.
      const problem = message.resumed ? index.apply(this.target, message) : undefined;
      if (problem !== undefined) {
        this.#refuse(`makes no sense: ${problem}`);
        return;
      }
      const timer = this.#modules.clock.setTimer(INSTANCE_WAIT_MS, () =>
        this.#distrust(`names instance ${message.instanceId}, which no report named`),
      );
      this.#setState({ type: 'held', reader, sinceMs, start: message, next: [], timer });
    }
  }

  #begin(
    start: StartMessage,
    { reader, sinceMs }: { readonly reader: RelayReader; readonly sinceMs: number },
  ): void {
    this.#setState({ type: 'applying', reader, sinceMs });
    if (this.#hasGap) this.#modules.tally.countGap(start.resumed ? 'resumed' : 'snapshot');
    this.#hasGap = false;
    this.#apply(start);
    // There may be more to read, and the source says so only once.
    this.#modules.queue.add(this);
  }

  #outdate(
    { reader, sinceMs }: { readonly reader: RelayReader; readonly sinceMs: number },
    instanceId: string,
  ): void {
    const timer = this.#modules.clock.setTimer(INSTANCE_WAIT_MS, () =>
      this.#distrust('goes on with an instance that is over'),
    );
    this.#setState({ type: 'outdated', reader, sinceMs, instanceId, timer });
    this.#modules.queue.add(this);
  }

  #apply(message: RelayMessage): void {
    const { clock, gate, index, onLag, onCacheView } = this.#modules;
    const problem = index.apply(this.target, message);
    if (problem !== undefined) {
      this.#refuse(`makes no sense: ${problem}`);
      return;
    }
    // The place is for those whose snapshot is under way: thousands of them together would fill the memory.
    if (message.type !== 'changes' && index.positionOf(this.target) !== undefined) gate.leave(this);
    if (message.type !== 'changes') onCacheView(this.target);
    else if (message.publishedAtMs !== undefined) onLag(clock.wallMs() - message.publishedAtMs);
  }

  /** A message cannot be believed: the stream ends, and this is counted. */
  #refuse(problem: string): void {
    this.#modules.refusals.message();
    this.#distrust(problem);
  }

  /** The stream cannot be right: nothing of it is taken for a place to go on from. */
  #distrust(problem: string): void {
    this.#modules.index.distrust(this.target);
    this.#fail({ reason: problem, isUnsupported: false });
  }

  #fail({ reason, isUnsupported }: RelayEnd): void {
    const { clock, random } = this.#modules;
    const state = this.#state;
    const sinceMs = 'sinceMs' in state ? state.sinceMs : clock.monotonicMs();
    this.#failures = clock.monotonicMs() - sinceMs >= LIVED_MS ? 1 : this.#failures + 1;
    this.#leave();
    const waitMs = isUnsupported ? UNSUPPORTED_WAIT_MS : backoffMs(this.#failures, random);
    const why = isUnsupported ? reason : `its KV event stream broke: ${reason}`;
    const timer = clock.setTimer(waitMs, () => this.#ask(why));
    this.#setState({ type: 'waiting', timer, reason: why });
  }

  #ask(reason: string): void {
    this.#leave();
    if (this.#source === undefined) return;
    this.#setState({ type: 'queued', reason });
    this.#modules.gate.enter(this);
  }

  /** For the gate: the turn of this follower has come. */
  connect(): void {
    const { clock, index, queue } = this.#modules;
    const state = this.#state;
    if (this.#source === undefined || state.type !== 'queued') return;
    let isOpen = false;
    const listener: RelayListener = {
      onReadable: () => queue.add(this),
      onBroken: (broken) => {
        if (isOpen && 'reader' in this.#state && this.#state.reader === reader) this.#fail(broken);
      },
    };
    const reader = this.#source.open(index.positionOf(this.target), listener, this.#rehashTo);
    isOpen = true;
    this.#setState({ type: 'asking', reader, sinceMs: clock.monotonicMs(), reason: state.reason });
    queue.add(this);
  }

  /** Lets the reader go, if there is one. */
  #leave(): void {
    if (!('reader' in this.#state)) return;
    this.#hasGap = this.#state.type === 'applying' || this.#hasGap;
    this.#state.reader.close();
  }

  /** The one place where the state changes: what the old one held is let go here. */
  #setState(next: FollowerState): void {
    const old = this.#state;
    if (old.type === 'closed') return;
    if ('timer' in old) old.timer.clear();
    this.#state = next;
    if (next.type !== 'queued' && next.type !== 'asking' && next.type !== 'applying')
      this.#modules.gate.leave(this);
    this.#modules.onCacheView(this.target);
  }
}

/**
 * Whether no more is taken of a stream whose instance has no report yet. A
 * stream that reports no block yet is read on, for it may be of a sidecar that
 * has not asked its engine: then the start that counts comes next.
 */
function isEnoughHeld(next: readonly RelayMessage[]): boolean {
  const last = next.at(-1)?.type;
  return last === 'snapshot_part' || last === 'changes' || next.length >= MAX_HELD_MESSAGES;
}
