import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { turns } from '../../support/turns.js';

// Without a collection on demand nothing can be said of memory.
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** What the process still holds once everything unreachable is gone. */
export async function heldMemory(): Promise<NodeJS.MemoryUsage> {
  // What closes in the next turns of the loop is held by nobody for long.
  await turns(10);
  collect();
  collect();
  return process.memoryUsage();
}
