/** A folder of `src`, or of one of its layers, and what it may lean on. */
export interface Room {
  /** Other rooms, or whole layers, that its files may import, for values and for types alike. */
  readonly mayImport: readonly string[];
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
 * The layers, each with the layers that its rooms may import at most. `worker`
 * and `fleet` never import each other: they meet in `proto/` alone.
 */
export const LAYERS: Readonly<Record<string, readonly string[]>> = {
  gen: [],
  core: ['gen'],
  edge: ['core', 'gen'],
  engines: ['core', 'edge', 'gen'],
  worker: ['core', 'edge', 'engines', 'gen'],
  // What runs in a browser: it meets the others in the JSON of the view alone.
  page: ['core'],
  fleet: ['core', 'edge', 'engines', 'gen'],
  frontend: ['core', 'edge', 'engines', 'fleet', 'gen'],
  tools: ['app', 'core', 'edge', 'engines', 'fleet', 'frontend', 'gen', 'worker'],
  app: ['core', 'edge', 'engines', 'fleet', 'frontend', 'gen', 'worker'],
  cli: ['app', 'core', 'edge', 'engines', 'fleet', 'frontend', 'gen', 'tools', 'worker'],
};

/** Layers that are one room: their files are not in rooms of their own, or arrows between these do not matter. */
export const UNDIVIDED_LAYERS: readonly string[] = ['gen', 'app', 'cli'];

/** What the room of one engine may import: no other engine, and not the list of all. */
const ENGINE_MAY_IMPORT: readonly string[] = [
  'core',
  'edge',
  'engines/descriptor',
  'engines/diagnosis',
  'engines/facts',
  'engines/probing',
  'gen',
];

/**
 * The rooms, one for each folder of a layer, and for each folder of a room where these have arrows of their own. Data
 * flows one way through them, and nothing imports against it.
 *
 * A folder that is not listed here fails the house test: give it a line.
 */
export const ROOMS: Readonly<Record<string, Room>> = {
  gen: { mayImport: [] },

  'core/data': { mayImport: [], isPure: true },
  'core/text': { mayImport: [], isPure: true },
  // Words, bounds and numbers of the wire, for people and for code.
  'core/contract/wire': { mayImport: ['core/text', 'gen'], isPure: true },
  // What was read of an engine, and the one block size that it proves.
  'core/contract/evidence': { mayImport: ['core/contract/wire', 'core/text', 'gen'], isPure: true },
  'core/contract/tokens': { mayImport: ['core/contract/wire', 'gen'], isPure: true },
  'core/contract/transfer': { mayImport: ['core/contract/wire', 'core/text', 'gen'], isPure: true },
  'core/contract/topology': { mayImport: ['core/text', 'gen'], isPure: true },
  // The report that is made of these, and what of it is compared.
  'core/contract': {
    mayImport: ['core/contract', 'core/text', 'gen'],
    isPure: true,
    allowedBuiltins: ['node:crypto#createHash'],
  },
  'core/pairs': { mayImport: ['core/contract', 'core/text', 'gen'], isPure: true },
  // What the reducer holds, and what may be asked of it.
  'core/agreement/state': { mayImport: ['core/contract', 'core/pairs', 'core/text'], isPure: true },
  // Sentences for operators.
  'core/agreement/messages': {
    mayImport: ['core/agreement/state', 'core/contract', 'core/data', 'core/pairs', 'core/text'],
    isPure: true,
  },
  // What follows for members and groups, by the clauses of docs/agreement.md.
  'core/agreement/rules': {
    mayImport: [
      'core/agreement/messages',
      'core/agreement/state',
      'core/contract',
      'core/data',
      'core/pairs',
      'core/text',
    ],
    isPure: true,
  },
  // One file for each family of events.
  'core/agreement/take': {
    mayImport: [
      'core/agreement/messages',
      'core/agreement/rules',
      'core/agreement/state',
      'core/contract',
      'core/text',
    ],
    isPure: true,
  },
  // What others may know of the state.
  'core/agreement/view': {
    mayImport: [
      'core/agreement/messages',
      'core/agreement/rules',
      'core/agreement/state',
      'core/contract',
      'core/text',
    ],
    isPure: true,
  },
  'core/agreement': { mayImport: ['core/agreement'], isPure: true },
  'core/health': { mayImport: ['core/text'], isPure: true },
  'core/blocks': { mayImport: [], isPure: true },
  // What pages and terminals show of a fleet, and its history.
  'core/view': { mayImport: ['core/text'], isPure: true },
  'core/relay': { mayImport: ['core/blocks', 'core/contract'], isPure: true },

  'edge/platform': { mayImport: ['core/text'], isPlatform: true },
  'edge/security': { mayImport: ['edge/platform'] },
  'edge/http': { mayImport: ['core/text', 'edge/platform', 'edge/security'] },
  'edge/rpc': { mayImport: ['edge/platform', 'edge/security', 'gen'] },
  'edge/kubernetes': { mayImport: ['core/text', 'edge/platform'] },

  'engines/facts': { mayImport: ['core', 'edge', 'gen'] },
  'engines/probing': { mayImport: ['core', 'edge', 'engines/facts', 'gen'] },
  // What the doctor reads of engines' logs and pages: words and interfaces.
  'engines/diagnosis': { mayImport: ['engines/facts'] },
  'engines/descriptor': {
    mayImport: ['core', 'edge', 'engines/diagnosis', 'engines/facts', 'engines/probing', 'gen'],
  },
  'engines/vllm': { mayImport: ENGINE_MAY_IMPORT },
  'engines/sglang': { mayImport: ENGINE_MAY_IMPORT },
  'engines/trtllm': { mayImport: ENGINE_MAY_IMPORT },
  // Its workers run any of the three.
  'engines/dynamo': {
    mayImport: [...ENGINE_MAY_IMPORT, 'engines/sglang', 'engines/trtllm', 'engines/vllm'],
  },
  // It is asked for tokens as vLLM is.
  'engines/other': { mayImport: [...ENGINE_MAY_IMPORT, 'engines/vllm'] },
  // The list of all engines: no engine may import it.
  'engines/catalogue': { mayImport: ['core', 'edge', 'engines', 'gen'] },

  'worker/kv-events/sockets': { mayImport: ['core/relay', 'edge/platform'] },
  'worker/kv-events/decode': { mayImport: ['core/blocks', 'edge/platform'] },
  'worker/kv-events/relay': { mayImport: ['core/blocks', 'core/relay', 'edge/platform'] },
  'worker/kv-events/cache': {
    mayImport: [
      'core/blocks',
      'core/contract',
      'core/relay',
      'worker/kv-events/decode',
      'worker/kv-events/relay',
    ],
  },
  'worker/kv-events/readers': {
    mayImport: [
      'core/contract',
      'core/relay',
      'edge/platform',
      'worker/kv-events/cache',
      'worker/kv-events/decode',
      'worker/kv-events/sockets',
    ],
  },
  'worker/kv-events': {
    mayImport: ['core/blocks', 'core/contract', 'core/relay', 'edge/platform', 'worker/kv-events'],
  },
  'worker/topology': { mayImport: ['core', 'edge/platform', 'gen'] },
  'worker/sidecar': { mayImport: ['core', 'edge', 'engines', 'gen', 'worker'] },

  'fleet/discovery': { mayImport: ['core', 'edge', 'engines'] },
  'fleet/catalogue': { mayImport: ['core', 'edge/platform'] },
  'fleet/aggregator': { mayImport: ['core', 'edge', 'fleet/discovery', 'gen'] },
  'fleet/indexer': { mayImport: ['core', 'edge', 'gen'] },
  'fleet/router': { mayImport: ['core', 'edge', 'fleet/catalogue', 'fleet/indexer', 'gen'] },

  'fleet/view': {
    mayImport: ['core', 'edge', 'fleet/aggregator', 'fleet/indexer', 'fleet/router', 'gen'],
  },

  'frontend/errors': { mayImport: ['core', 'fleet/router'] },
  // The table of APIs: what they are asked, how their errors and streams look.
  'frontend/apis': { mayImport: ['core', 'engines/descriptor', 'frontend/errors'] },
  'frontend/json': { mayImport: ['edge/platform'] },
  'frontend/engine-access': { mayImport: ['core/text', 'edge/platform', 'fleet/catalogue'] },
  'frontend/tokens': {
    mayImport: ['core', 'edge', 'engines', 'fleet/catalogue', 'frontend/engine-access', 'frontend/json'],
  },
  'frontend/proxy': {
    mayImport: [
      'core',
      'edge',
      'engines',
      'fleet/router',
      'frontend/apis',
      'frontend/engine-access',
      'frontend/errors',
      'frontend/json',
    ],
  },
  'frontend/tracing': { mayImport: ['core', 'edge', 'fleet/router', 'frontend/proxy'] },
  // The router of another process, for HTTP processes beside it or on another machine.
  'frontend/router-client': {
    mayImport: [
      'core',
      'edge',
      'fleet/aggregator',
      'fleet/catalogue',
      'fleet/indexer',
      'fleet/router',
      'frontend/errors',
      'gen',
    ],
  },
  'frontend/gateway': {
    mayImport: [
      'core',
      'edge',
      'engines/descriptor',
      'fleet/catalogue',
      'fleet/router',
      'frontend/apis',
      'frontend/engine-access',
      'frontend/errors',
      'frontend/json',
      'frontend/proxy',
      'frontend/tokens',
      'frontend/tracing',
    ],
  },
  // Endpoints for requests that other gateways send: read, decided and watched by the frontend's own parts.
  'frontend/picker': {
    mayImport: [
      'core',
      'edge',
      'fleet/catalogue',
      'fleet/router',
      'frontend/apis',
      'frontend/engine-access',
      'frontend/errors',
      'frontend/gateway',
      'frontend/json',
      'frontend/proxy',
      'frontend/tokens',
      'frontend/tracing',
      'gen',
    ],
  },
  // The processes of --threads, and nothing of what they serve.
  'frontend/threads': { mayImport: ['core', 'edge'] },

  'tools/manifests': { mayImport: ['core', 'edge/platform', 'engines'] },
  'tools/doctor': { mayImport: ['core', 'edge', 'engines', 'gen', 'tools/manifests'] },
  // The whole story in one process: it may use every part, as the commands do, and only they may use it.
  'tools/demo': { mayImport: ['app', 'core', 'edge', 'engines', 'fleet', 'frontend', 'gen', 'worker'] },

  'page/model': {
    mayImport: ['core/contract', 'core/data', 'core/pairs', 'core/text', 'core/view'],
    isPure: true,
  },
  'page/browser': { mayImport: ['page/model'], isPlatform: true },
  'page/views': { mayImport: ['core/text', 'core/view', 'page/browser', 'page/model'], isPlatform: true },
  'page/app': { mayImport: ['page/views'] },

  app: { mayImport: ['core', 'edge', 'engines', 'fleet', 'frontend', 'gen', 'worker'] },
  cli: { mayImport: ['app', 'core', 'edge', 'engines', 'fleet', 'frontend', 'gen', 'tools', 'worker'] },
};

/** Files that may touch `process` although they are not in `edge/platform`: the program's first line. */
export const PROCESS_OWNERS: readonly string[] = ['src/cli/main.ts'];
