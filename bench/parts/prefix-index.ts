/** The prefix index over the index workload, in a process of its own. */
import { BlockHasher } from '../../src/core/blocks/block-hasher.js';
import { type Matches, PrefixIndex } from '../../src/core/blocks/prefix-index.js';
import {
  CHECKSUMS,
  type Chain,
  checksum,
  HOT_SEQUENCES,
  IndexWorkload,
  MISSED_SEQUENCES,
  WORKLOAD,
  type WorkloadOptions,
} from '../support/index-workload.js';
import { servePart } from '../support/part.js';

const LOOKUPS = 10_000;
const WARM_UP_LOOKUPS = 2_000;
/** Sum of the depths of all answers to `LOOKUPS` look-ups of stored sequences. */
const STORED_SCORES = 160_480_000;

/** Microseconds of a look-up; the clock is read twice in each. */
export interface FindFigures {
  readonly kind: 'hit' | 'partial' | 'miss' | 'stored' | 'hit_with_chaining';
  readonly holders: number;
  readonly usP50: number;
  readonly usP99: number;
  /** Of many look-ups in a row, without the clock. */
  readonly usEach: number;
}

/** What storing, finding and removing cost. */
export interface IndexFigures {
  readonly storeNs: number;
  readonly storeCpuNs: number;
  readonly removeNs: number;
  readonly removeCpuNs: number;
  readonly finds: readonly FindFigures[];
  /** Reading the clock twice, with nothing in between. */
  readonly clockUs: number;
}

servePart({
  index: ({ workload, holders }: { workload: WorkloadOptions; holders: readonly number[] }) =>
    measureIndex(new IndexWorkload(workload), holders),
  bytesPerPair: (options: WorkloadOptions) => measureMemory(new IndexWorkload(options)),
});

interface Event {
  readonly holder: number;
  readonly sequenceHashes: Uint8Array;
}

/** Until the compilers are done with what is measured; what the peer is made of was compiled before. */
function warmUp(): void {
  const index = new PrefixIndex();
  const [some, more] = [index.addHolder(), index.addHolder()];
  const { sequenceHashes } = new IndexWorkload(WORKLOAD).sequence(0, 0);
  for (let round = 0; round < 20_000; round += 1) {
    index.store(some, 'device', sequenceHashes);
    index.store(more, 'device', sequenceHashes);
    index.find(sequenceHashes, 'external');
    index.remove(some, 'device', sequenceHashes);
    index.remove(more, 'device', sequenceHashes);
  }
}

function measureIndex(workload: IndexWorkload, holders: readonly number[]): IndexFigures {
  warmUp();
  const index = new PrefixIndex();
  const { workers, sequences, depth, shared, prefixes, mode } = workload.options;
  const slots = Array.from({ length: workers }, () => index.addHolder());

  const stores: Event[] = [];
  let sum = 0n;
  let stored = 0;
  for (let number = 0; number < sequences; number += 1) {
    for (const [worker, holder] of slots.entries()) {
      const chain = workload.sequence(worker, number);
      const skipped = workload.skipped(number);
      sum = checksum(chain, skipped, sum);
      stored += depth - skipped;
      stores.push({ holder, sequenceHashes: chain.sequenceHashes.subarray(8 * skipped) });
    }
  }
  check('checksum of the stored blocks', sum, CHECKSUMS[mode]);
  const store = timed(() => {
    for (const { holder, sequenceHashes } of stores) index.store(holder, 'device', sequenceHashes);
  });
  check('pairs', index.pairs, workload.pairs);
  stores.length = 0;

  const finds = holders.flatMap((count, group) => measureFinds(index, workload, slots, group, count));

  const removes: Event[] = [];
  let removed = 0;
  const remove = (worker: number, number: number, from: number, to: number): void => {
    const { sequenceHashes } = workload.sequence(worker, number);
    removes.push({ holder: slots[worker] as number, sequenceHashes: backwards(sequenceHashes, from, to) });
    removed += to - from;
  };
  for (let number = 0; number < sequences; number += 1)
    for (let worker = 0; worker < workers; worker += 1) remove(worker, number, shared, depth);
  for (let number = 0; number < Math.min(prefixes, sequences); number += 1)
    for (let worker = 0; worker < workers; worker += 1) remove(worker, number, 0, shared);
  const removal = timed(() => {
    for (const { holder, sequenceHashes } of removes) index.remove(holder, 'device', sequenceHashes);
  });
  check('pairs that are left', index.pairs, 0);
  check('blocks that are left', index.blocks, 0);

  return {
    storeNs: store.ns / stored,
    storeCpuNs: store.cpuNs / stored,
    removeNs: removal.ns / removed,
    removeCpuNs: removal.cpuNs / removed,
    finds,
    clockUs: middle(
      Array.from({ length: LOOKUPS }, () => {
        const startMs = performance.now();
        return 1_000 * (performance.now() - startMs);
      }),
    ),
  };
}

