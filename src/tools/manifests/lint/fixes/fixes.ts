import type { ListPlace } from '../../pod-site.js';
import type { TextEdit } from '../../text-edit.js';
import type { Fix } from '../findings/finding.js';
import type { Launch } from '../launches/launch.js';
import type { SettingValue } from '../launches/setting-value.js';
import { textAt } from '../text/span.js';
import { addItems, type ListItem } from './yaml-edits.js';

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
  const lists: readonly { readonly place: ListPlace; readonly key: string }[] = [
    ...(container === undefined ? [] : [{ place: container.places.env, key: 'env' }]),
    ...(isComponent ? [{ place: site.envsPlace, key: 'envs' }] : []),
  ];
  const holding = lists.find(({ place }) => neighbour !== undefined && place.names.includes(neighbour));
  const existing = lists.find(({ place }) => place.isThere);
  const { place, key } = holding ?? existing ?? lists[0] ?? {};
  return place?.way === undefined || key === undefined
    ? undefined
    : fixOf(launch, says, addItems(source.text, place.way, key, [item]));
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
  const key = container.args.length > 0 || container.places.args.isThere ? 'args' : 'command';
  const place = container.places[key];
  if (place.way === undefined || (!place.isThere && container.command.length > 0)) return undefined;
  const items = args.map((arg): ListItem => ({ lines: [scalarOf(arg)], flow: JSON.stringify(arg) }));
  return fixOf(launch, says, addItems(source.text, place.way, place.isThere ? key : 'args', items));
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
