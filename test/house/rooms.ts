/** A folder of `src` and what it may lean on. */
export interface Room {
  /** Other rooms that its files may import, for values and for types alike. */
  readonly mayImport: readonly string[] | 'all';
  /**
   * True for a room that only computes: no packages, no clock, no timers, no
   * randomness, no I/O.
   */
  readonly isPure?: true;
  /** Names that a pure room may import from Node's own modules, as `module#name`. */
  readonly allowedBuiltins?: readonly string[];
  /** The one place for the clock, timers, randomness, processes and their environment. */
  readonly isPlatform?: true;
}

/**
 * The rooms of the house, one for each folder directly in `src`. Data flows one
 * way through them, and nothing imports against it. `sidecar` and `aggregator`
 * never import each other: they meet in `proto/` alone.
 *
 * A folder that is not listed here fails the house test: give it a line.
 */
export const ROOMS: Readonly<Record<string, Room>> = {
  gen: { mayImport: [] },
  text: { mayImport: [], isPure: true },
  contract: { mayImport: ['gen', 'text'], isPure: true, allowedBuiltins: ['node:crypto#createHash'] },
  agreement: { mayImport: ['contract'], isPure: true },
  blocks: { mayImport: [], isPure: true },
  platform: { mayImport: ['text'], isPlatform: true },
  http: { mayImport: ['platform', 'text'] },
  rpc: { mayImport: ['gen', 'platform'] },
  'kv-events': { mayImport: ['contract', 'blocks', 'platform'] },
  kubernetes: { mayImport: ['platform', 'text'] },
  facts: { mayImport: ['contract', 'gen', 'platform'] },
  dynamo: { mayImport: ['contract', 'facts', 'gen', 'platform', 'text'] },
  sidecar: {
    mayImport: [
      'blocks',
      'contract',
      'dynamo',
      'facts',
      'gen',
      'http',
      'kv-events',
      'platform',
      'rpc',
      'text',
    ],
  },
  aggregator: {
    mayImport: [
      'agreement',
      'contract',
      'dynamo',
      'facts',
      'gen',
      'http',
      'kubernetes',
      'platform',
      'rpc',
      'text',
    ],
  },
  indexer: {
    mayImport: ['agreement', 'blocks', 'contract', 'gen', 'kv-events', 'platform', 'rpc', 'text'],
  },
  router: { mayImport: ['agreement', 'blocks', 'contract', 'gen', 'indexer', 'platform', 'rpc'] },
  frontend: {
    mayImport: ['agreement', 'aggregator', 'contract', 'http', 'platform', 'router', 'text'],
  },
  manifests: { mayImport: ['contract', 'platform', 'text'] },
  doctor: {
    mayImport: ['contract', 'facts', 'gen', 'http', 'kubernetes', 'manifests', 'platform', 'rpc', 'text'],
  },
  // The whole story in one process: it may use every part, as the commands do, and only they may use it.
  demo: {
    mayImport: [
      'aggregator',
      'agreement',
      'blocks',
      'contract',
      'frontend',
      'gen',
      'http',
      'indexer',
      'kv-events',
      'platform',
      'router',
      'rpc',
      'sidecar',
    ],
  },
  cli: { mayImport: 'all' },
};

/** Files that may touch `process` although they are not in `platform`: the program's first line. */
export const PROCESS_OWNERS: readonly string[] = ['src/cli/main.ts'];
