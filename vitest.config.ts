import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

/**
 * Test files with a process of their own: they look at the whole process (its memory, its signals, what it has loaded,
 * what is open in it), or share a native library that has one state for a process.
 */
const ALONE = [
  'test/*.test.ts',
  'test/cli/*.test.ts',
  'test/edge/platform/**/*.test.ts',
  'test/edge/rpc/reconnect.test.ts',
  'test/examples/**/*.test.ts',
  'test/fleet/aggregator/worker-session-faults.test.ts',
  'test/frontend/gateway/inference.test.ts',
  'test/frontend/tracing/**/*.test.ts',
  'test/house/**/*.test.ts',
  'test/integration/**/*.test.ts',
  'test/scripts/**/*.test.ts',
  'test/worker/kv-events/**/*.test.ts',
];
const PEERS = 'test/peers/**';

const config: ReturnType<typeof defineConfig> = defineConfig({
  test: {
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // One more than there are cores: many files wait for processes and sockets most of their time.
    maxWorkers: availableParallelism() + 1,
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
