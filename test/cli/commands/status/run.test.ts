import { createServer, type Server as TcpServer } from 'node:net';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import type { CapabilityReport } from '../../../../src/gen/kvaccord/v1/capabilities.js';
import { CapabilitiesService } from '../../../../src/gen/kvaccord/v1/capabilities.js';
import { FleetService } from '../../../../src/gen/kvaccord/v1/fleet.js';
import { TestAuthority, TestFolder } from '../../../edge/rpc/certificates.js';
import { CliProcess, type CliTerminal } from '../../../support/cli-process.js';
import { OpenThings } from '../../../support/open-things.js';
import { makeWireReport } from '../../../support/reports.js';

const open = new OpenThings();
afterEach(() => open.close());

function begin(args: readonly string[], terminal?: CliTerminal): CliProcess {
  const cli = new CliProcess(['status', ...args], terminal);
  open.add(() => cli.stop());
  return cli;
}

async function run(args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const cli = begin(args);
  const code = await cli.ended;
  return { code, stdout: cli.stdout.text, stderr: cli.stderr.text };
}

/** A gRPC server on a free port; resolves with its address. */
async function serve(
  fill: (server: Server) => void,
  host = '127.0.0.1',
  credentials = ServerCredentials.createInsecure(),
): Promise<string> {
  const server = new Server();
  fill(server);
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync(`${host}:0`, credentials, (error, bound) => (error ? reject(error) : resolve(bound))),
  );
  open.add(() => server.forceShutdown());
  return `${host}:${port}`;
}

/** A sidecar that answers `GetCapabilities` with any report. */
function serveReport(report: CapabilityReport): (server: Server) => void {
  return (server) =>
    server.addService(CapabilitiesService, {
      getCapabilities: (_: unknown, callback: (error: null, response: unknown) => void) =>
        callback(null, { report }),
    });
}

/** Something that listens and treats every connection as asked. */
async function listen(onConnection: Parameters<typeof createServer>[1]): Promise<string> {
  const server: TcpServer = createServer(onConnection);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.add(() => server.close());
  return `127.0.0.1:${(server.address() as { port: number }).port}`;
}

