import type { InjectOptions } from '../../../../src/tools/manifests/inject/options.js';

/** What `inject` does where nothing is set, with an image of a fixed version. */
export const DEFAULT_INJECT_OPTIONS: InjectOptions = {
  image: 'kv-accord:1.2.3',
  sidecarKind: 'native',
  readyWhenOffered: false,
  gate: 'wait',
  transport: { type: 'plaintext' },
  workers: [],
  minWorkers: undefined,
  namespace: 'default',
  workerNames: [],
  frontendNames: [],
};
