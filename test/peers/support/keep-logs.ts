import { rmSync } from 'node:fs';
import type { RunnerTestFile, RunnerTestSuite } from 'vitest';
import { afterAll } from 'vitest';
import { scratchFolder } from './scratch.js';

// Registered before any hook of the test file, so that it runs after all of them.
// biome-ignore lint/correctness/noEmptyPattern: the first argument takes fixtures, and there are none.
afterAll(({}, file) => {
  if (hasFailed(file)) console.log(`the logs are kept in ${scratchFolder()}`);
  else rmSync(scratchFolder(), { recursive: true, force: true });
});

function hasFailed(suite: Readonly<RunnerTestSuite | RunnerTestFile>): boolean {
  return (
    suite.result?.state === 'fail' ||
    suite.tasks.some((task) => (task.type === 'suite' ? hasFailed(task) : task.result?.state === 'fail'))
  );
}
