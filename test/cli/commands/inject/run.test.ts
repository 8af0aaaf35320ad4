import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { CliProcess } from '../../../support/cli-process.js';

const FIXTURES = fileURLToPath(new URL('../../../fixtures/manifests/inject/', import.meta.url));
const FIXTURE = join(FIXTURES, 'deployments.yaml');

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kv-accord-'));
  file = join(folder, 'set.yaml');
  copyFileSync(FIXTURE, file);
});
afterEach(() => rmSync(folder, { recursive: true }));

async function inject(...args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const cli = new CliProcess(['inject', ...args]);
  const code = await cli.ended;
  return { code, stdout: cli.stdout.text, stderr: cli.stderr.text };
}

const read = (path = file): string => readFileSync(path, 'utf8');

describe('inject', () => {
  it('shows the change, changes nothing and ends with 1', async () => {
    const before = read();
    const { code, stdout, stderr } = await inject('--insecure', file);
    expect(code).toBe(1);
    expect(stdout).toContain('\n+      - name: kv-accord-sidecar\n+        image: kv-accord:1.2.3\n');
    expect(stderr.split('\n')).toEqual([
      `${file}:5: Deployment vllm: sidecar beside vllm, at http://127.0.0.1:8001`,
      `${file}:49: Deployment frontend: gate (wait) for --workers=dns:///vllm-kv-accord:50061 --min-workers=2`,
      '',
    ]);
    expect(read()).toBe(before);
  });

  it('shows a change that Git can apply', async () => {
    const { stdout } = await inject('--insecure', file);
    execFileSync('git', ['apply', '-'], { cwd: '/', input: stdout });
    expect(read()).toContain('kv-accord-sidecar');
    expect(await inject('--insecure', file)).toMatchObject({ code: 0, stdout: '' });
  });

  it('writes with --write, keeps the mode of the file, and has nothing to do the second time', async () => {
    execFileSync('chmod', ['640', file]);
    const { code, stdout, stderr } = await inject('--insecure', '--write', folder);
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
    expect(stderr).toContain(`${file}: written\n`);
    expect(statSync(file).mode & 0o777).toBe(0o640);
    expect(await inject('--insecure', file)).toMatchObject({ code: 0, stdout: '' });
  });

  it('takes it out again byte for byte', async () => {
    const before = read();
    await inject('--insecure', '--gate', 'exec', '--write', file);
    expect(read()).not.toBe(before);
    expect((await inject('--remove', file)).code).toBe(1);
    expect((await inject('--remove', '--write', file)).code).toBe(0);
    expect(read()).toBe(before);
    expect(await inject('--remove', file)).toEqual({
      code: 0,
      stdout: '',
      stderr: 'kv-accord inject: nothing to take out: inject added nothing to these files\n',
    });
  });

  it('finds the workers of one file for the frontend of another', async () => {
    const [worker = '', , frontend = ''] = read().split(/^---\n/m);
    mkdirSync(join(folder, 'b'));
    writeFileSync(file, worker);
    writeFileSync(join(folder, 'b/front.yml'), frontend);
    await inject('--insecure', '--write', folder);
    expect(read(join(folder, 'b/front.yml'))).toContain('--workers=dns:///vllm-kv-accord:50061');
    expect(read()).toContain('name: vllm-kv-accord');
  });

  it('prints the same as JSON', async () => {
    const { code, stdout } = await inject('--insecure', '--json', file);
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      files: [{ file, changed: true, diff: expect.stringContaining('+++ b/') }],
      notes: [
        { line: 5, type: 'done' },
        { line: 49, type: 'done' },
      ],
      refused: [],
    });
  });

  it('writes nothing at all when one file cannot be changed', async () => {
    const before = read();
    writeFileSync(join(folder, 'wrong.yaml'), 'kind: Deployment\nkind: twice\n');
    const { code, stderr } = await inject('--insecure', '--write', folder);
    expect(code).toBe(2);
    expect(stderr).toContain('wrong.yaml:2: cannot be changed: is no YAML: ');
    expect(stderr).toContain('kv-accord inject: nothing was written\n');
    expect(read()).toBe(before);
  });

  it('shows no control characters of a manifest on a terminal', async () => {
    writeFileSync(file, read().replace('name: vllm\n', 'name: "vllm\\e[31m"\n'));
    const { stderr } = await inject('--insecure', file);
    expect(stderr).not.toContain('\u001b');
  });

  it.each([
    [
      ['x.yaml'],
      'kv-accord inject: --tls-secret (not set): must be the Secret with the certificates of sidecars and gates, unless there is --insecure for plaintext between pods\n',
    ],
    [[], 'kv-accord inject: FILE... (on the command line): must be given; see kv-accord inject --help\n'],
    [
      ['--insecure'],
      'kv-accord inject: FILE... (on the command line): must be given; see kv-accord inject --help\n',
    ],
    [
      ['--insecure', '--image', 'a b', 'x'],
      'kv-accord inject: --image "a b" (on the command line): must be a reference to an image, such as registry.example/kv-accord:0.1.0\n',
    ],
    [
      ['--insecure', '--image', 'A/B:1', 'x'],
      'kv-accord inject: --image "A/B:1" (on the command line): must be a reference to an image, such as registry.example/kv-accord:0.1.0\n',
    ],
    [
      ['--insecure', '--image', 'a:b:c', 'x'],
      'kv-accord inject: --image "a:b:c" (on the command line): must be a reference to an image, such as registry.example/kv-accord:0.1.0\n',
    ],
    [
      ['--insecure', '--image', 'a//b', 'x'],
      'kv-accord inject: --image "a//b" (on the command line): must be a reference to an image, such as registry.example/kv-accord:0.1.0\n',
    ],
    [
      ['--insecure', '--image', 'x/y@sha256:1', 'x'],
      'kv-accord inject: --image "x/y@sha256:1" (on the command line): must be a reference to an image, such as registry.example/kv-accord:0.1.0\n',
    ],
    [
      ['--insecure', '--write', '-', FIXTURE],
      'kv-accord inject: "-" (on the command line): must stand alone with --write, which then writes to standard output\n',
    ],
    [
      ['--insecure', '--is-worker', 'gone', FIXTURE],
      'kv-accord inject: --is-worker "gone" (on the command line): must be the name of a workload in these files, or WORKLOAD/PART (there are Deployment vllm, Deployment frontend)\n',
    ],
  ])('refuses %j', async (args, words) => {
    expect(await inject(...args)).toEqual({ code: 2, stdout: '', stderr: words });
  });

  it.each(readdirSync(FIXTURES).flatMap((name) => ['wait', 'exec'].map((gate) => [name, gate] as const)))(
    'adds to %s with --gate %s only commands that the program takes',
    async (name, gate) => {
      copyFileSync(join(FIXTURES, name), file);
      await inject('--insecure', '--gate', gate, '--write', file);
      const commands = commandsOf(parseAllDocuments(read()).map((document) => document.toJS()));
      expect(commands.length).toBeGreaterThan(0);
      for (const command of commands) {
        const cli = new CliProcess([
          ...command,
          '--print-config',
          ...(command[0] === 'exec' ? ['--', 'x'] : []),
        ]);
        expect(await cli.ended, `${command.join(' ')}: ${cli.stderr.text}`).toBe(0);
      }
    },
  );

  it('refuses targets that no gate could use, also where it adds none', async () => {
    const text = read();
    writeFileSync(file, text.slice(0, text.indexOf('---')));
    const { code, stderr } = await inject('--insecure', '--workers', ':', file);
    expect(code).toBe(2);
    expect(stderr).toContain('--workers: ":" must be HOST:PORT');
  });

  it('says when nothing is recognised', async () => {
    writeFileSync(file, 'kind: ConfigMap\ndata: {}\n');
    const { code, stderr } = await inject('--insecure', file);
    expect(code).toBe(2);
    expect(stderr).toBe(
      'kv-accord inject: no worker and no frontend is recognised here: there is no pod spec of Kubernetes in these files\n',
    );
  });
});

/** The commands of kv-accord in manifests, with their flags and without the program behind `exec`. */
function commandsOf(value: unknown): readonly (readonly string[])[] {
  if (Array.isArray(value)) {
    const at = value.findIndex((word) => ['sidecar', 'wait', 'exec'].includes(word));
    const end = value.indexOf('--');
    if (at !== -1) return [value.slice(at, end === -1 ? undefined : end)];
    return value.flatMap(commandsOf);
  }
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(commandsOf) : [];
}