describe('status of an aggregator', () => {
  it('is a table of its workers under what they agreed', async () => {
    const [a, b] = [await open.sidecar('a'), await open.sidecar('b')];
    const aggregator = await open.aggregator([a, b]);
    await aggregator.untilGate(true);
    const { code, stdout, stderr } = await run([aggregator.grpc]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const [head, titles, ...rows] = stdout.trimEnd().split('\n');
    expect(head).toBe('tiny: gate open, 32 tokens per block (agreed), epoch 1, ready, routing load_only');
    expect(titles).toMatch(/^WORKER +STATE +TOKENS\/BLOCK +FROM +ENGINE +GPUS +REQUESTS +CACHE VIEW +WHY$/);
    expect(rows).toHaveLength(2);
    for (const [index, name] of [`a (${a.address})`, `b (${b.address})`].entries()) {
      expect(rows[index]).toMatch(/ conforming +32 +engine_metrics +vLLM 0\.32\.0 +- +yes +(-|none)( |$)/);
      expect(rows[index]?.startsWith(`${name} `)).toBe(true);
    }
  });

  it('names each worker behind a conflict, and those that are missing', async () => {
    const sidecars = [
      await open.sidecar('a'),
      await open.sidecar('b', { size: 64 }),
      await open.sidecar('c', {}, { mode: 'hang_up' }),
    ];
    const aggregator = await open.aggregator(sidecars);
    await aggregator.untilView(({ groups }) => groups[0]?.state === 'conflict');
    const { code, stdout } = await run([aggregator.grpc]);
    expect(code).toBe(0);
    expect(stdout).toContain('tiny: gate shut, conflict');
    const [a, b, c] = sidecars.map(({ address }) => address);
    for (const name of [`a (${a})`, `b (${b})`, c]) expect(stdout).toContain(`\n${name} `);
  });

  it('says why there is no model yet', async () => {
    const aggregator = await open.aggregator([await open.sidecar('a', {}, { mode: 'silent' })]);
    await aggregator.untilView(({ unassigned }) => unassigned.length === 1);
    const { code, stdout } = await run([aggregator.grpc]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^No model yet: gate shut, collecting\n {2}waiting for 1 of 1 worker/);
  });

  it('is JSON for programs, with the reports', async () => {
    const aggregator = await open.aggregator([await open.sidecar('a')]);
    await aggregator.untilGate(true);
    const { stdout } = await run([aggregator.grpc, '--json']);
    expect(JSON.parse(stdout)).toMatchObject({
      agreements: [{ group: 'tiny', gateOpen: true, contract: { tokensPerBlock: 32 } }],
      workers: [{ group: 'tiny', report: { workerId: 'a' } }],
    });
  });

  it('is shown under each model when there are several', async () => {
    const aggregator = await open.aggregator([
      await open.sidecar('a', { model: 'llama' }),
      await open.sidecar('b', { model: 'qwen', size: 64 }),
    ]);
    await aggregator.untilView(({ groups }) => groups.filter(({ gateOpen }) => gateOpen).length === 2);
    const { stdout } = await run([aggregator.grpc]);
    expect(stdout).toContain('llama: gate open, 32 tokens per block');
    expect(stdout).toContain('\n\nqwen: gate open, 64 tokens per block');
  });
});

describe('status of a sidecar', () => {
  it('is its report as a table', async () => {
    const address = await serve(serveReport(makeWireReport('w-7', { declares: 16 })));
    const { code, stdout } = await run([address]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^worker +w-7$/m);
    expect(stdout).toMatch(/^tokens per block +32$/m);
    expect(stdout).toMatch(/^evidence +engine_metrics, GET http/m);
    expect(stdout).toMatch(
      /^conflict: contract\.tokens_per_block is 32 \(engine_metrics\), but declared says 16$/m,
    );
  });

  it('is its report as JSON for programs', async () => {
    const address = await serve(serveReport(makeWireReport('w-7')));
    const { stdout } = await run(['--json', address]);
    expect(JSON.parse(stdout)).toMatchObject({
      report: { workerId: 'w-7', contract: { tokensPerBlock: 32 } },
    });
  });

  it('works over IPv6', async () => {
    const { code, stdout } = await run([await serve(serveReport(makeWireReport('six')), '[::1]')]);
    expect(code).toBe(0);
    expect(stdout).toContain('six');
  });

  it('works over TLS, and names a certificate of a stranger', async () => {
    const folder = new TestFolder();
    const authority = await TestAuthority.create();
    const { cert, key } = await authority.issue();
    const credentials = ServerCredentials.createSsl(null, [
      { cert_chain: Buffer.from(cert), private_key: Buffer.from(key) },
    ]);
    const address = await serve(serveReport(makeWireReport('w-tls')), '127.0.0.1', credentials);
    const known = folder.write('ca.crt', authority.pem);
    expect(await run([address, '--tls-ca', known])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('w-tls'),
    });
    const other = folder.write('other.crt', (await TestAuthority.create()).pem);
    expect(await run([address, '--tls-ca', other])).toMatchObject({
      code: 5,
      stderr: expect.stringMatching(/^kv-accord status: .*not signed by a CA that we know.*\n$/),
    });
    expect(await run([address])).toMatchObject({ code: 5, stderr: expect.stringContaining('TLS') });
  });

  it('lets neither escape sequences nor line feeds of a worker through', async () => {
    const evil = makeWireReport('w\nworker \u001b[2Jfake\u0007\u009b1m\u202e', {
      model: '\u001b]0;owned\u0007',
    });
    const report = { ...evil, warnings: ['first\nworker  liar\u001b[1A'] };
    const { stdout } = await run([await serve(serveReport(report))]);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these must not be there.
    expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
    // The worker's own line, that of its instance, and the warning.
    expect(stdout.split('\n').filter((line) => line.includes('worker'))).toHaveLength(3);
  });
});

