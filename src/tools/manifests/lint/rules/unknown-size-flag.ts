import { engineOfWord } from '../../../../engines/catalogue/engines.js';
import type { Fleet } from '../facts/fleet.js';
import type { Finding, Rule } from '../findings/finding.js';
import { findingAt, type LintRule } from '../findings/lint-rule.js';
import { nameOf } from '../launches/launch.js';
import type { Word } from '../shell/words.js';

const rule: Rule = {
  id: 'unknown-size-flag',
  severity: 'warning',
  summary: 'An engine is started with a flag of a block size that it does not have.',
  explanation:
    'The engine refuses arguments that it does not know and ends, again and again; where the program in front of it drops them, it has its default size.',
};

/** Flags by which other programs, or nobody, have a block size: an engine has its own and none of these. Those of a part of a model (`--mamba-block-size`) are none of them. */
const SIZE_FLAG =
  /^(--(?:(?:prefix|kv|cache|router|attention)[-_])*(?:block|page)[-_]size|--tokens[-_]per[-_]block)(?=$|=)/;

/** Those that no wrapper of Dynamo has for itself. */
const OF_ENGINES = /^--(?:block|page)[-_]size$/;

/** A command in one argument, as a controller hands it to a shell. */
const COMMAND = /\b(?:vllm|sglang)\b[\s\S]*\s--/;

function flagsOf({ value, known }: Word): readonly string[] {
  const text = value ?? known?.prefix ?? '';
  const words = COMMAND.test(text) ? text.slice(0, MAX_COMMAND_LENGTH).split(/\s+/) : [text];
  return words.flatMap((word) => SIZE_FLAG.exec(word)?.[1] ?? []);
}

const MAX_COMMAND_LENGTH = 20_000;

/** An engine with the size flag of another program. */
export const unknownSizeFlag: LintRule = {
  rule,
  check: ({ workers }: Fleet): readonly Finding[] =>
    workers.flatMap(({ launch }) => {
      const { sizeFlags = [] } = engineOfWord(launch.backend)?.launch ?? {};
      const [own] = sizeFlags;
      // TensorRT-LLM's size is in a file. Dynamo's wrappers hand what they do not know to the parser of their engine, which refuses it.
      if (own === undefined) return [];
      return launch.args.flatMap((word) =>
        flagsOf(word)
          .filter((flag) => !launch.isDynamo || OF_ENGINES.test(flag))
          .filter((flag) => !sizeFlags.includes(flag.replace(/_/g, '-')))
          .map((flag) =>
            findingAt(rule, word.span, {
              message: `${nameOf(launch)} is started with ${flag}, which it does not have`,
              advice: `Write ${own}, or take ${flag} out.`,
            }),
          ),
      );
    }),
};
