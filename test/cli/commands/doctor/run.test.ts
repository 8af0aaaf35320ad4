import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { CliProcess, type CliTerminal } from '../../../support/cli-process.js';
import { FakeApiServer } from '../../../support/fake-api-server.js';
import { OpenThings } from '../../../support/open-things.js';

const open = new OpenThings();
afterEach(() => open.close());

const fixtures = fileURLToPath(new URL('../../../fixtures', import.meta.url));
const CASE = join(fixtures, 'doctor/investigation');
/** All that the operator of the investigation can lay hands on. */
const WHOLE_CASE = [
  ...['--logs', join(CASE, 'frontend.log'), '--manifests', join(CASE, 'deploy')],
  ...['--gpu-memory', join(CASE, 'nvidia-smi.csv'), '--model-config', join(CASE, 'config.json')],
];
const HEALTHY = [
  ...['--logs', join(fixtures, 'doctor-logs/dynamo-1.6.1.frontend-log.agree-32-32.txt')],
  ...['--metrics', join(fixtures, 'doctor-metrics/dynamo-1.6.1.frontend.agree-32-32.txt')],
  ...['--metrics', join(fixtures, 'engines/vllm-0.32.0/metrics.b32.txt')],
];

interface Run {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function run(args: readonly string[], terminal?: CliTerminal): Promise<Run> {
  const cli = new CliProcess(['doctor', ...args], terminal);
  open.add(() => cli.stop());
  const code = await cli.ended;
  return { code, stdout: cli.stdout.text, stderr: cli.stderr.text };
}

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'kv-accord-doctor-'));
  open.add(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

describe.skipIf(process.platform === 'win32')('a named pipe without a writer', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)('is left at the first %s', async (signal) => {
    const path = join(folder(), 'pipe');
    execFileSync('mkfifo', [path]);
    const cli = new CliProcess(['doctor', '--logs', path]);
    open.add(() => cli.stop());
    expect(await cli.stop(signal)).toBe(signal === 'SIGTERM' ? 143 : 130);
  });
});

describe('a compose file', () => {
  it('has the variables of the .env file beside it, whose text is not shown', async () => {
    const place = folder();
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of the compose file.
    const worker = 'command: python3 -m dynamo.vllm --model m --block-size ${SIZE:-16}';
    writeFileSync(
      join(place, 'compose.yaml'),
      `services:\n  router:\n    image: i\n    command: [python3, -m, dynamo.router, --router-block-size, "16"]\n  worker:\n    image: i\n    ${worker}\n`,
    );
    writeFileSync(join(place, '.env'), 'SECRET=not-for-you\nSIZE=64\n');
    const { stdout } = await run(['--manifests', place, '--json']);
    const { evidence } = JSON.parse(stdout) as {
      evidence: { sizes: readonly { side: string; tokens_per_block: number }[] };
    };
    const sizes = evidence.sizes.map(({ side, tokens_per_block: tokens }) => `${side} ${tokens}`);
    expect(sizes).toEqual(expect.arrayContaining(['router 16', 'worker 64']));
    expect(stdout).not.toContain('not-for-you');
  });
});

describe('files that are named without a flag', () => {
  it('are read as what they are', async () => {
    const names = ['frontend.log', 'deploy', 'nvidia-smi.csv', 'config.json'].map((name) => join(CASE, name));
    expect(await run(names)).toEqual(await run(WHOLE_CASE));
  });

  it('may be a folder of all that was saved', async () => {
    const { code, stdout } = await run([CASE, '--json']);
    expect(code).toBe(1);
    const { evidence } = JSON.parse(stdout) as {
      evidence: { sources: readonly { kind: string; name: string }[] };
    };
    const read = evidence.sources.map(({ kind, name }) => `${kind} ${name.slice(CASE.length)}`);
    expect(read).toEqual(
      expect.arrayContaining([
        'log /frontend.log',
        'log /worker-0.log',
        'metrics /worker-metrics.txt',
        'gpu /nvidia-smi.csv',
        'model /config.json',
        'manifests ',
      ]),
    );
  });

  it('have something in them', async () => {
    const { code, stderr } = await run([folder()]);
    expect(code).toBe(2);
    expect(stderr).toContain(
      'must be a folder with logs, saved pages of metrics or manifests, and there are none',
    );
  });

  it.skipIf(process.platform === 'win32')('may be a named pipe', async () => {
    const path = join(folder(), 'pipe');
    execFileSync('mkfifo', [path]);
    const running = run([path]);
    await writeFile(path, readFileSync(join(CASE, 'frontend.log')));
    expect((await running).stdout).toContain('Block-size mismatch');
  });
});

