import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { ExampleProcess } from './support/example-process.js';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** A program's folder with the packed package in its node_modules, and the packages that the example names. */
let program = '';
/** npm compresses all of the package: 2 s of a core, and ten times that on a busy machine. */
const TIMEOUT_MS = 120_000;
beforeAll(() => {
  program = mkdtempSync(join(tmpdir(), 'kv-accord-package-'));
  // Without scripts: what is built has no part in it.
  const args = ['pack', '--ignore-scripts', '--json', '--pack-destination', program];
  const packed = execFileSync('npm', args, {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [{ filename }] = JSON.parse(packed) as [{ readonly filename: string }];
  const modules = join(program, 'node_modules');
  mkdirSync(modules);
  execFileSync('tar', ['-xzf', join(program, filename), '-C', modules]);
  renameSync(join(modules, 'package'), join(modules, manifest.name));
  symlinkSync(join(root, 'node_modules/@grpc'), join(modules, '@grpc'));
}, TIMEOUT_MS);
afterAll(() => rmSync(program, { recursive: true }));

/** Runs a module in that folder, and gives what it printed. */
function evaluate(source: string, ...flags: readonly string[]): string {
  const args = [...flags, '--eval', source];
  return execFileSync(process.execPath, args, { cwd: program, encoding: 'utf8' }).trim();
}

describe('the published package', { timeout: TIMEOUT_MS }, () => {
  it('has every .proto file of the sources, and gives its folder to import and to require', () => {
    const folder = join(program, 'node_modules', manifest.name, 'proto');
    const list = (of: string): string[] => readdirSync(of, { recursive: true, encoding: 'utf8' }).sort();
    expect(list(folder)).toEqual(list(join(root, 'proto')));
    const file = evaluate("console.log(require.resolve('kv-accord/proto/kvaccord/v1/fleet.proto'))");
    expect(file).toBe(join(folder, 'kvaccord/v1/fleet.proto'));
    const url = evaluate("console.log(import.meta.resolve('kv-accord/package.json'))", '--input-type=module');
    expect(join(dirname(fileURLToPath(url)), 'proto')).toBe(folder);
  });

  it('has both examples, and the one for Node runs as a copy in a program of its own', async () => {
    const examples = join(program, 'node_modules', manifest.name, 'examples');
    expect(existsSync(join(examples, 'python-client/client.py'))).toBe(true);
    cpSync(join(examples, 'node-client'), join(program, 'client'), { recursive: true });
    const copy = new ExampleProcess(['capabilities', '127.0.0.1:1'], join(program, 'client/client.mjs'));
    expect(await copy.ended).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('client.mjs: 127.0.0.1:1 is unavailable'),
    });
  });
});