function measureFinds(
  index: PrefixIndex,
  workload: IndexWorkload,
  slots: readonly number[],
  group: number,
  holders: number,
): FindFigures[] {
  const { depth } = workload.options;
  const hot = Array.from({ length: HOT_SEQUENCES }, (_, number) => workload.hot(group, number));
  const misses = Array.from({ length: MISSED_SEQUENCES }, (_, number) => workload.miss(number));
  // What our own sequence hashes are, for those who ask by block hashes.
  const hasher = new BlockHasher();
  const chained = hot.map(({ blockHashes }) => hasher.chain(blockHashes).slice());
  const held = [...hot.map(({ sequenceHashes }) => sequenceHashes), ...chained];
  for (const sequenceHashes of held)
    for (const slot of slots.slice(0, holders)) index.store(slot, 'device', sequenceHashes);

  const half = 4 * depth;
  const hotAt = (number: number): Chain => hot[number % HOT_SEQUENCES] as Chain;
  const missAt = (number: number): Chain => misses[number % MISSED_SEQUENCES] as Chain;
  const find = (sequenceHashes: Uint8Array): Matches => index.find(sequenceHashes, 'external');
  const each = depth * holders * LOOKUPS;
  const of = (
    kind: FindFigures['kind'],
    scores: number,
    query: (number: number) => Uint8Array,
    ask: (query: Uint8Array) => Matches = find,
  ): FindFigures => ({
    kind,
    holders: kind === 'stored' ? workload.options.workers : holders,
    ...measureFind(kind, scores, query, ask),
  });
  const figures = [
    of('hit', each, (number) => hotAt(number).sequenceHashes),
    of(
      'hit_with_chaining',
      each,
      (number) => hotAt(number).blockHashes,
      (query) => find(hasher.chain(query)),
    ),
    of('partial', each / 2, (number) => {
      const query = hotAt(number).sequenceHashes.slice();
      query.set(missAt(number).sequenceHashes.subarray(half), half);
      return query;
    }),
    of('miss', 0, (number) => missAt(number).sequenceHashes),
  ];
  if (group === 0)
    figures.push(of('stored', STORED_SCORES, (number) => workload.picked(number).sequenceHashes));
  for (const sequenceHashes of held)
    for (const slot of slots.slice(0, holders)) index.remove(slot, 'device', sequenceHashes);
  return figures;
}

function measureFind(
  kind: string,
  scores: number,
  queryAt: (number: number) => Uint8Array,
  ask: (query: Uint8Array) => Matches,
): Pick<FindFigures, 'usP50' | 'usP99' | 'usEach'> {
  const queries = Array.from({ length: WARM_UP_LOOKUPS + LOOKUPS }, (_, number) => queryAt(number));
  const us: number[] = [];
  let score = 0;
  for (const [number, query] of queries.entries()) {
    const startMs = performance.now();
    const { count, depths } = ask(query);
    const tookMs = performance.now() - startMs;
    if (number < WARM_UP_LOOKUPS) continue;
    us.push(1_000 * tookMs);
    for (let at = 0; at < count; at += 1) score += depths[at] as number;
  }
  check(`scores of ${kind}`, score, scores);
  const { ns } = timed(() => {
    for (const query of queries) ask(query);
  });
  const sorted = us.sort((a, b) => a - b);
  return {
    usP50: sorted[LOOKUPS / 2] as number,
    usP99: sorted[(99 * LOOKUPS) / 100] as number,
    usEach: ns / 1_000 / queries.length,
  };
}

/** Bytes of the process for each pair, as the events come one by one. */
async function measureMemory(workload: IndexWorkload): Promise<number> {
  const { workers, sequences } = workload.options;
  const index = new PrefixIndex();
  const slots = Array.from({ length: workers }, () => index.addHolder());
  const storeOne = (worker: number, number: number): void => {
    const { sequenceHashes } = workload.sequence(worker, number);
    index.store(slots[worker] as number, 'device', sequenceHashes.subarray(8 * workload.skipped(number)));
  };
  // Compiles what is measured before memory is looked at; these events come again.
  for (let worker = 0; worker < workers; worker += 1) workload.sequence(worker, 0);
  storeOne(0, 0);
  const before = await residentBytes();
  for (let number = 0; number < sequences; number += 1)
    for (let worker = 0; worker < workers; worker += 1) storeOne(worker, number);
  const after = await residentBytes();
  check('pairs', index.pairs, workload.pairs);
  return (after - before) / workload.pairs;
}

async function residentBytes(): Promise<number> {
  for (let round = 0; round < 3; round += 1) {
    globalThis.gc?.();
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return process.memoryUsage.rss();
}

/** Blocks `from` up to before `to`, the last one first. */
function backwards(sequenceHashes: Uint8Array, from: number, to: number): Uint8Array {
  const reversed = new Uint8Array(8 * (to - from));
  for (let at = from; at < to; at += 1)
    reversed.set(sequenceHashes.subarray(8 * at, 8 * at + 8), 8 * (to - 1 - at));
  return reversed;
}

function timed(act: () => void): { ns: number; cpuNs: number } {
  const cpu = process.cpuUsage();
  const startMs = performance.now();
  act();
  const ns = 1e6 * (performance.now() - startMs);
  const { user, system } = process.cpuUsage(cpu);
  return { ns, cpuNs: 1_000 * (user + system) };
}

function middle(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] as number;
}

function check(what: string, value: bigint | number, expected: bigint | number): void {
  if (value !== expected) throw new Error(`${what}: ${value}, not ${expected}`);
}
