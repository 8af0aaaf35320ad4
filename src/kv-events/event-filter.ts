import type { Tier } from '../blocks/tier.js';
import type { EngineEvent } from './engine-event.js';
import type { EventResult } from './event-counts.js';

/** Kinds of attention whose blocks hold whole prefixes (`kv_cache_spec_kind` of vLLM). */
const MAIN_KINDS: ReadonlySet<string> = new Set(['full_attention', 'mla_attention', 'sink_full_attention']);

/** Kinds that are known not to. */
const OTHER_KINDS: ReadonlySet<string> = new Set([
  'sliding_window',
  'sliding_window_mla',
  'mamba',
  'chunked_local_attention',
  'encoder_only_attention',
  'cross_attention',
]);

/** Words of `medium`, as vLLM, SGLang and Dynamo write them. */
const TIER_OF_MEDIUM: Readonly<Record<string, Tier>> = {
  GPU: 'device',
  DEVICE: 'device',
  CPU: 'host',
  CPU_PINNED: 'host',
  CPU_TIER1: 'host',
  CPU_TIER2: 'disk',
  DISK: 'disk',
  NVME: 'disk',
  STORAGE: 'disk',
  EXTERNAL: 'external',
  NETWORK: 'external',
  REMOTE: 'external',
  SHARED: 'external',
};

/** Cache groups whose kind is remembered; an engine has a handful. */
const MAX_GROUPS = 1_024;

/**
 * The tier of a `medium`; none for a word that is not known. Dynamo takes that
 * for the device; here a wrong credit weighs more than a missing one.
 */
export function tierOfMedium(medium: string | undefined): Tier | undefined {
  if (medium === undefined) return 'device';
  return Object.hasOwn(TIER_OF_MEDIUM, medium) ? TIER_OF_MEDIUM[medium] : undefined;
}

/** Lets only those events pass that tell of whole prefixes on the worker's own memory. */
export class EventFilter {
  readonly #mainGroups = new Map<number, boolean>();

  /** Forgets what it learned of the engine's cache groups. */
  clear(): void {
    this.#mainGroups.clear();
  }

  /** Why a store or removal must not be applied; undefined when it may. */
  refusal(event: EngineEvent): EventResult | undefined {
    if (event.locality !== undefined && event.locality !== 'LOCAL') return 'remote_locality';
    return this.#groupRefusal(event);
  }

  #groupRefusal(event: EngineEvent): EventResult | undefined {
    const { attentionKind, groupIndex } = event;
    if (attentionKind !== undefined) {
      const main = MAIN_KINDS.has(attentionKind);
      if (event.type === 'stored') this.#learn(groupIndex, main);
      if (main) return undefined;
      return OTHER_KINDS.has(attentionKind) ? 'non_main_attention' : 'unknown_attention_kind';
    }
    const learned = groupIndex === undefined ? undefined : this.#mainGroups.get(groupIndex);
    if (learned !== undefined) return learned ? undefined : 'non_main_attention';
    // Full attention has no window, and an engine too old to tell the kind tells it with the window.
    if (event.hasSlidingWindow) return 'non_main_attention';
    return groupIndex === undefined || groupIndex === 0 ? undefined : 'unlearned_group';
  }

  #learn(groupIndex: number | undefined, main: boolean): void {
    if (groupIndex === undefined) return;
    if (this.#mainGroups.size < MAX_GROUPS || this.#mainGroups.has(groupIndex)) {
      this.#mainGroups.set(groupIndex, main);
    }
  }
}
