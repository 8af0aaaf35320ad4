/**
 * The input of the index bench: sequences of blocks that workers hold, made
 * from a seed, the same as the program makes that runs Dynamo's index over them.
 */

/** How large the workload is. */
export interface WorkloadOptions {
  readonly workers: number;
  /** Sequences of each worker. */
  readonly sequences: number;
  /** Blocks of each sequence. */
  readonly depth: number;
  /** Blocks at the head of each sequence that it shares with others. */
  readonly shared: number;
  /** Different heads. */
  readonly prefixes: number;
  /** Whether a worker that has a head already says so again (`full`), or only its own blocks (`tail`). */
  readonly mode: 'full' | 'tail';
}

/** The workload of which the sums below are known. */
export const WORKLOAD: WorkloadOptions = {
  workers: 1_000,
  sequences: 64,
  depth: 64,
  shared: 16,
  prefixes: 4,
  mode: 'full',
};

/** Sums over all stored blocks, `sequence hash + rotl(block hash, 1)`, with which the peer's input agrees. */
export const CHECKSUMS = { full: 12149856277289352343n, tail: 17055709802603368295n };

/** Sequences that many workers hold, of each number of holders. */
export const HOT_SEQUENCES = 16;
/** Sequences that nobody holds. */
export const MISSED_SEQUENCES = 256;

const SEED = 42;
const HIGH = (SEED ^ 0x1111_1111) >>> 0;
const LOW = (SEED ^ 0x2222_2222) >>> 0;
const HOT = 0xd000_0000;
const PREFIX = 0xe000_0000;
const MISS = 0xf000_0000;

/** Block hashes and sequence hashes of a sequence, packed little-endian u64. */
export interface Chain {
  readonly blockHashes: Uint8Array;
  readonly sequenceHashes: Uint8Array;
}

/** The sequences of a workload. */
export class IndexWorkload {
  readonly options: WorkloadOptions;

  constructor(options: WorkloadOptions) {
    this.options = options;
  }

  /** Sequence `number` of `worker`. */
  sequence(worker: number, number: number): Chain {
    const { workers, prefixes, shared, depth } = this.options;
    const own = number * workers + worker;
    const prefix = PREFIX + (number % prefixes);
    return chain(depth, (place) => (place < shared ? prefix : own));
  }

  /** Number `index` of the sequences that holders of group `group` hold. */
  hot(group: number, index: number): Chain {
    return chain(this.options.depth, () => HOT + (group << 8) + index);
  }

  /** Number `index` of the sequences that nobody holds. */
  miss(index: number): Chain {
    return chain(this.options.depth, () => MISS + index);
  }

  /** Blocks that the store of sequence `number` leaves out at its head. */
  skipped(number: number): number {
    const { mode, prefixes, shared } = this.options;
    return mode === 'tail' && number >= prefixes ? shared : 0;
  }

  /** The stored sequence that look-up `index` asks for. */
  picked(index: number): Chain {
    const worker = scattered(SEED ^ 0x4444_4444, 0, index) % this.options.workers;
    return this.sequence(worker, scattered(SEED ^ 0x5555_5555, 0, index) % this.options.sequences);
  }

  /** Distinct pairs of a worker and a block. */
  get pairs(): number {
    const { workers, sequences, depth, shared, prefixes } = this.options;
    return workers * (sequences * (depth - shared) + Math.min(prefixes, sequences) * shared);
  }
}

/** Adds hashes up as `CHECKSUMS` are. */
export function checksum({ blockHashes, sequenceHashes }: Chain, first: number, sum: bigint): bigint {
  const blocks = new DataView(blockHashes.buffer, blockHashes.byteOffset, blockHashes.length);
  const sequences = new DataView(sequenceHashes.buffer, sequenceHashes.byteOffset, sequenceHashes.length);
  let added = sum;
  for (let at = 8 * first; at < blockHashes.length; at += 8) {
    const block = blocks.getBigUint64(at, true);
    added += sequences.getBigUint64(at, true) + ((block << 1n) | (block >> 63n));
  }
  return BigInt.asUintN(64, added);
}

function chain(depth: number, idAt: (place: number) => number): Chain {
  const local = new Uint32Array(2 * depth);
  const chained = new Uint32Array(2 * depth);
  let low = 0x85a3_08d3;
  let high = 0x243f_6a88;
  for (let place = 0; place < depth; place += 1) {
    const id = idAt(place);
    const lowLocal = scattered(LOW, id, place);
    const highLocal = scattered(HIGH, id, place);
    low = mix((low + lowLocal) >>> 0);
    high = mix((high + highLocal) >>> 0);
    local[2 * place] = lowLocal;
    local[2 * place + 1] = highLocal;
    chained[2 * place] = low;
    chained[2 * place + 1] = high;
  }
  return { blockHashes: new Uint8Array(local.buffer), sequenceHashes: new Uint8Array(chained.buffer) };
}

/** The finalizer of MurmurHash3. */
function mix(value: number): number {
  let mixed = value;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85eb_ca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2_ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

function scattered(stream: number, id: number, place: number): number {
  return mix((mix((mix(stream >>> 0) + id) >>> 0) + place) >>> 0);
}
