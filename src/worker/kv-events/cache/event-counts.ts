/** What an engine's event says, as far as it is counted: `other` is a tag that none of the three is, and a batch that cannot be read. */
export const EVENT_TYPES = ['stored', 'removed', 'cleared', 'other'] as const;

/** One of `EVENT_TYPES`. */
export type EventType = (typeof EVENT_TYPES)[number];

/**
 * What came of an event. Closed: every event is counted under at least one of
 * these, and under each that is true of some of its blocks.
 */
export const EVENT_RESULTS = [
  /** It changed what the rank is known to hold. */
  'applied',
  /** All that it stores was held already. */
  'duplicate',
  /** It removes one of several copies of a block (vLLM announces each): the block stays. */
  'copy_left',
  /** It stores nothing: no hashes, or less than one whole block (TensorRT-LLM sends those). */
  'no_whole_block',
  /** It stores blocks after one that is not known: one that was missed. */
  'unknown_parent',
  /** It removes, moves or copies a block that is not held there. */
  'unknown_block',
  /** It says nothing about blocks: `Ignored`, TensorRT-LLM's `created`, tags that are not known. */
  'ignored_event',
  /** It is about a cache that no prompt finds again, or of a sliding window without a KV cache group. */
  'non_main_attention',
  /** Its `kv_cache_spec_kind` is not in the list: how its blocks are found again is not known. */
  'unknown_attention_kind',
  /** It names a cache group other than 0 whose kind no store has named. */
  'unlearned_group',
  /** Its block lies elsewhere: `locality` is not `LOCAL`. */
  'remote_locality',
  /** Its `medium` is not in the list, so that there is no tier for it. */
  'unknown_medium',
  /** A block depends on media or other extra keys that the event does not give in full; kept out, and what follows it. */
  'media_identity_unknown',
  /** It follows a block that is kept out, and is kept out therefore. */
  'hidden_parent',
  /** One engine hash stands for several identities (salted and not); kept out, and what follows it. */
  'ambiguous_salt',
  /** It names its LoRA by an engine's own number alone, which no request can name; kept out. */
  'unnamed_lora',
  /** Its LoRA name or salt is too long, or there are too many of them; kept out. */
  'namespace_refused',
  /** Its `block_size` is missing or outside of 1 to 1,048,576; TensorRT-LLM: not to be known yet. */
  'width_invalid',
  /** The block is held with another width, in a nearer tier. */
  'width_conflict',
  /**
   * Its tokens are not those of its hashes: too few, a block or more too many, or pairs that do not join; of a sparse KV
   * cache group: which blocks they are, the main group does not say.
   */
  'tokens_hashes_mismatch',
  /** The bound on blocks is reached. */
  'mirror_full',
  /** Its bytes, or the types in them, are none of the known forms. */
  'undecodable',
] as const;

/** One of `EVENT_RESULTS`. */
export type EventResult = (typeof EVENT_RESULTS)[number];

/** Counts events by type and result, for the metrics of its owner. */
export class EventCounts {
  readonly #totals = new Float64Array(EVENT_TYPES.length * EVENT_RESULTS.length);

  countEvent(type: EventType, result: EventResult, n = 1): void {
    const at = indexOf(type, result);
    this.#totals[at] = (this.#totals[at] ?? 0) + n;
  }

  total(type: EventType, result: EventResult): number {
    return this.#totals[indexOf(type, result)] ?? 0;
  }

  /** Every pair that was counted at least once. */
  entries(): { readonly type: EventType; readonly result: EventResult; readonly total: number }[] {
    return EVENT_TYPES.flatMap((type) =>
      EVENT_RESULTS.map((result) => ({ type, result, total: this.total(type, result) })),
    ).filter((entry) => entry.total > 0);
  }
}

function indexOf(type: EventType, result: EventResult): number {
  return EVENT_TYPES.indexOf(type) * EVENT_RESULTS.length + EVENT_RESULTS.indexOf(result);
}
