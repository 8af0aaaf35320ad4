import { describe, expect, it } from 'vitest';
import type { BlockChange, RankStatus, RelayMessage, RelayReader } from '../../../../src/core/relay/relay.js';
import {
  type CachePiece,
  RelayLog,
  type RelayLogOptions,
} from '../../../../src/worker/kv-events/relay/relay-log.js';

/** A log over one rank whose cache is a list of hashes. */
class RelayUnderTest {
  readonly held: bigint[] = [];
  status: RankStatus = { rank: 0, picture: 'exact', reason: '', blockCount: 0 };
  readonly log: RelayLog;

  constructor(options: RelayLogOptions = {}) {
    let ids = 0;
    this.log = new RelayLog(
      options,
      { ranks: () => [this.status], snapshot: () => this.#snapshot() },
      { random: { fraction: () => 0.5, uniqueId: () => `stream-${++ids}` } },
    );
    this.log.name('i-1');
  }

  store(...hashes: readonly bigint[]): void {
    this.held.push(...hashes);
    this.log.changes(0, [storedOf(...hashes)], undefined);
  }

  #snapshot(): { next(): CachePiece | undefined } {
    let at = 0;
    return {
      next: () => {
        const hash = this.held[at];
        at += 1;
        return hash === undefined
          ? undefined
          : { tier: 'device', tokensPerBlock: 16, sequenceHashes: packed(hash) };
      },
    };
  }
}

function packed(...hashes: readonly bigint[]): Uint8Array {
  return new Uint8Array(BigUint64Array.from(hashes).buffer);
}

function storedOf(...hashes: readonly bigint[]): BlockChange {
  return { type: 'stored', tier: 'device', tokensPerBlock: 16, sequenceHashes: packed(...hashes) };
}

function readAll(reader: RelayReader): RelayMessage[] {
  const messages: RelayMessage[] = [];
  for (let message = reader.next(); message !== undefined; message = reader.next()) messages.push(message);
  return messages;
}

/** Messages in short. */
function inShort(messages: readonly RelayMessage[]): string[] {
  return messages.map((message) => {
    switch (message.type) {
      case 'start':
        return `start ${message.instanceId} ${message.streamId}${message.resumed ? ' resumed' : ''}${message.reason === '' ? '' : `: ${message.reason}`}`;
      case 'snapshot_part':
        return `part ${Buffer.from(message.sequenceHashes).readBigUInt64LE()}`;
      case 'snapshot_end':
        return `end ${message.sequence}`;
      case 'changes':
        return `changes ${message.sequence}`;
      case 'rank_state':
        return `rank ${message.status.picture}`;
      default:
        return message satisfies never;
    }
  });
}

