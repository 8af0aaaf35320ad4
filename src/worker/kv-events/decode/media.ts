import type { BlockHasher } from '../../../core/blocks/block-hasher.js';
import { mediaIdentity } from '../../../core/blocks/media-identity.js';
import { MAX_NAME_BYTES } from '../../../core/blocks/name-limits.js';
import type { HashHalves } from '../../../core/blocks/packed-hashes.js';
import type { EngineEvent } from './engine-event.js';
import { type MsgpackReader, UnreadableError } from './msgpack-reader.js';

/** What Dynamo's workers put in front of a salt, to distinguish it from other extra keys. */
const SALT_PREFIX = 'dynamo-cache-salt:';
/** What Dynamo's workers make of a media hash, without an offset; see `mediaIdentity`. */
const MEDIA_MARKER = /^[0-9a-fA-F]{16}0{48}$/;
/** Offsets beyond these are none: a prompt has fewer tokens. */
const MAX_OFFSET = 2 ** 31;
/** Longest extra key that is read, which may be a salt; a longer one is not known. */
const MAX_KEY_BYTES: number = MAX_NAME_BYTES + SALT_PREFIX.length;
/** More extra keys, or media, in one block than any engine uses. */
const MAX_PER_BLOCK = 256;

/** What the extra keys of a store come to. */
export interface BlockExtras {
  /** Cache salt that only the extra keys have; undefined when they have none. */
  readonly cacheSalt: string | undefined;
  /** Per block the hashes of its media; undefined when no block has any. */
  readonly media: readonly (readonly HashHalves[])[] | undefined;
  /** First block with something that cannot be attributed; Infinity when there is none. */
  readonly unknownFrom: number;
}

/** What is known of a store before its extra keys are read. */
export interface ExtrasContext {
  /** Empty for none. */
  readonly loraName: string;
  /** Cache salt of the event or its parent; empty for none. */
  readonly knownSalt: string;
  readonly hasher: BlockHasher;
}

const NO_EXTRAS: BlockExtras = {
  cacheSalt: undefined,
  media: undefined,
  unknownFrom: Number.POSITIVE_INFINITY,
};

/** Keys of one block that are neither its LoRA nor its salt. */
interface BlockKeys {
  readonly words: readonly string[];
  readonly media: readonly HashHalves[];
  /** Those of `media` that are no marker of Dynamo's. */
  readonly pairs: number;
  /** Keys of kinds that no scheme here covers: numbers, bytes. */
  readonly others: number;
}

/** One key of a block. */
interface Key {
  /** Undefined for what is no text. */
  readonly word: string | undefined;
  readonly alone: boolean;
  /** The number beside the word of a pair; undefined where there is none. */
  readonly offset: number | undefined;
}

/**
 * Attributes what the event says of its blocks beyond tokens. vLLM puts LoRA
 * name, media, cache salt (first block of a prompt only) and the digest of
 * prompt embeddings into `extra_keys` without saying which is which; a pair of
 * identifier and offset is a media item (vLLM 0.32, `to_event_extra_keys`). Dynamo
 * adds `block_mm_infos`. The salt is the one plain word of the first block that
 * is not the LoRA. `knownSalt` is that of the event or its parent.
 */
export function readExtras(
  reader: MsgpackReader,
  event: EngineEvent,
  { loraName, knownSalt, hasher }: ExtrasContext,
): BlockExtras {
  if (event.extraKeysAt < 0 && event.mediaInfosAt < 0) return NO_EXTRAS;
  const media = event.mediaInfosAt < 0 ? [] : readMediaInfos(reader, event);
  let unknownFrom = media?.indexOf(undefined) ?? 0;
  if (unknownFrom < 0) unknownFrom = Number.POSITIVE_INFINITY;
  const given = (media ?? []).map((hashes) => hashes ?? []);

  let cacheSalt: string | undefined;
  if (event.extraKeysAt >= 0) {
    reader.offset = event.extraKeysAt;
    const blocks = reader.readArrayHeader();
    if (blocks !== event.hashCount) unknownFrom = 0;
    for (let block = 0; block < Math.min(blocks, event.hashCount, unknownFrom); block++) {
      const keys = readKeys(reader, loraName, hasher);
      if (keys === undefined) {
        unknownFrom = block;
        break;
      }
      let salt = cacheSalt ?? knownSalt;
      if (block === 0 && salt === '' && !event.hasParent) {
        cacheSalt = saltAmong(keys.words);
        salt = cacheSalt ?? '';
      }
      const unattributed = keys.words.filter((word) => withoutPrefix(word) !== salt).length;
      const hashes = given[block] ?? [];
      const isNamed = hashes.length > 0;
      if (!isNamed && keys.media.length > 0) given[block] = keys.media;
      // Where the event names a block's media, its pairs are the same in the engine's own words.
      if (unattributed + keys.others + (isNamed ? keys.pairs : 0) > hashes.length) unknownFrom = block;
    }
  }
  const some = given.some((hashes) => hashes !== undefined && hashes.length > 0);
  const filled = some ? Array.from({ length: event.hashCount }, (_, block) => given[block] ?? []) : undefined;
  return { cacheSalt, media: filled, unknownFrom };
}

