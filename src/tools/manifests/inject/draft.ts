import type { OpenPodSite } from '../pod-site.js';
import type { SourceFile } from '../source-file.js';
import type { Change } from './change.js';
import type { Written } from './containers.js';
import { type InjectRefusal, refuseAt } from './refusal.js';
import { type SiteRole, siteName } from './roles.js';

/** Something to say about a place, whether or not it is changed. */
export interface Note {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** `done`: what is added; `left`: why nothing is; `advice`: what a person should look at. */
  readonly type: 'done' | 'left' | 'advice';
  readonly text: string;
}

/** What is to be done to one file. */
export interface FilePlan {
  readonly changes: readonly Change[];
  /** New documents for its end. */
  readonly documents: readonly Written[];
}

/** A pod template with what it was found to be. */
export interface Found {
  readonly file: SourceFile;
  readonly site: OpenPodSite;
  readonly role: SiteRole;
}

/** Gathers what is to be done to files, and what is to be said about it. */
export class Draft {
  readonly notes: Note[] = [];
  readonly #changes = new Map<SourceFile, Change[]>();
  readonly #documents = new Map<SourceFile, Written[]>();
  readonly #refused = new Map<SourceFile, InjectRefusal>();

  change({ file }: Pick<Found, 'file'>, changes: readonly Change[]): void {
    const known = this.#changes.get(file) ?? [];
    known.push(...changes);
    this.#changes.set(file, known);
  }

  /** Adds documents to the end of a file. */
  append({ file }: Pick<Found, 'file'>, documents: readonly Written[]): void {
    const known = this.#documents.get(file) ?? [];
    known.push(...documents);
    this.#documents.set(file, known);
  }

  note({ file, site }: Omit<Found, 'role'>, type: Note['type'], text: string): void {
    const { line } = file.placeOf(site.at.start);
    this.notes.push({ file: file.file, line, type, text: `${site.kind} ${siteName(site)}: ${text}` });
  }

  /** Has a file refused, because of one of its places. */
  refuse({ file, site }: Omit<Found, 'role'>, why: string): void {
    const text = `${site.kind} ${siteName(site)}: ${why}`;
    if (!this.#refused.has(file)) this.#refused.set(file, refuseAt(file, site.at.start, text));
  }

  /** Throws an `InjectRefusal` for a file that is refused. */
  planOf(file: SourceFile): FilePlan {
    const refusal = this.#refused.get(file);
    if (refusal !== undefined) throw refusal;
    return { changes: this.#changes.get(file) ?? [], documents: this.#documents.get(file) ?? [] };
  }
}
