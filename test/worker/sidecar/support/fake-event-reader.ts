import type { RankSource } from '../../../../src/core/relay/rank-source.js';
import type {
  BlockChange,
  RankStatus,
  RelayMessage,
  RelayPosition,
  RelayReader,
} from '../../../../src/core/relay/relay.js';
import { EventCounts } from '../../../../src/worker/kv-events/cache/event-counts.js';
import { StreamCounts } from '../../../../src/worker/kv-events/readers/stream-counts.js';
import type { EventReader } from '../../../../src/worker/sidecar/kv-events/event-reader.js';

/** Packed hashes: each number as a little-endian u64. */
export function packed(...hashes: readonly number[]): Uint8Array {
  return new Uint8Array(new BigUint64Array(hashes.map(BigInt)).buffer);
}

/** A store of some blocks on the device. */
export function stored(...hashes: readonly number[]): BlockChange {
  return { type: 'stored', tier: 'device', tokensPerBlock: 32, sequenceHashes: packed(...hashes) };
}

/** What a rank looks like that is known in full. */
export function exactRank(rank = 0, blockCount = 0): RankStatus {
  return { rank, picture: 'exact', reason: '', blockCount };
}

/**
 * A reader that says what the test says, with the history and the readers of a
 * real one: a reader is a place in the history, and nothing is kept for it.
 */
export class FakeEventReader implements EventReader {
  readonly counts: EventCounts = new EventCounts();
  readonly streamCounts: StreamCounts = new StreamCounts();
  ranks: readonly RankStatus[] = [exactRank()];
  streamId = 'stream-1';
  instanceId = '';
  sources: readonly RankSource[] = [];
  isClosed = false;
  capacityBlocks: number | undefined;
  /** What was set, in order. */
  readonly calls: string[] = [];
  /** Positions with which readers came. */
  readonly positions: (RelayPosition | undefined)[] = [];
  /** What a new subscriber is sent between `start` and `snapshot_end`. */
  snapshot: readonly RelayMessage[] = [];
  readonly #history: RelayMessage[] = [];
  readonly #readers = new Set<() => void>();
  /** Messages that were handed out. */
  taken = 0;

  get openReaders(): number {
    return this.#readers.size;
  }

  setInstance(instanceId: string): void {
    this.instanceId = instanceId;
    this.calls.push(`instance ${instanceId}`);
  }

  setCapacity(blocks: number | undefined): void {
    this.capacityBlocks = blocks;
  }

  setSources(sources: readonly RankSource[]): void {
    this.sources = sources;
    this.calls.push(
      `sources ${sources.map((each) => (each.kind === 'trtllm-drain' ? each.url : each.endpoint)).join(' ')}`,
    );
  }

  async close(): Promise<void> {
    this.isClosed = true;
  }

  /** Informs every reader. */
  change(...changes: readonly BlockChange[]): void {
    this.#send({ type: 'changes', sequence: this.#sequence() + 1, rank: 0, changes, publishedAtMs: 1_000.5 });
  }

  say(status: RankStatus): void {
    this.#send({ type: 'rank_state', status });
  }

  open(position: RelayPosition | undefined, onReadable: () => void): RelayReader {
    this.positions.push(position);
    this.#readers.add(onReadable);
    const { instanceId, streamId, ranks } = this;
    const resumed = position?.streamId === streamId;
    const start: RelayMessage = { type: 'start', instanceId, streamId, resumed, reason: '', ranks };
    const first: RelayMessage[] = resumed
      ? [start]
      : [start, ...this.snapshot, { type: 'snapshot_end', sequence: this.#sequence() }];
    let at = resumed
      ? this.#history.findIndex((each) => each.type === 'changes' && each.sequence > position.sequence)
      : this.#history.length;
    if (at === -1) at = this.#history.length;
    return {
      next: () => {
        const message = first.shift() ?? this.#history[at++];
        if (message === undefined) at = this.#history.length;
        else this.taken += 1;
        return message;
      },
      close: () => void this.#readers.delete(onReadable),
    };
  }

  #sequence(): number {
    return this.#history.filter(({ type }) => type === 'changes').length;
  }

  #send(message: RelayMessage): void {
    this.#history.push(message);
    for (const onReadable of this.#readers) onReadable();
  }
}
