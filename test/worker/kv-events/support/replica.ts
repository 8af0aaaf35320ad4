import { BlockHasher } from '../../../../src/core/blocks/block-hasher.js';
import type {
  RankStatus,
  Relay,
  RelayMessage,
  RelayPosition,
  RelayReader,
} from '../../../../src/core/relay/relay.js';
import { EventCounts } from '../../../../src/worker/kv-events/cache/event-counts.js';
import { RankCache } from '../../../../src/worker/kv-events/cache/rank-cache.js';

/** What a reader of a relay holds, by nothing but the messages that it received. */
export class Replica {
  readonly messages: RelayMessage[] = [];
  readonly statuses: Map<number, RankStatus> = new Map();
  readonly reader: RelayReader;
  position: RelayPosition | undefined;
  /** Reads only when the test says so. */
  isSlow = false;
  instanceId = '';
  #blocks = new Map<string, Set<string>>();
  #streamId = '';

  constructor(relay: Relay, position?: RelayPosition, blocks: readonly string[] = []) {
    for (const block of blocks)
      this.#set(block.slice(0, block.lastIndexOf('/'))).add(block.slice(block.lastIndexOf('/') + 1));
    this.reader = relay.open(position, () => {
      if (!this.isSlow) this.read();
    });
    this.read();
  }

  /** Blocks held. */
  get size(): number {
    let size = 0;
    for (const hashes of this.#blocks.values()) size += hashes.size;
    return size;
  }

  /** Everything held, as `rank/tier/hash`, sorted. */
  get blocks(): string[] {
    return [...this.#blocks]
      .flatMap(([place, hashes]) => [...hashes].map((hash) => `${place}/${hash}`))
      .sort();
  }

  /** Reads up to `most` messages. */
  read(most: number = Number.POSITIVE_INFINITY): void {
    for (let left = most; left > 0; left -= 1) {
      const message = this.reader.next();
      if (message === undefined) return;
      this.take(message);
    }
  }

  take(message: RelayMessage): void {
    this.messages.push(message);
    if (message.type === 'start') {
      this.#streamId = message.streamId;
      this.instanceId = message.instanceId;
      this.statuses.clear();
      for (const status of message.ranks) this.statuses.set(status.rank, status);
      if (!message.resumed) {
        this.#blocks = new Map();
        this.position = undefined;
      }
    } else if (message.type === 'snapshot_part') {
      this.#store(message.rank, message.tier, message.sequenceHashes);
    } else if (message.type === 'snapshot_end') {
      this.position = { streamId: this.#streamId, sequence: message.sequence };
    } else if (message.type === 'rank_state') {
      this.statuses.set(message.status.rank, message.status);
    } else {
      this.position = { streamId: this.#streamId, sequence: message.sequence };
      for (const change of message.changes) {
        if (change.type === 'stored') this.#store(message.rank, change.tier, change.sequenceHashes);
        else if (change.type === 'removed') {
          for (const hash of hashesOf(change.sequenceHashes))
            this.#set(`${message.rank}/${change.tier}`).delete(hash);
        } else {
          for (const place of this.#blocks.keys())
            if (place.startsWith(`${message.rank}/`)) this.#blocks.delete(place);
        }
      }
    }
  }

  #store(rank: number, tier: string, hashes: Uint8Array): void {
    const set = this.#set(`${rank}/${tier}`);
    for (const hash of hashesOf(hashes)) set.add(hash);
  }

  #set(place: string): Set<string> {
    const set = this.#blocks.get(place) ?? new Set();
    this.#blocks.set(place, set);
    return set;
  }
}

function hashesOf(packed: Uint8Array): string[] {
  const hex = Buffer.from(packed).toString('hex');
  return hex.match(/.{16}/g) ?? [];
}

const hasher = new BlockHasher();

/** What an engine that published `payloads` holds, in the form of `Replica.blocks`. */
export function truthOf(payloads: readonly Uint8Array[], rank = 0): string[] {
  const cache = new RankCache({}, { hasher, counts: new EventCounts() });
  for (const payload of payloads) cache.apply(payload);
  const pieces = cache.snapshot();
  const blocks: string[] = [];
  for (let piece = pieces.next(); piece !== undefined; piece = pieces.next()) {
    const { tier } = piece;
    blocks.push(...hashesOf(piece.sequenceHashes).map((hash) => `${rank}/${tier}/${hash}`));
  }
  return blocks.sort();
}
