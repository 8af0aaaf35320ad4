import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import {
  type InjectResult,
  injectManifests,
  removeFromManifests,
} from '../../../src/manifests/inject/inject.js';
import type { InjectOptions } from '../../../src/manifests/inject/options.js';
import { readSourceFile } from '../../../src/manifests/source-file.js';
import { randomManifest } from './random-manifest.js';

const DEFAULTS: InjectOptions = {
  image: 'kv-accord:1.2.3',
  sidecarKind: 'native',
  gate: 'wait',
  transport: { type: 'plaintext' },
  workers: [],
  minWorkers: undefined,
  namespace: 'default',
  workerNames: [],
  frontendNames: [],
};

const EVERY_WAY: readonly InjectOptions[] = [
  DEFAULTS,
  { ...DEFAULTS, gate: 'exec', sidecarKind: 'container' },
  { ...DEFAULTS, transport: { type: 'tls', secret: 'certificates', certificateName: 'workers' } },
  {
    ...DEFAULTS,
    gate: 'exec',
    transport: { type: 'tls', secret: 'certificates', certificateName: 'workers' },
  },
  { ...DEFAULTS, workers: ['k8s:///workers:50061'], image: 'registry.example/kv-accord@sha256:00' },
];

function inject(text: string, options: Partial<InjectOptions> = {}): InjectResult {
  return injectManifests([{ file: 'x.yaml', text }], { ...DEFAULTS, ...options });
}

/** The text after, of a file that must not be refused. */
function injected(text: string, options: Partial<InjectOptions> = {}): string {
  const { files, refused } = inject(text, options);
  expect(refused).toEqual([]);
  return files[0]?.after ?? '';
}

function removed(text: string): string {
  const { files, refused } = removeFromManifests([{ file: 'x.yaml', text }]);
  expect(refused).toEqual([]);
  return files[0]?.after ?? '';
}

// biome-ignore lint/suspicious/noExplicitAny: manifests are looked at as they are.
function objects(text: string): any[] {
  return parseAllDocuments(text)
    .map((document) => document.toJS())
    .filter((object) => object !== null);
}

const FOLDER = fileURLToPath(new URL('../../fixtures/manifests/inject/', import.meta.url));
const FIXTURES = readdirSync(FOLDER).map((name): [string, string] => [
  name,
  readFileSync(FOLDER + name, 'utf8'),
]);

describe('every shape of manifest', () => {
  it.each(FIXTURES)('%s comes back byte for byte, and is not changed twice', (_, text) => {
    for (const options of EVERY_WAY) {
      const after = injected(text, options);
      expect(after).not.toBe(text);
      expect(injected(after, options)).toBe(after);
      expect(removed(after)).toBe(text);
      expect(readSourceFile('x.yaml', after).problems).toEqual([]);
    }
  });

  it.each(FIXTURES)('%s is brought up to date by a run with other options', (_, text) => {
    for (const before of EVERY_WAY) {
      for (const options of EVERY_WAY)
        expect(injected(injected(text, before), options)).toBe(injected(text, options));
    }
  });

  it('keeps every line outside of its blocks, whatever the style', () => {
    let changed = 0;
    fc.assert(
      fc.property(randomManifest, fc.constantFrom(...EVERY_WAY), (text, options) => {
        const { files, refused } = inject(text, options);
        if (refused.length > 0) return;
        const after = files[0]?.after ?? '';
        if (after !== text) changed += 1;
        expect(removed(after)).toBe(text);
        expect(injected(after, options)).toBe(after);
        expect(objects(after).length).toBeGreaterThanOrEqual(objects(text).length);
      }),
      { numRuns: 300 },
    );
    expect(changed).toBeGreaterThan(200);
  });
});
