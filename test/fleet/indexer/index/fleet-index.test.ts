import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TIERS, type Tier } from '../../../../src/core/blocks/tier.js';
import type { BlockChange, RankStatus, RelayMessage, RelayReader } from '../../../../src/core/relay/relay.js';
import { FleetIndex, type FleetIndexOptions } from '../../../../src/fleet/indexer/index/fleet-index.js';
import { IndexTally } from '../../../../src/fleet/indexer/index/index-tally.js';
import { MAX_RANKS } from '../../../../src/fleet/indexer/index/rank-match.js';
import { askedPrompt } from '../../../support/asked-prompt.js';
import { pack } from '../../../support/kv-events.js';
import { SimulatedWorker } from './simulated-worker.js';

interface Made {
  readonly index: FleetIndex;
  readonly tally: IndexTally;
  /** `target instance width` of each store that was not applied. */
  readonly mismatches: string[];
  /** Sweeps until nothing is left. */
  sweep(): void;
}

function make(options: Partial<FleetIndexOptions> = {}): Made {
  const tally = new IndexTally();
  const mismatches: string[] = [];
  const index = new FleetIndex(
    { tokensPerBlock: 32, ...options },
    {
      tally,
      onOtherWidth: (target, instanceId, width) => mismatches.push(`${target} ${instanceId} ${width}`),
      onRefused: () => undefined,
      onSweepDue: () => undefined,
    },
  );
  return {
    index,
    tally,
    mismatches,
    sweep: () => {
      while (index.sweep());
    },
  };
}

const exact = (rank: number): RankStatus => ({ rank, picture: 'exact', reason: '', blockCount: 0 });

function start(
  sketch: { instance?: string; stream?: string; resumed?: boolean; ranks?: readonly RankStatus[] } = {},
): RelayMessage {
  const { instance = 'i-1', stream = 's-1', resumed = false, ranks = [exact(0)] } = sketch;
  return { type: 'start', instanceId: instance, streamId: stream, resumed, reason: '', ranks };
}

function part(hashes: readonly number[], width = 32, rank = 0): RelayMessage {
  return { type: 'snapshot_part', rank, tier: 'device', tokensPerBlock: width, sequenceHashes: pack(hashes) };
}

const end = (sequence = 0): RelayMessage => ({ type: 'snapshot_end', sequence });

function changes(sequence: number, ...list: readonly BlockChange[]): RelayMessage {
  return { type: 'changes', sequence, rank: 0, changes: list };
}

function stored(hashes: readonly number[], width = 32, tier: Tier = 'device'): BlockChange {
  return { type: 'stored', tier, tokensPerBlock: width, sequenceHashes: pack(hashes) };
}

const removed = (hashes: readonly number[]): BlockChange => ({
  type: 'removed',
  tier: 'device',
  sequenceHashes: pack(hashes),
});

/** Hashes as far apart as real ones. */
function spread(count: number): Uint8Array {
  const packed = Buffer.alloc(8 * count);
  for (let at = 0; at < count; at += 1) {
    packed.writeBigUInt64LE(BigInt.asUintN(64, BigInt(at + 1) * 0x9e3779b97f4a7c15n), 8 * at);
  }
  return packed;
}

/** `target/rank device,host,disk,external`. */
function find(index: FleetIndex, hashes: readonly number[]): string[] {
  return index
    .find(askedPrompt(pack(hashes)))
    .map(({ target, rank, blocks }) => `${target}/${rank} ${blocks.join()}`);
}

function applyAll(index: FleetIndex, target: string, ...messages: readonly RelayMessage[]): void {
  for (const message of messages) expect(index.apply(target, message)).toBeUndefined();
}

