import { lineStart } from '../../lines.js';
import type { ListWay } from '../../pod-site.js';
import type { TextEdit } from '../../text-edit.js';

/** An item of a list, in both styles of YAML. */
export interface ListItem {
  /** The lines of the item in block style, without `- ` and indentation. */
  readonly lines: readonly string[];
  /** The same in flow style, which JSON reads as well. */
  readonly flow: string;
}

/** Adds items to the list under a key, or a list of them, in the style and indentation of what is there. */
export function addItems(
  text: string,
  { how, start, end }: ListWay,
  key: string,
  items: readonly ListItem[],
): TextEdit | undefined {
  const flow = items.map((item) => item.flow).join(', ');
  switch (how) {
    case 'in-brackets': {
      const at = end ?? start + 1;
      return { start: at, end: at, text: end === undefined ? flow : `, ${flow}` };
    }
    case 'behind-items':
      return end === undefined
        ? undefined
        : insertLines(text, end, blockLines(items, ' '.repeat(start - lineStart(text, start))));
    case 'in-braces': {
      const rest = end === undefined ? '' : ', ';
      return { start: start + 1, end: start + 1, text: `${JSON.stringify(key)}: [${flow}]${rest}` };
    }
    case 'behind-entry': {
      const indent = ' '.repeat(start - lineStart(text, start));
      return insertLines(text, end ?? start, [`${indent}${key}:`, ...blockLines(items, `${indent}  `)]);
    }
    case 'in-front':
      return addInFront(text, start, [`${key}:`, ...blockLines(items, '  ')]);
  }
}

/** Lines in front of the first key of a mapping, where every value takes lines of its own. */
function addInFront(text: string, at: number, lines: readonly string[]): TextEdit | undefined {
  const begin = lineStart(text, at);
  // An anchor or a tag in front of the key would go to the new one.
  if (!/^[ -]*$/.test(text.slice(begin, at))) {
    return undefined;
  }
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  const indent = ' '.repeat(at - begin);
  return { start: at, end: at, text: lines.map((line) => `${line}${eol}${indent}`).join('') };
}

function blockLines(items: readonly ListItem[], indent: string): readonly string[] {
  return items.flatMap(({ lines }) =>
    lines.map((line, index) => `${indent}${index === 0 ? '- ' : '  '}${line}`),
  );
}

/** Lines of their own behind the line that an offset is in. */
function insertLines(text: string, offset: number, lines: readonly string[]): TextEdit {
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  if (offset > 0 && text.charAt(offset - 1) === '\n') {
    return { start: offset, end: offset, text: lines.map((line) => `${line}${eol}`).join('') };
  }
  const next = text.indexOf('\n', offset);
  const at = next === -1 ? text.length : next + 1;
  return next === -1
    ? { start: at, end: at, text: lines.map((line) => `${eol}${line}`).join('') }
    : { start: at, end: at, text: lines.map((line) => `${line}${eol}`).join('') };
}
