import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const MAIN = `${ROOT}dist/cli/main.js`;

beforeAll(() => {
  if (!existsSync(MAIN)) throw new Error('the built program is tested here: run "npm run build" first');
});

const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

function run(args: readonly string[]): { code: number | null; stdout: string; stderr: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, ...args], {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'] },
  });
  return { code: status, stdout, stderr };
}

/** Joins a piece of code and the parts of the program that it imports into one module, as the build does. */
async function bundle(code: string): Promise<string> {
  const id = `${ROOT}code.js`;
  const build = await rolldown({
    input: id,
    platform: 'node',
    external: /^[a-z@]/,
    plugins: [
      {
        name: 'code-of-the-test',
        resolveId: (asked) => (asked === id ? id : undefined),
        load: (asked) => (asked === id ? code : undefined),
      },
    ],
  });
  const { output } = await build.generate({ codeSplitting: false });
  await build.close();
  return output[0].code;
}

/** Starts a piece of code that uses parts of the program, and resolves once it has said that it is up. */
async function startCode(code: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', await bundle(code)], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  await new Promise((resolve) => child.stdout?.once('data', resolve));
  return child;
}

const endOf = (child: ChildProcess): Promise<readonly [number | null, NodeJS.Signals | null]> =>
  new Promise((resolve) => child.once('close', (code, signal) => resolve([code, signal])));

describe('the program', () => {
  test('prints its version, and its help', () => {
    const { version } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8'));
    for (const flag of ['--version', '-V']) {
      expect(run([flag])).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
    }
    expect(run(['--help'])).toMatchObject({
      code: 0,
      stderr: '',
      stdout: expect.stringContaining('aggregator'),
    });
  });

  test('ends with code 2 and one line when it is asked wrongly', () => {
    const { code, stdout, stderr } = run(['sidecar', '--probe-interval', '10']);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^kv-accord sidecar: --probe-interval "10" \(on the command line\): .*\n$/);
  });

  test('is a program: it begins with a line that names its interpreter', () => {
    expect(readFileSync(MAIN, 'utf8').startsWith('#!/usr/bin/env node\n')).toBe(true);
    expect(statSync(MAIN).isFile()).toBe(true);
  });

  test('ends quietly when nobody reads any more', async () => {
    const child = spawn(process.execPath, [MAIN, 'completion', 'zsh'], { stdio: ['ignore', 'pipe', 'pipe'] });
    children.push(child);
    child.stdout.destroy();
    let stderr = '';
    child.stderr.on('data', (text) => {
      stderr += String(text);
    });
    await endOf(child);
    expect(stderr).toBe('');
  });
});

describe('signals', () => {
  const WAITS = `
    import { abortOnStopSignals } from './src/edge/platform/processes/process-signals.js';
    const controller = new AbortController();
    abortOnStopSignals(controller);
    controller.signal.addEventListener('abort', () => console.log(controller.signal.reason.message));
    setInterval(() => {}, 1_000_000);
    console.log('up');
  `;

  test('the first one aborts, the second one ends the process immediately', async () => {
    const child = await startCode(WAITS);
    const printed = new Promise((resolve) => child.stdout?.once('data', (text) => resolve(String(text))));
    child.kill('SIGTERM');
    expect(await printed).toBe('stopped by SIGTERM\n');
    const end = endOf(child);
    child.kill('SIGINT');
    expect(await end).toEqual([130, null]);
  });
});

test.each([
  ['thrown', "setTimeout(() => { throw new Error('lost\\nstraw'); }, 0)"],
  ['rejected', "void Promise.reject(new Error('lost\\nstraw'))"],
])('an error that nobody caught, %s, is one line and code 1', async (_, fault) => {
  const child = await startCode(`
    import { faultReporter } from './src/cli/run.js';
    import { exitOnFault } from './src/edge/platform/processes/process-faults.js';
    import { standardError } from './src/edge/platform/streams/standard-streams.js';
    exitOnFault(1, faultReporter(standardError));
    console.log('up');
    ${fault};
  `);
  let stderr = '';
  child.stderr?.on('data', (text) => {
    stderr += String(text);
  });
  expect(await endOf(child)).toEqual([1, null]);
  expect(stderr).toBe('kv-accord: lost straw\n');
});

test('the program starts where its packages are symbolic links, as pnpm installs them', () => {
  const folder = mkdtempSync(join(tmpdir(), 'kv-accord-linked-'));
  try {
    for (const name of ['dist', 'package.json'])
      cpSync(join(ROOT, name), join(folder, name), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    const main = join(folder, 'dist/cli/main.js');
    const { status, stderr } = spawnSync(process.execPath, [main, 'sidecar', '--help'], { encoding: 'utf8' });
    expect([status, stderr]).toEqual([0, '']);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
