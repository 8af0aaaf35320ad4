import { MAX_NAME_BYTES } from '../../../core/blocks/name-limits.js';
import { EngineEvent, type EngineEventType } from './engine-event.js';
import { joinLookahead } from './lookahead.js';
import { type MsgpackReader, UnreadableError } from './msgpack-reader.js';

/** Longest of the words that come from short lists: tags, media, kinds, localities, keys. */
export const MAX_WORD_BYTES = 256;
/**
 * Blocks of one event that are read, and items of its `extra_keys`: a prompt of two million tokens in blocks of 16. An
 * event is the smallest step of work.
 */
const MAX_EVENT_BLOCKS = 131_072;
/** More positions than this after `extra_keys` are not looked at. */
const MAX_TAIL_ITEMS = 16;

const STORED_TAIL_START = 9;
const REMOVED_TAIL_START = 3;

/** Decodes one event after the other, arrays and maps in all layouts since vLLM 0.9, into one object. */
export class EventDecoder {
  /** The last one that was read. */
  readonly event: EngineEvent = new EngineEvent();
  readonly #reader: MsgpackReader;
  readonly #tail = new Int32Array(MAX_TAIL_ITEMS);

  /** Reads where `reader` stands. */
  constructor(reader: MsgpackReader) {
    this.#reader = reader;
  }

  /** Reads the next event. Throws when its types are not those of an event, and then stands anywhere in it. */
  read(): void {
    if (this.#reader.kind === 'map') this.#mapEvent();
    else this.#arrayEvent();
    joinLookahead(this.#reader, this.event);
    this.#hideWideTokens();
  }

  #mapEvent(): void {
    const reader = this.#reader;
    const keys = reader.readMapHeader();
    const start = reader.offset;
    const event = this.event;
    event.reset(this.#typeAmong(keys));
    reader.offset = start;
    for (let i = 0; i < keys; i++) this.#field(this.#key());
  }

  /** The tag comes first wherever msgspec wrote it; others may have put it anywhere. */
  #typeAmong(keys: number): EngineEventType {
    for (let i = 0; i < keys; i++) {
      if (this.#key() === 'type') return typeOf(this.#reader.readString(MAX_WORD_BYTES));
      this.#reader.skip();
    }
    throw new UnreadableError('an event without a type');
  }

  #arrayEvent(): void {
    const reader = this.#reader;
    const event = this.event;
    const items = reader.readArrayHeader();
    if (items === 0) throw new UnreadableError('an event without a type');
    event.reset(typeOf(reader.readString(MAX_WORD_BYTES)));
    const fields = FIELDS_BY_POSITION[event.type];
    for (let i = 1; i < Math.min(items, fields.length + 1); i++) {
      const field = fields[i - 1] ?? '';
      if (i === 7 && reader.kind === 'map') this.#field('metadata');
      else this.#field(field);
    }
    // llm-d's simulator writes a parent of 0 for none, in arrays.
    if (event.parentLo === 0 && event.parentHi === 0) event.hasParent = false;
    if (event.type === 'stored') this.#readTail(items - STORED_TAIL_START);
    else if (event.type === 'removed') this.#readTail(items - REMOVED_TAIL_START);
    else for (let i = 1; i < items; i++) reader.skip();
  }

  #field(name: string): void {
    const reader = this.#reader;
    const event = this.event;
    if (reader.kind === 'nil') {
      reader.skip();
      return;
    }
    switch (event.type === 'ignored' ? '' : name) {
      case 'block_hashes':
        this.#blockHashes();
        return;
      case 'parent_block_hash':
        reader.readHash();
        event.hasParent = true;
        event.parentLo = reader.lo;
        event.parentHi = reader.hi;
        return;
      case 'token_ids':
        this.#tokenIds();
        return;
      case 'block_size':
        if (reader.kind === 'integer') event.tokensPerBlock = reader.readInteger();
        else reader.skip();
        return;
      case 'lora_id':
        if (reader.kind === 'integer') event.hasLoraId = reader.readInteger() !== 0;
        else {
          event.hasLoraId = true;
          reader.skip();
        }
        return;
      case 'lora_name':
        event.loraName = this.#name();
        return;
      case 'cache_salt':
        event.cacheSalt = this.#name();
        return;
      case 'metadata':
        this.#metadata();
        return;
      case 'medium':
        event.medium = reader.readString(MAX_WORD_BYTES);
        return;
      case 'extra_keys':
        event.extraKeysAt = this.#offsetOfList();
        return;
      case 'block_mm_infos':
        event.mediaInfosAt = this.#offsetOfList();
        return;
      case 'lookahead_token_ids':
        event.lookaheadAt = this.#offsetOfList();
        return;
      case 'group_idx':
        event.groupIndex = reader.readUint32();
        return;
      case 'kv_cache_spec_kind':
        event.attentionKind = reader.readString(MAX_WORD_BYTES);
        return;
      case 'kv_cache_spec_sliding_window':
        event.slidingWindow = windowOf(reader.readInteger());
        return;
      case 'locality':
        event.locality = reader.readString(MAX_WORD_BYTES);
        return;
      default:
        reader.skip();
    }
  }