describe('a relay log', () => {
  it('opens with everything that is held, and goes on with what changes', () => {
    const relay = new RelayUnderTest();
    relay.store(1n, 2n);
    let readable = 0;
    const reader = relay.log.open(undefined, () => {
      readable += 1;
    });
    expect(inShort(readAll(reader))).toEqual(['start i-1 stream-1', 'part 1', 'part 2', 'end 1']);
    expect(readable).toBe(0);
    relay.store(3n);
    relay.store(4n);
    expect(readable).toBe(1);
    expect(inShort(readAll(reader))).toEqual(['changes 2', 'changes 3']);
  });

  it('says what changed while the snapshot was read after the snapshot, from where it began', () => {
    const relay = new RelayUnderTest();
    relay.store(1n, 2n);
    const reader = relay.log.open(undefined, () => {});
    expect(inShort([reader.next(), reader.next()] as RelayMessage[])).toEqual([
      'start i-1 stream-1',
      'part 1',
    ]);
    relay.store(3n);
    expect(inShort(readAll(reader))).toEqual(['part 2', 'part 3', 'end 1', 'changes 2']);
  });

  it('resumes a reader where it left, without a snapshot', () => {
    const relay = new RelayUnderTest();
    for (const hash of [1n, 2n, 3n]) relay.store(hash);
    const reader = relay.log.open({ streamId: 'stream-1', sequence: 1 }, () => {});
    expect(inShort(readAll(reader))).toEqual(['start i-1 stream-1 resumed', 'changes 2', 'changes 3']);
    const upToDate = relay.log.open({ streamId: 'stream-1', sequence: 3 }, () => {});
    expect(inShort(readAll(upToDate))).toEqual(['start i-1 stream-1 resumed']);
  });

  it.each([
    ['of another stream', { streamId: 'stream-0', sequence: 2 }],
    ['of a future', { streamId: 'stream-1', sequence: 4 }],
    ['that the history has not any more', { streamId: 'stream-1', sequence: 0 }],
  ])('gives a snapshot to a reader with a position %s', (_, position) => {
    const relay = new RelayUnderTest({ maxHistoryMessages: 2 });
    for (const hash of [1n, 2n, 3n]) relay.store(hash);
    expect(inShort(readAll(relay.log.open(position, () => {})))).toEqual([
      'start i-1 stream-1: what the reader missed is not in the history any more',
      'part 1',
      'part 2',
      'part 3',
      'end 3',
    ]);
  });

  it('restarts a reader that fell behind its bounded history', () => {
    const relay = new RelayUnderTest({ maxHistoryBytes: 2_000 });
    const slow = relay.log.open(undefined, () => {});
    const quick = relay.log.open(undefined, () => {});
    readAll(slow);
    readAll(quick);
    for (let hash = 1n; hash <= 20n; hash += 1n) {
      relay.store(hash);
      expect(inShort(readAll(quick))).toEqual([`changes ${hash}`]);
    }
    const messages = inShort(readAll(slow));
    expect(messages[0]).toMatch(/^start i-1 stream-1: the reader was slower than the changes/);
    expect(messages).toHaveLength(22);
    expect(messages.at(-1)).toBe('end 20');
    relay.store(21n);
    expect(inShort(readAll(slow))).toEqual(['changes 21']);
  });

  it('restarts a reader that fell behind while it read its snapshot', () => {
    const relay = new RelayUnderTest({ maxHistoryMessages: 2 });
    relay.store(1n, 2n);
    const reader = relay.log.open(undefined, () => {});
    reader.next();
    reader.next();
    for (const hash of [3n, 4n, 5n]) relay.store(hash);
    expect(inShort(readAll(reader))).toEqual([
      expect.stringMatching(/^start i-1 stream-1: the reader was slower/),
      ...['part 1', 'part 2', 'part 3', 'part 4', 'part 5'],
      'end 4',
    ]);
  });

  it('is another stream once caches were dropped', () => {
    const relay = new RelayUnderTest();
    relay.store(1n);
    let readable = 0;
    const reader = relay.log.open(undefined, () => {
      readable += 1;
    });
    readAll(reader);
    relay.held.length = 0;
    relay.log.reset('rank 0: batches were lost');
    relay.store(9n);
    expect(readable).toBe(1);
    expect(inShort(readAll(reader))).toEqual([
      'start i-1 stream-2: rank 0: batches were lost',
      'part 9',
      'end 1',
    ]);
  });

  it('says where ranks stand, and never an older state after a newer one', () => {
    const relay = new RelayUnderTest();
    const reader = relay.log.open(undefined, () => {});
    readAll(reader);
    relay.store(1n);
    relay.log.rankState({ ...relay.status, picture: 'partial' });
    relay.log.rankState(relay.status);
    relay.store(2n);
    expect(inShort(readAll(reader))).toEqual(['changes 1', 'rank partial', 'rank exact', 'changes 2']);
    const resumed = relay.log.open({ streamId: 'stream-1', sequence: 0 }, () => {});
    expect(inShort(readAll(resumed))).toEqual(['start i-1 stream-1 resumed', 'changes 1', 'changes 2']);
  });

  it('reports another name of the engine start without a new stream', () => {
    const relay = new RelayUnderTest();
    relay.store(1n);
    const reader = relay.log.open(undefined, () => {});
    readAll(reader);
    relay.log.name('i-2');
    relay.log.sendName();
    expect(inShort(readAll(reader))).toEqual(['start i-2 stream-1 resumed']);
    expect(inShort(readAll(relay.log.open(undefined, () => {})))).toEqual([
      'start i-2 stream-1',
      'part 1',
      'end 1',
    ]);
  });

  it('gives a reader that was closed nothing more', () => {
    const relay = new RelayUnderTest();
    let readable = 0;
    const reader = relay.log.open(undefined, () => {
      readable += 1;
    });
    readAll(reader);
    reader.close();
    reader.close();
    relay.store(1n);
    relay.log.reset('anything');
    expect(reader.next()).toBeUndefined();
    expect(readable).toBe(0);
  });

  it('lets a reader read and open others while it is woken', () => {
    const relay = new RelayUnderTest();
    const seen: string[] = [];
    const readers: RelayReader[] = [];
    const read = (): void => {
      seen.push(...inShort(readAll(readers[0] as RelayReader)));
      if (readers.length < 3) readers.push(relay.log.open(undefined, () => {}));
    };
    readers.push(relay.log.open(undefined, read));
    read();
    relay.store(1n);
    relay.store(2n);
    expect(seen).toEqual(['start i-1 stream-1', 'end 0', 'changes 1', 'changes 2']);
  });
});
