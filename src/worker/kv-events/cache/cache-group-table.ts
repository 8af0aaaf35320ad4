import {
  type CacheGroup,
  type CacheGroupKind,
  mainGroupOf,
} from '../../../core/contract/evidence/cache-groups.js';
import { isTokensPerBlock } from '../../../core/contract/evidence/tokens-per-block.js';
import type { EngineEvent } from '../decode/engine-event.js';
import { tierOfMedium } from '../decode/tier-of-medium.js';
import type { EventResult } from './event-counts.js';

/**
 * How blocks of a kind are found again. The words are those of `kv_cache_spec_kind`
 * (vLLM 0.32, `v1/kv_cache_interface.py`), the rules those of the managers in
 * `v1/core/single_type_kv_cache_manager.py`.
 */
const KINDS: Readonly<Record<string, CacheGroupKind>> = {
  full_attention: 'full_attention',
  mla_attention: 'full_attention',
  sink_full_attention: 'full_attention',
  sliding_window: 'sliding_window',
  sliding_window_mla: 'sliding_window',
  chunked_local_attention: 'chunked_local',
  mamba: 'state',
};

/** Kinds whose blocks no prompt finds again. */
const UNCACHED_KINDS: ReadonlySet<string> = new Set(['encoder_only_attention', 'cross_attention']);

/** Groups that are remembered; engines have up to about ten, and each costs a table of blocks. @internal */
export const MAX_CACHE_GROUPS = 64;

/** What the store of a group says of it. */
interface Learned {
  readonly kind: CacheGroupKind;
  readonly engineKind: string;
  readonly windowTokens: number;
  tokensPerBlock: number;
}

/** The KV cache groups of one rank, as its events show them. */
export class CacheGroupTable {
  readonly #learned = new Map<number, Learned>();
  /** Width of what names no kind: one group of full attention, as long as no other shows. 0 before the first. */
  #plainWidth = 0;
  #groups: readonly CacheGroup[] = [];
  #mainIndex = 0;
  #hasFullAttention = false;
  /** Why it is not known how the engine finds a hit, by what is wrong. */
  readonly #doubts = new Map<string, string>();

  /** Forgets all. */
  clear(): void {
    this.#learned.clear();
    this.#plainWidth = 0;
    this.#doubts.clear();
    this.#groups = [];
    this.#mainIndex = 0;
    this.#hasFullAttention = false;
  }

  /** By index; empty while one group of full attention is all that was seen. */
  get groups(): readonly CacheGroup[] {
    return this.#groups;
  }

  /** The index of the group whose blocks are the rank's own; 0 while nothing was seen. */
  get mainIndex(): number {
    return this.#mainIndex;
  }

  /** Whether the main group may keep only some blocks of a prompt: there is none of full attention. */
  get isSparse(): boolean {
    return this.#groups.length > 0 && !this.#hasFullAttention;
  }

  /** Why a hit cannot be predicted exactly; undefined when the groups are understood. */
  get doubt(): string | undefined {
    for (const doubt of this.#doubts.values()) return doubt;
    return undefined;
  }

  /** Whether the main group is one of full attention, which no group that is seen later replaces but one before it. */
  get hasFullAttention(): boolean {
    return this.#hasFullAttention;
  }

  /**
   * Takes in what a store or removal says of its group. Why its blocks cannot be followed; undefined when they can, as
   * those of the group `groupIndex`, or of group 0 where it names none.
   */
  read(event: EngineEvent): EventResult | undefined {
    const { attentionKind, groupIndex, slidingWindow } = event;
    if (attentionKind !== undefined) return this.#readKind(event, attentionKind);
    const index = groupIndex ?? 0;
    const learned = this.#learned.get(index);
    if (learned !== undefined) {
      if (event.type === 'stored') this.#widen(learned, event);
      return learned.kind === 'other' ? 'unknown_attention_kind' : undefined;
    }
    // An engine too old to name the kind shows it by the window: full attention has none.
    if (slidingWindow > 0 && groupIndex !== undefined) {
      return this.#learn(groupIndex, 'sliding_window', '', event);
    }
    if (slidingWindow > 0) return this.#doubtGroup('window', 'a sliding window without a KV cache group');
    if (index === 0) {
      if (event.type !== 'stored' || !isOnDevice(event)) return undefined;
      if (this.#learned.size > 0) return this.#learn(0, 'full_attention', '', event);
      this.#plainWidth = event.tokensPerBlock;
      return undefined;
    }
    if (event.type === 'stored') {
      this.#doubtGroup(
        `unlearned ${index}`,
        `blocks of KV cache group ${index}, whose kind they do not name`,
      );
    }
    return 'unlearned_group';
  }

  #readKind(event: EngineEvent, word: string): EventResult | undefined {
    const { groupIndex } = event;
    if (UNCACHED_KINDS.has(word)) return 'non_main_attention';
    const kind = Object.hasOwn(KINDS, word) ? (KINDS[word] ?? 'other') : 'other';
    if (groupIndex === undefined) {
      if (kind === 'full_attention') return undefined;
      return this.#doubtGroup(`kind ${word}`, `blocks of the kind ${word} without a KV cache group`);
    }
    if (event.type === 'stored') return this.#learn(groupIndex, kind, word, event);
    return kind === 'other' ? 'unknown_attention_kind' : undefined;
  }