describe('a fleet index', () => {
  it('G3: has all that was stored before it was made, for the snapshot brings it, and then each change in order', () => {
    const { index } = make();
    applyAll(index, 'w-1', start(), part([1, 2]), part([3]), end(7), changes(8, stored([4]), removed([3])));
    expect(find(index, [1, 2, 3, 4])).toEqual(['w-1/0 2,2,2,2']);
    expect(index.cacheViewOf('w-1')).toEqual({ level: 'exact', reason: '' });
    expect(index.positionOf('w-1')).toEqual({ streamId: 's-1', sequence: 8 });
  });

  it('G3: says until the snapshot is complete that blocks may be missing, and cannot be resumed before', () => {
    const { index } = make();
    applyAll(index, 'w-1', start(), part([1]));
    expect(index.cacheViewOf('w-1')).toEqual({ level: 'partial', reason: 'its snapshot is under way' });
    expect(index.positionOf('w-1')).toBeUndefined();
  });

  it('V1: looks at the width of every store before it is applied', () => {
    const { index, mismatches, tally } = make();
    applyAll(index, 'w-1', start(), end(), changes(1, stored([1], 16)));
    expect(mismatches).toEqual(['w-1 i-1 16']);
    expect(find(index, [1])).toEqual([]);
    expect([tally.eventsOf('stored', 'other_width'), tally.eventsOf('stored', 'applied')]).toEqual([1, 0]);
  });

  it('V3: applies no store of another width, counts each, and says so in the cache view', () => {
    const { index, mismatches } = make();
    applyAll(index, 'w-1', start(), part([1], 16), end(), changes(1, stored([2], 16), stored([3])));
    expect(mismatches).toHaveLength(2);
    expect(find(index, [3])).toEqual(['w-1/0 1,1,1,1']);
    expect(index.cacheViewOf('w-1').level).toBe('partial');
    expect(index.cacheViewOf('w-1').reason).toContain('16 tokens wide');
  });

  it('counts each tier with those above it, and puts the longest match first', () => {
    const { index } = make();
    applyAll(index, 'b', start(), part([1]), end(), changes(1, stored([2, 3], 32, 'disk')));
    applyAll(index, 'a', start(), part([1, 2]), end());
    expect(find(index, [1, 2, 3])).toEqual(['b/0 1,1,3,3', 'a/0 2,2,2,2']);
  });

  it('finds by holder what it finds by name, and says when holders are other ranks', () => {
    const { index, sweep } = make();
    const byHolder = (tier: Tier) => {
      const matches = index.match(askedPrompt(pack([1, 2, 3])), tier);
      if (matches === undefined) return undefined;
      const names = new Map(
        index.holdings().map(({ holder, target, rank }) => [holder, `${target}/${rank}`]),
      );
      const found = Array.from({ length: matches.count }, (_, at) => [
        names.get(matches.holders[at] as number),
        matches.depths[at],
      ]);
      return Object.fromEntries(found) as Record<string, number>;
    };
    applyAll(index, 'a', start(), part([1, 2]), end());
    applyAll(index, 'b', start(), part([1]), end(), changes(1, stored([2, 3], 32, 'disk')));
    expect(byHolder('device')).toEqual({ 'a/0': 2, 'b/0': 1 });
    expect(byHolder('host')).toBeUndefined();
    expect(byHolder('disk')).toEqual({ 'a/0': 2, 'b/0': 3 });
    const version = index.holdersVersion;
    index.apply('b', changes(2, stored([4])));
    expect(index.holdersVersion).toBe(version);
    index.forget('a');
    sweep();
    applyAll(index, 'c', start(), part([1]), end());
    expect(index.holdersVersion).not.toBe(version);
    expect(byHolder('device')).toEqual({ 'b/0': 1, 'c/0': 1 });
  });

  it('takes a change that is sent again for what it is, and finds one that is missing', () => {
    const { index } = make();
    applyAll(
      index,
      'w-1',
      start(),
      end(),
      changes(1, stored([1])),
      changes(2, removed([1])),
      changes(1, stored([1])),
    );
    expect(find(index, [1])).toEqual([]);
    expect(index.apply('w-1', changes(4, stored([2])))).toBe('changes 3 to 3 are missing');
    expect(find(index, [2])).toEqual([]);
  });

  it.each([
    ['a change before any start', [changes(1)]],
    ['a change before the end of the snapshot', [start(), changes(1)]],
    ['a part outside a snapshot', [start(), end(), part([1])]],
    ['a second end', [start(), end(), end()]],
    ['a resumed stream that nobody asked for', [start({ resumed: true })]],
    ['a resumed stream of another name', [start(), end(), start({ resumed: true, stream: 's-2' })]],
    ['too many ranks', [start({ ranks: Array.from({ length: MAX_RANKS + 1 }, (_, rank) => exact(rank)) })]],
  ] as const)('refuses %s', (_, messages) => {
    const { index } = make();
    const problems = messages.map((message) => index.apply('w-1', message));
    expect(problems.at(-1)).toEqual(expect.any(String));
  });

  it('bounds the ranks that parts and changes name', () => {
    const { index } = make();
    applyAll(index, 'w-1', start({ ranks: Array.from({ length: MAX_RANKS }, (_, rank) => exact(rank)) }));
    expect(index.apply('w-1', part([1], 32, 4_000_000_000))).toContain('ranks');
  });

  it('keeps entries under the new name when the source learns that the instance has another one', () => {
    const { index } = make();
    applyAll(
      index,
      'w-1',
      start(),
      part([1]),
      end(),
      start({ instance: 'i-2', resumed: true }),
      changes(1, stored([2])),
    );
    expect(index.instanceOf('w-1')).toBe('i-2');
    expect(find(index, [1, 2])).toEqual(['w-1/0 2,2,2,2']);
  });

  it('is as bad as the worst rank, and names it', () => {
    const { index } = make();
    const partial: RankStatus = { rank: 1, picture: 'partial', reason: 'too old', blockCount: 0 };
    applyAll(index, 'w-1', start({ ranks: [exact(0), partial] }), end());
    expect(index.cacheViewOf('w-1')).toEqual({ level: 'partial', reason: 'rank 1: too old' });
    expect([index.cacheViewOfRank('w-1', 0), index.cacheViewOfRank('w-1', 1)]).toEqual(['exact', 'partial']);
    applyAll(index, 'w-1', { type: 'rank_state', status: exact(1) });
    expect(index.cacheViewOf('w-1').level).toBe('exact');
  });

  it('says in the words of the sidecar why nothing is read of its engine', () => {
    const { index } = make();
    const silent = { ...start({ ranks: [] }), reason: 'the engine publishes no KV events' } as RelayMessage;
    applyAll(index, 'w-1', silent, end());
    expect(index.cacheViewOf('w-1')).toEqual({
      level: 'none',
      reason: 'the engine publishes no KV events',
    });
  });

  it('stops at the bound of a worker, credits what it has, and says that blocks are missing', () => {
    const { index, tally } = make({ maxBlocksPerWorker: 3 });
    applyAll(
      index,
      'w-1',
      start(),
      part([1, 2]),
      end(),
      changes(1, stored([3, 4])),
      changes(2, removed([1])),
    );
    applyAll(index, 'w-1', changes(3, stored([9])));
    expect(find(index, [2])).toEqual(['w-1/0 1,1,1,1']);
    expect(find(index, [9])).toEqual(['w-1/0 1,1,1,1']);
    expect(index.cacheViewOf('w-1')).toMatchObject({ level: 'partial' });
    expect(tally.eventsOf('stored', 'no_room')).toBe(1);
  });

  it('goes on without the blocks that find no room, and says whose are missing', () => {
    const { index } = make({ maxBytes: 4 * 1024 * 1024 });
    const many = spread(400_000);
    const whole: RelayMessage = {
      ...(part([]) as RelayMessage & { type: 'snapshot_part' }),
      sequenceHashes: many,
    };
    applyAll(index, 'w-1', start(), whole, end());
    expect(index.cacheViewOf('w-1').level).toBe('partial');
    expect(index.cacheViewOf('w-1').reason).toContain('index is full');
    expect(index.find(askedPrompt(many.subarray(0, 80)))).toMatchObject([
      { target: 'w-1', blocks: [10, 10, 10, 10] },
    ]);
  });

  it('gives the memory of workers that leave to those that come', () => {
    const { index, sweep } = make();
    const many = Array.from({ length: 50_000 }, (_, hash) => hash + 1);
    const fill = (target: string): void =>
      applyAll(index, target, start(), part(many.map((h) => h + 1e6)), end());
    fill('w-0');
    index.forget('w-0');
    sweep();
    expect(index.blocks).toBe(0);
    const once = index.memoryBytes;
    for (let worker = 1; worker <= 10; worker += 1) {
      fill(`w-${worker}`);
      index.forget(`w-${worker}`);
      sweep();
    }
    expect([index.blocks, index.memoryBytes]).toEqual([0, once]);
    expect(index.holdings()).toEqual([]);
  });

  it('takes from one worker exactly what is its own', () => {
    const { index, sweep } = make();
    applyAll(index, 'a', start(), part([1, 2]), end());
    applyAll(index, 'b', start(), part([1, 2, 3]), end());
    index.forget('b');
    sweep();
    expect(find(index, [1, 2, 3])).toEqual(['a/0 2,2,2,2']);
    expect(index.blocks).toBe(2);
  });
});

