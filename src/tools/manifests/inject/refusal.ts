import type { SourceFile } from '../source-file.js';

/**
 * A file that is not changed because the change could not be made, or not be
 * taken back, without harm. The message says what to change in it.
 */
export class InjectRefusal extends Error {
  /** From 1. */
  readonly line: number;

  constructor(line: number, message: string) {
    super(message);
    this.name = 'InjectRefusal';
    this.line = line;
  }
}

/** The refusal of a place in a file. */
export function refuseAt(file: SourceFile, offset: number, message: string): InjectRefusal {
  return new InjectRefusal(file.placeOf(offset).line, message);
}
