import { defineConfig } from 'vitest/config';

/** The tests against programs of others: one file at a time, for an engine start takes both cores. */
const config: ReturnType<typeof defineConfig> = defineConfig({
  test: {
    include: ['test/peers/**/*.peer.test.ts'],
    setupFiles: ['test/peers/support/keep-logs.ts'],
    globalSetup: ['test/peers/support/report-missing.ts'],
    fileParallelism: false,
    testTimeout: 300_000,
    hookTimeout: 600_000,
  },
});

export default config;