  #learn(
    index: number,
    kind: CacheGroupKind,
    engineKind: string,
    event: EngineEvent,
  ): EventResult | undefined {
    const windowTokens = kind === 'full_attention' ? 0 : event.slidingWindow;
    const known = this.#learned.get(index);
    const isSame = known?.engineKind === engineKind && known.windowTokens === windowTokens;
    if (known !== undefined && isSame) this.#widen(known, event);
    else if (known === undefined && this.#learned.size >= MAX_CACHE_GROUPS) {
      this.#doubtGroup('count', `more than ${MAX_CACHE_GROUPS} KV cache groups`);
      return 'unlearned_group';
    } else if (known === undefined && !isOnDevice(event)) {
      // A farther tier may cut other blocks.
      return kind === 'full_attention' ? undefined : 'unlearned_group';
    } else if (isTokensPerBlock(event.tokensPerBlock)) {
      if (known !== undefined) {
        this.#doubtGroup(
          `changed ${index}`,
          `KV cache group ${index} first as ${describeLearned(known)} and then as ${engineKind}`,
        );
      }
      this.#doubts.delete(`unlearned ${index}`);
      this.#learned.set(index, { kind, engineKind, windowTokens, tokensPerBlock: event.tokensPerBlock });
      if (isTokensPerBlock(this.#plainWidth) && !this.#learned.has(0)) {
        const plain = { kind: 'full_attention', engineKind: '', windowTokens: 0 } as const;
        this.#learned.set(0, { ...plain, tokensPerBlock: this.#plainWidth });
      }
      this.#conclude();
    }
    return kind === 'other' ? 'unknown_attention_kind' : undefined;
  }

  /** Blocks of part of a group's width make prefix hits possible that end within a block (vLLM's `prefix_match_unit`). */
  #widen(learned: Learned, event: EngineEvent): void {
    const { tokensPerBlock } = event;
    if (tokensPerBlock === learned.tokensPerBlock || !isTokensPerBlock(tokensPerBlock)) return;
    if (!isOnDevice(event)) return;
    learned.tokensPerBlock = Math.max(tokensPerBlock, learned.tokensPerBlock);
    if (this.#groups.length > 0) this.#doubtGroup('widths', 'blocks of several widths in one KV cache group');
    this.#conclude();
  }

  #doubtGroup(key: string, what: string): EventResult {
    if (this.#doubts.size < MAX_CACHE_GROUPS && !this.#doubts.has(key)) {
      this.#doubts.set(key, `how the engine finds a prefix is not known: its events show ${what}`);
    }
    return 'non_main_attention';
  }

  #conclude(): void {
    const groups = [...this.#learned]
      .sort(([one], [other]) => one - other)
      .map(([index, { kind, engineKind, windowTokens, tokensPerBlock }]) => ({
        index,
        kind,
        tokensPerBlock,
        ...(windowTokens > 0 ? { windowTokens } : {}),
        engineKind,
      }));
    const main = mainGroupOf(groups);
    this.#mainIndex = main?.index ?? 0;
    this.#hasFullAttention = main?.kind === 'full_attention';
    const isPlain = groups.length === 1 && main?.kind === 'full_attention';
    this.#groups = isPlain ? [] : groups;
    for (const key of ['other', 'window of', 'sizes']) this.#doubts.delete(key);
    const other = groups.find(({ kind }) => kind === 'other');
    if (other !== undefined) {
      this.#doubtGroup('other', `KV cache group ${other.index} of the unknown kind ${other.engineKind}`);
    }
    const open = groups.find(
      ({ kind, windowTokens }) =>
        (kind === 'sliding_window' || kind === 'chunked_local') && windowTokens === undefined,
    );
    if (open !== undefined) {
      this.#doubtGroup(
        'window of',
        `KV cache group ${open.index} of the kind ${open.engineKind} without its window`,
      );
    }
    const full = groups.filter(({ kind }) => kind === 'full_attention');
    const sizes = new Set(full.map(({ tokensPerBlock }) => tokensPerBlock));
    if (sizes.size > 1) {
      this.#doubtGroup('sizes', `full attention in blocks of ${[...sizes].join(' and ')} tokens`);
    }
  }
}

function isOnDevice({ medium }: EngineEvent): boolean {
  return tierOfMedium(medium) === 'device';
}

function describeLearned({ engineKind, windowTokens }: Learned): string {
  return windowTokens > 0 ? `${engineKind} of ${windowTokens} tokens` : engineKind;
}
