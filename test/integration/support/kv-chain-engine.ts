import { Encoder } from '@msgpack/msgpack';
import type { Tier } from '../../../src/core/blocks/tier.js';
import { type ChainBlock, type ChainBlocks, TOKENS_PER_BLOCK } from './kv-chain-blocks.js';

/** Something that an engine does with the cache of one rank. */
export type CacheStep =
  /** A request: what is missing of its blocks is stored on the device. */
  | { readonly do: 'prompt'; readonly namespace: number; readonly path: readonly number[] }
  /** Blocks of a tier are freed, wherever they stand in their chains. */
  | { readonly do: 'evict'; readonly tier: Tier; readonly pick: number; readonly count: number }
  /** The last blocks of a chain are freed, the last one first. */
  | { readonly do: 'evict_tail'; readonly tier: Tier; readonly pick: number; readonly count: number }
  /** Blocks of the device are copied to another tier; stored with their tokens or without. */
  | {
      readonly do: 'offload';
      readonly tier: Tier;
      readonly pick: number;
      readonly count: number;
      readonly isTold: boolean;
    }
  /** A store of what is held is sent again. */
  | { readonly do: 'repeat'; readonly pick: number }
  | { readonly do: 'clear' }
  /** Something that says nothing of whole prefixes on this worker. */
  | { readonly do: 'noise'; readonly which: (typeof NOISE)[number]; readonly pick: number };

export const NOISE = [
  'window_remove',
  'remote',
  'unknown_medium',
  'unknown_tag',
  'part_of_a_block',
  'remove_unknown',
] as const;

/** How an engine writes its events. */
export interface EngineStyle {
  readonly events: 'map' | 'array';
  readonly batch: 'map' | 'array';
  readonly hashes: 'unsigned' | 'signed' | 'bytes';
  readonly salt: 'field' | 'extra_keys';
}

/** What a rank held after one of its batches, or at the start of its engine. */
export interface Moment {
  readonly start: number;
  /** -1: before the first batch of the start. */
  readonly sequence: number;
  /** `tier sequenceHash`. */
  readonly held: ReadonlySet<string>;
}

const MEDIA: Readonly<Record<Tier, string>> = {
  device: 'GPU',
  host: 'CPU',
  disk: 'DISK',
  external: 'REMOTE',
};

const ENCODER = new Encoder({ useBigInt64: true });

interface StoredEvent {
  readonly blocks: readonly ChainBlock[];
  readonly tier: Tier;
  readonly isTold: boolean;
}

/**
 * The cache of one data-parallel rank in the plainest way, with all that it
 * ever held: the truth that pictures and indexes are compared with.
 */
