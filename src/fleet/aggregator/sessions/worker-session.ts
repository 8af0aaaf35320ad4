import { Client, type ClientReadableStream, type ServiceError } from '@grpc/grpc-js';
import { HEARTBEAT_DEADLINE_S } from '../../../core/relay/heartbeats.js';
import { type NamedWorker, workerName } from '../../../core/text/worker-name.js';
import type { Address } from '../../../edge/platform/address.js';
import type { Clock, Timer } from '../../../edge/platform/clock.js';
import { describeError } from '../../../edge/platform/describe-error.js';
import type { Logger } from '../../../edge/platform/logger.js';
import type { ConnectGate } from '../../../edge/platform/net/connect-gate.js';
import type { Random } from '../../../edge/platform/random.js';
import type { SilenceWatch } from '../../../edge/platform/streams/silence-watch.js';
import { FAULT_REASON, type StreamRefusals } from '../../../edge/platform/streams/stream-refusals.js';
import { backoffMs, MAX_BACKOFF_MS, returnWaitMs } from '../../../edge/platform/time/backoff.js';
import type { RpcChannel, RpcDialer } from '../../../edge/rpc/channel.js';
import { isUnreached } from '../../../edge/rpc/connect-error.js';
import { canTryConnect } from '../../../edge/rpc/try-connect.js';
import {
  CapabilitiesService,
  type CapabilityReport,
  type Heartbeat,
  WatchCapabilitiesResponse,
} from '../../../gen/kvaccord/v1/capabilities.js';
import { explainConnect, explainStatus } from './explain-break.js';
import { BYTES_PER_SECOND, MESSAGES_PER_SECOND, MessageBudget } from './message-budget.js';
import type { SessionListener } from './session-listener.js';

/** A stream that lasted so long was a good one: the next failure is the first again. */
const LIVED_MS: number = MAX_BACKOFF_MS;

/**
 * Largest report that is taken. A worker with 16 GPUs sends about 30 KB; the
 * bound keeps what a hostile one can make this process hold at 8 MB (grpc-js
 * reads up to 16 messages ahead of a stream that is paused).
 * @internal
 */
export const MAX_REPORT_BYTES: number = 512 * 1024;

/** Heartbeats in a row that name another report than we hold, before the session asks for it. */
const MAX_DIVERGING_HEARTBEATS = 2;

export interface WorkerSessionOptions {
  /** The worker's name in discovery. */
  readonly target: string;
  readonly address: Address;
}

/** What a session needs; the same for all sessions of a pool. */
export interface WorkerSessionModules {
  readonly clock: Clock;
  readonly random: Random;
  readonly dialer: RpcDialer;
  readonly gate: ConnectGate;
  readonly silence: SilenceWatch;
  /** Sessions that cannot reach their sidecar, by how they look for it: the more there are, the less often each looks. */
  readonly unreachable: Readonly<Record<'connect' | 'knock', Set<WorkerSession>>>;
  readonly listener: SessionListener;
  readonly logger: Logger;
  /** The name of the frontend that reports to sidecars whether it offers them; default: it does not. */
  readonly frontendId?: string | undefined;
  /** Counts and logs streams that are ended for what came on them. */
  readonly refusals: StreamRefusals;
}

type WatchStream = ClientReadableStream<Buffer>;

/** Where a session stands. */
type SessionState =
  /** In the line of the connect gate. */
  | { readonly type: 'queued' }
  /** TCP, TLS and HTTP/2 are being made. */
  | { readonly type: 'connecting'; readonly abort: AbortController }
  /** The stream is open. */
  | {
      readonly type: 'watching';
      readonly channel: RpcChannel;
      readonly stream: WatchStream;
      readonly sinceMs: number;
    }
  /** The last attempt failed; the timer leads back to `queued`, or to `knocking` where no sidecar listened. */
  | { readonly type: 'waiting'; readonly timer: Timer }
  /** Looks whether a sidecar listens by now; it takes no place at the gate. */
  | { readonly type: 'knocking'; readonly cancel: () => void }
  | { readonly type: 'closed' };

/** The names of a session's states. */
export type SessionStateName = SessionState['type'];

/**
 * One long-lived WatchCapabilities stream to one sidecar, on a channel of its
 * own, for as long as discovery lists the worker. It connects when the gate
 * lets it, comes back by itself with jittered backoff after any failure (within
 * two seconds where the sidecar was only out of reach), and
 * asks only for what it does not have. It begins immediately.
 */
export class WorkerSession {
  readonly target: string;
  readonly address: Address;
  readonly #modules: WorkerSessionModules;
  readonly #budget = new MessageBudget();
  #state: SessionState = { type: 'queued' };
  /** Streams in a row that did not last. */
  #failures = 0;
  /** Attempts to connect in a row that failed. */
  #misses = 0;
  /** Whether no sidecar listened, so that a knock goes before the next attempt. */
  #knocks = false;
  /** What the last knock found; undefined before the first. */
  #knockCode: string | undefined;
  #lastInstanceId = '';
  /** As its sidecar reported it last; empty before. */
  #workerId = '';
  #lastRevision = 0n;
  #divergingHeartbeats = 0;
  /** Looks of the silence watch since the last message. */
  #quietLooks = 0;
  #throttle: Timer | undefined;
  /** Whether it was logged that this stream is throttled. */
  #isThrottleLogged = false;

