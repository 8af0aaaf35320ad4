import { totalmem } from 'node:os';
import { defineConfig } from 'vitest/config';
import { beginUntilS } from './test/peers/support/begin-until.js';
import { TEST_LIMIT_MS } from './test/peers/support/limits.js';
import { longestFirst } from './test/support/longest-first.js';

/** Two files and the lender have up to six engines at a time, of 1.7 GB each. */
const BYTES_FOR_TWO = 16 * 2 ** 30;

/** Files that take longest, seven minutes to one with the start of their engines; those that borrow the same engine are together. */
const LONGEST = [
  'frontend-vllm',
  'pairs-vllm',
  'pairs-sglang',
  'tokens-vllm',
  'kv-events-vllm',
  'fleet',
  'view-vllm',
  'sglang',
  'vllm',
  'image',
  'exactness',
  'doctor-vllm',
  'kubernetes-problems',
  'tokens-templates',
  'doctor-dynamo',
  'vllm-frontends',
  'epp-pairs-vllm',
  'alerts-live',
  'readme-walk',
  'tokens-fleet',
  'agent-clients',
  'tokens-sglang',
  'rehash',
  'faults-reported',
  'inject',
  'epp-envoy',
  'kubernetes-size',
  'kubernetes',
  'kv-events-sglang',
].map((name) => `${name}.peer.test.ts`);

/**
 * The tests against programs of others. Most of an engine's start keeps one core busy, and many tests wait, so two files
 * run at a time where there is memory for them.
 */
const config: ReturnType<typeof defineConfig> = defineConfig({
  test: {
    include: ['test/peers/**/*.peer.test.ts'],
    runner: 'test/peers/support/begin-in-time.ts',
    provide: { beginUntilS: beginUntilS(process.env) },
    setupFiles: ['test/peers/support/keep-logs.ts'],
    globalSetup: ['test/peers/support/report-missing.ts', 'test/peers/support/lend-engines.ts'],
    maxWorkers: totalmem() < BYTES_FOR_TWO ? 1 : 2,
    sequence: { sequencer: longestFirst(LONGEST) },
    // Ends what hangs alone.
    testTimeout: TEST_LIMIT_MS,
    hookTimeout: 900_000,
    // Engines take seconds to end.
    teardownTimeout: 60_000,
  },
});

export default config;
