import { rmSync } from 'node:fs';
import type { RunnerTask } from 'vitest';
import { afterAll } from 'vitest';
import { scratchFolder } from './scratch.js';

// Registered before any hook of the test file, so that it runs after all of them.
afterAll((file) => {
  if (hasFailure(file)) console.log(`the logs are kept in ${scratchFolder()}`);
  else rmSync(scratchFolder(), { recursive: true, force: true });
});

function hasFailure(task: Readonly<RunnerTask>): boolean {
  return task.result?.state === 'fail' || ('tasks' in task && task.tasks.some(hasFailure));
}
