import { addTo } from '../../../../core/data/group-by.js';
import type { Fleet } from '../facts/fleet.js';
import type { Finding, Fix } from '../findings/finding.js';
import { type Launch, nameOf } from '../launches/launch.js';
import type { Span } from '../text/span.js';

/** One reading of a number: a fleet, the program and the setting that it is for. */
interface Use {
  readonly fleet: Fleet;
  readonly program: string;
  readonly setting: string;
}

/** A number that is a setting as a whole, also behind `--flag=`. */
const NUMBER = /^(?:(--?[A-Za-z][\w.-]*)=)?\s*\d+\s*$/;

/** An anchor in front of a value. */
const ANCHOR = /&([^\s,[\]{}]+)\s+["']?$/;

/** Characters in front of a value in which its anchor is looked for. */
const MAX_ANCHOR_LENGTH = 200;

/** The numbers that programs read, by their places in files: one may be of several fleets, or stand for several settings. */
export class SharedPlaces {
  readonly #uses = new Map<string, Use[]>();

  constructor(fleets: readonly Fleet[]) {
    // A program that is alone in its fleet is compared with nothing there, and asks for no number.
    for (const fleet of fleets)
      if (fleet.launches.length > 1) for (const launch of fleet.launches) this.#addLaunch(fleet, launch);
  }

  /**
   * Findings of fleets, without the fixes that change what others read: those of a number in another fleet, unless the same
   * change is asked for there, or of another setting.
   */
  withOwnFixes(
    found: readonly { readonly fleet: Fleet; readonly finding: Finding }[],
    textOf: (file: string) => string | undefined,
  ): readonly Finding[] {
    const wanted = new Map<string, Set<Fleet>>();
    for (const { fleet, finding } of found)
      for (const key of changesOf(finding.fix)) wanted.set(key, (wanted.get(key) ?? new Set()).add(fleet));
    return found.map(({ fleet, finding }) => {
      const others =
        finding.fix === undefined ? undefined : this.#othersOf(fleet, finding.fix, wanted, textOf);
      if (others === undefined) return finding;
      const { fix: _, ...rest } = finding;
      return {
        ...rest,
        advice: `${finding.advice} This number is read by ${others} as well: give each a number of its own.`,
      };
    });
  }

  /** Who else reads what a fix changes, in words; undefined where nobody does. */
  #othersOf(
    fleet: Fleet,
    fix: Fix,
    wanted: ReadonlyMap<string, ReadonlySet<Fleet>>,
    textOf: (file: string) => string | undefined,
  ): string | undefined {
    for (const edit of fix.edits) {
      if (edit.start === edit.end) continue;
      const uses = this.#uses.get(placeKey(fix.file, edit.start)) ?? [];
      const asking = wanted.get(changeKey(fix.file, edit.start, edit.text));
      const other =
        uses.find((use) => use.fleet !== fleet && asking?.has(use.fleet) !== true) ??
        uses.find(({ setting }) => setting !== uses[0]?.setting);
      if (other !== undefined)
        return `${other.program} (${other.setting})${other.fleet === fleet ? '' : ' of another deployment'}`;
      const text = textOf(fix.file);
      if (text !== undefined && hasAlias(text, edit.start)) return 'another place, by its anchor,';
    }
    return undefined;
  }

  #addLaunch(fleet: Fleet, launch: Launch): void {
    const add = (span: Span, value: string | undefined, setting: string): void => {
      const [, flag] = NUMBER.exec(value ?? '') ?? [];
      if (value === undefined || !span.isExact || !NUMBER.test(value)) return;
      const at = span.start + value.indexOf(/\d+\s*$/.exec(value)?.[0] ?? '');
      const place = inFile(span, at);
      if (place === undefined) return;
      addTo(this.#uses, place, { fleet, program: nameOf(launch), setting: flag ?? setting });
    };
    for (const [name, { value, span }] of launch.env) add(span, value, name);
    for (const [index, { value, span }] of launch.args.entries())
      add(span, value, launch.args[index - 1]?.value ?? launch.program);
    const size = launch.gateway?.blockSize;
    if (size !== undefined) add(size.span, size.value, size.name);
  }
}

/** Whether a value has an anchor that another place of its file names. */
function hasAlias(text: string, start: number): boolean {
  const name = ANCHOR.exec(text.slice(Math.max(0, start - MAX_ANCHOR_LENGTH), start))?.[1];
  return name !== undefined && text.includes(`*${name}`);
}

function inFile({ source }: Span, start: number): string | undefined {
  if (source.inFile === undefined) return placeKey(source.file, start);
  const own = source.inFile({ start, end: start + 1, text: '' });
  return own === undefined ? undefined : placeKey(own.file, own.edit.start);
}

function changesOf(fix: Fix | undefined): readonly string[] {
  return (fix?.edits ?? []).map(({ start, text }) => changeKey(fix?.file ?? '', start, text));
}

function placeKey(file: string, start: number): string {
  return `${file}\n${start}`;
}

function changeKey(file: string, start: number, text: string): string {
  return `${placeKey(file, start)}\n${text}`;
}
