import { MAX_NAME_BYTES } from '../../core/blocks/name-limits.js';
import { EngineEvent, type EngineEventType } from './engine-event.js';
import { MsgpackReader, UnreadableError } from './msgpack-reader.js';

/** Largest payload that is looked into. vLLM's are some 26 KiB for 512 blocks of 16 tokens. */
const MAX_PAYLOAD_BYTES = 67_108_864;
/** Longest of the words that come from short lists: tags, media, kinds, localities, keys. */
const MAX_WORD_BYTES = 256;
/**
 * Events of one batch that are read: twice what an engine that evicts a million tokens in one step publishes, each block in
 * an event of its own.
 */
const MAX_EVENTS = 131_072;
/**
 * Blocks of one event that are read, and items of its `extra_keys`: a prompt of two million tokens in blocks of 16. An
 * event is the smallest step of work.
 */
const MAX_EVENT_BLOCKS = 131_072;
/** Work of one step: an event counts one, and one more for each of its blocks. About a quarter of a millisecond. */
const STEP_WORK = 256;
/** Unreadable events after which the rest of a batch is given up. */
const MAX_UNREADABLE_EVENTS = 64;
/** More positions than this after `extra_keys` are not looked at. */
const MAX_TAIL_ITEMS = 16;

const STORED_TAIL_START = 9;
const REMOVED_TAIL_START = 3;

/** What a batch says besides its events. */
export interface BatchHead {
  readonly publishedAtMs?: number;
  readonly rank?: number;
  /** The first thing that could not be read. */
  readonly problem?: string;
}

/**
 * Decodes the batches of vLLM, SGLang, TensorRT-LLM's stream, Dynamo and their
 * simulators: arrays and maps at both levels, in all layouts since vLLM 0.9.
 * An event that cannot be read is passed over when its end can be found.
 */
export class BatchDecoder {
  /** Stands on the event while `onEvent` runs, which may move it. */
  readonly reader: MsgpackReader = new MsgpackReader();
  readonly #event = new EngineEvent();
  readonly #tail = new Int32Array(MAX_TAIL_ITEMS);
  #publishedAtMs: number | undefined;
  #rank: number | undefined;
  #problem: string | undefined;
  #unreadable = 0;
  /** Where the events start that were put off, in order. */
  #deferred: number[] = [];
  #eventStart = 0;

  /**
   * Puts the event that is being given off to the end of its batch, where it is given again, after all that were not
   * put off and in order with those that were. For `onEvent` to call.
   */
  defer(): void {
    this.#deferred.push(this.#eventStart);
  }

