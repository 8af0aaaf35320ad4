import { isAlias, isCollection, isPair, isScalar, isSeq, type Node, type Pair, type YAMLMap } from 'yaml';
import { beginsItsLine, columnOf, lineEnd, lineEndOf, lineStart, startAboveComments } from '../lines.js';
import type { SourceFile } from '../source-file.js';
import { applyEdits, type TextEdit } from '../text-edit.js';
import { keyOf } from '../yaml-access.js';
import { renderBlock } from './blocks.js';
import type { Change } from './change.js';
import type { NodeIndex } from './node-index.js';
import { refuseAt } from './refusal.js';
import { renderFlow, renderYaml } from './render.js';

/** Lines that give way to themselves with changes in them. */
interface Region {
  readonly start: number;
  readonly end: number;
  readonly edits: readonly TextEdit[];
}

/** Lines that come between two others. */
interface Insertion {
  readonly offset: number;
  readonly indent: number;
  readonly text: string;
}

/**
 * Puts changes into the text of a file, as blocks of whole lines that
 * `removeBlocks` takes out again. Block style gets new lines between the old
 * ones; of flow style (`[a, b]`) whole lines are replaced, and kept as comments.
 */
export class Splicer {
  readonly #file: SourceFile;
  readonly #indexOf: (change: Change) => NodeIndex;
  readonly #eol: string;
  readonly #insertions: Insertion[] = [];
  readonly #regions: Region[] = [];

  constructor(file: SourceFile, indexOf: (change: Change) => NodeIndex) {
    this.#file = file;
    this.#indexOf = indexOf;
    this.#eol = lineEndOf(file.text);
  }

  /** Throws an `InjectRefusal` where the text does not allow it. */
  add(change: Change): void {
    const { map, key } = change;
    const pair = map.items.find((item) => keyOf(item) === key);
    const value = change.type === 'items' ? change.items : change.value;
    if (pair === undefined) {
      this.#refuseMerged(map, key);
      if (map.flow)
        this.#addToFlow(
          change,
          afterOpening(this.#file.text, map),
          flowEntry(map, `${quoted(key)}: ${renderFlow(value)}`),
        );
      else this.#insertPair(map, renderYaml({ [key]: value }, this.#eol));
      return;
    }
    if (change.type !== 'items') throw this.#refuse(pair, `${key} is there already; take it out first`);
    this.#addItems(change, pair as Pair<Node, Node | null>);
  }

  /** Adds lines of their own at the end of the file. */
  append(text: string): void {
    this.#insertions.push({ offset: this.#file.text.length, indent: 0, text });
  }

