import { isMap, isPair, type YAMLMap } from 'yaml';
import { placedText, type YamlAccess } from '../../yaml-access.js';

/** Where a text stands: the maps around it, the nearest first, each with the key that leads on to it. */
export interface Surrounding {
  readonly map: YAMLMap;
  readonly key: string;
}

/** The maps around a node that `visit` of the YAML library has come to. */
export function surroundingsOf(path: readonly unknown[]): readonly Surrounding[] {
  const found: Surrounding[] = [];
  for (let at = path.length - 1; at > 0; at -= 1) {
    const pair = path[at];
    const map = path[at - 1];
    if (!isPair(pair) || !isMap(map)) continue;
    const key = placedText(pair.key)?.value;
    if (key !== undefined) found.push({ map, key });
  }
  return found;
}

/** Said of a configuration beside the one that its picker reads. */
export const ANOTHER = 'it reads another of the configurations that stand there';

/** Said of a configuration where it is not known whether its picker reads it. */
export const SEVERAL = 'several configurations stand there, and which of them it reads is not in this file';

/** Whether a picker reads a text: of a ConfigMap or of a chart's values with several of them it reads one. */
export type Choice = 'read' | 'another' | 'unknown';

/** Names of files in one map that are looked for. */
const MAX_NAMES = 100;

/**
 * Which of the configurations of one map a picker reads: the one that `pluginsConfigFile` of the chart's values names, else the
 * only one whose path stands in the same file, as an argument of the picker.
 */
export function choiceOf(
  text: string,
  access: YamlAccess,
  [own, outer]: readonly Surrounding[],
  isConfig: (value: string) => boolean,
): Choice {
  if (own === undefined) return 'read';
  const wanted = outer === undefined ? undefined : access.text(outer.map, 'pluginsConfigFile')?.value;
  if (wanted !== undefined) return wanted === own.key ? 'read' : 'another';
  const names = access
    .textEntries(own.map)
    .filter(({ value }) => isConfig(value.value))
    .map(({ key }) => key.value)
    .slice(0, MAX_NAMES);
  if (names.length < 2) return 'read';
  const named = names.filter((name) => isPathIn(text, name));
  return named.length !== 1 ? 'unknown' : named[0] === own.key ? 'read' : 'another';
}

/** The labels of the pods of a pool, as values of llm-d's charts have them beside the configuration of its picker. */
export function selectedBy(
  access: YamlAccess,
  around: readonly Surrounding[],
): ReadonlyMap<string, string> | undefined {
  const found = around
    .map(
      ({ map }) =>
        access.map(map, 'inferencePool', 'modelServers', 'matchLabels') ??
        access.map(map, 'modelServers', 'matchLabels'),
    )
    .find((labels) => labels !== undefined);
  const entries = access.textEntries(found);
  return entries.length === 0
    ? undefined
    : new Map(entries.map(({ key, value }) => [key.value, value.value]));
}

/** Whether a text has a path that ends in a name. */
function isPathIn(text: string, name: string): boolean {
  for (let at = text.indexOf(`/${name}`); at !== -1; at = text.indexOf(`/${name}`, at + 1))
    if (!/[\w.-]/.test(text[at + 1 + name.length] ?? '')) return true;
  return false;
}

/** Images of llm-d's picker with a release in the tag. */
const IMAGE = /\bllm-d-(?:inference-scheduler|router-endpoint-picker):v?(\d+)\.(\d+)[\w.-]*/g;
const NAME = /^llm-d-(?:inference-scheduler|router-endpoint-picker)$/;
const TAG = /^v?(\d+)\.(\d+)/;

/** A release of llm-d's picker. */
export interface PickerVersion {
  readonly major: number;
  readonly minor: number;
  /** As the image's tag has it. */
  readonly text: string;
}

/** The one release of llm-d's picker that stands beside its configuration: in the values around it, or in the same file. */
export function pickerVersionOf(
  text: string,
  access: YamlAccess,
  around: readonly Surrounding[],
): PickerVersion | undefined {
  for (const { map } of around) {
    const image = access.map(map, 'image');
    const name = access.text(image, 'name') ?? access.text(image, 'repository');
    const tag = access.text(image, 'tag')?.value ?? '';
    const [, major, minor] = TAG.exec(tag) ?? [];
    if (major !== undefined && NAME.test(name?.value.split('/').at(-1) ?? ''))
      return { major: Number(major), minor: Number(minor), text: tag };
  }
  const tags = new Map(
    [...text.matchAll(IMAGE)].map(([image, major, minor]) => [
      image.slice(image.lastIndexOf(':') + 1),
      { major: Number(major), minor: Number(minor) },
    ]),
  );
  const [first, ...others] = tags;
  return first === undefined || others.length > 0 ? undefined : { ...first[1], text: first[0] };
}
