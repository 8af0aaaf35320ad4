import { isMap, isScalar, isSeq, type Node, type YAMLMap } from 'yaml';
import type { PlacedText } from '../../pod-site.js';
import type { SourceFile } from '../../source-file.js';
import { placedText, YamlAccess } from '../../yaml-access.js';
import type { SettingValue } from '../launches/setting-value.js';
import { UNKNOWN, type Word, wordOfText } from '../shell/words.js';
import { locateScalar, scalarText } from '../text/scalar-text.js';
import type { TextSource } from '../text/span.js';

/** A file while its documents are known. What is read keeps its text alone: all documents together have gigabytes. */
export interface OpenFile extends Pick<SourceFile, 'documents'> {
  readonly source: TextSource;
}

/** A document that is no Kubernetes object: Helm's values, a compose file, a configuration of an engine. */
export interface PlainDocument {
  readonly access: YamlAccess;
  readonly root: YAMLMap;
}

/** The documents of a file that say of no kind. */
export function plainDocuments({ documents }: OpenFile): readonly PlainDocument[] {
  return documents.flatMap((document) => {
    const access = new YamlAccess(document);
    const root = document.contents;
    return isMap(root) && access.get(root, 'kind') === undefined ? [{ access, root }] : [];
  });
}

/** A scalar of YAML as a word of a command. */
export function wordOf(source: TextSource, text: PlacedText): Word {
  const { value, span } = locateScalar(source, text);
  return wordOfText(value, span, false);
}

/** A text that stands nowhere, at the place of what gives rise to it. */
export function impliedWord(value: string, near: Word): Word {
  return { value, span: { ...near.span, isExact: false }, mayBeMore: false };
}

/** A scalar as a setting, by the name under which it is written. */
export function settingAt(
  source: TextSource,
  node: Node | undefined,
  name: string,
): SettingValue | undefined {
  const text = placedText(node);
  if (text === undefined) return undefined;
  const { value, span } = locateScalar(source, text);
  return { value: value.includes(UNKNOWN) ? undefined : value, span, how: 'engine-yaml', name };
}

/** A list of texts, or one text that a shell would split, as words. */
export function wordsAt(
  source: TextSource,
  node: Node | undefined,
  split: (text: ReturnType<typeof scalarText>) => readonly Word[],
): readonly Word[] {
  if (isSeq(node))
    return node.items.flatMap((item) => {
      const text = placedText(item);
      return text === undefined ? [] : [wordOf(source, text)];
    });
  const text = isScalar(node) ? placedText(node) : undefined;
  return text === undefined ? [] : split(scalarText(source, text));
}
