/** What the tag of an event says. */
export type EngineEventType = 'stored' | 'removed' | 'cleared' | 'ignored';

/** Buffers larger than this many items are given back after the batch that needed them. */
const KEPT_ITEMS = 65_536;

/**
 * One event as the engine says it, before any judgement. There is one of it per
 * decoder, filled again for each event: what is in it holds until the next.
 */
export class EngineEvent {
  type: EngineEventType = 'ignored';
  /** Low and high words, one pair per block. */
  hashes: Uint32Array = new Uint32Array(2 * 1_024);
  hashCount = 0;
  hasParent = false;
  parentLo = 0;
  parentHi = 0;
  /** In the order of the prompt; those of pairs joined: n pairs are n+1 tokens. */
  tokens: Uint32Array = new Uint32Array(16 * 1_024);
  tokenCount = 0;
  /** A block covers one token more than its width: SGLang gives pairs of tokens then (EAGLE), vLLM the token behind each block. */
  bigram = false;
  /** Each pair begins with the token that the one before ended with. */
  pairsJoin = true;
  /** `block_size`; NaN when it is missing or no integer. */
  tokensPerBlock: number = Number.NaN;
  medium: string | undefined;
  loraName: string | undefined;
  /** `lora_id`, when it is anything but null and 0. */
  hasLoraId = false;
  cacheSalt: string | undefined;
  /** A LoRA name or salt was longer than `MAX_NAME_BYTES`. */
  nameTooLong = false;
  groupIndex: number | undefined;
  attentionKind: string | undefined;
  /** `kv_cache_spec_sliding_window`; 0 when there is none. */
  slidingWindow = 0;
  locality: string | undefined;
  /** Where `extra_keys` and `block_mm_infos` start in the payload; -1 when they are not there or null. */
  extraKeysAt = -1;
  mediaInfosAt = -1;
  /** Where `lookahead_token_ids` starts; -1 when it is not there or null. */
  lookaheadAt = -1;
  /** Tokens behind each block that its hash covers as well (vLLM with EAGLE or MTP, since 0.33); 0 where it names none. */
  lookaheadTokens = 0;
  /** First block whose identity the event does not give in full, apart from its extra keys. */
  unidentifiedFrom: number = Number.POSITIVE_INFINITY;
  /**
   * Place of the first token id that is no u32. SGLang puts such numbers, made of the pixels, in place of an image's tokens
   * (`_compute_pad_values` in its `schedule_batch.py`): nobody else can work them out.
   */
  wideTokenAt: number = Number.POSITIVE_INFINITY;
  /** A removal that names no tier, from an engine that has several. */
  everyTier = false;
  /** The event in short, where its fields do not show it. */
  words: string | undefined;
  /** The width is not in the event: it proves nothing. */
  widthAssumed = false;
  /** It was put off to the end of its batch, and is given for the second time. */
  isDeferred = false;

  reset(type: EngineEventType): void {
    this.type = type;
    this.hashCount = 0;
    this.hasParent = false;
    this.tokenCount = 0;
    this.bigram = false;
    this.pairsJoin = true;
    this.tokensPerBlock = Number.NaN;
    this.medium = undefined;
    this.loraName = undefined;
    this.hasLoraId = false;
    this.cacheSalt = undefined;
    this.nameTooLong = false;
    this.groupIndex = undefined;
    this.attentionKind = undefined;
    this.slidingWindow = 0;
    this.locality = undefined;
    this.extraKeysAt = -1;
    this.mediaInfosAt = -1;
    this.lookaheadAt = -1;
    this.lookaheadTokens = 0;
    this.unidentifiedFrom = Number.POSITIVE_INFINITY;
    this.wideTokenAt = Number.POSITIVE_INFINITY;
    this.everyTier = false;
    this.words = undefined;
    this.widthAssumed = false;
    this.isDeferred = false;
  }

  /** Makes room; what was in the buffers is lost. */
  reserveHashes(count: number): void {
    if (this.hashes.length < 2 * count) this.hashes = new Uint32Array(2 * count);
  }

  reserveTokens(count: number): void {
    if (this.tokens.length < count) this.tokens = new Uint32Array(count);
  }

  /** Gives back what only a giant needed. */
  trim(): void {
    if (this.hashes.length > KEPT_ITEMS) this.hashes = new Uint32Array(2 * 1_024);
    if (this.tokens.length > KEPT_ITEMS) this.tokens = new Uint32Array(16 * 1_024);
  }
}
