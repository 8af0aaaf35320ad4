import type { Clock, Timer } from '../../../edge/platform/clock.js';
import { describeError } from '../../../edge/platform/describe-error.js';
import { onAbort } from '../../../edge/platform/time/on-abort.js';
import type { Frames, Sockets } from '../sockets/zmq-sockets.js';
import { readSequence, sequenceFrame } from './sequence-watch.js';

/** Bounds of one replay. */
export interface ReplayLimits {
  /** Milliseconds for the whole replay. Default 30,000: 10,000 batches take about a second, and vLLM looks at its replay socket every 100 ms. */
  readonly totalTimeoutMs?: number;
  /** Milliseconds until the first reply. Default 3,000. Between two, 500 at most. */
  readonly silenceTimeoutMs?: number;
  /** Bytes of all replies. Default 1 GiB; they are applied as they come and not kept. */
  readonly maxBytes?: number;
}

const TOTAL_TIMEOUT_MS = 30_000;
const SILENCE_TIMEOUT_MS = 3_000;

/**
 * Milliseconds until the next reply, once there was one: the engine sends them
 * in one go, and its ROUTER drops what its peer does not take in time, the end
 * marker too. Who asks again loses nothing.
 */
const PAUSE_TIMEOUT_MS = 500;
const MAX_BYTES = 1024 * 1024 * 1024;

/** Why a replay ended before its end marker. */
export type ReplayFailure =
  | 'replay_incomplete'
  | 'replay_timeout'
  | 'replay_too_large'
  | 'replay_bad_reply'
  | 'replay_unreachable';

/** Why a replay gave nothing, or not all. */
export class ReplayError extends Error {
  readonly failure: ReplayFailure;

  constructor(failure: ReplayFailure, message: string) {
    super(message);
    this.failure = failure;
  }
}

/** An old batch that was given again. */
export interface ReplayedBatch {
  readonly sequence: number;
  readonly payload: Uint8Array;
}

/**
 * Asks an engine for its batches from `start` on, until its end marker. Throws
 * a `ReplayError` when that does not come. The request is `["", start]`; the
 * answers are `["", sequence, payload]` of older engines and `["", topic,
 * sequence, payload]` of newer ones, the last with the sequence of eight bytes
 * ff and an empty payload.
 */
export async function* replay(
  endpoint: string,
  start: number,
  limits: ReplayLimits,
  modules: { readonly clock: Clock; readonly sockets: Sockets },
  signal: AbortSignal,
): AsyncGenerator<ReplayedBatch, void, void> {
  const socket = openSocket(endpoint, modules.sockets);
  const timeouts = new ReplayTimeouts(limits, modules.clock, () => socket.close());
  const maxBytes = limits.maxBytes ?? MAX_BYTES;
  let bytes = 0;
  const leave = onAbort(signal, () => socket.close());
  try {
    if (signal.aborted) throw timeouts.failure();
    // A send waits for a connection, and fails when the socket is closed meanwhile.
    const sent = socket.send(['', sequenceFrame(start)]).catch(() => {});
    for (;;) {
      const frames = await socket.receive();
      await sent;
      if (frames === undefined) throw timeouts.failure();
      timeouts.heard();
      for (const frame of frames) bytes += frame.length;
      if (bytes > maxBytes) throw new ReplayError('replay_too_large', `answers more than ${maxBytes} bytes`);
      const reply = readReply(frames);
      if (reply === 'end') return;
      yield reply;
    }
  } catch (error) {
    if (error instanceof ReplayError) throw error;
    throw new ReplayError('replay_unreachable', describeError(error));
  } finally {
    leave();
    timeouts.end();
    socket.close();
  }
}

function openSocket(endpoint: string, sockets: Sockets): ReturnType<Sockets['ask']> {
  try {
    return sockets.ask(endpoint);
  } catch (error) {
    throw new ReplayError('replay_unreachable', describeError(error));
  }
}

function readReply(frames: Frames): ReplayedBatch | 'end' {
  const [delimiter, second, third, fourth] = frames;
  const hasTopic = frames.length === 4;
  const number = hasTopic ? third : second;
  const payload = hasTopic ? fourth : third;
  if (
    (frames.length !== 3 && !hasTopic) ||
    delimiter?.length !== 0 ||
    number?.length !== 8 ||
    payload === undefined
  ) {
    throw new ReplayError('replay_bad_reply', `answers ${frames.length} frames that are no batch`);
  }
  if (payload.length === 0 && number.every((byte) => byte === 0xff)) return 'end';
  const sequence = readSequence(number);
  if (sequence === undefined)
    throw new ReplayError('replay_bad_reply', 'answers a sequence number above 2^53');
  return { sequence, payload };
}

/** The two timers of a replay: for all of it, and for the next reply. */
class ReplayTimeouts {
  readonly #clock: Clock;
  #silenceMs: number;
  readonly #totalMs: number;
  readonly #giveUp: () => void;
  readonly #total: Timer;
  #silence: Timer;
  #heardAtMs: number;
  #failure: string | undefined;

  constructor(limits: ReplayLimits, clock: Clock, giveUp: () => void) {
    this.#clock = clock;
    this.#giveUp = giveUp;
    this.#silenceMs = limits.silenceTimeoutMs ?? SILENCE_TIMEOUT_MS;
    this.#totalMs = limits.totalTimeoutMs ?? TOTAL_TIMEOUT_MS;
    this.#heardAtMs = clock.monotonicMs();
    this.#total = clock.setTimer(this.#totalMs, () => this.#end(`does not end within ${this.#totalMs} ms`));
    this.#silence = clock.setTimer(this.#silenceMs, this.#listen);
  }

  heard(): void {
    this.#heardAtMs = this.#clock.monotonicMs();
    if (this.#silenceMs <= PAUSE_TIMEOUT_MS) return;
    this.#silenceMs = PAUSE_TIMEOUT_MS;
    this.#silence.clear();
    this.#silence = this.#clock.setTimer(this.#silenceMs, this.#listen);
  }

  failure(): ReplayError {
    return this.#failure === undefined
      ? new ReplayError('replay_unreachable', 'the socket was closed')
      : new ReplayError('replay_timeout', this.#failure);
  }

  end(): void {
    this.#total.clear();
    this.#silence.clear();
  }

  // One timer that looks again, and not one for each of 10,000 replies.
  readonly #listen = (): void => {
    const leftMs = this.#heardAtMs + this.#silenceMs - this.#clock.monotonicMs();
    if (leftMs <= 0) this.#end(`does not answer within ${this.#silenceMs} ms`);
    else this.#silence = this.#clock.setTimer(leftMs, this.#listen);
  };

  #end(failure: string): void {
    this.#failure = failure;
    this.#giveUp();
  }
}
