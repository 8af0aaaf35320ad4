import { isMap, isScalar, isSeq, type YAMLMap } from 'yaml';
import { readSourceFile } from '../../source-file.js';
import { keyOf, placedText } from '../../yaml-access.js';
import { type Word, wordOfText } from '../shell/words.js';
import type { InnerText } from '../text/scalar-text.js';

/** Entries of a configuration that are read: engines have some two hundred flags. */
const MAX_ENTRIES = 2_000;

/**
 * A configuration file of vLLM or SGLang (`--config FILE`) as the arguments that
 * it stands for: `block-size: 64` is `--block-size 64`. Undefined for what is no mapping.
 */
export function readConfigArgs(text: InnerText): readonly Word[] | undefined {
  const [document, ...others] = readSourceFile('', text.value).documents;
  if (document === undefined || others.length > 0 || !isMap(document.contents)) return undefined;
  return argsOfMap(document.contents, text);
}

/** The entries of a mapping as the arguments that they stand for. */
export function argsOfMap({ items }: YAMLMap, text: InnerText): readonly Word[] {
  return items.slice(0, MAX_ENTRIES).flatMap((pair) => {
    const key = keyOf(pair);
    const name = placedText(pair.key);
    if (key === undefined || name === undefined) return [];
    const flag = wordAt(`--${key}`, text, name.start, name.end);
    const { value } = pair;
    if (isScalar(value) && typeof value.value === 'boolean') return value.value ? [flag] : [];
    return [flag, ...valuesOf(value, text)];
  });
}

function valuesOf(value: unknown, text: InnerText): readonly Word[] {
  const placed = placedText(value);
  if (placed !== undefined) return [wordAt(placed.value, text, placed.start, placed.end)];
  if (isSeq(value)) return value.items.flatMap((item) => valuesOf(item, text));
  if (!isMap(value)) return [];
  const [start = 0, end = start] = value.range ?? [];
  return [wordAt(JSON.stringify(value.toJSON()), text, start, end)];
}

function wordAt(value: string, text: InnerText, start: number, end: number): Word {
  const span = text.spanOf(start, end);
  const isExact = span.isExact && text.value.slice(start, end) === value;
  return wordOfText(value, { ...span, isExact }, false);
}
