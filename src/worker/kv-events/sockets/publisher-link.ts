import type { ZmqSource } from '../../../core/relay/rank-source.js';
import type { Clock, Timer } from '../../../edge/platform/clock.js';
import { describeError } from '../../../edge/platform/describe-error.js';
import type { Frames, Sockets, Subscription } from './zmq-sockets.js';

export interface PublisherLinkOptions {
  /** Milliseconds without a connection until the publisher counts as lost. Default 10,000. */
  readonly lostAfterMs?: number;
  /** Milliseconds without a connection until the socket is opened again. Default 3,000. */
  readonly reopenAfterMs?: number;
}

/** What is notified about a connection. */
export interface PublisherLinkListener {
  /** There is a message to take, or the socket has to be opened again. */
  onWork(): void;
  /** The publisher is reached. */
  onUp(): void;
  /** It is reached no more. */
  onDown(): void;
  /** It has not been reached for long. */
  onLost(): void;
  /** The address cannot be read, or not any more. */
  onUnreadable(reason: string): void;
}

const LOST_AFTER_MS = 10_000;
const REOPEN_AFTER_MS = 3_000;

/** Messages between the socket and who takes them; the socket's own queue holds the rest. */
const MAX_INBOX = 64;

/** The connection to one publisher: whether it stands, and the messages that wait. */
export class PublisherLink {
  readonly #source: ZmqSource;
  readonly #lostAfterMs: number;
  readonly #reopenAfterMs: number;
  readonly #modules: { readonly clock: Clock; readonly sockets: Sockets };
  readonly #listener: PublisherLinkListener;
  readonly #inbox: Frames[] = [];
  #subscription: Subscription | undefined;
  #receiving: Promise<void> = Promise.resolve();
  #onRoom: (() => void) | undefined;
  /** Of the socket: what an older one reports late does not count. */
  #generation = 0;
  /** A socket that binds may have several publishers. */
  #linksUp = 0;
  #isReopenDue = false;
  #isClosed = false;
  #lostTimer: Timer | undefined;
  #lookTimer: Timer | undefined;

  constructor(
    source: ZmqSource,
    options: PublisherLinkOptions,
    modules: { readonly clock: Clock; readonly sockets: Sockets },
    listener: PublisherLinkListener,
  ) {
    this.#source = source;
    this.#lostAfterMs = options.lostAfterMs ?? LOST_AFTER_MS;
    this.#reopenAfterMs = options.reopenAfterMs ?? REOPEN_AFTER_MS;
    this.#modules = modules;
    this.#listener = listener;
  }

  get isUp(): boolean {
    return this.#linksUp > 0;
  }

  /** Whether `open` should be called again. */
  get isReopenDue(): boolean {
    return this.#isReopenDue;
  }

  /** The next message; undefined when none waits. */
  take(): Frames | undefined {
    const frames = this.#inbox.shift();
    if (frames !== undefined) this.#onRoom?.();
    return frames;
  }

  /**
   * Opens the socket, for the first time or again. libzmq comes back by itself
   * after a connection broke, but never after a peer broke the protocol, as
   * one does that announces too large a message. Never rejects.
   */
  async open(): Promise<void> {
    this.#isReopenDue = false;
    if (this.isUp || this.#isClosed) return;
    this.#generation += 1;
    const generation = this.#generation;
    await this.#shut();
    this.#lookTimer ??= this.#modules.clock.setTimer(this.#reopenAfterMs, this.#look);
    try {
      const subscription = await this.#modules.sockets.subscribe(this.#source, (isUp) => {
        if (generation === this.#generation && !this.#isClosed) this.#onLink(isUp);
      });
      if (this.#isClosed) {
        subscription.close();
        return;
      }
      this.#subscription = subscription;
      this.#receiving = this.#receive(subscription);
    } catch (error) {
      this.#listener.onUnreadable(`cannot read ${this.#source.endpoint}: ${describeError(error)}`);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#lostTimer?.clear();
    this.#lookTimer?.clear();
    await this.#shut();
  }

  async #shut(): Promise<void> {
    this.#subscription?.close();
    this.#subscription = undefined;
    this.#inbox.length = 0;
    this.#onRoom?.();
    await this.#receiving;
  }

  /** Moves messages from the socket to the inbox, which is small: while a replay runs, they wait in the socket. */
  async #receive(subscription: Subscription): Promise<void> {
    try {
      for (;;) {
        const frames = await subscription.receive();
        if (frames === undefined) return;
        this.#inbox.push(frames);
        this.#listener.onWork();
        if (this.#inbox.length < MAX_INBOX || this.#subscription !== subscription) continue;
        await new Promise<void>((resolve) => {
          this.#onRoom = resolve;
        });
        this.#onRoom = undefined;
      }
    } catch (error) {
      subscription.close();
      if (this.#subscription === subscription) this.#subscription = undefined;
      this.#linksUp = 0;
      this.#listener.onUnreadable(`cannot read ${this.#source.endpoint}: ${describeError(error)}`);
    }
  }

  #onLink(isUp: boolean): void {
    const { clock } = this.#modules;
    const wasUp = this.isUp;
    this.#linksUp = Math.max(0, this.#linksUp + (isUp ? 1 : -1));
    if (isUp) {
      this.#lostTimer?.clear();
      this.#lostTimer = undefined;
      this.#listener.onUp();
    } else if (wasUp && !this.isUp) {
      this.#listener.onDown();
      this.#leaveSocket();
      this.#lostTimer ??= clock.setTimer(this.#lostAfterMs, () => {
        this.#lostTimer = undefined;
        this.#listener.onLost();
      });
    }
  }

  /**
   * What waits in a socket whose publisher has gone would be read among the
   * first messages of the one that comes back. A socket that binds stays: its
   * address might be taken meanwhile.
   */
  #leaveSocket(): void {
    this.#inbox.length = 0;
    if (this.#source.endpoint.startsWith('@')) return;
    this.#generation += 1;
    this.#subscription?.close();
    this.#subscription = undefined;
    this.#isReopenDue = true;
    this.#listener.onWork();
  }

  /** Now and then: is there a connection? */
  readonly #look = (): void => {
    this.#lookTimer = this.#modules.clock.setTimer(this.#reopenAfterMs, this.#look);
    // One that binds waits for its publishers.
    const waits = this.#source.endpoint.startsWith('@') && this.#subscription !== undefined;
    if (this.isUp || waits) return;
    this.#isReopenDue = true;
    this.#listener.onWork();
  };
}
