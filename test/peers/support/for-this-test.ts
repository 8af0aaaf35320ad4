import { onTestFinished } from 'vitest';
import { Program } from './program.js';

/** Stops what was started when the current test is over. */
export function forThisTest<T extends Program | { readonly program: Program }>(started: T): T {
  onTestFinished(async () => {
    const program: Program = started instanceof Program ? started : started.program;
    await program.stop();
  });
  return started;
}
