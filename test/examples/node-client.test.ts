import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { credentials, makeGenericClientConstructor } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { CapabilitiesService } from '../../src/gen/kvaccord/v1/capabilities.js';
import { FleetService } from '../../src/gen/kvaccord/v1/fleet.js';
import { TestAuthority, TestFolder } from '../edge/rpc/certificates.js';
import { openVllm } from '../support/open-vllm.js';
import { Program, requireBuild } from '../support/program.js';
import { ExampleProcess, runExample } from './support/example-process.js';
import { importNodeClient, methodOf } from './support/node-client.js';
import { compareReadings } from './support/reading-differences.js';

/** What one answer says, read in both ways from the same bytes. */
interface Readings {
  readonly loaded: unknown;
  readonly generated: unknown;
}

const TOPOLOGY = {
  gpus: [
    { uuid: 'GPU-1', index: 0, productName: 'NVIDIA H100 80GB HBM3', memoryBytes: '9007199254740993' },
    { uuid: 'GPU-2', index: 1, productName: 'NVIDIA H100 80GB HBM3', numaNode: 0 },
  ],
  placement: { topologyDomains: { 'gpu.clique': '7a3c.1', rack: 'r17' } },
};

/** Many small processes: each takes a third of a second of a core, and much longer on a busy machine. */
const TIMEOUT_MS = 120_000;

const folder = mkdtempSync(join(tmpdir(), 'kv-accord-clients-'));
const engine = await openVllm(32);
const programs: Program[] = [];
let worker = '';
let otherWorker: Program;
let aggregator = '';

/** Starts a command of the built program on free ports; the result is where its gRPC is. */
async function start(...args: readonly string[]): Promise<{ program: Program; address: string }> {
  const program = new Program([...args, '--listen', '127.0.0.1:0', '--http-listen', '127.0.0.1:0']);
  programs.push(program);
  const address = (): string | undefined => /"grpc":"([^"]+)"/.exec(program.stderr)?.[1];
  await program.untilText(() => address() !== undefined);
  return { program, address: address() ?? '' };
}

beforeAll(async () => {
  requireBuild();
  engine.start();
  const topology = join(folder, 'topology.json');
  writeFileSync(topology, JSON.stringify(TOPOLOGY));
  const declared = ['--engine', 'none', '--tokens-per-block', '32', '--model', 'tiny'];
  const [first, second] = await Promise.all([
    start('sidecar', '--engine', engine.url, '--worker-id', 'w-0', '--topology', topology),
    start('sidecar', ...declared, '--worker-id', 'w-1', '--topology', 'off'),
  ]);
  worker = first.address;
  otherWorker = second.program;
  const fleet = await start('aggregator', '--workers', `${worker},${second.address}`);
  await fleet.program.until(({ code }) => code === 'agreed');
  aggregator = fleet.address;
}, TIMEOUT_MS);

afterAll(async () => {
  for (const program of programs.splice(0).reverse()) await program.end('SIGKILL');
  await engine.close();
  rmSync(folder, { recursive: true });
});

/** The first answer that fits of a loaded method, called through `@grpc/grpc-js` alone. */
async function ask(
  service: string,
  method: string,
  address: string,
  generated: { readonly responseDeserialize: (bytes: Buffer) => unknown },
): Promise<Readings> {
  const definition = methodOf((await importNodeClient()).packageDefinition, service, method);
  const inBothWays = (bytes: Buffer): Readings => ({
    loaded: definition.responseDeserialize(bytes),
    generated: generated.responseDeserialize(bytes),
  });
  const Client = makeGenericClientConstructor(
    { [method]: { ...definition, responseDeserialize: inBothWays } },
    service,
  );
  const client = new Client(address, credentials.createInsecure());
  onTestFinished(() => client.close());
  const call = client[method]?.bind(client) ?? expect.fail(`the client has no ${method}`);
  if (definition.responseStream) {
    const answers: AsyncIterable<Readings> = call({});
    for await (const answer of answers) return answer;
    throw new Error('the stream ended without an answer');
  }
  return new Promise((resolve, reject) => {
    call({}, (error: Error | null, answer: Readings) => (error ? reject(error) : resolve(answer)));
  });
}

