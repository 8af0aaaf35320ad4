import { isJsonObject } from '../../../edge/platform/data/json-object.js';
import { messageOf } from '../../../edge/platform/describe-error.js';
import { EngineEvent, type EngineEventType } from './engine-event.js';

/** Tokens and hashes of one store at most. */
const MAX_ITEMS = 4_194_304;
/** Events in one answer at most; TensorRT-LLM's own buffer is bounded by `event_buffer_max_size`. */
const MAX_EVENTS = 1_048_576;

/** Words that stand for the cache levels of TensorRT-LLM: device memory and host memory. */
const MEDIUM_OF_LEVEL = ['GPU', 'CPU'] as const;

export interface TrtllmOptions {
  /** The engine's block size where it is known; otherwise it is learned from stores of several blocks. */
  readonly tokensPerBlock?: number;
}

/** What an answer says besides its events. */
interface TrtllmHead {
  readonly rank?: number;
  readonly problem?: string;
}

class ShapeError extends Error {}

type Fields = Readonly<Record<string, unknown>>;

/**
 * Reads the events that TensorRT-LLM's `/kv_cache_events` gives: a JSON array,
 * whose 64-bit numbers may be numbers, decimal strings, bigints or objects
 * with their digits as `value`. They have no block size, so a block counts as whole
 * when another follows it in the same store, or when it is as wide as those;
 * partial blocks at the end of a prompt are published as well, and left out.
 */
export class TrtllmReader {
  readonly #event = new EngineEvent();
  #tokensPerBlock: number | undefined;
  /** Blocks of smaller windows do not hold whole prefixes. */
  #largestWindow = 0;
  /** The first attention-parallel rank that was named: the mirror behind this is of one rank. */
  #rank: number | undefined;

  clear(): void {
    this.#rank = undefined;
    this.#tokensPerBlock = undefined;
    this.#largestWindow = 0;
  }

