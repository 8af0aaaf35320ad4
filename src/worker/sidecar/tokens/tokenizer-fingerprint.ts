import { createHash } from 'node:crypto';
import { isAbsolute, join } from 'node:path';
import { type Fact, fieldFact } from '../../../core/contract/evidence/facts.js';
import type { Clock } from '../../../edge/platform/clock.js';
import { messageOf } from '../../../edge/platform/describe-error.js';
import { EvidenceSource } from '../../../gen/kvaccord/v1/capabilities.js';

/**
 * The files of a Hugging Face model folder that decide how text becomes
 * tokens, the chat template included. Absent ones are left out; the others
 * are hashed in this order, which is part of the fingerprint.
 */
const TOKENIZER_FILES = [
  'added_tokens.json',
  'chat_template.jinja',
  'merges.txt',
  'special_tokens_map.json',
  'spiece.model',
  'tekken.json',
  'tiktoken.model',
  'tokenizer.json',
  'tokenizer.model',
  'tokenizer_config.json',
  'vocab.json',
] as const;

/** Bytes of one file that are hashed at most. The largest known tokenizer.json has 35 MB. */
const MAX_FILE_BYTES = 128 * 1024 * 1024;

/** The files of a model folder. */
export interface FingerprintModules {
  readonly clock: Clock;
  /**
   * Gives the content of a plain file in pieces; undefined when it is not
   * there. Rejects when it cannot be read or is larger than `maxBytes`.
   */
  readonly openFile: (path: string, maxBytes: number) => Promise<AsyncIterable<Uint8Array> | undefined>;
}

/** What the model's folder gave: a fact, or a sentence that says why there is none; neither when it is no folder here. */
export interface Fingerprint {
  readonly fact?: Fact;
  readonly warning?: string;
}

/**
 * SHA-256 over the tokenizer's files of the model folder that the engine
 * named. `root` is the engine's word for its model: only an absolute path can
 * be a folder that this process sees as well; a repository name or a path
 * relative to the engine's own folder gives nothing.
 */
export async function fingerprintTokenizer(
  root: string,
  modules: FingerprintModules,
  signal: AbortSignal,
): Promise<Fingerprint> {
  if (!isAbsolute(root) || root.includes('\0')) return {};
  const all = createHash('sha256').update('kvaccord.v1.Tokenizer\n');
  const seen: string[] = [];
  for (const name of TOKENIZER_FILES) {
    try {
      const pieces = await modules.openFile(join(root, name), MAX_FILE_BYTES);
      if (pieces === undefined) continue;
      const one = createHash('sha256');
      let sizeBytes = 0;
      for await (const piece of pieces) {
        if (signal.aborted) return {};
        one.update(piece);
        sizeBytes += piece.length;
      }
      // Name, size and digest of each file: moving bytes from one to the next must show.
      all.update(`${name} ${sizeBytes} ${one.digest('hex')}\n`);
      seen.push(`${name} ${sizeBytes} bytes`);
    } catch (error) {
      const reason = messageOf(error);
      return { warning: `no tokenizer fingerprint: ${name} in ${root} cannot be read (${reason})` };
    }
  }
  // The tokenizer itself must be among them; a lone template says nothing.
  if (!seen.some((file) => /^(tokenizer\.|vocab\.|spiece\.|tekken\.|tiktoken\.)/.test(file))) return {};
  return {
    fact: fieldFact('model.tokenizer_fingerprint', all.digest('hex'), {
      source: EvidenceSource.ENGINE_CONFIG,
      origin: `tokenizer files in ${root}`,
      raw: seen.join(', '),
      observedAtMs: modules.clock.wallMs(),
    }),
  };
}
