import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { longestFirst } from './test/support/longest-first.js';

/** Test files with a process of their own, because they look at the whole process: its memory, its signals, what it has loaded. */
const ALONE = [
  'test/edge/platform/processes/child-process.test.ts',
  'test/edge/rpc/reconnect.test.ts',
  'test/fleet/aggregator/sessions/worker-session-faults.test.ts',
  'test/frontend/gateway/inference.test.ts',
  'test/frontend/tracing/open-tracing.test.ts',
  'test/integration/kv-chain-fuzz.test.ts',
  'test/worker/kv-events/fuzz.test.ts',
  'test/worker/kv-events/sockets/zmq-sockets.test.ts',
];
const PEERS = 'test/peers/**';
/** Files that take longest, most of them because they start the program again and again. */
const LONGEST = [
  'cli/log-reader.test.ts',
  'integration/frontend-threads.test.ts',
  'demo/play-story.test.ts',
  'integration/exec.test.ts',
  'scripts/production-tree.test.ts',
  'integration/hostile-messages.test.ts',
  'integration/frontend-router.test.ts',
  'inject/inject.test.ts',
  'examples/node-client.test.ts',
  'lint/lint-files.test.ts',
];

const config: ReturnType<typeof defineConfig> = defineConfig({
  test: {
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Packages are imported as Node imports them: without a proxy that every use of a CommonJS one goes through.
    deps: { interopDefault: false },
    // On a busy machine the default of one second is over before anything has run.
    expect: { poll: { timeout: 20_000 } },
    // One more than there are cores: many files wait for processes and sockets most of their time.
    maxWorkers: availableParallelism() + 1,
    sequence: { sequencer: longestFirst(LONGEST) },
    projects: [
      {
        extends: true,
        // All other files share a process for each core, with what they import: to import it all again for each file
        // takes as long as half of the tests.
        test: { name: 'shared', isolate: false, include: ['test/**/*.test.ts'], exclude: [PEERS, ...ALONE] },
      },
      { extends: true, test: { name: 'alone', include: ALONE } },
    ],
  },
});

export default config;
