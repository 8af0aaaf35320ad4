import { placesIn, readSourceFile } from '../../source-file.js';
import { DOCS_RULE } from '../findings/docs-rule.js';
import type { Finding, Fix } from '../findings/finding.js';
import { lintFiles } from '../lint-files.js';
import { unreadable } from '../rules/unreadable.js';
import { type CodeBlock, readCodeBlocks } from './code-blocks.js';
import { findSettings, type ShownSetting } from './shown-settings.js';

/** The text of the note; the numbers are the engines' own defaults. */
const NOTE = "Must match the backend's tokens_per_block. vLLM default: 16, TRT-LLM default: 32.";

/** Rules about manifests that hold for an excerpt too; the others need the whole. */
const EXCERPT_RULES: ReadonlySet<string> = new Set(['block-size-unset', 'block-size-mismatch']);

/**
 * Looks at the code in a Markdown document: block sizes without a note, and
 * manifests that have the fault in them.
 */
export function lintMarkdown(file: string, text: string): readonly Finding[] {
  const placeOf = placesIn(text);
  const blocks = blocksOf(text);
  if (blocks === undefined) return [tooDeep(file)];
  return blocks.flatMap((block) => {
    const code = text.slice(block.start, block.end);
    const missing =
      isNoted(code) || isNoted(block.before) || isNoted(block.after)
        ? []
        : findSettings(code, block.language).map((setting) => findingOf(file, text, block, setting, placeOf));
    return [...missing, ...lintExcerpt(file, text, block)];
  });
}

/** A line that opens a hundred quotes and lists: a page has three or four, and the parser's time grows with their square. */
const TOO_DEEP = /^(?:[ \t]*(?:>|(?:[-+*]|\d{1,9}[.)])(?=[ \t]))){100}/m;

/** Undefined for lists and quotes in each other beyond any measure, and beyond what the parser's recursion takes. */
function blocksOf(text: string): readonly CodeBlock[] | undefined {
  if (TOO_DEEP.test(text)) return undefined;
  try {
    return readCodeBlocks(text);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function tooDeep(file: string): Finding {
  return {
    ruleId: unreadable.id,
    severity: unreadable.severity,
    file,
    line: 1,
    column: 1,
    message: 'lists and quotes are nested too deeply for this page to be read',
    consequence: 'Its examples were not looked at; nothing is known of their faults.',
    advice: 'Take levels out, or leave the page out.',
  };
}

/** Whether a text says that the sizes have to be the same. */
function isNoted(text: string): boolean {
  return (
    /\b(?:must|should|has to|have to|needs? to)\s+(?:always\s+)?(?:match|equal|agree|be (?:the same|equal))/i.test(
      text,
    ) || /\bsame\s+(?:as|number|size|value)\b[^.]*\b(?:backend|engine|worker)/i.test(text)
  );
}

function findingOf(
  file: string,
  text: string,
  block: CodeBlock,
  setting: ShownSetting,
  placeOf: (offset: number) => { readonly line: number; readonly column: number },
): Finding {
  return {
    ruleId: DOCS_RULE.id,
    severity: DOCS_RULE.severity,
    file,
    ...placeOf(block.start + setting.at),
    message: `${setting.name} is shown as ${setting.value}, and nothing around it says that it must match the backend`,
    consequence: DOCS_RULE.explanation,
    advice: `Add the note: ${NOTE}`,
    fix: fixOf(file, text, block, setting),
  };
}

function fixOf(file: string, text: string, block: CodeBlock, setting: ShownSetting): Fix {
  const says = `Add the note that the number must match the backend`;
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  switch (setting.note.type) {
    case 'behind': {
      const at = block.start + setting.note.at;
      return { says, file, edits: [{ start: at, end: at, text: `  # ${NOTE}` }] };
    }
    case 'above': {
      const at = block.start + setting.note.at;
      return { says, file, edits: [{ start: at, end: at, text: `${setting.note.indent}# ${NOTE}${eol}` }] };
    }
    case 'none': {
      // No comments in this language: the note follows the block, in the list or the quote that it is in.
      const indent = indentOf(text, block);
      const note = `${eol}${indent.trimEnd()}${eol}${indent}> ${NOTE}`;
      return { says, file, edits: [{ start: block.blockEnd, end: block.blockEnd, text: note }] };
    }
  }
}

/** What stands in front of a line of the list or the quote that a block is in. */
function indentOf(text: string, { start }: CodeBlock): string {
  const fence = text.slice(text.lastIndexOf('\n', start - 2) + 1, start);
  return (/^[^`~]*/.exec(fence)?.[0] ?? '').replace(/[^>\s]/g, ' ');
}

/** The block as a file of its own in which every character keeps its place. */
function lintExcerpt(file: string, text: string, block: CodeBlock): readonly Finding[] {
  const isYaml = ['yaml', 'yml'].includes(block.language);
  const isShell = ['bash', 'sh', 'shell', 'zsh', 'console'].includes(block.language);
  if (!isYaml && !isShell) return [];
  const blank = (part: string): string => part.replace(/[^\r\n]/g, ' ');
  const excerpt =
    blank(text.slice(0, block.start)) + text.slice(block.start, block.end) + blank(text.slice(block.end));
  const found = isYaml
    ? lintFiles([readSourceFile(file, excerpt)], [])
    : // A prompt is no part of the command.
      lintFiles([], [{ file, text: excerpt.replace(/^([ \t>]*)[$#] /gm, '$1  ') }]);
  return found.filter(({ ruleId }) => EXCERPT_RULES.has(ruleId));
}
