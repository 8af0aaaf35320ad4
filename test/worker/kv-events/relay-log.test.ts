import { describe, expect, it } from 'vitest';
import type { BlockChange, RankStatus, RelayMessage, RelayReader } from '../../../src/core/relay/relay.js';
import { type CachePiece, RelayLog, type RelayLogOptions } from '../../../src/worker/kv-events/relay-log.js';

/** A log over one rank whose cache is a list of hashes. */
class Told {
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
    const told = new Told();
    told.store(1n, 2n);
    let readable = 0;
    const reader = told.log.open(undefined, () => {
      readable += 1;
    });
    expect(inShort(readAll(reader))).toEqual(['start i-1 stream-1', 'part 1', 'part 2', 'end 1']);
    expect(readable).toBe(0);
    told.store(3n);
    told.store(4n);
    expect(readable).toBe(1);
    expect(inShort(readAll(reader))).toEqual(['changes 2', 'changes 3']);
  });

  it('tells what changed while the snapshot was read after the snapshot, from where it began', () => {
    const told = new Told();
    told.store(1n, 2n);
    const reader = told.log.open(undefined, () => {});
    expect(inShort([reader.next(), reader.next()] as RelayMessage[])).toEqual([
      'start i-1 stream-1',
      'part 1',
    ]);
    told.store(3n);
    expect(inShort(readAll(reader))).toEqual(['part 2', 'part 3', 'end 1', 'changes 2']);
  });

  it('resumes a reader where it left, without a snapshot', () => {
    const told = new Told();
    for (const hash of [1n, 2n, 3n]) told.store(hash);
    const reader = told.log.open({ streamId: 'stream-1', sequence: 1 }, () => {});
    expect(inShort(readAll(reader))).toEqual(['start i-1 stream-1 resumed', 'changes 2', 'changes 3']);
    const upToDate = told.log.open({ streamId: 'stream-1', sequence: 3 }, () => {});
    expect(inShort(readAll(upToDate))).toEqual(['start i-1 stream-1 resumed']);
  });

  it.each([
    ['of another stream', { streamId: 'stream-0', sequence: 2 }],
    ['of a future', { streamId: 'stream-1', sequence: 4 }],
    ['that the history has not any more', { streamId: 'stream-1', sequence: 0 }],
  ])('gives a snapshot to a reader with a position %s', (_, position) => {
    const told = new Told({ maxHistoryMessages: 2 });
    for (const hash of [1n, 2n, 3n]) told.store(hash);
    expect(inShort(readAll(told.log.open(position, () => {})))).toEqual([
      'start i-1 stream-1: what the reader missed is not in the history any more',
      'part 1',
      'part 2',
      'part 3',
      'end 3',
    ]);
  });

  it('restarts a reader that fell behind its bounded history', () => {
    const told = new Told({ maxHistoryBytes: 2_000 });
    const slow = told.log.open(undefined, () => {});
    const quick = told.log.open(undefined, () => {});
    readAll(slow);
    readAll(quick);
    for (let hash = 1n; hash <= 20n; hash += 1n) {
      told.store(hash);
      expect(inShort(readAll(quick))).toEqual([`changes ${hash}`]);
    }
    const messages = inShort(readAll(slow));
    expect(messages[0]).toMatch(/^start i-1 stream-1: the reader was slower than the changes/);
    expect(messages).toHaveLength(22);
    expect(messages.at(-1)).toBe('end 20');
    told.store(21n);
    expect(inShort(readAll(slow))).toEqual(['changes 21']);
  });

  it('restarts a reader that fell behind while it read its snapshot', () => {
    const told = new Told({ maxHistoryMessages: 2 });
    told.store(1n, 2n);
    const reader = told.log.open(undefined, () => {});
    reader.next();
    reader.next();
    for (const hash of [3n, 4n, 5n]) told.store(hash);
    expect(inShort(readAll(reader))).toEqual([
      expect.stringMatching(/^start i-1 stream-1: the reader was slower/),
      ...['part 1', 'part 2', 'part 3', 'part 4', 'part 5'],
      'end 4',
    ]);
  });

  it('is another stream once caches were dropped', () => {
    const told = new Told();
    told.store(1n);
    let readable = 0;
    const reader = told.log.open(undefined, () => {
      readable += 1;
    });
    readAll(reader);
    told.held.length = 0;
    told.log.reset('rank 0: batches were lost');
    told.store(9n);
    expect(readable).toBe(1);
    expect(inShort(readAll(reader))).toEqual([
      'start i-1 stream-2: rank 0: batches were lost',
      'part 9',
      'end 1',
    ]);
  });

  it('tells where ranks stand, and never an older state after a newer one', () => {
    const told = new Told();
    const reader = told.log.open(undefined, () => {});
    readAll(reader);
    told.store(1n);
    told.log.rankState({ ...told.status, picture: 'partial' });
    told.log.rankState(told.status);
    told.store(2n);
    expect(inShort(readAll(reader))).toEqual(['changes 1', 'rank partial', 'rank exact', 'changes 2']);
    const resumed = told.log.open({ streamId: 'stream-1', sequence: 0 }, () => {});
    expect(inShort(readAll(resumed))).toEqual(['start i-1 stream-1 resumed', 'changes 1', 'changes 2']);
  });

  it('tells another name of the engine start without a new stream', () => {
    const told = new Told();
    told.store(1n);
    const reader = told.log.open(undefined, () => {});
    readAll(reader);
    told.log.name('i-2');
    told.log.sendName();
    expect(inShort(readAll(reader))).toEqual(['start i-2 stream-1 resumed']);
    expect(inShort(readAll(told.log.open(undefined, () => {})))).toEqual([
      'start i-2 stream-1',
      'part 1',
      'end 1',
    ]);
  });

  it('tells a reader that was closed nothing more', () => {
    const told = new Told();
    let readable = 0;
    const reader = told.log.open(undefined, () => {
      readable += 1;
    });
    readAll(reader);
    reader.close();
    reader.close();
    told.store(1n);
    told.log.reset('anything');
    expect(reader.next()).toBeUndefined();
    expect(readable).toBe(0);
  });

  it('lets a reader read and open others while it is woken', () => {
    const told = new Told();
    const seen: string[] = [];
    const readers: RelayReader[] = [];
    const read = (): void => {
      seen.push(...inShort(readAll(readers[0] as RelayReader)));
      if (readers.length < 3) readers.push(told.log.open(undefined, () => {}));
    };
    readers.push(told.log.open(undefined, read));
    read();
    told.store(1n);
    told.store(2n);
    expect(seen).toEqual(['start i-1 stream-1', 'end 0', 'changes 1', 'changes 2']);
  });
});
