import { isSeq, type YAMLMap } from 'yaml';
import type { TextEdit } from '../../text-edit.js';
import { YamlAccess } from '../../yaml-access.js';
import type { Fix } from '../findings/finding.js';
import type { Launch } from '../launches/launch.js';
import type { SettingValue } from '../launches/setting-value.js';
import { textAt } from '../text/span.js';
import { addList, appendItems, type ListItem, ownValue } from './yaml-edits.js';

/** Puts another number where a setting has one; undefined where the text is not the value itself. */
export function replaceNumber(setting: SettingValue, tokens: number, says: string): Fix | undefined {
  const { span, value } = setting;
  const written = textAt(span);
  const digits = /\d+/.exec(written)?.[0];
  if (!span.isExact || written !== value || digits === undefined) {
    return undefined;
  }
  // White space around it stays: a script with CRLF has it in the argument.
  const start = span.start + written.indexOf(digits);
  return {
    says,
    file: span.source.file,
    edits: [{ start, end: start + digits.length, text: String(tokens) }],
  };
}

/**
 * Gives a process a variable: beside its neighbour where that is in a list of
 * its own, else in the container's or the component's list, or in a new one. In a script
 * nothing is done: see `addFlag`.
 */
export function addVariable(
  launch: Launch,
  name: string,
  value: string,
  options: { readonly says: string; readonly comment?: string; readonly neighbour?: string },
): Fix | undefined {
  const { source, site, container } = launch;
  if (site === undefined) {
    return undefined;
  }
  const { says, comment, neighbour } = options;
  const item: ListItem = {
    lines: [
      `name: ${name}`,
      `value: ${JSON.stringify(value)}${comment === undefined ? '' : `  # ${comment}`}`,
    ],
    flow: JSON.stringify({ name, value }).replace(/([:,])"/g, '$1 "'),
  };
  const isComponent = site.kind === 'DynamoGraphDeployment';
  const lists: readonly { readonly map: YAMLMap; readonly key: string }[] = [
    ...(container === undefined ? [] : [{ map: container.node, key: 'env' }]),
    ...(isComponent ? [{ map: site.node, key: 'envs' }] : []),
  ];
  const holding = lists.find(
    ({ map, key }) => neighbour !== undefined && listNames(map, key).includes(neighbour),
  );
  const existing = lists.find(({ map, key }) => ownValue(map, key).isThere);
  const chosen = holding ?? existing ?? lists[0];
  if (chosen === undefined) {
    return undefined;
  }
  const { node, isThere } = ownValue(chosen.map, chosen.key);
  if (isMerged(launch, chosen.map, chosen.key)) return undefined;
  const edit = isThere
    ? isSeq(node)
      ? appendItems(source.text, node, [item])
      : undefined
    : addList(source.text, chosen.map, chosen.key, [item]);
  return fixOf(launch, says, edit);
}

/** Whether a mapping has a list by a merge key alone: one of its own would hide all that is in it. */
function isMerged({ site }: Launch, map: YAMLMap, key: string): boolean {
  return (
    site !== undefined &&
    !ownValue(map, key).isThere &&
    new YamlAccess(site.document).get(map, key) !== undefined
  );
}

function listNames(map: YAMLMap, key: string): readonly string[] {
  const { node } = ownValue(map, key);
  return isSeq(node) ? node.items.flatMap((item) => (item === null ? [] : nameIn(item))) : [];
}

function nameIn(item: unknown): readonly string[] {
  const name = (item as YAMLMap).get?.('name');
  return typeof name === 'string' ? [name] : [];
}

/** Gives a process further arguments: items at the end of its list, or words behind the program in a script. */
export function addArguments(launch: Launch, args: readonly string[], says: string): Fix | undefined {
  const { source, container, at } = launch;
  if (launch.argsAre === 'script') {
    const isPlain = args.every((arg) => /^[\w.-]+$/.test(arg));
    const before = source.text.slice(0, at.end);
    const last = launch.program.split(' ').at(-1) ?? '';
    // Behind a word that is neither quoted nor a part of another, whatever is around all of the script.
    const isWhole = at.isExact && new RegExp(`\\s${last.replace(/\W/g, '\\$&')}$`).test(before);
    return isPlain && isWhole
      ? fixOf(launch, says, { start: at.end, end: at.end, text: ` ${args.join(' ')}` })
      : undefined;
  }
  if (container === undefined) {
    return undefined;
  }
  const key = container.args.length > 0 ? 'args' : 'command';
  const { node, isThere } = ownValue(container.node, key);
  if (isMerged(launch, container.node, key)) return undefined;
  const items = args.map((arg): ListItem => ({ lines: [scalarOf(arg)], flow: JSON.stringify(arg) }));
  const edit = isThere
    ? isSeq(node)
      ? appendItems(source.text, node, items)
      : undefined
    : container.command.length === 0
      ? addList(source.text, container.node, 'args', items)
      : undefined;
  return fixOf(launch, says, edit);
}

/** A text as a YAML scalar that stays a text. */
function scalarOf(text: string): string {
  if (/^--?[a-z][\w-]*$/i.test(text)) {
    return text;
  }
  return text.includes("'") || !text.includes('"') ? JSON.stringify(text) : `'${text}'`;
}

function fixOf({ source }: Launch, says: string, edit: TextEdit | undefined): Fix | undefined {
  return edit === undefined ? undefined : { says, file: source.file, edits: [edit] };
}