describe('the investigation, task by task', () => {
  it('gives a verdict on one screen: the mismatch, the defaults, and the one thing to do', async () => {
    const { code, stdout, stderr } = await run(WHOLE_CASE);
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
    expect(stdout).toMatch(
      /^FINDING \(likely\): Block-size mismatch: frontend 16 by default, worker 32 by default$/m,
    );
    expect(stdout).toContain('Set DYN_KV_CACHE_BLOCK_SIZE=32 on the frontend');
    expect(stdout).toContain('+        - name: DYN_KV_CACHE_BLOCK_SIZE\n');
    expect(stdout.split('\n').length).toBeLessThan(40);
  });

  it('1: shows the configuration, and which defaults apply', async () => {
    const { stdout } = await run([...WHOLE_CASE, '--json']);
    const { settings, sizes } = JSON.parse(stdout).evidence;
    const values = Object.fromEntries(
      (settings as { name: string; value: string; is_default: boolean }[]).map((one) => [
        one.name,
        `${one.value}${one.is_default ? ' by default' : ''}`,
      ]),
    );
    expect(values).toMatchObject({
      tensor_parallel_size: '4',
      free_gpu_memory_fraction: '0.85',
      max_batch_size: '64',
      prefix_caching: 'true by default',
      router_mode: 'kv',
      publishes_kv_events: 'true',
    });
    expect(sizes).toHaveLength(2);
  });

  it('2: shows the two warnings, how often, and what the router decided', async () => {
    const { stdout } = await run([...WHOLE_CASE, '--verbose']);
    expect(stdout).toContain('3 warnings "Failed to find parent block"');
    expect(stdout).toContain('2 warnings "Failed to find block to remove"');
    expect(stdout).toContain('"tree size: 0" in all of 10 decisions');
  });

  it('3: shows the arithmetic of memory beside it', async () => {
    const { stdout } = await run([...WHOLE_CASE, '--verbose']);
    expect(stdout).toContain('2 x 80 layers x 2 KV heads x 128 x 2 bytes = 80 KiB');
    expect(stdout).toContain('141104775168 bytes / 4 GPUs = 32.9 GiB');
    expect(stdout).toContain('(85520809984 - 35276193792 bytes) x 0.85 = 39.8 GiB');
    expect(stdout).toContain('64 sequences x 32768 tokens = 2,097,152 tokens');
    expect(stdout).toContain('77607206912 of 85520809984 bytes = 72.3 GiB');
  });

  it('4: writes the fixes as files, patches and steps, and applies nothing', async () => {
    const plan = join(folder(), 'plan');
    const manifest = join(CASE, 'deploy/graph.yaml');
    const before = readFileSync(manifest, 'utf8');
    const { code, stderr } = await run([...WHOLE_CASE, '--write-plan', plan]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^Wrote \d+ files into .*; nothing was applied\.$/m);
    expect(readFileSync(manifest, 'utf8')).toBe(before);
    const readme = readFileSync(join(plan, 'README.md'), 'utf8');
    expect(readme).toContain('## Step 1: Set DYN\\_KV\\_CACHE\\_BLOCK\\_SIZE=32 on the frontend');
    expect(readme).toContain('What it disturbs: it restarts the frontend.');
    expect(readme).not.toContain('hf_not-a-real-token');
    const proposed = readFileSync(join(plan, '1-block-size-mismatch/proposed', manifest), 'utf8');
    expect(proposed).toContain('- name: DYN_KV_CACHE_BLOCK_SIZE\n          value: "32"');
  });

  it.each(['text', 'json', 'markdown', 'html'])('keeps secrets out of the report as %s', async (format) => {
    const { code, stdout } = await run([...WHOLE_CASE, '--format', format, '--verbose']);
    expect(code).toBe(1);
    expect(stdout).toContain('Block-size mismatch');
    expect(stdout).not.toContain('hf_not-a-real-token');
  });
});

