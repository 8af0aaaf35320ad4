import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../src', import.meta.url));

/** Rooms and files that may name an engine beside its own folder; `docs/decisions.md` has the reasons. */
const NAMING = [
  // The choices of --engine-kind.
  'cli/commands/sidecar/settings.ts',
  'core/contract/',
  'tools/demo/engines/simulated-',
  'tools/doctor/fixes/',
  'tools/doctor/gather/engine.ts',
  'tools/doctor/measurements/seen.ts',
  'tools/manifests/inject/engine.ts',
  'tools/manifests/inject/sidecars.ts',
  'tools/manifests/lint/config/',
  'tools/manifests/lint/facts/',
  'tools/manifests/lint/launches/preset-words.ts',
  'tools/manifests/lint/readers/',
  'tools/manifests/lint/rules/',
];

const NAME =
  /'(vllm|sglang|trtllm|dynamo)'|EngineKind\.(VLLM|SGLANG|TENSORRT_LLM|DYNAMO)\b|\b(VLLM|SGLANG|TRTLLM|DYNAMO)\.word\b/;

it('no other file names an engine, and so none branches on one', () => {
  const files = readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)));
  const found = files
    .filter((file) => !file.startsWith('engines/') && !file.startsWith('gen/'))
    .filter((file) => NAME.test(readFileSync(join(root, file), 'utf8')));
  expect(files.length).toBeGreaterThan(500);
  expect(found.filter((file) => !NAMING.some((place) => file.startsWith(place)))).toEqual([]);
  expect(NAMING.filter((place) => !found.some((file) => file.startsWith(place)))).toEqual([]);
});