  constructor(options: WorkerSessionOptions, modules: WorkerSessionModules) {
    this.target = options.target;
    this.address = options.address;
    this.#modules = modules;
    modules.gate.enter(this);
  }

  get state(): SessionStateName {
    return this.#state.type;
  }

  /** Ends the session; nothing of it stays and nothing more is reported. May be called again. */
  close(): void {
    this.#setState({ type: 'closed' });
  }

  /** For the connect gate: the turn of this session has come. */
  connect(): void {
    if (this.#state.type !== 'queued') return;
    let channel: RpcChannel;
    try {
      channel = this.#modules.dialer.dial(this.address);
    } catch (error) {
      this.#miss(error);
      return;
    }
    const state: SessionState = { type: 'connecting', abort: new AbortController() };
    this.#setState(state);
    // The dialer's watchdog bounds it, and closes the channel when it fails.
    channel.waitForReady(state.abort.signal).then(
      () => {
        if (this.#state === state) this.#guard(() => this.#watch(channel));
        else channel.close();
      },
      (error: unknown) => {
        if (this.#state === state) this.#miss(error);
      },
    );
  }

  /** For the silence watch: a second has passed. */
  look(): void {
    // While we make the worker wait, its silence is ours.
    if (this.#throttle !== undefined) return;
    this.#quietLooks += 1;
    if (this.#quietLooks <= HEARTBEAT_DEADLINE_S) return;
    this.#fail(
      `the connection stands but nothing was heard for ${HEARTBEAT_DEADLINE_S} s: the sidecar hangs or the network drops packets`,
    );
  }

  #watch(channel: RpcChannel): void {
    const request = {
      lastInstanceId: this.#lastInstanceId,
      lastRevision: this.#lastRevision,
      frontendId: this.#modules.frontendId ?? '',
    };
    const { path, requestSerialize } = CapabilitiesService.watchCapabilities;
    const stream = channel
      .createClient(Client)
      .makeServerStreamRequest(path, requestSerialize, boundedBytes, request);
    this.#setState({ type: 'watching', channel, stream, sinceMs: this.#modules.clock.monotonicMs() });
    stream.on('data', (bytes: Buffer) => {
      if (this.#isOn(stream)) this.#guard(() => this.#receive(stream, bytes));
    });
    // Stays for the stream's whole life: what fails after we left it has no reader.
    stream.on('error', (error: ServiceError) => {
      if (this.#isOn(stream)) this.#fail(explainStatus(error));
    });
    // grpc-js emits the error of a failed stream before its end, so an end that comes here is one in order.
    stream.on('end', () => {
      if (this.#isOn(stream))
        this.#fail('the sidecar ended the stream in order: it is being shut down or restarted');
    });
    this.#modules.listener.onConnected?.(this.target, channel);
  }

  get #named(): NamedWorker {
    return { workerId: this.#workerId, target: this.target };
  }

  /** Whatever fails on what this worker sent ends its stream alone. */
  #guard(run: () => void): void {
    if (!this.#modules.refusals.guard(this.#named, run)) this.#fail(FAULT_REASON);
  }

  #isOn(stream: WatchStream): boolean {
    return this.#state.type === 'watching' && this.#state.stream === stream;
  }

  #receive(stream: WatchStream, bytes: Buffer): void {
    let response: WatchCapabilitiesResponse;
    try {
      response = WatchCapabilitiesResponse.decode(bytes);
    } catch (error) {
      this.#modules.refusals.message();
      this.#fail(`sent a message that cannot be read (${describeError(error)}): is it a sidecar?`);
      return;
    }
    this.#quietLooks = 0;
    this.#modules.gate.leave(this);
    const { payload } = response;
    if (payload?.$case === 'report') this.#takeReport(payload.value);
    else if (payload?.$case === 'heartbeat') this.#takeHeartbeat(payload.value);
    // A newer sidecar may have more to say; that it is there is all that we understand.
    else this.#modules.listener.onAlive(this.target);
    if (response.offerAsked && this.#isOn(stream)) this.#modules.listener.onOfferAsked?.(this.target);
    if (this.#isOn(stream)) this.#charge(stream, bytes.length);
  }

  #takeReport(report: CapabilityReport): void {
    this.#divergingHeartbeats = 0;
    this.#workerId = report.workerId;
    const { clock, listener } = this.#modules;
    const isRefused = listener.onReport(this.target, report, clock.wallMs()) === false;
    this.#lastInstanceId = isRefused ? '' : report.instanceId;
    this.#lastRevision = isRefused ? 0n : report.revision;
  }

  #takeHeartbeat({ instanceId, revision }: Heartbeat): void {
    const isWhatWeHold =
      this.#lastInstanceId === '' || (instanceId === this.#lastInstanceId && revision === this.#lastRevision);
    this.#divergingHeartbeats = isWhatWeHold ? 0 : this.#divergingHeartbeats + 1;
    if (this.#divergingHeartbeats < MAX_DIVERGING_HEARTBEATS) {
      this.#modules.listener.onAlive(this.target);
      return;
    }
    this.#lastInstanceId = '';
    this.#lastRevision = 0n;
    this.#fail(
      'its heartbeats name another report than it sent: the stream lost one and is opened again from the beginning',
    );
  }

  /** Makes a worker wait that sends more than its share: what it has to say stays in its own buffers. */
  #charge(stream: WatchStream, sizeBytes: number): void {
    const { clock, logger } = this.#modules;
    const waitMs = this.#budget.take(clock.monotonicMs(), sizeBytes);
    if (waitMs === 0) return;
    stream.pause();
    this.#throttle = clock.setTimer(waitMs, () => {
      this.#throttle = undefined;
      stream.resume();
    });
    if (this.#isThrottleLogged) return;
    this.#isThrottleLogged = true;
    logger.warn(
      { worker_id: this.#workerId, worker: this.target, address: this.address.text },
      `The sidecar of worker ${workerName(this.#named)} sends more than ${MESSAGES_PER_SECOND} messages or ${BYTES_PER_SECOND} bytes a second: the rest is read later.`,
    );
  }

  /** The sidecar cannot be reached. It may be back at any time, so that it is looked for often. */
  #miss(error: unknown): void {
    const { unreachable } = this.#modules;
    if (this.#state.type === 'closed') return;
    this.#knocks = isUnreached(error) && canTryConnect(this.address);
    unreachable[this.#knocks ? 'connect' : 'knock'].delete(this);
    unreachable[this.#knocks ? 'knock' : 'connect'].add(this);
    this.#waitToReturn(explainConnect(error));
  }

  #knock(): void {
    const cancel = this.#modules.dialer.tryConnect(this.address, (failure) => {
      if (failure === undefined) return this.#enter();
      if (failure.code === this.#knockCode) return this.#waitToReturn(undefined);
      this.#knockCode = failure.code;
      this.#miss(failure.explain());
    });
    this.#setState({ type: 'knocking', cancel });
  }

  #waitToReturn(reason: string | undefined): void {
    const { random, unreachable } = this.#modules;
    this.#misses += 1;
    const by = this.#knocks ? 'knock' : 'connect';
    this.#waitFor(backoffMs(this.#misses, random, returnWaitMs(unreachable[by].size, by)), reason);
  }

  #enter(): void {
    this.#setState({ type: 'queued' });
    this.#modules.gate.enter(this);
  }

