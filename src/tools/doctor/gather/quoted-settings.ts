import type { NamedText } from '../../manifests/lint/fixes/apply-fixes.js';
import type { KnownFaultSighting } from '../logs/log-summary.js';
import { excerptOf } from '../logs/masking.js';

/** Something of a command that is only known as it runs: more may be in it. */
const UNKNOWN_WORDS = /\$[@*]|\$\{?\w{0,40}(?:ARG|OPT|FLAG|EXTRA|CONN|TRANSFER|KV_|CMD)\w{0,40}/i;
/** A text that ends within a command. */
const ENDS_WITHIN = /\\\s*$/;
/** Whether anything is to be looked for, before the rules are loaded. */
const MAY_HAVE =
  /LMCACHE_|DYN_KVBM_|--hicache-|kv[-_]offloading|kv[-_]events[-_]config|local_disk|local_cpu|conditional-disagg|VLLM_USE_V1|UCX_TLS|dynamo\.frontend|block_?reuse/i;

/**
 * Faults of settings that a text quotes in whatever form (commands, variables, files), which no line has by itself. A text that is cut
 * within a command, or whose commands have words that are only known as they run, has none.
 */
export async function quotedSettings({ file, text }: NamedText): Promise<readonly KnownFaultSighting[]> {
  if (!MAY_HAVE.test(text)) return [];
  // As long as it was, so that lines stay where they are.
  const plain = text.replace(/^[ \t]{0,40}(?:#|\/\/).*$/gm, (comment) => ' '.repeat(comment.length));
  if (UNKNOWN_WORDS.test(plain) || ENDS_WITHIN.test(plain)) return [];
  const { SETTING_FAULTS } = await import('../known-faults/setting-faults.js');
  return SETTING_FAULTS.flatMap(({ fault, given, beside, unless }) => {
    const match = given.exec(plain);
    if (match === null || unless.test(plain) || !beside.every((one) => one.test(plain))) return [];
    const found = match[1] ?? match[0];
    const at = match.index + Math.max(0, match[0].indexOf(found));
    const firstLine = plain.slice(0, at).split('\n').length;
    const line = text.split('\n')[firstLine - 1]?.trim() ?? '';
    const first = { place: `${file}:${firstLine}`, text: excerptOf(line, found) };
    const values = match.slice(1).map((value = '') => excerptOf(value, ''));
    return [{ fault, count: 1, first, firstLine, values, about: fault.id }];
  });
}
