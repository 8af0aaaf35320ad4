// Builds dist out of src, and says nothing unless something is wrong.
//
// The sources have some 250 small files, and Node reads and links each by
// itself, which would be a seventh of a sidecar's start-up time. So the build
// joins those that are always loaded together; what is imported on demand stays
// apart. Packages stay outside: their fixes reach an installation without ours.
import { chmod } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';
import { buildPage } from './parts/build-page.mjs';
import { knownFaultSigns } from './parts/known-fault-signs.mjs';
import { splitEnumerations } from './parts/split-enumerations.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));

await build({
  cwd: root,
  // A thread starts from a file of its own; src/edge/platform/processes/thread.ts knows where they are.
  input: { 'cli/main': 'src/cli/main.ts', 'threads/tokenizing': 'src/frontend/tokens/tokenizing-thread.ts' },
  platform: 'node',
  logLevel: 'warn',
  tsconfig: 'tsconfig.json',
  external: [/^[a-z@]/],
  plugins: [knownFaultSigns(), splitEnumerations()],
  output: {
    dir: 'dist',
    cleanDir: true,
    entryFileNames: '[name].js',
    chunkFileNames: 'parts/[name].js',
    // For stack traces that name the sources. The sources themselves would be half of the package.
    sourcemap: true,
    sourcemapExcludeSources: true,
    // Nobody reads them here, and Node holds the text of what it has loaded.
    comments: false,
  },
});

// `npm link` does it once, and the next build would take it away.
await chmod(new URL('../dist/cli/main.js', import.meta.url), 0o755);

await buildPage(root);