describe('status --watch', () => {
  it('shows every change and nothing twice, and ends with 0 by a signal', async () => {
    const sidecar = await open.sidecar('a');
    const aggregator = await open.aggregator([sidecar]);
    await aggregator.untilGate(true);
    const cli = begin([aggregator.grpc, '--watch']);
    await cli.stdout.until((text) => text.includes('32 tokens per block'));
    sidecar.setReport(makeWireReport('a', { size: 64, instance: 'a-2' }));
    await cli.stdout.until((text) => text.includes('64 tokens per block'));
    expect(await cli.stop('SIGINT')).toBe(0);
    const looks = cli.stdout.text.split(/(?=^tiny: )/m);
    expect(new Set(looks).size).toBe(looks.length);
    expect(cli.stderr.text).toBe('');
  });

  it('clears the terminal for each, and shows there that nobody answers any more', async () => {
    const aggregator = await open.aggregator([await open.sidecar('a')]);
    await aggregator.untilGate(true);
    const cli = begin([aggregator.grpc, '--watch'], { isTerminal: true, columns: 80 });
    await cli.stdout.until((text) => text.startsWith('\u001b[2J\u001b[Htiny: gate open'));
    await aggregator.stop();
    await cli.stdout.until((text) =>
      text.includes(`\u001b[2J\u001b[Hkv-accord status: ${aggregator.grpc}: `),
    );
    expect(await cli.stop()).toBe(0);
  });

  it('shows as many lines as the terminal has, and counts the rest', async () => {
    const sidecars = await Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map((id) => open.sidecar(id)));
    const aggregator = await open.aggregator(sidecars);
    await aggregator.untilGate(true);
    const cli = begin([aggregator.grpc, '--watch'], { isTerminal: true, columns: 60, rows: 7 });
    await cli.stdout.until((text) => text.includes('more lines: kv-accord status shows all\n'));
    expect(await cli.stop()).toBe(0);
    for (const look of cli.stdout.text.split('\u001b[2J\u001b[H').slice(1)) {
      expect(look.split('\n').length).toBeLessThanOrEqual(7);
      for (const line of look.split('\n')) expect(line.length).toBeLessThanOrEqual(60);
    }
  });

  it('keeps standard output data: problems go to standard error, and it goes on', async () => {
    const sidecar = await open.sidecar('a');
    const aggregator = await open.aggregator([sidecar]);
    await aggregator.untilGate(true);
    const cli = begin([aggregator.grpc, '--watch', '--json']);
    await cli.stdout.until((text) => text !== '');
    await aggregator.stop();
    await cli.stderr.until((text) => text.includes('kv-accord status: '));
    sidecar.setReportSilently(makeWireReport('a', { size: 64, instance: 'a-2' }));
    const again = await open.aggregator([sidecar], {}, { listen: aggregator.addresses?.grpc });
    await again.untilGate(true);
    await cli.stdout.until((text) => text.includes('"tokensPerBlock":64'));
    await cli.stop();
    for (const line of cli.stdout.text.trimEnd().split('\n')) JSON.parse(line);
  });
});

describe('status of what is neither', () => {
  it.each([
    ['nothing', '127.0.0.1:1', 5, 'nothing listens there'],
    ['an address beyond this machine in plaintext', '192.0.2.1:50060', 2, '--insecure'],
    ['a name beyond this machine in plaintext', 'nobody.invalid:1', 2, '--insecure'],
  ])('says so of %s', async (_, address, exitCode, words) => {
    const { code, stdout, stderr } = await run([address]);
    expect({ code, stdout }).toEqual({ code: exitCode, stdout: '' });
    expect(stderr).toMatch(/^kv-accord status: .*\n$/);
    expect(stderr).toContain(words);
  });

  it('says so of another gRPC server', async () => {
    const { code, stderr } = await run([await serve(() => undefined)]);
    expect(code).toBe(5);
    expect(stderr).toContain('is neither a kv-accord aggregator nor a sidecar');
  });

  it('says so of a web server', async () => {
    const address = await listen((socket) => {
      socket.on('error', () => undefined).end('HTTP/1.1 400 Bad Request\r\n\r\n');
    });
    const { code, stderr } = await run([address]);
    expect(code).toBe(5);
    expect(stderr).toContain('does not speak plaintext HTTP/2');
  });

  it('waits for a black hole no longer than --timeout', async () => {
    const address = await listen((socket) => {
      open.add(() => socket.destroy());
      socket.on('error', () => undefined).resume();
    });
    const { code, stderr } = await run([address, '--timeout', '300ms']);
    expect(code).toBe(5);
    expect(stderr).toContain('said nothing of HTTP/2 for 0.3 s');
  });

  it('waits for an answer no longer than --timeout', async () => {
    const address = await serve((server) =>
      server.addService(FleetService, { listWorkers: () => undefined }),
    );
    const { code, stderr } = await run([address, '--timeout', '300ms']);
    expect(code).toBe(5);
    expect(stderr).toContain('did not answer within 0.3 s (--timeout)');
  });

  it.each(['nonsense', '127.0.0.1', '127.0.0.1:0', '::1:5', 'x:99999', 'a b:1\u001b[2J'])(
    'refuses the address %j with one line and code 2',
    async (address) => {
      const { code, stderr } = await run([address]);
      expect(code).toBe(2);
      expect(stderr).toMatch(/^kv-accord status: ".*" \(on the command line\): must be HOST:PORT.*\n$/);
      expect(stderr).not.toContain('\u001b');
    },
  );

  it('ends by a signal with 128+n while it still asks', async () => {
    let connected = (): void => undefined;
    const reached = new Promise<void>((resolve) => {
      connected = resolve;
    });
    const address = await listen((socket) => {
      open.add(() => socket.destroy());
      socket.on('error', () => undefined);
      connected();
    });
    const cli = begin([address]);
    await reached;
    expect(await cli.stop('SIGTERM')).toBe(143);
    expect(cli.stdout.text).toBe('');
  });
});
