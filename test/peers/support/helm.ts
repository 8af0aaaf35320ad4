import { join } from 'node:path';
import { peerPath } from './peers.js';
import { type Outcome, run } from './run.js';
import { scratchFolder } from './scratch.js';

/** Runs helm with a home of its own, for it keeps a cache and takes plugins from there. */
export function helm(args: readonly string[]): Promise<Outcome> {
  return run(peerPath('helm'), args, { env: { HOME: join(scratchFolder(), 'helm-home') } });
}
