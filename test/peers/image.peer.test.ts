import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { openTraceReceiver } from '../frontend/tracing/trace-receiver.js';
import { FakeOpenAiEngine } from '../support/fake-openai-engine.js';
import { freePort } from '../support/ports.js';
import { alone } from './support/alone.js';
import { forThisTest } from './support/for-this-test.js';
import {
  BASE_IMAGE,
  buildImage,
  CONFINED,
  type Container,
  IMAGE,
  type ImageFacts,
  inspectImage,
  playPod,
  podman,
  runImage,
  startContainer,
} from './support/image.js';
import { probe, type Served, startAggregator } from './support/kv-accord.js';
import { lacks, peerPath } from './support/peers.js';
import { reportThat } from './support/report.js';
import { run } from './support/run.js';
import { until } from './support/until.js';

const DOCKERFILE = fileURLToPath(new URL('../../Dockerfile', import.meta.url));

const TOKENIZER = fileURLToPath(new URL('../fixtures/tokenizers/chatml', import.meta.url));

/** A worker that needs no engine: all that is known of it is said here. */
const SIDECAR_FLAGS: readonly string[] = [
  ...['--engine', 'none', '--tokens-per-block', '32', '--model', 'm', '--worker-id', 'w'],
];

/** How much the image may add to what it is built on. */
const MOST_ADDED_BYTES = 25e6;

const mb = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;
const sum = (sizes: readonly number[]): number => sizes.reduce((a, b) => a + b, 0);

/** Starts a command that serves in a container, on free ports, and waits until it answers. */
async function serveInContainer(
  command: string,
  flags: readonly string[],
  ofPodman: readonly string[] = [],
): Promise<Served & { readonly container: Container }> {
  const grpcPort = await freePort();
  const httpPort = await freePort();
  const listen = ['--listen', `127.0.0.1:${grpcPort}`, '--http-listen', `127.0.0.1:${httpPort}`];
  const container = startContainer(
    command,
    [command, ...listen, ...flags],
    ['--memory', '256m', ...ofPodman],
  );
  const served = { container, program: container.program, grpcPort, httpPort };
  await until(`${command} to answer`, async () => (await probe(served, '/livez')).status === 200, {
    needs: [container.program],
  });
  return served;
}

/** Ends a container as a kubelet does, and returns how that went. */
async function end({ id, program }: Container): Promise<{ status: number; tookMs: number }> {
  const startedMs = performance.now();
  await podman('stop', '--time', '25', id);
  return { status: await program.ended, tookMs: performance.now() - startedMs };
}

/** What the container uses, as podman says it: `31.2MB / 268.4MB`. */
async function memoryOf({ id }: Container): Promise<string> {
  const { stdout } = await podman('stats', '--no-stream', '--format', '{{.MemUsage}}', id);
  return stdout.trim();
}

/** Runs JavaScript in the image, where the program's own packages are. */
async function evaluateInImage(source: string): Promise<string> {
  const { status, stdout, stderr } = await podman(
    ...['run', '--rm', '--network', 'none', ...CONFINED, '--entrypoint', 'node', IMAGE],
    ...['--input-type=module', '--eval', source],
  );
  if (status !== 0) throw new Error(stderr);
  return stdout.trim();
}

describe.skipIf(lacks('hadolint'))('the Dockerfile', () => {
  it('has nothing that hadolint finds', async () => {
    expect(await run(peerPath('hadolint', 'bin', 'hadolint'), [DOCKERFILE])).toEqual({
      status: 0,
      stdout: '',
      stderr: '',
    });
  });
});

