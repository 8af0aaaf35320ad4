import type { RelayMessage, RelayPosition, RelayReader } from '../../../src/core/relay/relay.js';
import { readResponse } from '../../../src/fleet/indexer/relays/read-response.js';
import type { RelayListener, RelaySource } from '../../../src/fleet/indexer/relays/relay-source.js';
import type { EngineEventReader } from '../../../src/worker/kv-events/engine-event-reader.js';
import { KvEventsEncoder } from '../../../src/worker/sidecar/kv-events/kv-events-wire.js';
import type { Ledger, Place } from './kv-chain-ledger.js';

/** What the index may hold of a rank, by what it has read. */
export interface ReadPlace extends Place {
  /** The furthest place of which a piece of the snapshot may tell already. */
  readonly seenTo: number | undefined;
}

/** What one index has read of one worker. */
export class ReadPlaces {
  readonly #ranks = new Map<number, ReadPlace>();

  of(rank: number): ReadPlace {
    return this.#ranks.get(rank) ?? { at: undefined, unverified: [], seenTo: undefined };
  }

  take(message: RelayMessage, places: readonly Place[]): void {
    if (message.type === 'start' && !message.resumed) {
      for (const [rank, place] of places.entries()) this.#ranks.set(rank, { ...place, seenTo: place.at });
    } else if (message.type === 'snapshot_part') {
      const { at, unverified, seenTo } = this.of(message.rank);
      const place = places[message.rank] as Place;
      this.#ranks.set(message.rank, {
        at: at ?? place.at,
        unverified: [...unverified, ...place.unverified],
        seenTo: Math.max(seenTo ?? -1, place.at ?? -1),
      });
    } else if (message.type === 'changes') {
      const { seenTo } = this.of(message.rank);
      this.#ranks.set(message.rank, { ...(places[message.rank] as Place), seenTo });
    }
  }
}

interface Sent {
  readonly bytes: Buffer;
  /** Of each rank: for changes where they lead, else where the cache view stood when they were sent. */
  readonly places: readonly Place[];
}

/**
 * The stream between a sidecar and an index, in memory: as bytes, with a queue
 * that a test has to fill, and with an end whenever a test wants one.
 */
export class ChainStream implements RelaySource {
  readonly #eventReader: EngineEventReader;
  readonly #ledger: Ledger;
  readonly #ranks: number;
  readonly #placesRead: () => ReadPlaces;
  readonly #encoder = new KvEventsEncoder({ workerId: 'w' });
  #open: OpenStream | undefined;

  constructor(
    eventReader: EngineEventReader,
    ledger: Ledger,
    options: { readonly ranks: number },
    placesRead: () => ReadPlaces,
  ) {
    this.#eventReader = eventReader;
    this.#ledger = ledger;
    this.#ranks = options.ranks;
    this.#placesRead = placesRead;
  }

  /** Whether everything that the sidecar has to say was read. */
  get isDrained(): boolean {
    return this.#open?.isDrained === true;
  }

  /** Whether something was said, or could be, that the index has not read: a state may follow its changes. */
  get isUnderWay(): boolean {
    return this.#open !== undefined && !this.#open.isDrained;
  }

  open(position: RelayPosition | undefined, listener: RelayListener): RelayReader {
    const queue: Sent[] = [];
    const read = this.#placesRead();
    let isWaiting = false;
    let streamId = '';
    const reader = this.#eventReader.open(position, () => {
      isWaiting = false;
    });
    const places = (message: RelayMessage): Place[] =>
      Array.from({ length: this.#ranks }, (_, rank) =>
        message.type === 'changes' && message.rank === rank
          ? this.#ledger.placeAfter(streamId, message.sequence)
          : this.#ledger.placeOf(rank),
      );
    const stream: OpenStream = {
      get isDrained() {
        return isWaiting && queue.length === 0;
      },
      pump: (count) => {
        const wasEmpty = queue.length === 0;
        for (let sent = 0; sent < count; sent += 1) {
          const message = reader.next();
          if (message === undefined) {
            isWaiting = true;
            break;
          }
          if (message.type === 'start') streamId = message.streamId;
          queue.push({ bytes: this.#encoder.encode(message), places: places(message) });
        }
        if (wasEmpty && queue.length > 0) listener.onReadable();
      },
      breakOff: (reason) => {
        stream.close();
        listener.onBroken({ reason, isUnsupported: false });
      },
      close: () => {
        reader.close();
        queue.length = 0;
        if (this.#open === stream) this.#open = undefined;
      },
    };
    this.#open = stream;
    return {
      next: () => {
        const sent = queue.shift();
        if (sent === undefined) return undefined;
        const message = readResponse(sent.bytes);
        if (message !== undefined) read.take(message, sent.places);
        return message;
      },
      close: stream.close,
    };
  }

  /** Sends the next messages, at most so many. */
  pump(count: number): void {
    this.#open?.pump(count);
  }

  /** The connection breaks; what was sent and not read is lost. */
  breakOff(): void {
    this.#open?.breakOff('the connection was reset');
  }
}

interface OpenStream {
  readonly isDrained: boolean;
  pump(count: number): void;
  breakOff(reason: string): void;
  close(): void;
}
