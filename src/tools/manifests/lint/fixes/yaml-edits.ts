import { isAlias, isMap, isScalar, isSeq, type Node, type YAMLMap, type YAMLSeq } from 'yaml';
import { lineStart } from '../../lines.js';
import type { TextEdit } from '../../text-edit.js';
import { keyOf } from '../../yaml-access.js';

/** A value under a key as it stands there; undefined for one that other places share by an anchor. */
export function ownValue(
  map: YAMLMap,
  key: string,
): { readonly node: Node | undefined; readonly isThere: boolean } {
  const pair = map.items.find((item) => keyOf(item) === key);
  const value = pair?.value;
  const isShared = isAlias(value) || ((isSeq(value) || isMap(value)) && value.anchor !== undefined);
  const node = isShared || !(isSeq(value) || isMap(value) || isScalar(value)) ? undefined : value;
  return { node, isThere: pair !== undefined };
}

/** An item of a list, in both styles of YAML. */
export interface ListItem {
  /** The lines of the item in block style, without `- ` and indentation. */
  readonly lines: readonly string[];
  /** The same in flow style, which JSON reads as well. */
  readonly flow: string;
}

/** Appends items to a list, in its style and indentation. */
export function appendItems(text: string, list: YAMLSeq, items: readonly ListItem[]): TextEdit | undefined {
  const last = list.items.at(-1) as Node | undefined;
  const start = list.range?.[0];
  const end = last?.range?.[1];
  if (start === undefined) {
    return undefined;
  }
  const flow = items.map((item) => item.flow).join(', ');
  if (list.flow || text.charAt(start) === '[') {
    const at = end ?? start + 1;
    return { start: at, end: at, text: end === undefined ? flow : `, ${flow}` };
  }
  if (end === undefined) {
    return undefined;
  }
  const column = start - lineStart(text, start);
  return insertLines(text, end, blockLines(items, ' '.repeat(column)));
}

/** Adds a list under a new key of a mapping, behind its first entry that is on one line. */
export function addList(
  text: string,
  map: YAMLMap,
  key: string,
  items: readonly ListItem[],
): TextEdit | undefined {
  const flow = `${JSON.stringify(key)}: [${items.map((item) => item.flow).join(', ')}]`;
  const start = map.range?.[0];
  if (start === undefined) {
    return undefined;
  }
  if (map.flow || text.charAt(start) === '{') {
    const rest = map.items.length === 0 ? '' : ', ';
    return { start: start + 1, end: start + 1, text: `${flow}${rest}` };
  }
  const pair = map.items.find(
    ({ key: name, value }) =>
      isScalar(name) &&
      isScalar(value) &&
      name.range &&
      value.range &&
      value.type !== 'BLOCK_FOLDED' &&
      value.type !== 'BLOCK_LITERAL',
  );
  const name = pair?.key;
  const value = pair?.value;
  if (!isScalar(name) || !isScalar(value) || !name.range || !value.range) {
    return addInFront(text, map, [`${key}:`, ...blockLines(items, '  ')]);
  }
  const column = name.range[0] - lineStart(text, name.range[0]);
  const indent = ' '.repeat(column);
  return insertLines(text, value.range[1], [`${indent}${key}:`, ...blockLines(items, `${indent}  `)]);
}

/** Lines in front of the first key of a mapping, where every value takes lines of its own. */
function addInFront(text: string, map: YAMLMap, lines: readonly string[]): TextEdit | undefined {
  const name = map.items[0]?.key;
  if (!isScalar(name) || !name.range) {
    return undefined;
  }
  const [at] = name.range;
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
