import { defineConfig } from 'vitest/config';

const config: ReturnType<typeof defineConfig> = defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/peers/**'],
    testTimeout: 20_000,
    hookTimeout: 20_000,
    // Unless told, one core is left free, which on two cores is half of the machine.
    maxWorkers: '100%',
  },
});

export default config;
