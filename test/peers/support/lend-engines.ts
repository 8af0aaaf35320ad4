import { rmSync } from 'node:fs';
import type { TestProject } from 'vitest/node';
import { EngineLender } from './engine-lender.js';
import { scratchFolder } from './scratch.js';

declare module 'vitest' {
  export interface ProvidedContext {
    /** The socket of the `EngineLender`. */
    engineLender: string;
  }
}

/** Vitest's global set-up: lends engines to the tests until all of them are over. */
export async function setup({ provide, vitest }: TestProject): Promise<() => Promise<void>> {
  const lender = await EngineLender.open();
  provide('engineLender', lender.socketPath);
  return async () => {
    await lender.stop();
    if (vitest.state.getCountOfFailedTests() > 0) console.log(`lent engines: logs are in ${scratchFolder()}`);
    else rmSync(scratchFolder(), { recursive: true, force: true });
  };
}
