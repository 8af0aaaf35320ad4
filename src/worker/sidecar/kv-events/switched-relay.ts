import type {
  RankStatus,
  Relay,
  RelayMessage,
  RelayPosition,
  RelayReader,
} from '../../../core/relay/relay.js';

/** What is said while no KV events are read. */
export interface Silence {
  readonly instanceId: string;
  /** Why, in words for an operator. */
  readonly reason: string;
}

/**
 * A relay whose readers stay open whether or not anything is read: a sidecar
 * serves before its engine is up, and an engine may be restarted without its
 * events. Whenever that changes, every reader is sent a reset.
 */
export class SwitchedRelay implements Relay {
  readonly #readers = new Set<SwitchedReader>();
  readonly #makeStreamId: () => string;
  readonly #tokensPerBlock: number | undefined;
  #target: Relay;
  /** Why no view of it is exact, whatever its events say; empty when nothing speaks against them. */
  #caveat = '';

  /** `tokensPerBlock` is named in every `start`, where blocks are re-hashed. */
  constructor(
    silence: Silence,
    modules: { readonly makeStreamId: () => string },
    tokensPerBlock?: number | undefined,
  ) {
    this.#makeStreamId = modules.makeStreamId;
    this.#tokensPerBlock = tokensPerBlock;
    this.#target = this.#silent(silence);
  }

  get ranks(): readonly RankStatus[] {
    return this.#target.ranks.map((status) => withCaveat(status, this.#caveat));
  }

  /** From now on nothing that is `exact` is reported as more than `approximate`, for this reason; an empty one ends that. */
  setCaveat(reason: string): void {
    if (reason === this.#caveat) return;
    this.#caveat = reason;
    // Readers are sent the status of each rank again.
    this.#switchTo(this.#target);
  }

  open(position: RelayPosition | undefined, onReadable: () => void): RelayReader {
    const reader = new SwitchedReader(this.#target.open(position, onReadable), onReadable, {
      caveat: () => this.#caveat,
      tokensPerBlock: this.#tokensPerBlock,
      onClose: () => this.#readers.delete(reader),
    });
    this.#readers.add(reader);
    return reader;
  }

  /** From now on `relay` speaks; when it does already, nothing happens. */
  follow(relay: Relay): void {
    if (relay !== this.#target) this.#switchTo(relay);
  }

  /** From now on nothing is read, for this reason. */
  fallSilent(silence: Silence): void {
    this.#switchTo(this.#silent(silence));
  }

  #silent(silence: Silence): Relay {
    return silentRelay(silence, this.#makeStreamId());
  }

  #switchTo(target: Relay): void {
    this.#target = target;
    for (const reader of this.#readers) reader.switchTo(target);
  }
}

interface SwitchedReaderOptions {
  readonly caveat: () => string;
  readonly onClose: () => void;
  readonly tokensPerBlock: number | undefined;
}

class SwitchedReader implements RelayReader {
  readonly #onReadable: () => void;
  readonly #onClose: () => void;
  readonly #caveat: () => string;
  readonly #tokensPerBlock: number | undefined;
  #inner: RelayReader;

  constructor(
    inner: RelayReader,
    onReadable: () => void,
    { caveat, onClose, tokensPerBlock }: SwitchedReaderOptions,
  ) {
    this.#tokensPerBlock = tokensPerBlock;
    this.#inner = inner;
    this.#onReadable = onReadable;
    this.#onClose = onClose;
    this.#caveat = caveat;
  }

  next(): RelayMessage | undefined {
    const message = this.#sized(this.#inner.next());
    const caveat = this.#caveat();
    if (message === undefined || caveat === '') return message;
    switch (message.type) {
      case 'start':
        return { ...message, ranks: message.ranks.map((status) => withCaveat(status, caveat)) };
      case 'rank_state':
        return { ...message, status: withCaveat(message.status, caveat) };
      default:
        return message;
    }
  }

  #sized(message: RelayMessage | undefined): RelayMessage | undefined {
    if (message?.type !== 'start' || this.#tokensPerBlock === undefined) return message;
    return { ...message, tokensPerBlock: this.#tokensPerBlock };
  }

  close(): void {
    this.#onClose();
    this.#inner.close();
  }

  switchTo(target: Relay): void {
    this.#inner.close();
    // Where it left off was a place in another stream.
    this.#inner = target.open(undefined, this.#onReadable);
    this.#onReadable();
  }
}

/** Says once that nothing is known, and why; an empty snapshot, so that a reader that waits for its end does not wait. */
function silentRelay({ instanceId, reason }: Silence, streamId: string): Relay {
  return {
    ranks: [],
    open() {
      const messages: RelayMessage[] = [
        { type: 'start', instanceId, streamId, resumed: false, reason, ranks: [] },
        { type: 'snapshot_end', sequence: 0 },
      ];
      return { next: () => messages.shift(), close: () => void messages.splice(0) };
    },
  };
}

function withCaveat(status: RankStatus, caveat: string): RankStatus {
  return caveat === '' || status.picture !== 'exact'
    ? status
    : { ...status, picture: 'approximate', reason: caveat };
}