describe('the client for Node, over @grpc/grpc-js and @grpc/proto-loader alone', {
  timeout: TIMEOUT_MS,
}, () => {
  it('reads every field of a sidecar’s report as the generated code does', async () => {
    const { getCapabilities } = CapabilitiesService;
    const answer = await ask('kvaccord.v1.Capabilities', 'GetCapabilities', worker, getCapabilities);
    const { differences, sameCount } = compareReadings(answer.loaded, answer.generated);
    expect(differences).toEqual([]);
    expect(sameCount).toBeGreaterThan(60);
    const { report } = answer.loaded as { readonly report: Record<'contract' | 'topology', object> };
    expect(report).toMatchObject({
      worker_id: 'w-0',
      engine: { kind: 'ENGINE_KIND_VLLM', version: '0.32.0', state: 'ENGINE_STATE_READY' },
      contract: { tokens_per_block: 32 },
      capacity: { total_kv_blocks: '64' },
      topology: {
        gpus: [{ index: 0, memory_bytes: '9007199254740993' }, { numa_node: 0 }],
        placement: { topology_domains: { 'gpu.clique': '7a3c.1', rack: 'r17' } },
      },
    });
    const { gpus } = report.topology as { readonly gpus: readonly object[] };
    expect(gpus).toHaveLength(2);
    expect(gpus[0]).not.toHaveProperty('numa_node');
    expect(gpus[1]).not.toHaveProperty('memory_bytes');
    expect(report.contract).not.toHaveProperty('hit_alignment_tokens');
  });

  it('reads the agreement and every worker of a fleet as the generated code does', async () => {
    const { watchAgreement, listWorkers } = FleetService;
    for (const [method, generated, least] of [
      ['WatchAgreement', watchAgreement, 30],
      ['ListWorkers', listWorkers, 100],
    ] as const) {
      const answer = await ask('kvaccord.v1.Fleet', method, aggregator, generated);
      const { differences, sameCount } = compareReadings(answer.loaded, answer.generated);
      expect(differences).toEqual([]);
      expect(sameCount).toBeGreaterThan(least);
    }
  });

  it('prints what the engine uses, whole numbers to the last digit', async () => {
    const { code, stdout, stderr } = await runExample('capabilities', worker);
    expect(stderr).toBe('');
    expect(code).toBe(0);
    expect(stdout.split('\n')).toEqual([
      'worker            w-0',
      'engine            ENGINE_KIND_VLLM 0.32.0 ENGINE_STATE_READY',
      'model             tiny',
      `tokens per block  32 (EVIDENCE_SOURCE_ENGINE_METRICS, GET ${engine.url}/metrics)`,
      'KV blocks         64 (2048 tokens)',
      'GPU               NVIDIA H100 80GB HBM3 (memory: 9007199254740993 bytes)',
      'GPU               NVIDIA H100 80GB HBM3 (memory: unknown bytes)',
      'topology domain   gpu.clique=7a3c.1',
      'topology domain   rack=r17',
      'report            STATE_COMPLETE',
      '',
    ]);
    const json = await runExample('capabilities', worker, '--json');
    expect(JSON.parse(json.stdout)).toMatchObject({ worker_id: 'w-0', capacity: { total_kv_blocks: '64' } });
  });

  it('shows the token over TLS, and says why it was not accepted', async () => {
    const files = new TestFolder();
    const [authority, stranger] = [await TestAuthority.create(), await TestAuthority.create('stranger')];
    const { tlsCert, tlsKey } = files.writeIdentity('server', await authority.issue());
    const serverTokens = files.write('tokens', 'the-token-of-this-test-1\nanother-token-of-this-test\n');
    const declared = [
      '--engine',
      'none',
      '--tokens-per-block',
      '32',
      '--worker-id',
      'w-tls',
      '--topology',
      'off',
    ];
    const tls = ['--tls-cert', tlsCert, '--tls-key', tlsKey, '--token-file', serverTokens];
    const { program, address } = await start('sidecar', ...declared, ...tls);
    const byName = ['--tls-server-name', 'localhost'];
    const ca = ['--tls-ca', files.write('ca.crt', authority.pem), ...byName];
    const token = files.write('token', '# of the operators\n\nanother-token-of-this-test\n');
    const falseToken = files.write('false-token', 'no-token-of-this-test\n');
    const [good, none, bad, strange] = await Promise.all([
      runExample('capabilities', address, ...ca, '--token-file', token),
      runExample('capabilities', address, ...ca),
      runExample('watch', address, ...ca, '--token-file', falseToken),
      runExample('capabilities', address, '--tls-ca', files.write('stranger.crt', stranger.pem), ...byName),
    ]);
    expect(good).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('w-tls') });
    const refusal = `client.mjs: ${address} does not accept this client: `;
    expect(none).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining(refusal) });
    expect(none.stderr).toContain('--token-file');
    expect(bad).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('client.mjs: ') });
    expect(strange).toMatchObject({ code: 1, stdout: '' });
    expect(strange.stderr).toContain(`client.mjs: ${address} is unavailable: `);
    for (const { stdout, stderr } of [good, none, bad, strange])
      expect(stdout + stderr).not.toContain('of-this-test');
    await program.end('SIGTERM');
  });

  it('ends with one line when nobody is there, nobody answers, or another service does', async () => {
    const sockets = new Set<Socket>();
    const silent = createServer((socket) => void sockets.add(socket)).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
      silent.close();
    });
    const deaf = `127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const outcomes = await Promise.all([
      runExample('capabilities', '127.0.0.1:1'),
      runExample('capabilities', deaf, '--timeout', '0.2'),
      runExample('watch', deaf, '--timeout', '0.2'),
      runExample('capabilities', aggregator),
      runExample('watch', aggregator, '--group', 'nobody'),
    ]);
    expect(outcomes.map(({ code }) => code)).toEqual([1, 1, 1, 1, 1]);
    const [absent, mute, muteWatch, other, unknown] = outcomes.map(({ stderr }) => stderr);
    expect(absent).toMatch(/^client\.mjs: 127\.0\.0\.1:1 is unavailable: .*ECONNREFUSED.*\n$/);
    expect(mute).toBe(`client.mjs: ${deaf} said nothing for 0.2 s\n`);
    expect(muteWatch).toBe(`client.mjs: ${deaf} said nothing for 0.2 s\n`);
    expect(other).toContain(`client.mjs: ${aggregator} does not serve "capabilities": sidecars serve`);
    expect(unknown).toBe(`client.mjs: ${aggregator}: nobody serves "nobody"; the fleet serves tiny\n`);
  });

  it('asks nobody before its command line is right, nor in plaintext beyond this machine', async () => {
    const outcomes = await Promise.all([
      runExample('watch', '127.0.0.1:1', '--timeout', 'soon'),
      runExample('watch', '127.0.0.1:1', '--token-file', '/nonexistent/token'),
      runExample('capabilities', 'worker-0.example:50061'),
    ]);
    expect(outcomes.map(({ code, stdout }) => [code, stdout])).toEqual(outcomes.map(() => [2, '']));
    const [timeout, file, plaintext] = outcomes.map(({ stderr }) => stderr);
    expect(timeout).toContain('--timeout is soon');
    expect(file).toContain('/nonexistent/token');
    expect(plaintext).toContain('set --tls-ca, or --insecure for plaintext');
  });

  it('watches a fleet: what is agreed now, and every change', async () => {
    const watch = new ExampleProcess(['watch', aggregator]);
    await watch.until((stdout) => stdout.includes('w-') || stdout.split('\n').length > 3);
    const [summary, ...members] = watch.stdout.trim().split('\n');
    expect(summary).toMatch(/Z tiny: gate open, 32 tokens per block, epoch 1, routing load_only$/);
    expect(members).toHaveLength(2);
    expect(members[0]).toContain('MEMBER_STATE_CONFORMING  32');
    await otherWorker.end('SIGKILL');
    await watch.until((stdout) => stdout.includes('MEMBER_STATE_LOST'));
  });
});
