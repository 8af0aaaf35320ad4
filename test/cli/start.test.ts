import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, test } from 'vitest';
import { requireBuild } from '../support/program.js';

const DIST = fileURLToPath(new URL('../../dist/', import.meta.url));

beforeAll(requireBuild);

/** What a built file imports as it is loaded, and what on demand. */
function importsOf(file: string): { readonly always: string[]; readonly onDemand: string[] } {
  const text = readFileSync(file, 'utf8');
  const found = (pattern: RegExp): string[] => [...text.matchAll(pattern)].map(([, name]) => String(name));
  return {
    always: found(/^(?:import|export)\b[^"\n]*"([^"\n]+)";$/gm),
    onDemand: found(/\bimport\("([^"\n]+)"\)/g),
  };
}

/** The packages that are loaded with some built files. */
function packagesOf(files: readonly string[]): string[] {
  const seen = new Set<string>();
  const packages = new Set<string>();
  const visit = (file: string): void => {
    if (seen.has(file)) return;
    seen.add(file);
    for (const name of importsOf(file).always)
      if (name.startsWith('.')) visit(join(dirname(file), name));
      else if (!name.startsWith('node:')) packages.add(name);
  };
  files.forEach(visit);
  return [...packages].sort();
}

/** The packages that are loaded as a command starts: `runSidecar`. */
function packagesAtStart(body: string): string[] {
  const main = join(DIST, 'cli/main.js');
  const first = importsOf(main).onDemand.map((name) => join(dirname(main), name));
  const commands = first.find((file) => file.endsWith('commands.js')) ?? '';
  const [, file = ''] =
    new RegExp(`import\\("([^"]+)"\\)\\)\\.${body}\\b`).exec(readFileSync(commands, 'utf8')) ?? [];
  return packagesOf([main, ...first, join(dirname(commands), file)]);
}

test('a sidecar loads no package at its start that it can do without', () => {
  expect(packagesAtStart('runSidecar')).toEqual([
    '@bufbuild/protobuf/wire',
    '@grpc/grpc-js',
    'commander',
    'ms',
    'prom-client',
  ]);
});

test('doctor loads gRPC, parsers and a maker of patches only where something is there for them', () => {
  expect(packagesAtStart('runDoctor')).toEqual(['commander', 'ms']);
});

test('lint and inject speak in enumerations of the wire without gRPC', () => {
  expect(packagesAtStart('runLint')).toEqual(['commander', 'ms', 'unbash', 'yaml']);
  expect(packagesAtStart('runInject')).not.toContain('@grpc/grpc-js');
});
