import { posix } from 'node:path';
import { placesIn } from '../../source-file.js';
import type { NamedText } from '../fixes/apply-fixes.js';
import { type InnerText, wholeText } from '../text/scalar-text.js';

/** Files of one name that are looked at for a path: more say nothing any more. */
const MAX_NAMESAKES = 1_000;

/** Home folders, in which the author of a script may have the repository under any name. */
const HOME = /^\/(?:home|Users|root)\//;

/** A file that the operator names because programs read it. */
export interface GivenFile extends NamedText {
  /** The paths at which programs read it, or ends of them; without one it stands for every path that ends in its name. */
  readonly paths: readonly string[];
}

/** The files of a set by their paths: engines' configurations that stand beside the scripts that use them. */
export class TreeFiles {
  readonly #given: readonly GivenFile[];
  readonly #texts = new Map<string, NamedText>();
  readonly #byName = new Map<string, string[]>();

  constructor(given: readonly GivenFile[] = []) {
    this.#given = given;
  }

  /** Keeps a file. */
  add({ file, text }: NamedText): void {
    const path = posix.normalize(file);
    if (this.#texts.has(path)) return;
    this.#texts.set(path, { file, text });
    const name = posix.basename(path);
    const namesakes = this.#byName.get(name) ?? [];
    namesakes.push(path);
    this.#byName.set(name, namesakes);
  }

  /** The file that the operator names for a path. Of a path that is not known as a whole, its end says which. */
  givenFor(path: string): InnerText | undefined {
    const wanted = posix.normalize(path);
    const found =
      this.#given.find(({ paths }) => paths.some((one) => isEndOf(posix.normalize(one), wanted))) ??
      this.#given.find(
        ({ file, paths }) => paths.length === 0 && posix.basename(file) === posix.basename(wanted),
      );
    return found === undefined ? undefined : wholeText({ ...found, placeOf: placesIn(found.text) });
  }

  /** The file at a path of this machine: one that the operator names for it, else one of the set. */
  besideAt(path: string): InnerText | undefined {
    const wanted = posix.normalize(path);
    const found = this.#given.find(({ file, paths }) =>
      paths.length === 0
        ? posix.basename(file) === posix.basename(wanted)
        : paths.some((one) => posix.normalize(one) === wanted),
    );
    return found === undefined ? this.textAt(wanted) : wholeText({ ...found, placeOf: placesIn(found.text) });
  }

  /** A file by its own path. */
  textAt(path: string): InnerText | undefined {
    const named = this.#texts.get(posix.normalize(path));
    return named === undefined ? undefined : wholeText({ ...named, placeOf: placesIn(named.text) });
  }

  /**
   * The file that another one means by a path: the one beside it, else the one
   * whose path ends as this one does, in at least `minCommon` names. Undefined where there is none,
   * and where two fit alike. Of a `tail` only the end of the path is known, and all of it has to fit. For a path in a home
   * folder that a script names it is also the file of that name beside the script, where no other has the name; paths of an image ask for more.
   */
  find(from: string, path: string, minCommon: number, isKnown: 'whole' | 'tail'): InnerText | undefined {
    const given = this.givenFor(path);
    if (given !== undefined) return given;
    const isRelative = isKnown === 'whole' && !path.startsWith('/');
    const beside = isRelative ? this.textAt(posix.join(posix.dirname(from), path)) : undefined;
    if (beside !== undefined) return beside;
    const wanted = namesIn(path);
    const least = isKnown === 'tail' ? Math.max(wanted.length, minCommon) : minCommon;
    const fitting = (this.#byName.get(wanted.at(-1) ?? '') ?? [])
      .slice(0, MAX_NAMESAKES)
      .map((file) => ({ file, common: commonTail(namesIn(file), wanted) }))
      .filter(({ common }) => common >= least);
    const most = Math.max(0, ...fitting.map(({ common }) => common));
    const best = fitting.filter(({ common }) => common === most);
    if (best.length === 0 && minCommon < 3 && isKnown === 'whole' && HOME.test(path))
      return this.#onlyBeside(from, path);
    return best.length === 1 && best[0] !== undefined ? this.textAt(best[0].file) : undefined;
  }

  /** The file beside another one that no other of the set shares its name with. */
  #onlyBeside(from: string, path: string): InnerText | undefined {
    const name = posix.basename(path);
    const namesakes = this.#byName.get(name) ?? [];
    return namesakes.length === 1 ? this.textAt(posix.join(posix.dirname(from), name)) : undefined;
  }
}

/** Whether a path is another one, or the last names of it. */
function isEndOf(path: string, whole: string): boolean {
  return path === whole || (!path.startsWith('/') && whole.endsWith(`/${path}`));
}

function namesIn(path: string): readonly string[] {
  return posix
    .normalize(path)
    .split('/')
    .filter((name) => name !== '' && name !== '.' && name !== '..');
}

function commonTail(a: readonly string[], b: readonly string[]): number {
  let count = 0;
  while (count < a.length && count < b.length && a.at(-1 - count) === b.at(-1 - count)) count += 1;
  return count;
}
