import { TIERS, type Tier } from '../../../../src/core/blocks/tier.js';
import type {
  BlockChange,
  RelayMessage,
  RelayPosition,
  RelayReader,
} from '../../../../src/core/relay/relay.js';
import { pack } from '../../../support/kv-events.js';

/** Messages of a stream that can be resumed; few, so that random tests run out of them. */
const HISTORY = 8;

/** What a rank holds, as `tier hash`. */
type Held = Set<string>;

/**
 * A worker with its sidecar, in the plainest way: what it holds in sets, and
 * what it sent in a list.
 */
export class SimulatedWorker {
  readonly ranks: readonly Held[];
  readonly width: number;
  #starts = 1;
  #streams = 1;
  #sequence = 0;
  #history: RelayMessage[] = [];

  constructor(ranks = 2, width = 32) {
    this.ranks = Array.from({ length: ranks }, () => new Set<string>());
    this.width = width;
  }

  get instanceId(): string {
    return `i-${this.#starts}`;
  }

  get streamId(): string {
    return `s-${this.#streams}`;
  }

  /** Messages that were sent on this stream, for readers to count on. */
  get sequence(): number {
    return this.#sequence;
  }

  store(rank: number, tier: Tier, hashes: readonly number[]): void {
    for (const hash of hashes) this.ranks[rank]?.add(`${tier} ${hash}`);
    this.#report(rank, [{ type: 'stored', tier, tokensPerBlock: this.width, sequenceHashes: pack(hashes) }]);
  }

  remove(rank: number, tier: Tier, hashes: readonly number[]): void {
    for (const hash of hashes) this.ranks[rank]?.delete(`${tier} ${hash}`);
    this.#report(rank, [{ type: 'removed', tier, sequenceHashes: pack(hashes) }]);
  }

  clear(rank: number): void {
    this.ranks[rank]?.clear();
    this.#report(rank, [{ type: 'cleared' }]);
  }

  /** The engine restarts, with nothing. */
  restart(): void {
    this.#starts += 1;
    for (const held of this.ranks) held.clear();
    this.reset();
  }

  /** The sidecar begins a new stream of the same engine start. */
  reset(): void {
    this.#streams += 1;
    this.#sequence = 0;
    this.#history = [];
  }

  open(position: RelayPosition | undefined): RelayReader {
    const isKept =
      position?.streamId === this.streamId &&
      position.sequence <= this.#sequence &&
      position.sequence >= this.#sequence - this.#history.length;
    const queue = isKept ? [this.#start(true)] : this.#snapshot();
    let streamId = this.streamId;
    let sent = isKept ? (position?.sequence ?? 0) : this.#sequence;
    return {
      next: () => {
        const queued = queue.shift();
        if (queued !== undefined) return queued;
        const behind = this.#sequence - sent;
        if (streamId !== this.streamId || behind > this.#history.length) {
          streamId = this.streamId;
          sent = this.#sequence;
          const [start, ...rest] = this.#snapshot();
          queue.push(...rest);
          return start;
        }
        if (behind === 0) return undefined;
        sent += 1;
        return this.#history[this.#history.length - behind];
      },
      close: () => undefined,
    };
  }

  #snapshot(): RelayMessage[] {
    const parts = this.ranks.flatMap((held, rank) =>
      TIERS.map((tier): RelayMessage => {
        const hashes = [...held].flatMap((entry) => {
          const [of, hash] = entry.split(' ');
          return of === tier ? [Number(hash)] : [];
        });
        return {
          type: 'snapshot_part',
          rank,
          tier,
          tokensPerBlock: this.width,
          sequenceHashes: pack(hashes),
        };
      }),
    );
    return [this.#start(false), ...parts, { type: 'snapshot_end', sequence: this.#sequence }];
  }

  #start(resumed: boolean): RelayMessage {
    return {
      type: 'start',
      instanceId: this.instanceId,
      streamId: this.streamId,
      resumed,
      reason: '',
      ranks: this.ranks.map((held, rank) => ({ rank, picture: 'exact', reason: '', blockCount: held.size })),
    };
  }

  #report(rank: number, changes: readonly BlockChange[]): void {
    this.#sequence += 1;
    this.#history.push({ type: 'changes', sequence: this.#sequence, rank, changes });
    if (this.#history.length > HISTORY) this.#history.shift();
  }
}
