/**
 * Exit codes of the commands. They are a contract with scripts and manifests:
 * a number, once given away, keeps its meaning. A process that signal n ended
 * has 128+n (`exitCodeOfSignal`); `exec` passes on its child's own code once
 * the child runs.
 */

/** Agreed; or the command did what it was asked. */
export const EXIT_OK = 0;
/** A fault of the program itself, or of the machine below it. */
export const EXIT_FAULT = 1;
/** `lint` found faults; `inject` would change files and `--write` was not given. */
export const EXIT_FINDINGS = 1;
/** Wrong flag, value or configuration: nothing was started. */
export const EXIT_USAGE = 2;
/** Timed out while workers were still missing. */
export const EXIT_TIMEOUT = 3;
/** The workers contradict each other, or what was declared. */
export const EXIT_CONFLICT = 4;
/** The fleet could not be reached, or discovery failed; `doctor` could read nothing. */
export const EXIT_TRANSPORT = 5;
/** `doctor` read something, and it is not enough for a verdict. */
export const EXIT_UNKNOWN = 6;
