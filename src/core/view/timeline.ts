import { shownLine, shownText } from './shown-text.js';
import { VIEW_LIMITS, type ViewEntry } from './view-document.js';

/** An entry as it is added: number and time come with it. */
export interface NewEntry extends Omit<ViewEntry, 'id' | 'atMs' | 'workerNumber'> {
  /** The worker's name in discovery; absent where the entry is about none or several. */
  readonly target?: string;
}

/** An entry as it is kept. */
export interface KeptEntry extends NewEntry {
  readonly id: number;
  readonly atMs: number;
}

/** What happened, the last 1,000 entries: at most 5 MB, whatever is reported. */
export class Timeline {
  readonly #entries: KeptEntry[] = [];
  #nextId = 1;

  /** The number that the next entry gets. */
  get nextId(): number {
    return this.#nextId;
  }

  /** Adds one; texts are cut to their bounds. */
  add(entry: NewEntry, atMs: number): void {
    const { worker, group, text, todo } = entry;
    this.#entries.push({
      ...entry,
      id: this.#nextId,
      atMs,
      group: shownLine(group),
      worker: shownLine(worker),
      text: shownText(text, VIEW_LIMITS.entryChars),
      todo: shownText(todo, VIEW_LIMITS.entryChars),
    });
    this.#nextId += 1;
    // In pieces: the oldest go together, so that adding stays cheap.
    if (this.#entries.length >= 2 * VIEW_LIMITS.timeline)
      this.#entries.splice(0, this.#entries.length - VIEW_LIMITS.timeline);
  }

  /** Those from a number on, oldest first. */
  since(id: number): readonly KeptEntry[] {
    const first = this.#nextId - this.#entries.length;
    const kept = Math.max(id, this.#nextId - VIEW_LIMITS.timeline);
    return this.#entries.slice(Math.max(0, kept - first));
  }
}
