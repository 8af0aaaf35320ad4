import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { credentials } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { CapabilitiesClient, CapabilityReport } from '../../src/gen/kvaccord/v1/capabilities.js';
import { Agreement, FleetClient } from '../../src/gen/kvaccord/v1/fleet.js';
import { TestAuthority } from '../edge/rpc/certificates.js';
import { freePort } from '../support/ports.js';
import { forThisTest } from './support/for-this-test.js';
import { type Served, startAggregator, startKvAccord, startSidecar } from './support/kv-accord.js';
import { lacks, peerPath } from './support/peers.js';
import { Program } from './support/program.js';
import { type Outcome, run } from './support/run.js';
import { scratchFolder } from './support/scratch.js';
import { until } from './support/until.js';

const CLIENT = fileURLToPath(new URL('../../examples/python-client/client.py', import.meta.url));
const DECLARED = ['--engine', 'none', '--tokens-per-block', '32', '--model', 'tiny'];
/** An `optional` 0, absent ones, the largest u64, and a map. */
const TOPOLOGY = {
  gpus: [
    { uuid: 'GPU-1', index: 0, productName: 'NVIDIA H100 80GB HBM3', memoryBytes: '18446744073709551615' },
    { uuid: 'GPU-2', index: 1, productName: 'NVIDIA H100 80GB HBM3', numaNode: 0 },
  ],
  placement: { topologyDomains: { 'gpu.clique': '7a3c.1', rack: 'r17' } },
};

/** Runs the example to its end. */
function runClient(...args: readonly string[]): Promise<Outcome> {
  return run(peerPath('python-client', 'bin', 'python'), [CLIENT, ...args], { env: { NO_COLOR: '1' } });
}

const addressOf = ({ grpcPort }: Served): string => `127.0.0.1:${grpcPort}`;

/** What proto JSON says beside another spelling: names in camel case, and times as numbers. */
function normalised(value: unknown, key = ''): unknown {
  if (Array.isArray(value)) return value.map((item) => normalised(item));
  if (typeof value === 'string' && /(At|_at)$/.test(key)) return Date.parse(value);
  if (typeof value !== 'object' || value === null) return value;
  const isMap = /^topology_?[dD]omains$/.test(key);
  const camelCase = (name: string): string => name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase());
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [isMap ? name : camelCase(name), normalised(item, name)]),
  );
}