const TARGETS = ['a', 'b', 'c'] as const;

const hashes = fc.uniqueArray(fc.integer({ min: 1, max: 12 }), { maxLength: 5 });
const step = fc.record({
  target: fc.constantFrom(...TARGETS),
  rank: fc.integer({ min: 0, max: 1 }),
  tier: fc.constantFrom(...TIERS),
  hashes,
  what: fc.constantFrom(
    'store',
    'store',
    'store',
    'remove',
    'clear',
    'restart',
    'reset',
    'read one',
    'read all',
    'break',
    'break and lose the place',
    'depart',
    'sweep',
  ),
});

/** The same messages on plain sets: what the index must hold at each moment. */
class PlainModel {
  /** By target: `rank tier hash`. */
  readonly held = new Map<string, Set<string>>();
  #sequences = new Map<string, number>();

  apply(target: string, message: RelayMessage): void {
    const held = this.held.get(target) ?? new Set<string>();
    this.held.set(target, held);
    switch (message.type) {
      case 'start':
        if (!message.resumed) held.clear();
        return;
      case 'snapshot_part':
        for (const hash of unpack(message.sequenceHashes))
          held.add(`${message.rank} ${message.tier} ${hash}`);
        return;
      case 'snapshot_end':
        this.#sequences.set(target, message.sequence);
        return;
      case 'changes':
        if (message.sequence <= (this.#sequences.get(target) ?? 0)) return;
        this.#sequences.set(target, message.sequence);
        for (const change of message.changes) this.#change(held, message.rank, change);
        return;
      case 'rank_state':
        return;
    }
  }

  #change(held: Set<string>, rank: number, change: BlockChange): void {
    if (change.type === 'cleared') {
      for (const entry of held) if (entry.startsWith(`${rank} `)) held.delete(entry);
      return;
    }
    for (const hash of unpack(change.sequenceHashes)) {
      const entry = `${rank} ${change.tier} ${hash}`;
      if (change.type === 'stored') held.add(entry);
      else held.delete(entry);
    }
  }
}

function unpack(packed: Uint8Array): number[] {
  const view = new DataView(packed.buffer, packed.byteOffset, packed.length);
  return Array.from({ length: packed.length / 8 }, (_, at) => Number(view.getBigUint64(8 * at, true)));
}

/** What `find` must say of a prompt, worked out one by one. */
function expected(held: ReadonlyMap<string, ReadonlySet<string>>, prompt: readonly number[]): string[] {
  const lines: string[] = [];
  for (const [target, entries] of held) {
    for (const rank of [0, 1]) {
      const depths = TIERS.map((_, deepest) => {
        const misses = prompt.findIndex(
          (hash) => !TIERS.slice(0, deepest + 1).some((tier) => entries.has(`${rank} ${tier} ${hash}`)),
        );
        return misses === -1 ? prompt.length : misses;
      });
      if ((depths.at(-1) ?? 0) > 0) lines.push(`${target}/${rank} ${depths.join()}`);
    }
  }
  return lines.sort();
}

describe('a fleet index beside plain sets', () => {
  it('holds at every moment what its messages say, and after quiescence what the workers hold', () => {
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 120 }),
        fc.array(hashes, { minLength: 3, maxLength: 3 }),
        (steps, prompts) => {
          const { index, sweep } = make();
          const model = new PlainModel();
          const workers = new Map(TARGETS.map((target) => [target, new SimulatedWorker()]));
          const readers = new Map<string, RelayReader>();
          const readerOf = (target: string, worker: SimulatedWorker): RelayReader => {
            const reader = readers.get(target) ?? worker.open(index.positionOf(target));
            readers.set(target, reader);
            return reader;
          };
          const read = (target: string, worker: SimulatedWorker, max: number): void => {
            const reader = readerOf(target, worker);
            for (let count = 0; count < max; count += 1) {
              const message = reader.next();
              if (message === undefined) return;
              model.apply(target, message);
              expect(index.apply(target, message)).toBeUndefined();
            }
          };
          const compare = (held: ReadonlyMap<string, ReadonlySet<string>>): void => {
            for (const prompt of prompts) {
              expect(find(index, prompt).sort()).toEqual(expected(held, prompt));
            }
          };
          for (const { target, rank, tier, hashes: some, what } of steps) {
            const worker = workers.get(target) as SimulatedWorker;
            if (what === 'store') worker.store(rank, tier, some);
            else if (what === 'remove') worker.remove(rank, tier, some);
            else if (what === 'clear') worker.clear(rank);
            else if (what === 'restart') worker.restart();
            else if (what === 'reset') worker.reset();
            else if (what === 'read one') read(target, worker, 1);
            else if (what === 'read all') read(target, worker, Number.POSITIVE_INFINITY);
            else if (what === 'break') readers.delete(target);
            else if (what === 'sweep') index.sweep();
            else {
              readers.delete(target);
              if (what === 'depart') {
                index.forget(target);
                model.held.delete(target);
              } else index.distrust(target);
            }
            compare(model.held);
          }
          for (const [target, worker] of workers) read(target, worker, Number.POSITIVE_INFINITY);
          sweep();
          const truth = new Map(
            [...workers].map(([target, worker]) => [
              target,
              new Set(worker.ranks.flatMap((held, rank) => [...held].map((entry) => `${rank} ${entry}`))),
            ]),
          );
          compare(truth);
          const distinct = new Set([...truth.values()].flatMap((held) => [...held].map((e) => e.slice(2))));
          expect(index.blocks).toBe(distinct.size);
        },
      ),
      { numRuns: 200 },
    );
  });
});
