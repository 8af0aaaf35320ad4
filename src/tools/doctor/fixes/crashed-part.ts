import type { Crash } from '../logs/crash-text.js';
import type { Measurements } from '../measurements/measurements.js';

/** A part of a program that moves or keeps KV blocks: its name, its packages, and what to leave out until it is repaired. */
export interface CrashedPart {
  /** As a headline has it: `SGLang's hierarchical cache`. */
  readonly name: string;
  /** What to run a later version of. */
  readonly program: string;
  /** Beside the engine's own, for `grep -iE` in the list of packages. */
  readonly packages: string;
  /** What to do until it is repaired: an instruction; undefined where there is nothing to leave out. */
  wayOut(measurements: Measurements, crash: Crash): string | undefined;
  /** What is known of such exceptions; without it that the issues of the project have them. */
  readonly why?: string;
}

/** The same with the places that are of it. */
export interface PlacedPart extends CrashedPart {
  /** Of the file and the function. */
  readonly pattern: RegExp;
  /** Of the exception, where the place alone is of several parts. */
  readonly says?: RegExp;
}