  /** The text with all that was added. */
  finish(): string {
    const edits = [
      ...this.#insertions.map(({ offset, indent, text }) =>
        this.#edit(offset, offset, renderBlock({ indent, text, instead: '' }, this.#eol)),
      ),
      ...joinRegions(this.#regions).map(({ start, end, edits }) => {
        const instead = this.#file.text.slice(start, end);
        const moved = edits.map((edit) => ({ ...edit, start: edit.start - start, end: edit.end - start }));
        const indent = /^ */.exec(instead)?.[0].length ?? 0;
        return this.#edit(
          start,
          end,
          renderBlock({ indent, text: applyEdits(instead, moved), instead }, this.#eol),
        );
      }),
    ];
    return applyEdits(this.#file.text, edits);
  }

  /** A block at the end of a text whose last line has no line end has none either: so `removeBlocks` knows. */
  #edit(start: number, end: number, block: string): TextEdit {
    const { text } = this.#file;
    const isOpenEnd = end === text.length && text !== '' && !text.endsWith('\n');
    if (!isOpenEnd) return { start, end, text: block };
    const open = block.slice(0, -this.#eol.length);
    return { start, end, text: start === end ? this.#eol + open : open };
  }

  #addItems(change: Change & { readonly type: 'items' }, pair: Pair<Node, Node | null>): void {
    const { key, items, at } = change;
    const list = pair.value;
    if (isAlias(list))
      throw this.#refuse(pair, `${key} is an alias (*${list.source}); write the list itself in its place`);
    if (isSeq(list) && list.items.length > 0) {
      if (list.flow) {
        const text = items.map(renderFlow).join(', ');
        const last = list.items.at(-1);
        if (at === 'first') this.#addToFlow(change, afterOpening(this.#file.text, list), `${text}, `, list);
        else this.#addToFlow(change, endOf(last), `, ${text}`, list);
        return;
      }
      this.#insertItems(list, at, renderYaml(items, this.#eol));
      return;
    }
    const isEmpty = list === null || (isSeq(list) && list.flow) || (isScalar(list) && list.value === null);
    if (!isEmpty) throw this.#refuse(pair, `${key} must be a list`);
    if (change.map.flow) {
      const text = items.map(renderFlow).join(', ');
      if (isSeq(list)) this.#addToFlow(change, afterOpening(this.#file.text, list), text, list);
      else this.#replaceInFlow(change, list?.range ?? [endOf(pair.key), endOf(pair.key)], ` [${text}]`);
      return;
    }
    this.#fillEmptyList(pair, renderYaml(items, this.#eol));
  }

  /** `initContainers: []` becomes a list in block style. */
  #fillEmptyList(pair: Pair<Node, Node | null>, lines: string): void {
    const { text } = this.#file;
    const key = startOf(pair.key);
    const [start, end] = pair.value?.range ?? [endOf(pair.key), endOf(pair.key)];
    const colon = text.indexOf(':', endOf(pair.key)) + 1;
    const isOnLine = colon > 0 && colon <= lineEnd(text, key) && start <= lineEnd(text, key);
    if (!isOnLine) throw this.#refuse(pair, `write ${keyOf(pair)}: [] on one line`);
    const region = { start: lineStart(text, key), end: lineEnd(text, Math.max(colon, end)) };
    const empties = end > start ? [{ start: colon, end, text: '' }] : [];
    const before = text.slice(region.start, region.end).endsWith('\n') ? '' : this.#eol;
    const edits = [
      ...empties,
      { start: region.end, end: region.end, text: before + indented(lines, columnOf(text, key)) },
    ];
    this.#regions.push({ ...region, edits });
  }

  #addToFlow(change: Change, offset: number, text: string, inner: Node = change.map): void {
    this.#replaceInFlow(change, [offset, offset], text, inner);
  }

  /** Changes the lines on which the outermost flow collection around stands. */
  #replaceInFlow(
    change: Change,
    [from, to]: readonly [number, number, ...unknown[]],
    text: string,
    inner: Node = change.map,
  ): void {
    const index = this.#indexOf(change);
    const outermost = [inner, ...index.around(change.map)]
      .filter((node) => isCollection(node) && node.flow)
      .at(-1);
    const [start, end] = outermost?.range ?? [from, to];
    if (this.#file.text.slice(0, start).trim() === '')
      throw refuseAt(
        this.#file,
        start,
        'this is JSON, which has no comments to mark what is added; convert it to YAML',
      );
    this.#regions.push({
      start: lineStart(this.#file.text, start),
      end: lineEnd(this.#file.text, end),
      edits: [{ start: from, end: to, text }],
    });
  }

  #insertItems(
    list: Node & { readonly items: readonly unknown[] },
    at: 'first' | 'last',
    lines: string,
  ): void {
    const { text } = this.#file;
    const dash = startOf(list);
    if (text[dash] !== '-' || !beginsItsLine(text, dash))
      throw refuseAt(this.#file, dash, 'write each item of this list on a line of its own');
    const offset = at === 'first' ? startAboveComments(text, dash) : this.#afterNode(list.items.at(-1));
    this.#insert(offset, columnOf(text, dash), lines);
  }

  /** At the top of the mapping; behind its first entry where that stands behind a dash. */
  #insertPair(map: YAMLMap, lines: string): void {
    const { text } = this.#file;
    const [first] = map.items;
    const key = isPair(first) ? startOf(first.key) : startOf(map);
    if (beginsItsLine(text, key)) {
      this.#insert(startAboveComments(text, key), columnOf(text, key), lines);
      return;
    }
    if (!/^[ ]*(?:-[ ]+)+$/.test(text.slice(lineStart(text, key), key)))
      throw refuseAt(
        this.#file,
        key,
        'write this mapping in lines of its own, without ? and anchors before its first key',
      );
    this.#insert(this.#afterNode(first), columnOf(text, key), lines);
  }

  #insert(offset: number, indent: number, lines: string): void {
    const last = this.#insertions.at(-1);
    if (last?.offset === offset && last.indent === indent) {
      this.#insertions[this.#insertions.length - 1] = { ...last, text: last.text + indented(lines, indent) };
      return;
    }
    this.#insertions.push({ offset, indent, text: indented(lines, indent) });
  }

  /** Where the line behind a node begins. */
  #afterNode(node: unknown): number {
    const { text } = this.#file;
    const end = endOf(node);
    // A block scalar holds its own line end.
    return end > 0 && text[end - 1] === '\n' ? end : lineEnd(text, end);
  }

  /** A key of the mapping's own would take the place of one that it merges. */
  #refuseMerged(map: YAMLMap, key: string): void {
    const merge = map.items.find((item) => keyOf(item) === '<<');
    if (merge !== undefined)
      throw this.#refuse(merge, `what is merged here (<<) may hold ${key}; write it out in this mapping`);
  }

  #refuse(pair: unknown, message: string): Error {
    return refuseAt(this.#file, isPair(pair) ? startOf(pair.key) : 0, message);
  }
}

/** Regions that share a line are one. */
function joinRegions(regions: readonly Region[]): readonly Region[] {
  const joined: Region[] = [];
  for (const region of [...regions].sort((a, b) => a.start - b.start)) {
    const last = joined.at(-1);
    if (last === undefined || region.start >= last.end) joined.push(region);
    else
      joined[joined.length - 1] = {
        start: last.start,
        end: Math.max(last.end, region.end),
        edits: [...last.edits, ...region.edits],
      };
  }
  return joined;
}

function startOf(node: unknown): number {
  return (node as Node | null)?.range?.[0] ?? 0;
}

/** Offset behind the last character that belongs to a node or a pair. */
function endOf(node: unknown): number {
  if (isPair(node))
    return isEmptyNode(node.value) ? Math.max(endOf(node.key), endOfScalar(node.value)) : endOf(node.value);
  if (isCollection(node) && !node.flow && node.items.length > 0) return endOf(node.items.at(-1));
  return endOfScalar(node);
}

function isEmptyNode(node: unknown): boolean {
  return node === null || node === undefined || (isScalar(node) && node.range?.[0] === node.range?.[1]);
}

function endOfScalar(node: unknown): number {
  return (node as Node | null | undefined)?.range?.[1] ?? 0;
}

/** Behind the bracket or brace of a flow collection, and the blanks that follow it. */
function afterOpening(text: string, node: Node): number {
  let offset = startOf(node) + 1;
  while (text[offset] === ' ') offset += 1;
  return offset;
}

function flowEntry(map: YAMLMap, text: string): string {
  return map.items.length === 0 ? text : `${text}, `;
}

function quoted(key: string): string {
  return JSON.stringify(key);
}

function indented(lines: string, columns: number): string {
  const margin = ' '.repeat(columns);
  return lines.replace(/^(?=.)/gm, margin);
}
