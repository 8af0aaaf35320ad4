import { onTestFinished } from 'vitest';
import { Program, type RunningProgram } from './program.js';

/** Stops what was started when the current test is over. */
export function forThisTest<T extends Program | { readonly program: RunningProgram }>(started: T): T {
  onTestFinished(async () => {
    const program: RunningProgram = started instanceof Program ? started : started.program;
    await program.stop();
  });
  return started;
}