  /** Gives none of those again that were put off so far. For `onEvent` and `onUnreadable` to call. */
  dropDeferred(): void {
    if (this.#deferred.length > 0) this.#deferred = [];
  }

  /** Calls `onEvent` for each event, and `onUnreadable` for each, and for each rest, that cannot be read. */
  decode(payload: Uint8Array, onEvent: (event: EngineEvent) => void, onUnreadable: () => void): BatchHead {
    return toTheEnd(this.decodeInSteps(payload, onEvent, onUnreadable));
  }

  /**
   * The same in steps of bounded work, a whole number of events each. The payload must not change meanwhile, and no other
   * may be decoded. A caller that stops before the end calls `return`.
   */
  *decodeInSteps(
    payload: Uint8Array,
    onEvent: (event: EngineEvent) => void,
    onUnreadable: () => void,
  ): Generator<undefined, BatchHead, undefined> {
    this.#publishedAtMs = undefined;
    this.#rank = undefined;
    this.#problem = undefined;
    this.#unreadable = 0;
    this.#deferred = [];
    try {
      if (payload.length > MAX_PAYLOAD_BYTES) {
        throw new UnreadableError(`a payload of ${payload.length} bytes`);
      }
      this.reader.open(payload);
      yield* this.#batch(onEvent, onUnreadable);
    } catch (error) {
      this.#problem ??= problemOf(error);
      onUnreadable();
    } finally {
      this.#event.trim();
      this.reader.open(new Uint8Array(0));
    }
    return {
      ...(this.#publishedAtMs === undefined ? {} : { publishedAtMs: this.#publishedAtMs }),
      ...(this.#rank === undefined ? {} : { rank: this.#rank }),
      ...(this.#problem === undefined ? {} : { problem: this.#problem }),
    };
  }

  *#batch(
    onEvent: (event: EngineEvent) => void,
    onUnreadable: () => void,
  ): Generator<undefined, void, undefined> {
    const { reader } = this;
    if (reader.kind === 'map') {
      const keys = reader.readMapHeader();
      let hasEvents = false;
      for (let i = 0; i < keys; i++) {
        const key = this.#key();
        hasEvents ||= key === 'events';
        if (key === 'ts') this.#time();
        else if (key === 'events') yield* this.#events(onEvent, onUnreadable);
        else if (key === 'data_parallel_rank') this.#dataParallelRank();
        else reader.skip();
      }
      if (!hasEvents) throw new UnreadableError('a batch without events');
      return;
    }
    const items = reader.readArrayHeader();
    if (items < 2) throw new UnreadableError('a batch without events');
    for (let i = 0; i < items; i++) {
      if (i === 0) this.#time();
      else if (i === 1) yield* this.#events(onEvent, onUnreadable);
      else if (i === 2) this.#dataParallelRank();
      else reader.skip();
    }
  }

  #time(): void {
    if (this.reader.readNil()) return;
    const publishedAtMs = Math.round(this.reader.readNumber() * 1_000);
    if (publishedAtMs >= 0 && Number.isSafeInteger(publishedAtMs)) {
      this.#publishedAtMs = publishedAtMs;
    }
  }

  #dataParallelRank(): void {
    if (!this.reader.readNil()) this.#rank = this.reader.readUint32();
  }

  *#events(
    onEvent: (event: EngineEvent) => void,
    onUnreadable: () => void,
  ): Generator<undefined, void, undefined> {
    const { reader } = this;
    const count = reader.readArrayHeader();
    if (count > MAX_EVENTS)
      throw new UnreadableError(`a batch of ${count} events, at most ${MAX_EVENTS} are read`);
    let work = 0;
    for (let i = 0; i < count; i++) {
      const start = reader.offset;
      this.#eventStart = start;
      if (this.#readable()) {
        const end = reader.offset;
        onEvent(this.#event);
        reader.offset = end;
      } else {
        reader.offset = start;
        reader.skip();
        onUnreadable();
      }
      work += 1 + this.#event.hashCount;
      if (work < STEP_WORK) continue;
      work = 0;
      yield;
    }
    if (this.#deferred.length > 0) yield* this.#deferredEvents(onEvent);
  }

  *#deferredEvents(onEvent: (event: EngineEvent) => void): Generator<undefined, void, undefined> {
    const { reader } = this;
    const end = reader.offset;
    let work = 0;
    for (const start of this.#deferred) {
      reader.offset = start;
      // It was readable before.
      this.#readable();
      this.#event.isDeferred = true;
      onEvent(this.#event);
      work += 1 + this.#event.hashCount;
      if (work < STEP_WORK) continue;
      work = 0;
      yield;
    }
    reader.offset = end;
  }

  /** Decodes the next event; false when its types are not those of an event. */
  #readable(): boolean {
    try {
      if (this.reader.kind === 'map') this.#mapEvent();
      else this.#arrayEvent();
      return true;
    } catch (error) {
      this.#unreadable += 1;
      if (this.#unreadable > MAX_UNREADABLE_EVENTS) throw error;
      this.#problem ??= problemOf(error);
      return false;
    }
  }

  #mapEvent(): void {
    const { reader } = this;
    const keys = reader.readMapHeader();
    const start = reader.offset;
    const event = this.#event;
    event.reset(this.#typeAmong(keys));
    reader.offset = start;
    for (let i = 0; i < keys; i++) this.#field(this.#key());
  }

  /** The tag comes first wherever msgspec wrote it; others may have put it anywhere. */
  #typeAmong(keys: number): EngineEventType {
    for (let i = 0; i < keys; i++) {
      if (this.#key() === 'type') return typeOf(this.reader.readString(MAX_WORD_BYTES));
      this.reader.skip();
    }
    throw new UnreadableError('an event without a type');
  }

  #arrayEvent(): void {
    const { reader } = this;
    const event = this.#event;
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
    const { reader } = this;
    const event = this.#event;
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
    const { reader } = this;
    const event = this.#event;
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
    const { reader } = this;
    const event = this.#event;
    const count = reader.readArrayHeader();
    event.tokenCount = count;
    event.bigram = count > 0 && reader.kind === 'array';
    if (event.bigram) {
      this.#tokenPairs(count);
      return;
    }
    event.reserveTokens(count);
    reader.readUint32s(count, event.tokens);
  }

  #tokenPairs(count: number): void {
    const { reader } = this;
    const event = this.#event;
    event.reserveTokens(count + 1);
    event.tokenCount = count + 1;
    event.pairsJoin = true;
    const { tokens } = event;
    for (let i = 0; i < count; i++) {
      if (reader.readArrayHeader() !== 2) throw new UnreadableError('token ids that are no pairs');
      const first = reader.readUint32();
      if (i > 0 && tokens[i] !== first) event.pairsJoin = false;
      tokens[i] = first;
      tokens[i + 1] = reader.readUint32();
    }
  }

  #name(): string | undefined {
    const { reader } = this;
    if (reader.peekStringLength() <= MAX_NAME_BYTES) return reader.readString(MAX_NAME_BYTES);
    reader.skip();
    this.#event.nameTooLong = true;
    return undefined;
  }

  /** SGLang's `{"cache_salt": …}`. */
  #metadata(): void {
    const { reader } = this;
    const keys = reader.readMapHeader();
    for (let i = 0; i < keys; i++) {
      if (this.#key() === 'cache_salt') this.#field('cache_salt');
      else reader.skip();
    }
  }

  /** Where the next list starts, to be read later; -1 when all in it is nil, as it nearly always is. */
  #offsetOfList(): number {
    const { reader } = this;
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
    const { reader } = this;
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
    this.reader.offset = this.#tail[item] ?? 0;
    return this.reader.kind;
  }

  #fieldAt(name: string, item: number): void {
    this.reader.offset = this.#tail[item] ?? 0;
    this.#field(name);
  }

  #key(): string {
    return this.reader.readString(MAX_WORD_BYTES);
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

function problemOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Runs steps to their end in one turn, and gives their result. */
export function toTheEnd<Result>(steps: Generator<undefined, Result, undefined>): Result {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}
