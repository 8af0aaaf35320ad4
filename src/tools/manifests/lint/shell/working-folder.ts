import { posix } from 'node:path';
import { UNKNOWN } from './words.js';

/** Where a script is, from where it began: `.` there. Parts that are not known are `UNKNOWN`. */
export class WorkingFolder {
  #at = '.';
  #before = '.';
  readonly #pushed: string[] = [];

  get at(): string {
    return this.#at;
  }

  /** Follows `cd`, `pushd` and `popd`; of a command that may not run it is not known where the script is after it. */
  follow(tool: string, args: readonly string[], isCertain: boolean): void {
    const [target] = args.filter((arg) => !/^-[A-Za-z]+$/.test(arg) && arg !== '--');
    if (tool === 'popd') this.#go(isCertain ? (this.#pushed.pop() ?? UNKNOWN) : UNKNOWN);
    if (tool === 'pushd') this.#pushed.push(this.#at);
    if (tool === 'cd' || tool === 'pushd') {
      const next = target === '-' ? this.#before : target === undefined ? UNKNOWN : pathIn(this.#at, target);
      this.#go(isCertain ? next : UNKNOWN);
    }
  }

  /** Goes back to where the script was: what is done in a subshell holds in it alone. */
  return(at: string): void {
    this.#at = at;
  }

  #go(to: string): void {
    this.#before = this.#at;
    this.#at = to;
  }
}

/** The folder of the script itself: where it began, and written as nobody writes a path from where it is now. */
const OWN_FOLDER = './.';

/** A folder as a path that means the same wherever the script goes. */
export function pathFromStart(folder: string): string {
  return /^[/\uE000]/.test(folder) ? folder : folder === '.' ? OWN_FOLDER : `${OWN_FOLDER}/${folder}`;
}

/** A path as it is called from where the script began; with `UNKNOWN` in front where nothing more is known. */
export function pathIn(folder: string, path: string): string {
  if (/^[/\uE000]/.test(path) || path === OWN_FOLDER || path.startsWith(`${OWN_FOLDER}/`))
    return posix.normalize(path);
  return posix.normalize(posix.join(folder, path));
}

/** `$(dirname "$0")` and its kin: the folder of the script itself. */
const ASKS_OWN_FOLDER = /\bdirname\b.*(?:\$\{?0|BASH_SOURCE)/s;

/** The folder of the script as a path from itself, or the one above. */
export function ownFolder(text: string): string | undefined {
  if (!ASKS_OWN_FOLDER.test(text)) return undefined;
  const count = (pattern: RegExp): number => text.match(pattern)?.length ?? 0;
  const ups = count(/\bdirname\b/g) - 1 + count(/\/\.\.(?=[/"')\s])/g);
  return [OWN_FOLDER, ...Array.from({ length: Math.min(ups, 8) }, () => '..')].join('/');
}