  /** The sidecar was reached, and its stream ended. */
  #fail(reason: string): void {
    const { clock, random } = this.#modules;
    const state = this.#state;
    if (state.type === 'closed') return;
    const hasLived = state.type === 'watching' && clock.monotonicMs() - state.sinceMs >= LIVED_MS;
    this.#failures = hasLived ? 1 : this.#failures + 1;
    this.#waitFor(backoffMs(this.#failures, random), reason);
  }

  /** Waits, and passes on why unless that is known. */
  #waitFor(waitMs: number, reason: string | undefined): void {
    const { clock, listener, refusals } = this.#modules;
    const timer = clock.setTimer(waitMs, () => {
      if (this.#knocks) this.#knock();
      else this.#enter();
    });
    this.#setState({ type: 'waiting', timer });
    if (reason === undefined) return;
    refusals.guard(this.#named, () => listener.onBroken(this.target, reason));
  }

  /** The one place where the state changes: what the old one held is let go here. */
  #setState(next: SessionState): void {
    const { gate, silence, unreachable } = this.#modules;
    const old = this.#state;
    if (old.type === 'closed') return;
    this.#state = next;
    if (old.type === 'waiting') old.timer.clear();
    if (old.type === 'knocking') old.cancel();
    if (old.type === 'connecting' && next.type !== 'watching') old.abort.abort();
    if (old.type === 'watching') {
      this.#modules.refusals.guard(this.#named, () => this.#modules.listener.onDisconnected?.(this.target));
      silence.delete(this);
      this.#throttle?.clear();
      this.#throttle = undefined;
      this.#isThrottleLogged = false;
      old.stream.cancel();
      old.channel.close();
    }
    if (next.type === 'watching' || next.type === 'closed') {
      unreachable.connect.delete(this);
      unreachable.knock.delete(this);
    }
    if (next.type === 'watching') {
      this.#misses = 0;
      this.#knocks = false;
      this.#knockCode = undefined;
      this.#quietLooks = 0;
      this.#divergingHeartbeats = 0;
      silence.add(this);
    }
    if (next.type === 'waiting' || next.type === 'closed') gate.leave(this);
  }
}

/**
 * Takes a message as it came, within bounds; it is decoded when its turn
 * comes. What is thrown here ends the call with these words.
 */
function boundedBytes(bytes: Buffer): Buffer {
  if (bytes.length <= MAX_REPORT_BYTES) return bytes;
  throw new RangeError(`a report of ${bytes.length} bytes, at most ${MAX_REPORT_BYTES} are taken`);
}