describe('exit codes', () => {
  it('0: a healthy fleet, from recordings of a real one', async () => {
    const { code, stdout } = await run(HEALTHY);
    expect(stdout).toMatch(/^HEALTHY: KV-aware routing works/m);
    expect(code).toBe(0);
  });

  it('5: nothing could be read, with the reason for each source', async () => {
    const none = join(folder(), 'none.log');
    const { code, stdout, stderr } = await run(['--logs', none, '--metrics', 'http://127.0.0.1:1']);
    expect({ code, stdout }).toEqual({ code: 5, stdout: '' });
    expect(stderr).toContain(`--logs ${none}: does not exist\n`);
    expect(stderr).toContain(
      '--metrics http://127.0.0.1:1: GET http://127.0.0.1:1/metrics: connect ECONNREFUSED',
    );
    expect(stderr).toContain('nothing could be read. Name what there is');
  });

  it('6: something was read, and it is not enough', async () => {
    const log = join(folder(), 'some.log');
    writeFileSync(log, 'hello\nworld\n');
    const { code, stdout } = await run(['--logs', log]);
    expect(code).toBe(6);
    expect(stdout).toMatch(/^COULD NOT TELL: /m);
  });

  it.each([
    [
      ['frontend.log'],
      /"frontend.log" \(on the command line\): must be a file, a folder, HOST:PORT.*or a URL, and it does not exist$/m,
    ],
    [['-', '--manifests', '-'], /"-" \(on the command line\): must be left out beside --manifests -/],
    [['http://user:secret@127.0.0.1:1/'], /must be given without user name and password/],
    [['--logs', '-', '--manifests', '-'], /there is one standard input/],
    [['--kubeconfig', CASE], /kubeconfig/],
    [['--format', 'pdf'], /--format "pdf"/],
    [
      ['--json', '--format', 'html'],
      /--format "html" \(on the command line\): must be json, or left out, beside --json/,
    ],
    [['--since', '5m', '--logs', 'x'], /--since "5m" .*must be left out without --kube/],
    [
      ['--logs', '/none', '--output', CASE],
      /--output .*must be a place that can be written, and it is a folder$/m,
    ],
    [
      ['--logs', '/none', '--output', '/none/x'],
      /--output "\/none\/x" \(on the command line\): must be a place that can be written, and it is in a folder that does not exist/,
    ],
    [
      ['--write-plan', CASE],
      /--write-plan .*must be a folder that is new or empty, and it has something in it/,
    ],
  ])('2: %j', async (args, words) => {
    const { code, stdout, stderr } = await run(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(words);
    expect(stderr).not.toContain('secret');
  });
});

describe('sources', () => {
  it('that fail do not hide the others', async () => {
    const { code, stdout } = await run([...HEALTHY, '--manifests', join(folder(), 'none'), '--verbose']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/manifests +not read.*it does not exist/s);
  });

  it('beyond this machine, in plaintext that was not asked for, do not hide the others', async () => {
    const { code, stdout, stderr } = await run([...HEALTHY, '192.0.2.1:50060', '--verbose']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^192\.0\.2\.1:50060 +fleet +not read +plaintext beyond this machine/m);
  });

  it('that cannot be what was named are refused with what to give', async () => {
    const { code, stderr } = await run([
      ...['--logs', folder(), '--logs', 'https://example.com/a.log', '--logs', 'frontend=a.log'],
      ...['--metrics', '127.0.0.1:1', '--manifests', 'https://example.com/a.yaml'],
    ]);
    expect(code).toBe(5);
    expect(stderr).toContain('is a folder: kv-accord doctor FOLDER reads all logs in it');
    expect(stderr).toContain(
      'https://example.com/a.log: is an address, and none is fetched: curl -fsS URL |',
    );
    expect(stderr).toContain(
      'frontend=a.log: does not exist; a log is named by its file alone, without NAME=',
    );
    expect(stderr).toContain('--metrics 127.0.0.1:1: is no file; as an address: http://127.0.0.1:1\n');
    expect(stderr).toContain('--manifests https://example.com/a.yaml: must be a file, a folder or -');
  });

  it('may be a folder with batch scripts of Slurm', async () => {
    const jobs = folder();
    writeFileSync(
      join(jobs, 'job.sbatch'),
      '#!/bin/bash\npython3 -m dynamo.frontend --router-mode kv\npython3 -m dynamo.vllm --model m --block-size 64\n',
    );
    const { stdout } = await run(['--manifests', jobs, '--verbose']);
    expect(stdout).toContain('job.sbatch:3');
  });

  it('that nothing listens at are named once', async () => {
    const { code, stderr } = await run(['127.0.0.1:1']);
    expect(code).toBe(5);
    expect(stderr).toContain('kv-accord doctor: 127.0.0.1:1: nothing listens there');
  });

  it('may be a packed log', async () => {
    const log = join(folder(), 'frontend.log.gz');
    writeFileSync(log, gzipSync(readFileSync(join(CASE, 'frontend.log'))));
    const { code, stdout } = await run(['--logs', log, '--manifests', join(CASE, 'deploy')]);
    expect(code).toBe(1);
    expect(stdout).toContain('frontend 16 by default, worker 32');
  });

  it('that are no text are named as such', async () => {
    const binary = join(folder(), 'core');
    writeFileSync(
      binary,
      Buffer.from(Array.from({ length: 5_000 }, (_, at) => (at % 37 === 0 ? 10 : 128 + (at % 64)))),
    );
    const { code, stderr } = await run([
      '--logs',
      binary,
      '--model-config',
      '/dev/zero',
      '--metrics',
      '/dev/zero',
    ]);
    expect(code).toBe(5);
    expect(stderr).toContain(`${binary}: is no text`);
    expect(stderr.match(/is not a plain file/g)).toHaveLength(2);
  });

  it('may be an aggregator', async () => {
    const [a, b] = [await open.sidecar('a'), await open.sidecar('b')];
    const aggregator = await open.aggregator([a, b]);
    await aggregator.untilGate(true);
    const { stdout, code } = await run([aggregator.grpc, '--json']);
    const report = JSON.parse(stdout);
    // Its sidecars relay no events: what is there is routed by load alone, and that is a finding.
    expect({ code, cause: report.assessments[0].cause }).toEqual({ code: 1, cause: 'not_kv_routing' });
    expect(JSON.stringify(report)).toContain('aggregator with 2 workers, tiny: gate open');
  });

  it('may be a program by HTTP', async () => {
    const page = readFileSync(join(fixtures, 'doctor-metrics/dynamo-1.6.1.frontend.agree-32-32.txt'));
    const server = createServer(({ url }, response) =>
      url === '/metrics' ? response.end(page) : response.writeHead(404).end(),
    );
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    open.add(() => server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { stdout } = await run([url, '--verbose']);
    expect(stdout).toMatch(/frontend +tiny +32 +in use/);
  });

  it('may be a namespace of a cluster', async () => {
    const server = await FakeApiServer.start();
    open.add(() => server.close());
    server.put('/api/v1/namespaces/inference/pods', 'frontend-0', {
      metadata: { ownerReferences: [{ controller: true }] },
      spec: { containers: [{ name: 'main', image: 'dynamo-frontend' }] },
    });
    server.intercept = ({ path }, response) => {
      if (!path.endsWith('/log')) return false;
      response.end(readFileSync(join(CASE, 'frontend.log')));
      return true;
    };
    const kubeconfig = server.kubeconfig();
    const { code, stdout } = await run(['--kube', 'inference', '--kubeconfig', kubeconfig, '--verbose']);
    expect([1, 6]).toContain(code);
    expect(stdout).toContain('pod frontend-0, container main, log');
    expect(stdout).toContain('10 routing decisions');
  });

  it('of a cluster that cannot be reached are explained', async () => {
    const server = await FakeApiServer.start();
    const kubeconfig = server.kubeconfig();
    const text = readFileSync(kubeconfig, 'utf8');
    await server.close();
    const path = join(folder(), 'config');
    writeFileSync(path, text);
    const { code, stderr } = await run(['--kube', 'inference', '--kubeconfig', path]);
    expect(code).toBe(5);
    expect(stderr).toContain('ECONNREFUSED');
  });
});

describe('the report', () => {
  it('goes into a file with --output', async () => {
    const output = join(folder(), 'report.html');
    const { stdout } = await run([...WHOLE_CASE, '--format', 'html', '--output', output]);
    expect(stdout).toBe('');
    expect(readFileSync(output, 'utf8')).toMatch(/^<!doctype html>/i);
  });

  it('that cannot be written is explained', async () => {
    const output = join(folder(), 'no/such/folder/report.txt');
    const { code, stderr } = await run([...HEALTHY, '--output', output]);
    expect(code).toBe(2);
    expect(stderr).toContain(
      'must be a place that can be written, and it is in a folder that does not exist',
    );
    expect(existsSync(output)).toBe(false);
  });

  it('comes with progress on a terminal, and without it elsewhere', async () => {
    // However long the path of the log is, the figures are seen.
    const terminal = await run(WHOLE_CASE, { isTerminal: true, columns: 40 });
    expect(terminal.stderr).toMatch(/0 MB of 0 MB \(\d+ %\) read of ./);
    expect((await run(WHOLE_CASE)).stderr).toBe('');
  });

  it('ends when the process is asked to', async () => {
    const server = createServer(() => undefined);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    open.add(() => {
      server.closeAllConnections();
      server.close();
    });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/metrics`;
    const asked = new Promise((resolve) => server.once('request', resolve));
    const cli = new CliProcess(['doctor', '--metrics', url]);
    await asked;
    expect(await cli.stop('SIGINT')).toBe(130);
    expect(cli.stdout.text).toBe('');
  });
});
