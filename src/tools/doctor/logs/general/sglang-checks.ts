import type { Traceback } from '../traceback-reader.js';
import { type Fault, plain } from './fault-classes.js';

/** Where SGLang checks its arguments, 0.4 to 0.5.23. */
export const CHECK_FILES = ['/srt/server_args.py", line ', '/srt/arg_groups/'] as const;

const OF_CHECKS = /(?:^|\/)sglang\/srt\/(?:server_args\.py$|arg_groups\/)/;
const REFUSAL = /^(?:Assertion|Value|NotImplemented|Runtime|Type)Error(?:: |$)/;
const OF_SGLANG = "SGLang's arguments: ";
/** What the checks say of their own order, which no operator sets. */
const INNER = /^_?[a-z]\w*\b.{0,60}\bmust run after|not set yet|is not initiali[sz]ed/;

/** An exception that a check of SGLang's arguments raises itself: what they call may fail for any other reason. */
export function refusedArguments({ frames, sentence = '' }: Traceback): Fault | undefined {
  const frame = frames.at(-1);
  const name = REFUSAL.exec(sentence)?.[0];
  if (frame === undefined || name === undefined || !OF_CHECKS.test(frame.path)) return undefined;
  const words = sentence.slice(name.length).trim() || /^assert .{3,}/.exec(frame.source)?.[0];
  if (words === undefined || INNER.test(words)) return undefined;
  return { signal: 'settings_refused', value: plain(`${OF_SGLANG}${words}`) };
}

/** The words of such a check; undefined for other sentences. */
export function wordsOfSglang(sentence: string): string | undefined {
  return sentence.startsWith(OF_SGLANG) ? sentence.slice(OF_SGLANG.length) : undefined;
}
