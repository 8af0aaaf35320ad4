import type { InnerText } from '../text/scalar-text.js';
import { UNKNOWN } from './words.js';

/** Commands that give values to the variables that they name. */
const FILLING: readonly string[] = ['read', 'mapfile', 'readarray', 'getopts'];

const NAME = /^[A-Za-z_]\w*$/;

/** `A=b`, `A+=b`, `A[1]=b`, behind anything that no name ends in. */
const ASSIGNED = /(?:^|[^\w$.-])([A-Za-z_]\w*)(?:\[[^\]\n]*\])?\+?=(?!=)/g;

/** `A = 1`, `A *= 2`, `A++`, `--A` in arithmetic. */
const COUNTED =
  /([A-Za-z_]\w*)\s*(?:<<|>>|[-+*/%&|^])?=(?!=)|([A-Za-z_]\w*)\s*(?:\+\+|--)|(?:\+\+|--)\s*([A-Za-z_]\w*)/g;

/** Lines that read a further file, or run a text: they may set any variable. */
const OPEN = /^\s*(?:source|\.|eval)\s/m;

/** A line that hands on what follows, or a variable that it names. */
const EXPORTING = /^\s*set\s+-\w*a|\ballexport\b/m;

/** Files that set up a shell, and no program's settings. */
const SETTING_UP =
  /(?:^|\/)(?:activate|\.?bashrc|\.?bash_profile|\.?profile|\.?zshrc|cargo\/env|conda\.sh|nvm\.sh|setvars\.sh|bash_completion|lsb-release|os-release)$/;

/** Longest text of another file that is looked through. */
const MAX_SOURCED_LENGTH = 256 * 1024;

/** Variables whose values are not known any more: those with these names, or all. */
export interface ChangedNames {
  readonly names: readonly string[];
  /** Those of the names that programs get from now on. */
  readonly exported: readonly string[];
  readonly all: boolean;
}

const NONE: ChangedNames = { names: [], exported: [], all: false };

const ALL: ChangedNames = { names: [], exported: [], all: true };

/** What a command with these arguments changes in the variables of its shell; `fileAt` finds a file that it reads. */
export function changedBy(
  tool: string,
  args: readonly string[],
  fileAt: (path: string) => InnerText | undefined,
): ChangedNames {
  const [first] = args;
  if (FILLING.includes(tool)) return named(args.filter((one) => NAME.test(one)));
  if (tool === 'printf') return first === '-v' ? named(args.slice(1, 2)) : NONE;
  if (tool === 'let') return named(args.flatMap(countedIn));
  if (tool === 'wait') return args[0] === '-p' ? named(args.slice(1, 2)) : NONE;
  if (tool === 'source' || tool === '.') {
    if (first === undefined || SETTING_UP.test(first)) return NONE;
    return setIn(fileAt(first)?.value);
  }
  // What it evaluates is one text of all arguments; where its beginning is not known it may be anything.
  if (tool === 'eval') return first?.startsWith(UNKNOWN) === true ? ALL : setIn(args.join(' '));
  return NONE;
}

/** The variables that `(( … ))` or `let` changes. */
export function countedIn(text: string): readonly string[] {
  return [...text.matchAll(COUNTED)].flatMap(([, a, b, c]) => a ?? b ?? c ?? []);
}

function setIn(text: string | undefined): ChangedNames {
  if (text === undefined || text.length > MAX_SOURCED_LENGTH || OPEN.test(text)) return ALL;
  const names = [...text.matchAll(ASSIGNED)].flatMap(([, name]) => name ?? []);
  const handed = EXPORTING.test(text)
    ? names
    : [...text.matchAll(/\bexport\s+([A-Za-z_]\w*)/g)].flatMap(([, name]) => name ?? []);
  return { names, exported: handed, all: false };
}

function named(names: readonly string[]): ChangedNames {
  return { names, exported: [], all: false };
}