  read(
    events: unknown,
    options: TrtllmOptions,
    onEvent: (event: EngineEvent) => void,
    onUnreadable: () => void,
  ): TrtllmHead {
    if (!Array.isArray(events) || events.length > MAX_EVENTS) {
      onUnreadable();
      return { problem: 'no array of events' };
    }
    this.#tokensPerBlock = options.tokensPerBlock ?? this.#tokensPerBlock;
    let problem: string | undefined;
    for (const event of events) {
      try {
        const fields = fieldsOf(event);
        const named = optionalInteger(fields['attention_dp_rank']);
        this.#rank ??= named;
        if (named !== undefined && named !== this.#rank) {
          // What the other rank holds is not known here, and this one holds what it holds.
          problem ??= `events of rank ${named} come with those of rank ${this.#rank}, and only the first rank is read`;
          this.#emit('ignored', onEvent);
          continue;
        }
        this.#readEvent(fields, onEvent);
      } catch (error) {
        problem ??= messageOf(error);
        onUnreadable();
      }
    }
    this.#event.trim();
    return {
      ...(this.#rank === undefined ? {} : { rank: this.#rank }),
      ...(problem === undefined ? {} : { problem }),
    };
  }

  /** Whether the event is of the largest window so far; one that grows makes what came before worthless. */
  #ofMainWindow(fields: Fields, onEvent: (event: EngineEvent) => void): boolean {
    const window = optionalInteger(fields['window_size']);
    if (window === undefined || window === this.#largestWindow) return true;
    if (window < this.#largestWindow) return false;
    if (this.#largestWindow > 0) this.#emit('cleared', onEvent);
    this.#largestWindow = window;
    return true;
  }

  #readEvent(fields: Fields, onEvent: (event: EngineEvent) => void): void {
    const data = fieldsOf(fields['data']);
    const type = data['type'];
    const main = this.#ofMainWindow(fields, onEvent);
    if (type === 'stored') this.#readStored(data, main, onEvent);
    else if (type === 'removed') this.#readRemoved(data, main, onEvent);
    else if (type === 'updated') this.#readUpdated(data, main, onEvent);
    else this.#emit('ignored', onEvent);
  }

  #emit(type: EngineEventType, onEvent: (event: EngineEvent) => void): void {
    this.#event.reset(type);
    onEvent(this.#event);
  }

  #start(type: 'stored' | 'removed', main: boolean, hashes: number): EngineEvent {
    const event = this.#event;
    event.reset(type);
    event.attentionKind = main ? 'full_attention' : 'sliding_window';
    event.reserveHashes(hashes);
    return event;
  }

  #readStored(data: Fields, main: boolean, onEvent: (event: EngineEvent) => void): void {
    const blocks = arrayOf(data['blocks']).map(blockOf);
    const first = blocks[0];
    if (first === undefined) throw new ShapeError('a store without blocks');
    const whole = blocks.slice(0, -1);
    const width = whole[0]?.tokens.length;
    if (whole.some((block) => block.tokens.length !== width)) {
      throw new ShapeError('blocks of several widths before the last of a store');
    }
    if (main && width !== undefined) this.#tokensPerBlock = width;
    const last = blocks.at(-1);
    const known = width ?? this.#tokensPerBlock;
    if (known !== undefined && last !== undefined) {
      if (last.tokens.length > known) throw new ShapeError(`a block of more than ${known} tokens`);
      if (last.tokens.length < known) blocks.pop();
    }
    let parent: unknown = data['parent_hash'] ?? undefined;
    for (let start = 0; start === 0 || start < blocks.length; ) {
      const level = blocks[start]?.level ?? first.level;
      let end = start;
      while (end < blocks.length && blocks[end]?.level === level) end += 1;
      const run = blocks.slice(start, end);
      this.#fillStored(run, known, level, parent, main);
      this.#event.words = `stored blocks=${run.length} tokens_of_whole_blocks=${width}`;
      this.#event.widthAssumed = width === undefined;
      onEvent(this.#event);
      parent = run.at(-1)?.hash;
      start = Math.max(end, 1);
    }
  }

  #fillStored(
    blocks: readonly TrtllmBlock[],
    tokensPerBlock: number | undefined,
    level: number,
    parent: unknown,
    main: boolean,
  ): void {
    const event = this.#start('stored', main, blocks.length);
    event.tokensPerBlock = tokensPerBlock ?? Number.NaN;
    event.medium = mediumOf(level);
    if (parent !== undefined) {
      event.hasParent = true;
      const hash = BigInt.asUintN(64, bigOf(parent));
      event.parentLo = lowOf(hash);
      event.parentHi = highOf(hash);
    }
    event.tokenCount = blocks.reduce((sum, block) => sum + block.tokens.length, 0);
    event.reserveTokens(event.tokenCount);
    let at = 0;
    for (const [index, block] of blocks.entries()) {
      this.#addHash(block.hash);
      event.tokens.set(block.tokens, at);
      at += block.tokens.length;
      if (block.hasLora) event.hasLoraId = true;
      if (!block.identified) event.unidentifiedFrom = Math.min(event.unidentifiedFrom, index);
    }
  }

  #readRemoved(data: Fields, main: boolean, onEvent: (event: EngineEvent) => void): void {
    const hashes = arrayOf(data['block_hashes']);
    const event = this.#start('removed', main, hashes.length);
    event.everyTier = true;
    for (const hash of hashes) this.#addHash(hash);
    onEvent(event);
  }

  /** A block that moves between levels is stored in the one and removed from the other. */
  #readUpdated(data: Fields, main: boolean, onEvent: (event: EngineEvent) => void): void {
    if (data['cache_level'] == null) {
      this.#emit('ignored', onEvent);
      return;
    }
    const levels = fieldsOf(data['cache_level']);
    const from = integerOf(levels['old_value']);
    const to = integerOf(levels['new_value']);
    if (from === to) {
      this.#emit('ignored', onEvent);
      return;
    }
    for (const [type, level] of [
      ['stored', to],
      ['removed', from],
    ] as const) {
      const event = this.#start(type, main, 1);
      event.medium = mediumOf(level);
      this.#addHash(data['block_hash']);
      onEvent(event);
    }
  }

  #addHash(value: unknown): void {
    const event = this.#event;
    const hash = BigInt.asUintN(64, bigOf(value));
    event.hashes[2 * event.hashCount] = lowOf(hash);
    event.hashes[2 * event.hashCount + 1] = highOf(hash);
    event.hashCount += 1;
  }
}

