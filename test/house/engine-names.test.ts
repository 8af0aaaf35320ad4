import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../src', import.meta.url));

/** Where an engine may be named beside its own folder; `docs/decisions.md` has the reasons. */
const ROOMS = [
  ...['engines/', 'gen/', 'core/contract/', 'tools/manifests/', 'tools/doctor/', 'tools/demo/'],
  // The choices of --engine-kind.
  'cli/commands/sidecar/settings.ts',
];

const NAME = /'(vllm|sglang|trtllm|dynamo)'|EngineKind\.(VLLM|SGLANG|TENSORRT_LLM|DYNAMO)\b/;

it('no other room branches on the name of an engine', () => {
  const files = readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)));
  const found = files
    .filter((file) => !ROOMS.some((room) => file.startsWith(room)))
    .filter((file) => NAME.test(readFileSync(join(root, file), 'utf8')));
  expect(files.length).toBeGreaterThan(500);
  expect(found).toEqual([]);
});