  #blockHashes(): void {
    const reader = this.#reader;
    const event = this.event;
    const count = reader.readArrayHeader();
    if (count > MAX_EVENT_BLOCKS) throw new UnreadableError(`an event of ${count} blocks`);
    event.reserveHashes(count);
    const { hashes } = event;
    for (let i = 0; i < count; i++) {
      reader.readHash();
      hashes[2 * i] = reader.lo;
      hashes[2 * i + 1] = reader.hi;
    }
    event.hashCount = count;
  }

  #tokenIds(): void {
    const reader = this.#reader;
    const event = this.event;
    const count = reader.readArrayHeader();
    event.tokenCount = count;
    event.bigram = count > 0 && reader.kind === 'array';
    if (event.bigram) {
      this.#tokenPairs(count);
      return;
    }
    // One more, for a token behind the last block.
    event.reserveTokens(count + 1);
    event.wideTokenAt = reader.readUint32s(count, event.tokens);
  }

  #tokenPairs(count: number): void {
    const reader = this.#reader;
    const event = this.event;
    event.reserveTokens(count + 1);
    event.tokenCount = count + 1;
    event.pairsJoin = true;
    const { tokens } = event;
    for (let i = 0; i < count; i++) {
      if (reader.readArrayHeader() !== 2) throw new UnreadableError('token ids that are no pairs');
      const first = this.#tokenOfPair(i);
      if (i > 0 && tokens[i] !== first) event.pairsJoin = false;
      tokens[i] = first;
      tokens[i + 1] = this.#tokenOfPair(i);
    }
  }

  #tokenOfPair(at: number): number {
    const id = this.#reader.readInteger();
    if (id >= 0 && id <= 0xffff_ffff) return id;
    this.event.wideTokenAt = Math.min(this.event.wideTokenAt, at);
    return 0;
  }

  /** Blocks from the one on in which a token id stands that is none of a text. */
  #hideWideTokens(): void {
    const event = this.event;
    const { wideTokenAt, tokensPerBlock } = event;
    if (wideTokenAt === Number.POSITIVE_INFINITY) return;
    const block = tokensPerBlock > 0 ? Math.floor(wideTokenAt / tokensPerBlock) : 0;
    event.unidentifiedFrom = Math.min(event.unidentifiedFrom, block);
  }

  #name(): string | undefined {
    const reader = this.#reader;
    if (reader.peekStringLength() <= MAX_NAME_BYTES) return reader.readString(MAX_NAME_BYTES);
    reader.skip();
    this.event.nameTooLong = true;
    return undefined;
  }

  /** SGLang's `{"cache_salt": …}`. */
  #metadata(): void {
    const reader = this.#reader;
    const keys = reader.readMapHeader();
    for (let i = 0; i < keys; i++) {
      if (this.#key() === 'cache_salt') this.#field('cache_salt');
      else reader.skip();
    }
  }

  /** Where the next list starts, to be read later; -1 when all in it is nil, as it nearly always is. */
  #offsetOfList(): number {
    const reader = this.#reader;
    const start = reader.offset;
    let left = reader.readArrayHeader();
    if (left > MAX_EVENT_BLOCKS)
      throw new UnreadableError(`a list of ${left} items for the blocks of an event`);
    while (left > 0 && reader.readNil()) left -= 1;
    if (left === 0) return -1;
    while (left > 0) {
      reader.skip();
      left -= 1;
    }
    return start;
  }

  /**
   * What follows the positions that have always been there. Engines agree on
   * an order (`group_idx, kv_cache_spec_kind, kv_cache_spec_sliding_window,
   * locality, source_kind`, with `block_mm_infos` in front or not), but older
   * ones left out what was null, so that only the types show what is what.
   */
  #readTail(items: number): void {
    const reader = this.#reader;
    const count = Math.min(Math.max(items, 0), MAX_TAIL_ITEMS);
    for (let i = 0; i < items; i++) {
      if (i < count) this.#tail[i] = reader.offset;
      reader.skip();
    }
    const end = reader.offset;
    if (this.#tailFits(0, count)) this.#readFixedTail(0, count);
    else if (this.#isMediaInfos(count) && this.#tailFits(1, count)) {
      this.#fieldAt('block_mm_infos', 0);
      this.#readFixedTail(1, count);
    } else this.#readLegacyTail(count);
    reader.offset = end;
  }

  #isMediaInfos(count: number): boolean {
    const kind = count > 0 ? this.#kindAt(0) : 'nil';
    return kind === 'array' || kind === 'nil';
  }

  #tailFits(start: number, count: number): boolean {
    for (let i = start; i < Math.min(count, start + FIXED_TAIL.length); i++) {
      const kind = this.#kindAt(i);
      if (kind !== 'nil' && kind !== FIXED_TAIL[i - start]?.kind) return false;
    }
    return true;
  }

  #readFixedTail(start: number, count: number): void {
    for (let i = start; i < Math.min(count, start + FIXED_TAIL.length); i++) {
      this.#fieldAt(FIXED_TAIL[i - start]?.field ?? '', i);
    }
  }

  #readLegacyTail(count: number): void {
    let numbers = 0;
    let words = 0;
    for (let i = 0; i < count; i++) {
      const kind = this.#kindAt(i);
      if (kind === 'integer') {
        this.#fieldAt(numbers === 0 ? 'group_idx' : 'kv_cache_spec_sliding_window', i);
        numbers += 1;
      } else if (kind === 'string') {
        this.#fieldAt(['kv_cache_spec_kind', 'locality'][words] ?? '', i);
        words += 1;
      } else if (kind === 'array') this.#fieldAt('block_mm_infos', i);
    }
  }

  #kindAt(item: number): string {
    this.#reader.offset = this.#tail[item] ?? 0;
    return this.#reader.kind;
  }

  #fieldAt(name: string, item: number): void {
    this.#reader.offset = this.#tail[item] ?? 0;
    this.#field(name);
  }

  #key(): string {
    return this.#reader.readString(MAX_WORD_BYTES);
  }
}

const FIXED_TAIL = [
  { field: 'group_idx', kind: 'integer' },
  { field: 'kv_cache_spec_kind', kind: 'string' },
  { field: 'kv_cache_spec_sliding_window', kind: 'integer' },
  { field: 'locality', kind: 'string' },
  { field: 'source_kind', kind: 'string' },
] as const;

const FIELDS_BY_POSITION: Readonly<Record<EngineEventType, readonly string[]>> = {
  stored: [
    'block_hashes',
    'parent_block_hash',
    'token_ids',
    'block_size',
    'lora_id',
    'medium',
    'lora_name',
    'extra_keys',
  ],
  removed: ['block_hashes', 'medium'],
  cleared: [],
  ignored: [],
};

function typeOf(tag: string): EngineEventType {
  switch (tag) {
    case 'BlockStored':
      return 'stored';
    case 'BlockRemoved':
      return 'removed';
    case 'AllBlocksCleared':
      return 'cleared';
    default:
      return 'ignored';
  }
}

/** A window in tokens; what is no window is none. */
function windowOf(tokens: number): number {
  return tokens > 0 && tokens <= 0xffff_ffff ? tokens : 0;
}