interface TrtllmBlock {
  readonly hash: unknown;
  readonly tokens: readonly number[];
  readonly level: number;
  readonly hasLora: boolean;
  /** Nothing but tokens and LoRA sets it apart. */
  readonly identified: boolean;
}

function blockOf(value: unknown): TrtllmBlock {
  const fields = fieldsOf(value);
  const tokens = arrayOf(fields['tokens']).map((token) => {
    if (typeof token !== 'object' || token === null || isLossless(token)) {
      return { id: integerOf(token), extra: 0 };
    }
    const named = fieldsOf(token);
    return { id: integerOf(named['token_id']), extra: optionalInteger(named['token_extra_id']) ?? 0 };
  });
  if (tokens.some(({ id }) => id < 0 || id > 0xffff_ffff)) throw new ShapeError('a token id that is no u32');
  return {
    hash: fields['block_hash'],
    tokens: tokens.map(({ id }) => id),
    level: optionalInteger(fields['cache_level']) ?? 0,
    hasLora: (optionalInteger(fields['lora_id']) ?? 0) !== 0,
    identified:
      tokens.every(({ extra }) => extra === 0) && IDENTITY_FIELDS.every((name) => isNothing(fields[name])),
  };
}

/** What newer versions set blocks apart by, besides tokens. */
const IDENTITY_FIELDS = ['mm_keys', 'cache_salt', 'cache_salt_id'] as const;

function isNothing(value: unknown): boolean {
  return value == null || value === '' || (Array.isArray(value) && value.length === 0);
}

/** A level that has no word stays unknown and is counted so. */
function mediumOf(level: number): string {
  return MEDIUM_OF_LEVEL[level] ?? `cache_level=${level}`;
}

function fieldsOf(value: unknown): Fields {
  if (!isJsonObject(value)) throw new ShapeError('no object where one belongs');
  return value;
}

function arrayOf(value: unknown): readonly unknown[] {
  if (!Array.isArray(value) || value.length > MAX_ITEMS) {
    throw new ShapeError('no array where one belongs');
  }
  return value;
}

function optionalInteger(value: unknown): number | undefined {
  return value == null ? undefined : integerOf(value);
}

function integerOf(value: unknown): number {
  const integer = typeof value === 'number' ? value : Number(bigOf(value));
  if (!Number.isSafeInteger(integer)) throw new ShapeError('no integer where one belongs');
  return integer;
}

function bigOf(value: unknown): bigint {
  if (typeof value === 'bigint') return value;
  if (typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value);
  const digits = isLossless(value) ? value.value : value;
  if (typeof digits !== 'string' || !/^-?\d{1,20}$/.test(digits)) {
    throw new ShapeError('no integer where one belongs');
  }
  return BigInt(digits);
}

/** Numbers as a parser that keeps their digits gives them. */
function isLossless(value: unknown): value is { readonly value: string } {
  return (
    typeof value === 'object' &&
    value !== null &&
    'isLosslessNumber' in value &&
    'value' in value &&
    typeof value.value === 'string'
  );
}

function lowOf(hash: bigint): number {
  return Number(hash & 0xffff_ffffn);
}

function highOf(hash: bigint): number {
  return Number(hash >> 32n);
}
