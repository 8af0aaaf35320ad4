import type { InnerText } from '../text/scalar-text.js';
import type { Located } from '../text/span.js';
import type { ChangedNames } from './changed-names.js';
import { KeptMap } from './kept-map.js';
import { commonStart, textOfWord, UNKNOWN, type Word, wordOfText } from './words.js';

/** Arguments of a function that are kept. */
const ARGUMENTS: readonly string[] = ['1', '2', '3', '4', '5', '6', '7', '8', '9'];

/** How often all variables of one script are kept, to go back to. */
const MAX_SAVED = 300;

/** A part of a script. */
export interface PlacedNode {
  readonly pos: number;
  readonly end: number;
}

/** What a shell keeps while it runs a script: its variables, and which of them programs get. */
export class VariableStore {
  readonly #script: InnerText;
  /** Variables of the shell, exported or not; parts that are not known are `UNKNOWN`. */
  readonly texts: KeptMap<string>;
  readonly arrays: KeptMap<readonly Word[]> = new KeptMap<readonly Word[]>();
  readonly exported: KeptMap<Word> = new KeptMap<Word>();
  readonly assigned: KeptMap<Word> = new KeptMap<Word>();
  exportsAll = false;
  /** Whether what is read now certainly runs. */
  isCertain = true;
  /** Whether any variable may have any value: a file was read that is not known. */
  #isOpen = false;
  #saved = 0;
  /** What changed variables in the branch that is read. */
  #changes: (() => void)[] | undefined;

  constructor(script: InnerText, env: ReadonlyMap<string, Located | undefined>) {
    this.#script = script;
    this.texts = new KeptMap([...env].map(([name, located]) => [name, located?.value ?? UNKNOWN] as const));
  }

  /** Whether there may be variables that are not seen here. */
  get hasUnseen(): boolean {
    return this.#isOpen;
  }

  /**
   * Reads branches of which one runs, or none where it is not said which are all that can be: each begins with what is known before all of them, and
   * behind them nothing is known of what any of them sets but how its text begins in all of them.
   */
  choose(branches: readonly (() => void)[], areOutcomes?: readonly boolean[]): void {
    const outer = this.#changes;
    const changes: (() => void)[] = [];
    const restore = this.#restorer();
    const before = this.texts.keep();
    const ends: ReadonlyMap<string, string>[] = areOutcomes === undefined ? [before] : [];
    for (const [index, read] of branches.entries()) {
      restore();
      this.#changes = [];
      read();
      changes.push(...this.#changes);
      if (areOutcomes?.[index] !== false) ends.push(this.texts.keep());
    }
    restore();
    this.#changes = outer;
    if (changes.length > 0)
      this.change(() => {
        const { isCertain } = this;
        this.isCertain = false;
        for (const change of changes) change();
        this.isCertain = isCertain;
      });
    this.#keepCommon(before, ends);
  }

  /** Texts that begin alike whichever branch has run: of `CMD="$BASE --flag"` and `CMD="$BASE"` it is what is in `BASE`. */
  #keepCommon(before: ReadonlyMap<string, string>, ends: readonly ReadonlyMap<string, string>[]): void {
    const [first, ...others] = ends;
    const changed = ends.filter((end) => end !== before);
    if (first === undefined || changed.length === 0) return;
    const names = new Set(
      changed.flatMap((end) => [...end.keys()].filter((name) => end.get(name) !== before.get(name))),
    );
    for (const name of names) {
      const { span } = this.assigned.get(name) ?? {};
      const texts = [first, ...others].map((end) => end.get(name));
      const common = commonStart(texts);
      if (span === undefined || common === undefined || this.texts.get(name)?.startsWith(common)) continue;
      const word = wordOfText(`${common} ${UNKNOWN}`, span, true);
      this.texts.set(name, textOfWord(word));
      this.assigned.set(name, word);
    }
  }

  /** Changes variables, in a way that can be done once more behind a branch. */
  change(change: () => void): void {
    const outer = this.#changes;
    this.#changes = undefined;
    change();
    this.#changes = outer;
    outer?.push(change);
  }