function saltAmong(words: readonly string[]): string | undefined {
  const tagged = words.find((word) => word.startsWith(SALT_PREFIX));
  if (tagged !== undefined) return withoutPrefix(tagged);
  return words.length === 1 ? words[0] : undefined;
}

function withoutPrefix(word: string): string {
  return word.startsWith(SALT_PREFIX) ? word.slice(SALT_PREFIX.length) : word;
}

/** The keys of the next block; undefined when they are no list. */
function readKeys(reader: MsgpackReader, loraName: string, hasher: BlockHasher): BlockKeys | undefined {
  const words: string[] = [];
  const media: HashHalves[] = [];
  let pairs = 0;
  let others = 0;
  if (reader.readNil()) return { words, media, pairs, others };
  if (reader.kind !== 'array') return undefined;
  const count = reader.readArrayHeader();
  if (count > MAX_PER_BLOCK) return undefined;
  let loraSeen = loraName === '';
  for (let i = 0; i < count; i++) {
    const { word, alone, offset } = readKey(reader);
    if (word === undefined) others += 1;
    else if (!loraSeen && alone && word === loraName) loraSeen = true;
    else if (MEDIA_MARKER.test(word)) media.push(mediaIdentity(hasher, word, 0));
    else if (alone) words.push(word);
    else if (offset === undefined || word === '') others += 1;
    else {
      media.push(mediaIdentity(hasher, word, offset));
      pairs += 1;
    }
  }
  return { words, media, pairs, others };
}

/** A word that stands alone, or the first of a pair with its offset. */
function readKey(reader: MsgpackReader): Key {
  const start = reader.offset;
  let word: string | undefined;
  let offset: number | undefined;
  const alone = reader.kind !== 'array';
  if (alone) word = readWord(reader);
  else {
    const length = reader.readArrayHeader();
    if (length > 0) word = readWord(reader);
    if (length === 2 && word !== undefined) offset = readOffset(reader);
  }
  reader.offset = start;
  reader.skip();
  return { word, alone, offset };
}

function readOffset(reader: MsgpackReader): number | undefined {
  if (reader.kind !== 'integer') return undefined;
  const offset = reader.readInteger();
  return Math.abs(offset) < MAX_OFFSET ? offset : undefined;
}

function readWord(reader: MsgpackReader): string | undefined {
  if (reader.kind !== 'string' || reader.peekStringLength() > MAX_KEY_BYTES) return undefined;
  return reader.readString(MAX_KEY_BYTES);
}

/**
 * Per block its media hashes; undefined in place of a block, and of what
 * follows, that has media in another form. Undefined when the list does not
 * match the blocks.
 */
function readMediaInfos(
  reader: MsgpackReader,
  event: EngineEvent,
): (readonly HashHalves[] | undefined)[] | undefined {
  reader.offset = event.mediaInfosAt;
  const blocks = reader.readArrayHeader();
  if (blocks !== event.hashCount) return undefined;
  const infos: (readonly HashHalves[] | undefined)[] = [];
  try {
    for (let block = 0; block < blocks; block++) {
      infos.push(reader.readNil() ? [] : readMediaObjects(reader));
    }
  } catch (error) {
    if (!(error instanceof UnreadableError)) throw error;
    infos.push(undefined);
  }
  return infos;
}

function readMediaObjects(reader: MsgpackReader): HashHalves[] {
  const hashes: HashHalves[] = [];
  const keys = reader.readMapHeader();
  for (let i = 0; i < keys; i++) {
    if (reader.readString(MAX_KEY_BYTES) !== 'mm_objects') reader.skip();
    else {
      const objects = reader.readArrayHeader();
      if (objects > MAX_PER_BLOCK) throw new UnreadableError(`${objects} media in one block`);
      for (let object = 0; object < objects; object++) hashes.push(readMediaHash(reader));
    }
  }
  return hashes;
}

function readMediaHash(reader: MsgpackReader): HashHalves {
  let hash: HashHalves | undefined;
  const keys = reader.readMapHeader();
  for (let i = 0; i < keys; i++) {
    if (reader.readString(MAX_KEY_BYTES) === 'mm_hash') {
      reader.readWide();
      hash = { lo: reader.lo, hi: reader.hi };
    } else reader.skip();
  }
  if (hash === undefined) throw new UnreadableError('media without a hash');
  return hash;
}