describe.skipIf(lacks('image-tools'))('the image', () => {
  let done: (() => Promise<void>) | undefined;
  let image: ImageFacts;
  let base: ImageFacts;

  beforeAll(async () => {
    done = await alone();
    const startedMs = performance.now();
    const log = await buildImage();
    const tookS = Math.round((performance.now() - startedMs) / 1000);
    const left = /^\/production: .*\nleft out: .*\n(?: +[\d.]+ MB .*\n)*/m.exec(log)?.[0] ?? '';
    console.log(`image: built in ${tookS} s\n${left}`);
    image = await inspectImage(IMAGE);
    base = await inspectImage(BASE_IMAGE);
  });
  afterAll(() => done?.());

  it('adds little to what it is built on', () => {
    const own = image.layerBytes.slice(base.layerBytes.length);
    console.log(
      `image: ${mb(sum(image.layerBytes))}, ${mb(sum(own))} over the base, in layers of ${own.map(mb).join(', ')}`,
    );
    expect(image.layerBytes.slice(0, base.layerBytes.length)).toEqual(base.layerBytes);
    expect(sum(own)).toBeLessThan(MOST_ADDED_BYTES);
  });

  it('says what it is and how it runs', () => {
    const { User, Entrypoint, Cmd, StopSignal, Healthcheck, Env, Labels } = image.config;
    expect({ User, Entrypoint, Cmd, StopSignal, Healthcheck }).toEqual({
      User: '65532:65532',
      Entrypoint: ['kv-accord'],
      Cmd: ['--help'],
      StopSignal: 'SIGTERM',
      Healthcheck: undefined,
    });
    expect(Env).toContain('NODE_ENV=production');
    expect(Labels).toMatchObject({
      'org.opencontainers.image.title': manifest.name,
      'org.opencontainers.image.description': manifest.description,
      'org.opencontainers.image.licenses': manifest.license,
      'org.opencontainers.image.version': manifest.version,
    });
  });

  it('runs with nothing that a restricted pod does not have', async () => {
    expect(await runImage(['--version'])).toMatchObject({ status: 0, stdout: `${manifest.version}\n` });
    const help = await runImage([]);
    expect(help).toMatchObject({ status: 0, stderr: '' });
    expect(help.stdout).toContain('Usage: kv-accord COMMAND');
    expect(await evaluateInImage('console.log(process.getuid(), process.getgid(), process.pid)')).toBe(
      '65532 65532 1',
    );
  });

  it('ends with 2 and names the flag that is wrong', async () => {
    const { status, stderr } = await runImage(['sidecar', '--tokens-per-block', 'many']);
    expect(status).toBe(2);
    expect(stderr).toContain('--tokens-per-block');
  });

  it('has nothing that installs packages, and nothing that its user can write', async () => {
    const found = await evaluateInImage(`
      import { accessSync, constants, readdirSync } from 'node:fs';
      const tools = readdirSync('/usr/local/bin').concat(readdirSync('/usr/local/lib'));
      const own = readdirSync('/opt/kv-accord', { recursive: true }).map((path) => '/opt/kv-accord/' + path);
      const writable = own.filter((path) => {
        try { accessSync(path, constants.W_OK); return true; } catch { return false; }
      });
      console.log(JSON.stringify({ tools: tools.sort(), writable }));
    `);
    const { tools, writable } = JSON.parse(found);
    for (const name of ['npm', 'npx', 'corepack', 'yarn', 'yarnpkg', 'node_modules']) {
      expect(tools).not.toContain(name);
    }
    expect(writable).toEqual([]);
  });

  it('loads every part of the program and the library for ZeroMQ', async () => {
    const loaded = await evaluateInImage(`
      import { readdirSync } from 'node:fs';
      const parts = readdirSync('dist/parts').filter((name) => name.endsWith('.js'));
      for (const part of parts) await import('/opt/kv-accord/dist/parts/' + part);
      const { Pull, Push, version } = await import('zeromq');
      const pull = new Pull();
      await pull.bind('tcp://127.0.0.1:*');
      const push = new Push();
      push.connect(pull.lastEndpoint);
      await push.send('through a socket');
      console.log(parts.length > 20, version, String((await pull.receive())[0]));
      process.exit();
    `);
    expect(loaded).toMatch(/^true 4\.\d+\.\d+ through a socket$/);
  });

  it('carries the bill of materials of exactly what is in it', async () => {
    const output = await evaluateInImage(`
      import { globSync, readFileSync } from 'node:fs';
      const read = (file) => JSON.parse(readFileSync(file, 'utf8'));
      const named = ({ name, version }) => name + '@' + version;
      const sbom = read('sbom.cdx.json');
      const there = globSync('**/node_modules/{*,@*/*}/package.json').map(read);
      console.log(JSON.stringify({
        format: sbom.bomFormat + ' ' + sbom.specVersion,
        of: named(sbom.metadata.component),
        listed: sbom.components.map(named).sort(),
        there: there.map(named).sort(),
      }));
    `);
    const { format, of, listed, there } = JSON.parse(output);
    expect(format).toBe('CycloneDX 1.5');
    expect(of).toBe(`${manifest.name}@${manifest.version}`);
    expect(listed).toEqual(there);
    expect(there.length).toBeGreaterThan(50);
    console.log(`image: ${there.length} packages; whether any is known to be vulnerable was not checked`);
  });

  it('can be carried into another image, and gates a program there, in a pod as it is written for Kubernetes', async () => {
    const grpcPort = await freePort();
    const httpPort = await freePort();
    const securityContext = {
      runAsUser: 65_532,
      runAsGroup: 65_532,
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    };
    const own = { image: IMAGE, imagePullPolicy: 'Never', securityContext };
    const guarded =
      "console.log('given ' + process.env.DYN_KV_CACHE_BLOCK_SIZE); setInterval(() => {}, 1_000)";
    const pod = playPod('gated', {
      initContainers: [
        {
          ...own,
          name: 'program',
          command: ['cp', '-r', '/opt/kv-accord/.', '/usr/local/bin/node', '/program/'],
          volumeMounts: [{ name: 'kv-accord', mountPath: '/program' }],
        },
      ],
      containers: [
        {
          ...own,
          name: 'sidecar',
          args: [
            ...['sidecar', ...SIDECAR_FLAGS, '--insecure', '--listen', `0.0.0.0:${grpcPort}`],
            ...['--http-listen', `0.0.0.0:${httpPort}`],
          ],
          resources: { limits: { memory: '128Mi' } },
        },
        {
          name: 'frontend',
          image: BASE_IMAGE,
          imagePullPolicy: 'Never',
          securityContext: { ...securityContext, runAsUser: 1_000, runAsGroup: 1_000 },
          command: ['/opt/kv-accord/node', '/opt/kv-accord/dist/cli/main.js'],
          args: [
            ...['exec', '--workers', `127.0.0.1:${grpcPort}`, '--min-workers', '1', '--settle', '0', '--'],
            ...['/opt/kv-accord/node', '--eval', guarded],
          ],
          volumeMounts: [{ name: 'kv-accord', mountPath: '/opt/kv-accord', readOnly: true }],
        },
      ],
      volumes: [{ name: 'kv-accord', emptyDir: {} }],
    });
    await until('the program behind the gate', async () =>
      (await pod.logOf('frontend')).includes('given 32'),
    );
  });

  describe.skipIf(lacks('grpcurl'))('as a sidecar', () => {
    it('reports over gRPC, agrees with an aggregator, and ends immediately when it is asked to', async () => {
      const sidecar = await serveInContainer('sidecar', SIDECAR_FLAGS);
      const report = await reportThat(
        sidecar,
        'with the declared size',
        ({ contract }) => contract?.tokensPerBlock === 32,
      );
      expect(report.workerId).toBe('w');
      forThisTest(await startAggregator('aggregator', [sidecar], '--min-workers', '1'));
      console.log(`image: a sidecar uses ${await memoryOf(sidecar.container)}`);
      const { status, tookMs } = await end(sidecar.container);
      console.log(`image: the sidecar ended ${Math.round(tookMs)} ms after SIGTERM`);
      expect(status).toBe(0);
      expect(tookMs).toBeLessThan(20_000);
    });
  });

  it('serves as an aggregator, and ends when it is asked to', async () => {
    const aggregator = await serveInContainer('aggregator', ['--workers', '127.0.0.1:1']);
    expect((await probe(aggregator, '/metrics')).body).toContain('kv_accord');
    console.log(`image: an aggregator uses ${await memoryOf(aggregator.container)}`);
    expect((await end(aggregator.container)).status).toBe(0);
  });

  it('serves as a frontend of two processes, with a tokenizer in a thread and a collector of traces', async () => {
    const engine = await FakeOpenAiEngine.start();
    onTestFinished(() => engine.stop());
    const traces = await openTraceReceiver();
    onTestFinished(() => traces[Symbol.asyncDispose]());
    const sidecar = await serveInContainer('sidecar', [...SIDECAR_FLAGS, '--advertise-engine', engine.url]);
    const httpPort = await freePort();
    const frontend = await serveInContainer(
      'frontend',
      [
        ...['--workers', `127.0.0.1:${sidecar.grpcPort}`, '--http-port', String(httpPort)],
        ...['--threads', '2', '--tokenizer', '/model', '--settle', '0'],
      ],
      ['--volume', `${TOKENIZER}:/model:ro`, '--env', `OTEL_EXPORTER_OTLP_ENDPOINT=${traces.url}`],
    );
    const url = `http://127.0.0.1:${httpPort}/v1`;
    await until('the frontend to serve', async () => (await fetch(`${url}/models`)).status === 200, {
      needs: [frontend.program, sidecar.program],
    });
    const answer = await fetch(`${url}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', connection: 'close' },
      body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Hello' }] }),
    });
    expect([answer.status, await answer.json()]).toEqual([200, expect.objectContaining({ id: '1' })]);
    console.log(`image: a frontend of two processes uses ${await memoryOf(frontend.container)}`);
    const { status, tookMs } = await end(frontend.container);
    console.log(`image: the frontend ended ${Math.round(tookMs)} ms after SIGTERM`);
    expect(status).toBe(0);
    expect(traces.spans.map(({ name }) => name)).toEqual(['chat m']);
  });

  it('plays its whole demonstration, KV events over ZeroMQ and all', async () => {
    const { program } = startContainer('demo', ['demo']);
    expect(await program.ended).toBe(0);
    expect(program.log).toMatch(/All \d+ scenes went as expected/);
  });
});