  /** `set -a` and its kin. */
  setOptions(options: readonly string[]): void {
    this.exportsAll ||= options.some((option) => /^-\w*a/.test(option) || option === 'allexport');
  }

  /** Variables that get values which are not known. */
  forget(changed: ChangedNames, at: PlacedNode): void {
    this.change(() => {
      this.#forget(changed, at);
    });
  }

  #forget({ names, exported, all }: ChangedNames, at: PlacedNode): void {
    const known = all ? [...this.texts.keys(), ...this.arrays.keys(), ...this.exported.keys()] : names;
    this.#isOpen ||= all;
    // What is read into it may be a list.
    const unknown = { ...this.unknown(at), mayBeMore: true };
    for (const name of known) {
      const isHandedOn = exported.includes(name) || this.isExported(name);
      if (this.arrays.has(name)) this.arrays.set(name, [unknown]);
      if (!this.arrays.has(name) || this.texts.has(name)) this.texts.set(name, UNKNOWN);
      this.assigned.set(name, unknown);
      if (isHandedOn) this.exported.set(name, unknown);
    }
  }

  /** `unset A B`: an empty variable is absent for the programs that are known here. */
  unset(names: readonly string[], at: PlacedNode): void {
    this.change(() => {
      if (!this.isCertain) this.#forget({ names, exported: [], all: false }, at);
      for (const name of this.isCertain ? names : []) {
        const isHandedOn = this.isExported(name);
        this.arrays.delete(name);
        this.texts.delete(name);
        this.assigned.delete(name);
        if (isHandedOn) this.exported.set(name, { ...this.unknown(at), value: '' });
      }
    });
  }

  /** The arguments of a function that is called: `$1`, `$2`…; gives back what they were before. */
  withArguments(texts: readonly string[] | undefined, at: PlacedNode): () => void {
    const restore = this.saveNames(ARGUMENTS);
    if (texts === undefined) this.#forget({ names: ARGUMENTS, exported: [], all: false }, at);
    for (const [index, name] of texts === undefined ? [] : ARGUMENTS.entries()) {
      const text = texts?.[index];
      if (text === undefined) this.texts.delete(name);
      else this.texts.set(name, text);
    }
    return restore;
  }

  /** `shift`, `set -- a b`. */
  forgetArguments(at: PlacedNode): void {
    this.forget({ names: ARGUMENTS, exported: [], all: false }, at);
  }

  /** All variables as they are, to go back to: what is done in a subshell holds in it alone. Undefined after very many. */
  save(): (() => void) | undefined {
    if (this.#saved >= MAX_SAVED) return undefined;
    this.#saved += 1;
    const restore = this.#restorer();
    const { exportsAll } = this;
    const isOpen = this.#isOpen;
    const outer = this.#changes;
    this.#changes = undefined;
    return () => {
      restore();
      this.exportsAll = exportsAll;
      this.#isOpen = isOpen;
      this.#changes = outer;
    };
  }

  /** Gives variables back what they had before: those that a function declares for itself. */
  saveNames(names: readonly string[]): () => void {
    const before = names.map((name) => [name, this.texts.get(name), this.arrays.get(name)] as const);
    return () => {
      for (const [name, text, array] of before) {
        if (text === undefined) this.texts.delete(name);
        else this.texts.set(name, text);
        if (array === undefined) this.arrays.delete(name);
        else this.arrays.set(name, array);
      }
    };
  }

  /** Whether a program gets a variable: one that is handed on, or is there from outside. */
  isExported(name: string): boolean {
    return this.exported.has(name) || (this.texts.has(name) && !this.assigned.has(name));
  }

  /** What is known of a value at a place: nothing. */
  unknown({ pos, end }: PlacedNode): Word {
    return { value: undefined, span: { ...this.#script.spanOf(pos, end), isExact: false }, mayBeMore: false };
  }

  /** Goes back to what is now, as often as it is called. */
  #restorer(): () => void {
    const [texts, arrays, exported, assigned] = [
      this.texts.keep(),
      this.arrays.keep(),
      this.exported.keep(),
      this.assigned.keep(),
    ];
    return () => {
      this.texts.return(texts);
      this.arrays.return(arrays);
      this.exported.return(exported);
      this.assigned.return(assigned);
    };
  }
}
