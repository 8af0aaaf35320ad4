import { defineConfig } from 'vitest/config';

/** Test files that look at the whole process, its memory, its signals or what is open in it: each has one of its own. */
const ALONE = [
  'test/cli/main.test.ts',
  'test/edge/platform/host.test.ts',
  'test/edge/rpc/reconnect.test.ts',
  'test/fleet/aggregator/worker-session-faults.test.ts',
  'test/frontend/gateway/inference.test.ts',
  'test/integration/exec.test.ts',
  'test/worker/kv-events/fuzz.test.ts',
  'test/worker/kv-events/zmq-sockets.test.ts',
];
const PEERS = 'test/peers/**';

const config: ReturnType<typeof defineConfig> = defineConfig({
  test: {
    testTimeout: 20_000,
    hookTimeout: 20_000,
    // Unless told, one core is left free, which on two cores is half of the machine.
    maxWorkers: '100%',
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