export class RankEngine {
  /** Every batch of this engine start. */
  payloads: Uint8Array[] = [];
  readonly timeline: Moment[] = [{ start: 0, sequence: -1, held: new Set() }];
  readonly style: EngineStyle;
  readonly #blocks: ChainBlocks;
  readonly #tiers: Readonly<Record<Tier, Map<string, ChainBlock>>> = {
    device: new Map(),
    host: new Map(),
    disk: new Map(),
    external: new Map(),
  };
  readonly #moments = new Map<number, number>();
  #start = 0;
  #lastStore: StoredEvent | undefined;

  constructor(style: EngineStyle, blocks: ChainBlocks) {
    this.style = style;
    this.#blocks = blocks;
  }

  /** What it holds now. */
  get held(): ReadonlySet<string> {
    return (this.timeline.at(-1) as Moment).held;
  }

  /** Place in the timeline of the batch that was published at this time. */
  momentOf(publishedAtMs: number): number | undefined {
    return this.#moments.get(publishedAtMs);
  }

  /** Does the steps, and reports them in one batch. */
  publish(steps: readonly CacheStep[]): void {
    const events = steps.flatMap((step) => this.#do(step));
    const publishedAtMs = nextTimeMs();
    const seconds = publishedAtMs / 1_000;
    const batch =
      this.style.batch === 'array' ? [seconds, events, 0] : { ts: seconds, events, data_parallel_rank: 0 };
    const sequence = this.payloads.push(ENCODER.encode(batch)) - 1;
    const held = Object.entries(this.#tiers).flatMap(([tier, blocks]) =>
      [...blocks.keys()].map((hash) => `${tier} ${hash}`),
    );
    this.timeline.push({ start: this.#start, sequence, held: new Set(held) });
    this.#moments.set(publishedAtMs, this.timeline.length - 1);
  }

  /** Another process, with an empty cache. */
  restart(): void {
    for (const blocks of Object.values(this.#tiers)) blocks.clear();
    this.#lastStore = undefined;
    this.payloads = [];
    this.#start += 1;
    this.timeline.push({ start: this.#start, sequence: -1, held: new Set() });
  }

  #do(step: CacheStep): unknown[] {
    switch (step.do) {
      case 'prompt':
        return this.#prompt(step.namespace, step.path);
      case 'evict':
        return this.#evict(step.tier, this.#pick(step.tier, step.pick, step.count));
      case 'evict_tail':
        return this.#evict(step.tier, this.#pickTail(step.tier, step.pick, step.count));
      case 'offload':
        return this.#offload(step);
      case 'repeat':
        return this.#lastStore === undefined || !this.#isHeld(this.#lastStore)
          ? []
          : [this.#stored(this.#lastStore)];
      case 'clear':
        for (const blocks of Object.values(this.#tiers)) blocks.clear();
        return [this.#write('AllBlocksCleared', [])];
      case 'noise':
        return [this.#noise(step.which, step.pick)];
    }
  }

  #prompt(namespace: number, path: readonly number[]): unknown[] {
    const blocks = this.#blocks.along(namespace, path);
    const hits = blocks.findIndex((block) => !this.#tiers.device.has(keyOf(block)));
    if (hits === -1) return [];
    const event: StoredEvent = { blocks: blocks.slice(hits), tier: 'device', isTold: true };
    for (const block of event.blocks) this.#tiers.device.set(keyOf(block), block);
    this.#lastStore = event;
    return [this.#stored(event)];
  }

  #evict(tier: Tier, blocks: readonly ChainBlock[]): unknown[] {
    if (blocks.length === 0) return [];
    for (const block of blocks) this.#tiers[tier].delete(keyOf(block));
    return [this.#removed(blocks, tier)];
  }

  #offload({ tier, pick, count, isTold }: CacheStep & { do: 'offload' }): unknown[] {
    const [last] = this.#pick('device', pick, 1);
    if (last === undefined) return [];
    // A run that ends with it, as far as the device has it.
    const blocks = [last];
    for (let at = last.parent; at !== undefined && blocks.length < count; at = at.parent) {
      if (!this.#tiers.device.has(keyOf(at))) break;
      blocks.unshift(at);
    }
    for (const block of blocks) this.#tiers[tier].set(keyOf(block), block);
    return [this.#stored({ blocks, tier, isTold })];
  }

  #pick(tier: Tier, pick: number, count: number): ChainBlock[] {
    const held = [...this.#tiers[tier].values()];
    const start = held.length === 0 ? 0 : pick % held.length;
    return held.slice(start, start + count);
  }

  #pickTail(tier: Tier, pick: number, count: number): ChainBlock[] {
    const held = this.#tiers[tier];
    const parents = new Set([...held.values()].map(({ parent }) => parent));
    const tails = [...held.values()].filter((block) => !parents.has(block));
    let at = tails[pick % Math.max(1, tails.length)];
    const blocks: ChainBlock[] = [];
    while (at !== undefined && blocks.length < count && held.has(keyOf(at))) {
      blocks.push(at);
      at = at.parent;
    }
    return blocks;
  }

  #isHeld({ blocks, tier }: StoredEvent): boolean {
    return blocks.every((block) => this.#tiers[tier].has(keyOf(block)));
  }

  #stored({ blocks, tier, isTold }: StoredEvent): unknown {
    const [first] = blocks;
    const { loraName = '', cacheSalt = '' } = first?.namespace ?? {};
    const isMap = this.style.events === 'map';
    const asMetadata = !isMap && this.style.salt === 'field' && loraName === '' && cacheSalt !== '';
    const asField = isMap && this.style.salt === 'field';
    const extraKeys = blocks.map(({ parent }) => {
      const hasSalt = parent === undefined && cacheSalt !== '' && !asField && !asMetadata;
      const keys = [...(loraName === '' ? [] : [loraName]), ...(hasSalt ? [cacheSalt] : [])];
      return keys.length === 0 ? null : keys;
    });
    return this.#write('BlockStored', [
      ['block_hashes', blocks.map((block) => this.#hash(block))],
      ['parent_block_hash', isTold && first?.parent !== undefined ? this.#hash(first.parent) : null],
      ['token_ids', isTold ? blocks.flatMap(({ tokens }) => tokens) : []],
      ['block_size', TOKENS_PER_BLOCK],
      ['lora_id', null],
      ['medium', MEDIA[tier]],
      asMetadata
        ? ['metadata', { cache_salt: cacheSalt }]
        : ['lora_name', isTold && loraName !== '' ? loraName : null],
      ['extra_keys', isTold && extraKeys.some((keys) => keys !== null) ? extraKeys : null],
      ...(asField && isTold ? [['cache_salt', cacheSalt === '' ? null : cacheSalt] as const] : []),
    ]);
  }

  #removed(blocks: readonly ChainBlock[], tier: Tier): unknown {
    const hashes = blocks.map((block) => this.#hash(block));
    return this.#write('BlockRemoved', [
      ['block_hashes', hashes],
      ['medium', MEDIA[tier]],
    ]);
  }

  #noise(which: (typeof NOISE)[number], pick: number): unknown {
    const [block = this.#blocks.along(0, [pick % 3])[0] as ChainBlock] = this.#pick('device', pick, 1);
    const [stranger] = this.#blocks.along(0, [7]) as [ChainBlock];
    const store = (hashes: readonly ChainBlock[], medium: string, tail: [string, unknown][]): unknown =>
      this.#write('BlockStored', [
        ['block_hashes', hashes.map((one) => this.#hash(one))],
        ['parent_block_hash', null],
        ['token_ids', hashes.length === 0 ? [1, 2] : stranger.tokens],
        ['block_size', TOKENS_PER_BLOCK],
        ['lora_id', null],
        ['medium', medium],
        ['lora_name', null],
        ['extra_keys', null],
        ...tail,
      ]);
    switch (which) {
      case 'window_remove':
        return this.#write('BlockRemoved', [
          ['block_hashes', [this.#hash(block)]],
          ['medium', 'GPU'],
          ['group_idx', 1],
        ]);
      case 'remote':
        return store([stranger], 'GPU', [
          ['group_idx', null],
          ['kv_cache_spec_kind', null],
          ['kv_cache_spec_sliding_window', null],
          ['locality', 'REMOTE'],
        ]);
      case 'unknown_medium':
        return store([stranger], 'FPGA', []);
      case 'unknown_tag':
        return this.#write('BlockAdmired', [['block_hashes', [this.#hash(block)]]]);
      case 'part_of_a_block':
        return store([], 'GPU', []);
      case 'remove_unknown':
        return this.#removed([stranger], 'disk');
    }
  }

  #hash({ engineHash }: ChainBlock): unknown {
    switch (this.style.hashes) {
      case 'unsigned':
        return engineHash;
      case 'signed':
        return BigInt.asIntN(64, engineHash);
      case 'bytes': {
        const bytes = Buffer.alloc(32, 0xa5);
        bytes.writeBigUInt64BE(engineHash, 24);
        return bytes;
      }
    }
  }

  #write(type: string, fields: readonly (readonly [string, unknown])[]): unknown {
    if (this.style.events === 'array') return [type, ...fields.map(([, value]) => value)];
    return { type, ...Object.fromEntries(fields.filter(([, value]) => value !== null)) };
  }
}

function keyOf({ sequenceHash }: ChainBlock): string {
  return String(sequenceHash);
}

let published = 0;

/** Each batch has a time of its own, by which it is known again. */
function nextTimeMs(): number {
  published += 1;
  return 1_790_000_000_000 + published;
}
