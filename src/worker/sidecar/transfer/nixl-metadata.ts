import { hasUnprintable } from '../../../core/text/printable.js';
import { MsgpackReader, UnreadableError } from '../../kv-events/decode/msgpack-reader.js';
import type { Frames } from '../../kv-events/sockets/zmq-sockets.js';

/**
 * The question of the form `nixl-3` for the first rank of an engine: msgpack of
 * `(b"get_meta_msg", 0, 0)`, byte by byte as vLLM 0.32's decode engines send it.
 * Every engine has these ranks.
 */
export const NIXL_QUESTION: Uint8Array = new Uint8Array([
  0x93,
  0xc4,
  12,
  ...new TextEncoder().encode('get_meta_msg'),
  0,
  0,
]);

/** What is taken of the answer. Base addresses and the agent's own metadata are passed over and never kept. */
export interface NixlMetadata {
  readonly compatibilityHash: string;
  readonly engineId?: string;
  readonly blockSize?: number;
  readonly layout?: string;
  readonly attentionBackend?: string;
}

/** Longest answer in bytes. A model of 2 layers has 1 kB, and each further layer less than 200 bytes. */
export const MAX_ANSWER_BYTES: number = 4 * 1024 * 1024;
const MAX_TEXT_BYTES = 512;
const MAX_KEY_BYTES = 64;
/** `kv_cache_layout` and others, read by the name that is a field here. */
const TEXT_FIELDS: ReadonlyMap<string, 'engineId' | 'layout' | 'attentionBackend'> = new Map([
  ['engine_id', 'engineId'],
  ['kv_cache_layout', 'layout'],
  ['attn_backend_name', 'attentionBackend'],
]);

/** Reads the frames of an answer: a delimiter, `{compatibility_hash, agent_metadata_bytes}`, and perhaps a time. Throws an `UnreadableError`, whose text has nothing of what the answer holds. */
export function readNixlMetadata(frames: Frames): NixlMetadata {
  const [delimiter, payload] = frames;
  if (delimiter?.length !== 0 || payload === undefined || frames.length > 3)
    throw new UnreadableError(`${frames.length} frames`);
  if (payload.length > MAX_ANSWER_BYTES) throw new UnreadableError(`${payload.length} bytes`);
  const reader = new MsgpackReader();
  reader.open(payload);
  let compatibilityHash: string | undefined;
  let metadata: Uint8Array | undefined;
  for (let left = reader.readMapHeader(); left > 0; left -= 1) {
    const key = reader.readString(MAX_KEY_BYTES);
    if (key === 'compatibility_hash') compatibilityHash = readName(reader);
    else if (key === 'agent_metadata_bytes') metadata = reader.readBinary(MAX_ANSWER_BYTES);
    else reader.skip();
  }
  if (compatibilityHash === undefined) throw new UnreadableError('no compatibility_hash');
  // The engines themselves read the rest only where the hashes are equal: another version may have it in another form.
  return { compatibilityHash, ...(metadata === undefined ? {} : readAgent(metadata)) };
}

function readAgent(bytes: Uint8Array): Omit<NixlMetadata, 'compatibilityHash'> {
  const found: { -readonly [Field in keyof NixlMetadata]?: NixlMetadata[Field] } = {};
  const reader = new MsgpackReader();
  reader.open(bytes);
  for (let left = reader.readMapHeader(); left > 0; left -= 1) {
    const key = reader.readString(MAX_KEY_BYTES);
    const text = TEXT_FIELDS.get(key);
    if (text !== undefined && reader.kind === 'string') found[text] = readName(reader);
    else if (key === 'block_size' && reader.kind === 'integer') found.blockSize = reader.readUint32();
    else reader.skip();
  }
  return found;
}

function readName(reader: MsgpackReader): string {
  const text = reader.readString(MAX_TEXT_BYTES);
  if (text === '' || hasUnprintable(text)) throw new UnreadableError('a name that cannot be shown');
  return text;
}
