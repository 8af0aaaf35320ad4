// Draws the picture of the demo that the README shows, from what the demo really prints.
//
//   npm run build && node scripts/demo-picture.mjs    plays a scene and writes docs/images/demo.svg
//   npm run build && node scripts/demo-picture.mjs --check    plays it, and exits 1 when the picture differs from the demo
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  drawTranscript,
  linesOfPicture,
  linesOfScene,
  storyOf,
  withoutChance,
} from './demo-picture/draw.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));

/** The scene that shows what the product is for. */
const SCENE = { name: 'conflict', title: 'A fleet that does not agree' };
/** The scene takes about four seconds. */
const TIMEOUT_MS = 120_000;

const transcript = execFileSync(
  process.execPath,
  [join(root, 'dist/cli/main.js'), 'demo', '--scenario', SCENE.name],
  { encoding: 'utf8', timeout: TIMEOUT_MS, env: { ...process.env, NO_COLOR: '1' } },
);
const lines = linesOfScene(withoutChance(transcript), SCENE.title);
const file = join(root, 'docs/images/demo.svg');

if (process.argv.includes('--check')) {
  const story = storyOf(lines).join('\n');
  const drawn = storyOf(linesOfPicture(readFileSync(file, 'utf8'))).join('\n');
  if (story !== drawn) {
    console.error(
      `docs/images/demo.svg shows another story than the demo: node scripts/demo-picture.mjs\n\nThe demo:\n${story}\n\nThe picture:\n${drawn}`,
    );
    process.exitCode = 1;
  }
} else {
  const description =
    'What the demo prints: two workers use blocks of 16 tokens and one of 32; the gate stays shut and one ERROR names each value with its workers and the fix; after the fix the gate opens, and kv-accord status shows three conforming workers.';
  writeFileSync(
    file,
    drawTranscript(lines, { title: `kv-accord demo --scenario ${SCENE.name}`, description }),
  );
}
