import type { ServerDuplexStream, ServerWritableStream } from '@grpc/grpc-js';
import type { Clock, Timer } from '../platform/clock.js';
import { type RpcError, toStatus } from './errors.js';

/** The call that a stream sends on. */
type SendingCall<Message> = ServerWritableStream<unknown, Message> | ServerDuplexStream<unknown, Message>;

/** How a stream sends. */
export interface ServerStreamOptions<Message> {
  /**
   * `latest-value`: while the reader is slow only the newest message waits,
   * for each says everything; memory is bounded by two messages.
   * `every`: each message is sent; the sender awaits `write`.
   */
  readonly mode: 'latest-value' | 'every';
  /** A message to send whenever nothing else was for `intervalMs`; none by default. */
  readonly heartbeat?: { readonly intervalMs: number; readonly make: () => Message };
}

/** The open streams of a server, so that a drain can end them all. */
export class OpenStreams {
  readonly #streams = new Set<{ end(): void }>();

  get size(): number {
    return this.#streams.size;
  }

  /** Takes a stream on; the function that comes back lets it go. */
  add(stream: { end(): void }): () => void {
    this.#streams.add(stream);
    return () => {
      this.#streams.delete(stream);
    };
  }

  /** Ends all of them in order; what they had to say before is still sent. */
  endAll(): void {
    for (const stream of [...this.#streams]) stream.end();
  }
}

/**
 * The sending side of one server stream. At most one message is with the
 * transport at a time; the transport takes the next only when the reader has
 * room, so nothing is ever buffered beyond that.
 */
export class ServerStream<Message> {
  /** Aborted when the stream is over, whichever side ended it. */
  readonly signal: AbortSignal;
  readonly #call: SendingCall<Message>;
  readonly #options: ServerStreamOptions<Message>;
  readonly #clock: Clock;
  readonly #over = new AbortController();
  /** Messages that wait for the transport: at most one in `latest-value` mode. */
  readonly #waiting: { readonly message: Message; readonly taken: () => void }[] = [];
  readonly #leave: () => void;
  /** The message that is with the transport. */
  #sending: { readonly taken: () => void } | undefined;
  #end: { readonly error: RpcError | undefined } | undefined;
  #heartbeat: Timer | undefined;

  constructor(
    call: SendingCall<Message>,
    options: ServerStreamOptions<Message>,
    modules: { readonly clock: Clock; readonly streams: OpenStreams },
  ) {
    this.signal = this.#over.signal;
    this.#call = call;
    this.#options = options;
    this.#clock = modules.clock;
    this.#leave = modules.streams.add(this);
    const close = (): void => this.#close();
    // A cancel by the peer, a lost connection, an end by deadline: all of them close the call's stream.
    call.once('cancelled', close);
    call.once('close', close);
    // The stream's own handler turns errors into its status; they are not for the process.
    call.once('error', close);
    this.#scheduleHeartbeat();
  }

  /** True until the stream was ended by either side. */
  get isOpen(): boolean {
    return this.#end === undefined && !this.signal.aborted;
  }

  /** Messages that wait for a slow reader, the one with the transport included. */
  get backlog(): number {
    return this.#waiting.length + (this.#sending === undefined ? 0 : 1);
  }

  /** Sends the newest value; an older one that still waits is dropped. After the end nothing happens. */
  send(message: Message): void {
    void this.write(message);
  }

  /**
   * Resolves when the transport has taken the message (in `latest-value` mode:
   * also when a newer one replaced it) or the stream is over. Never rejects.
   */
  write(message: Message): Promise<void> {
    if (!this.isOpen) return Promise.resolve();
    return new Promise((taken) => {
      if (this.#options.mode === 'latest-value') {
        for (const older of this.#waiting.splice(0)) older.taken();
      }
      this.#waiting.push({ message, taken });
      this.#pump();
    });
  }

  /** Ends the stream after what waits has been sent: in order, or with `error`. */
  end(error?: RpcError): void {
    if (!this.isOpen) return;
    this.#end = { error };
    this.#heartbeat?.clear();
    this.#pump();
  }

  #pump(): void {
    if (this.#sending !== undefined || this.signal.aborted) return;
    const next = this.#waiting.shift();
    if (next !== undefined) {
      this.#sending = next;
      // The callback, and not `write`'s answer: the stream above HTTP/2 would queue 16 messages before it says no.
      this.#call.write(next.message, () => {
        this.#sending = undefined;
        next.taken();
        this.#scheduleHeartbeat();
        this.#pump();
      });
      return;
    }
    if (this.#end === undefined) return;
    const { error } = this.#end;
    if (error === undefined) this.#call.end();
    // grpc-js takes the status of a stream from the error that it emits.
    else this.#call.emit('error', toStatus(error));
    this.#close();
  }

  #scheduleHeartbeat(): void {
    const { heartbeat } = this.#options;
    this.#heartbeat?.clear();
    if (heartbeat === undefined || !this.isOpen) return;
    this.#heartbeat = this.#clock.setTimer(heartbeat.intervalMs, () => {
      // A reader that has not taken the last message would not take this one either.
      if (this.#sending !== undefined) this.#scheduleHeartbeat();
      else this.send(heartbeat.make());
    });
  }

  #close(): void {
    if (this.signal.aborted) return;
    this.#heartbeat?.clear();
    this.#leave();
    this.#over.abort();
    // The transport does not always call back for what it had when the stream was cut.
    this.#sending?.taken();
    for (const { taken } of this.#waiting.splice(0)) taken();
  }
}
