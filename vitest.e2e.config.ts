import { defineConfig } from 'vitest/config';

/** Benches of the whole way, over real engines: they run as tests do, because they use the same engines. */
const config: ReturnType<typeof defineConfig> = defineConfig({
  test: {
    include: ['bench/e2e/**/*.e2e.ts'],
    setupFiles: ['test/peers/support/keep-logs.ts'],
    fileParallelism: false,
    bail: 1,
    disableConsoleIntercept: true,
    testTimeout: 900_000,
    hookTimeout: 600_000,
  },
});

export default config;