describe.skipIf(lacks('python-client'))('the client for Python, by server reflection alone', () => {
  let worker: Served;
  let other: Served;
  let aggregator: Served;

  beforeAll(async () => {
    const topology = join(scratchFolder(), 'topology.json');
    writeFileSync(topology, JSON.stringify(TOPOLOGY));
    [worker, other] = await Promise.all([
      startSidecar('w-0', ...DECLARED, '--topology', topology),
      startSidecar('w-1', ...DECLARED, '--topology', 'off'),
    ]);
    aggregator = await startAggregator('aggregator', [worker, other]);
  });
  afterAll(async () => {
    for (const each of [aggregator, other, worker]) await each?.program.stop();
  });

  it('reads every field of a sidecar’s report as the generated code does', async () => {
    const { status, stdout, stderr } = await runClient('capabilities', addressOf(worker), '--json');
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const client = new CapabilitiesClient(addressOf(worker), credentials.createInsecure());
    onTestFinished(() => client.close());
    const generated = await new Promise<unknown>((resolve, reject) => {
      client.getCapabilities({}, (error, answer) => {
        if (error !== null || answer.report === undefined) reject(error ?? new Error('no report'));
        else resolve(CapabilityReport.toJSON(answer.report));
      });
    });
    // A sidecar looks again every few seconds; nothing else of an unchanged report differs.
    const read = (json: unknown): object => ({ ...(normalised(json) as object), observedAt: 'a moment' });
    expect(read(JSON.parse(stdout))).toEqual(read(generated));
    expect(JSON.parse(stdout)).toMatchObject({
      worker_id: 'w-0',
      topology: {
        gpus: [{ index: 0, memory_bytes: '18446744073709551615' }, { numa_node: 0 }],
        placement: { topology_domains: { 'gpu.clique': '7a3c.1', rack: 'r17' } },
      },
    });
  });

  it('prints what the sidecar reports, whole numbers to the last digit and absent ones as unknown', async () => {
    const { status, stdout } = await runClient('capabilities', addressOf(worker));
    expect(status).toBe(0);
    const [head, domains] = [stdout.split('\n').slice(0, 7), stdout.split('\n').slice(7, 9)];
    expect(head).toEqual([
      'worker            w-0',
      'engine            ENGINE_KIND_UNSPECIFIED ENGINE_STATE_UNSPECIFIED',
      'model             tiny',
      'tokens per block  32 (EVIDENCE_SOURCE_DECLARED, --tokens-per-block)',
      'KV blocks         not known',
      'GPU               NVIDIA H100 80GB HBM3 (memory: 18446744073709551615 bytes)',
      'GPU               NVIDIA H100 80GB HBM3 (memory: unknown bytes)',
    ]);
    expect(domains.sort()).toEqual(['topology domain   gpu.clique=7a3c.1', 'topology domain   rack=r17']);
  });

  it('watches the fleet: the agreement as the generated code reads it, and every change', async () => {
    const python = peerPath('python-client', 'bin', 'python');
    const args = ['watch', addressOf(aggregator)];
    const watch = forThisTest(new Program({ name: 'watch', command: [python, CLIENT, ...args] }));
    const asJson = forThisTest(
      new Program({ name: 'watch-json', command: [python, CLIENT, ...args, '--json'] }),
    );
    const agreements = (): unknown[] =>
      asJson.log.split('\n').flatMap((line) => (line.endsWith('}') ? [normalised(JSON.parse(line))] : []));
    const needs = [watch, asJson];
    const client = new FleetClient(addressOf(aggregator), credentials.createInsecure());
    onTestFinished(() => client.close());
    const generated = (): Promise<unknown> =>
      new Promise((resolve, reject) => {
        client.getAgreement({ group: '' }, (error, answer) => {
          if (error !== null || answer.agreement === undefined) reject(error ?? new Error('no agreement'));
          else resolve(normalised(Agreement.toJSON(answer.agreement)));
        });
      });
    const isTheSame = async (): Promise<boolean> => isDeepStrictEqual(agreements().at(-1), await generated());
    await until('the agreement of now', isTheSame, { needs });
    await until('the line', () => /tiny: gate open, 32 tokens per block, epoch 1/.test(watch.log), {
      needs,
    });
    await other.program.kill();
    await until('the loss', () => watch.log.includes(`${addressOf(other)}  MEMBER_STATE_LOST`), { needs });
  });

  it('shows the token over TLS, and ends with one line when something is wrong', async () => {
    const authority = await TestAuthority.create();
    const { cert, key } = await authority.issue();
    const file = (name: string, text: string): string => {
      const path = join(scratchFolder(), name);
      writeFileSync(path, text);
      return path;
    };
    const token = file('token', '# of the operators\nthe-token-of-this-test-1\n');
    const tls = ['--tls-cert', file('server.crt', cert), '--tls-key', file('server.key', key)];
    const port = await freePort();
    const listens = ['--listen', `127.0.0.1:${port}`, '--http-listen', `127.0.0.1:${await freePort()}`];
    const args = ['sidecar', ...DECLARED, '--worker-id', 'w-tls', ...listens, ...tls, '--token-file', token];
    const secured = forThisTest(startKvAccord('w-tls', args));
    await until('the sidecar', () => secured.log.includes('Serving gRPC'), { needs: [secured] });
    const sockets = new Set<Socket>();
    const silent = createServer((socket) => void sockets.add(socket)).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
      silent.close();
    });
    const target = `localhost:${port}`;
    const ca = ['--tls-ca', file('ca.crt', authority.pem)];
    const deaf = `127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const [good, refused, absent, mute, other, plaintext] = await Promise.all([
      runClient('capabilities', target, ...ca, '--token-file', token),
      runClient('capabilities', target, ...ca),
      runClient('watch', '127.0.0.1:1'),
      runClient('capabilities', deaf, '--timeout', '1'),
      runClient('watch', addressOf(worker)),
      runClient('capabilities', 'worker-0.example:50061'),
    ]);
    expect(good).toMatchObject({ status: 0, stdout: expect.stringContaining('w-tls') });
    expect(refused).toMatchObject({ status: 1, stdout: '' });
    expect(refused.stderr).toMatch(/^client\.py: \S+ does not accept this client: .*--token-file\n$/);
    expect(absent).toMatchObject({ status: 1, stdout: '' });
    expect(absent.stderr).toMatch(/^client\.py: 127\.0\.0\.1:1 is unavailable: .*\n$/);
    expect(mute).toMatchObject({ status: 1, stdout: '' });
    expect(mute.stderr).toBe(`client.py: ${deaf} said nothing for 1 s\n`);
    expect(other).toMatchObject({ status: 1, stdout: '' });
    expect(other.stderr).toContain('does not serve kvaccord.v1.Fleet; it serves grpc.health.v1.Health');
    expect(plaintext).toMatchObject({ status: 2, stdout: '' });
    expect(plaintext.stderr).toContain('set --tls-ca, or --insecure for plaintext');
  });
});
