import type { TextEdit } from '../../text-edit.js';

/** `error`: KV-aware routing does not work, or a pod does not start. `warning`: it may not. `note`: advice. */
export type Severity = 'error' | 'warning' | 'note';

/** What a rule is, whatever it finds: for help, documentation and SARIF. */
export interface Rule {
  /** Stable name: `block-size-unset`. */
  readonly id: string;
  readonly severity: Severity;
  /** One line: what is wrong. */
  readonly summary: string;
  /** What happens at run time, and why nothing reports it. */
  readonly explanation: string;
}

/** A place in a file. */
export interface Place {
  /** As the operator wrote it; `-` for standard input, `cluster:KIND/NAMESPACE/NAME` for a live object. */
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** From 1, in UTF-16 units. */
  readonly column: number;
}

/** How a finding can be fixed by a change of text. */
export interface Fix {
  /** What the change does: `Set DYN_KV_CACHE_BLOCK_SIZE=32 on the frontend`. */
  readonly says: string;
  /** The file to change, which may be another than the finding's. */
  readonly file: string;
  readonly edits: readonly TextEdit[];
}

/** One fault that was found. */
export interface Finding extends Place {
  readonly ruleId: string;
  readonly severity: Severity;
  /** One line with the real names and numbers of this place. */
  readonly message: string;
  /** What happens at run time here. */
  readonly consequence: string;
  /** What to do; there even when no `fix` can be written. */
  readonly advice: string;
  /** Absent where a person has to decide. */
  readonly fix?: Fix;
  /** A file that decides and was not seen, as the command names it. */
  readonly unseenFile?: string;
  /** Other places that belong to it, such as the worker that the frontend differs from. */
  readonly related?: readonly (Place & { readonly says: string })[];
}
