import { defineConfig } from 'vitest/config';

const config: ReturnType<typeof defineConfig> = defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/peers/**'],
    testTimeout: 20_000,
    hookTimeout: 20_000,
  },
});

export default config;
