import type { RolldownOptions } from 'rolldown';

/**
 * The sources have some 250 small files. Node reads, resolves and links each
 * by itself, which would be a seventh of a sidecar's start. So the build joins
 * those that are always loaded together; what is imported on demand stays
 * apart. Packages stay outside: their fixes reach an installation without ours.
 */
const config: RolldownOptions = {
  input: { 'cli/main': 'src/cli/main.ts' },
  platform: 'node',
  logLevel: 'warn',
  external: /^[a-z@]/,
  output: {
    dir: 'dist',
    cleanDir: true,
    // As deep as the sources lie: package.json is found two folders up from each file.
    entryFileNames: '[name].js',
    chunkFileNames: 'parts/[name].js',
    sourcemap: true,
  },
};

export default config;
