import { afterEach, describe, expect, it } from 'vitest';
import { type CapabilityReport, Completeness_State } from '../../../../src/gen/kvaccord/v1/capabilities.js';
import { CliProcess, type CliTerminal } from '../../../support/cli-process.js';
import { OpenThings, workersOf } from '../../../support/open-things.js';
import { freePort } from '../../../support/ports.js';
import { makeWireReport } from '../../../support/reports.js';

const open = new OpenThings();
afterEach(() => open.close());

/** Colours and a turn of the writing, in characters that a name may well have. */
const EVIL = '\u009b31m\u202e';

/** Begins `kv-accord wait`; it is ended after the test if it still runs. */
function begin(args: readonly string[], terminal?: CliTerminal): CliProcess {
  const cli = new CliProcess(['wait', ...args], terminal);
  open.add(() => cli.stop());
  return cli;
}

async function run(
  args: readonly string[],
  terminal?: CliTerminal,
): Promise<{ code: number; stdout: string; stderr: string; log: string }> {
  const cli = begin(args, terminal);
  const code = await cli.ended;
  return { code, stdout: cli.stdout.text, stderr: cli.stderr.text, log: cli.log.text };
}

/** The report with `origin` as the place where its values were found. */
function withOrigin(report: CapabilityReport, origin: string): CapabilityReport {
  return { ...report, evidence: report.evidence.map((evidence) => ({ ...evidence, origin })) };
}

describe('wait, asking the workers', () => {
  it('prints the size alone and ends with 0 once all agree', async () => {
    const sidecars = [await open.sidecar('a'), await open.sidecar('b')];
    const { code, stdout, stderr } = await run(workersOf(...sidecars));
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: '32\n', stderr: '' });
    for (const sidecar of sidecars) await sidecar.until(() => sidecar.openConnections === 0);
  });

  it('says nothing of caches, which it does not need: the gate is all that it waits for', async () => {
    const { code, stderr, log } = await run([...workersOf(await open.sidecar('a')), '--log-level', 'info']);
    expect(code).toBe(0);
    expect(`${stderr}${log}`).not.toMatch(/cache|picture|routing mode/i);
  });

  it('prints the same as JSON', async () => {
    const { code, stdout } = await run([...workersOf(await open.sidecar('a', { size: 64 })), '--json']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ outcome: 'agreed', tokens_per_block: 64, exit_code: 0 });
  });

  it('ends with 3 when time is up while one is missing, and names it', async () => {
    const [here, gone] = [await open.sidecar('a'), await open.sidecar('b', {}, { mode: 'hang_up' })];
    const { code, stdout, stderr } = await run([...workersOf(here, gone), '--timeout', '400ms']);
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
    expect(stderr).toMatch(/^kv-accord wait: timed out after 0\.4 s: waiting for 1 of 2 workers: /);
    expect(stderr).toContain(gone.address);
  });

  it('ends with 4 immediately when the workers contradict each other, and says what to change', async () => {
    const [a, b] = [await open.sidecar('a'), await open.sidecar('b', { size: 64 })];
    const { code, stdout, stderr } = await run([...workersOf(a, b), '--timeout', '1h']);
    expect({ code, stdout }).toEqual({ code: 4, stdout: '' });
    for (const word of ['disagree', '32', '64', a.address, b.address]) expect(stderr).toContain(word);
  });

  it('prints a conflict as JSON with the same text', async () => {
    const sidecars = [await open.sidecar('a'), await open.sidecar('b', { size: 64 })];
    const { code, stdout } = await run([...workersOf(...sidecars), '--json']);
    expect(code).toBe(4);
    expect(JSON.parse(stdout)).toEqual({
      outcome: 'conflict',
      tokens_per_block: null,
      exit_code: 4,
      text: expect.stringContaining('disagree'),
    });
  });

  it('ends with 5 when nobody can be reached, and says why', async () => {
    const address = `127.0.0.1:${await freePort()}`;
    const { code, stderr } = await run(['--workers', address, '--timeout', '400ms']);
    expect(code).toBe(5);
    expect(stderr).toMatch(/^kv-accord wait: nobody could be reached after 0\.4 s: /);
    expect(stderr).toContain(`${address} (`);
    expect(stderr).toContain('nothing listens there');
  });

  it('ends with 5 when the name of the fleet does not resolve', async () => {
    const { code, stderr } = await run(['--workers', 'dns:///nobody.invalid:50061', '--timeout', '400ms']);
    expect(code).toBe(5);
    expect(stderr).toContain('nobody.invalid');
  });

  it.each([
    [['--workers', 'nonsense'], /^kv-accord wait: --workers "nonsense"/],
    [['--workers', 'etcd:///x:1'], /^kv-accord wait: --workers "etcd:/],
    [[], /--workers.*must be given/],
    [['--workers', '10.9.8.7:50061'], /--workers "10\.9\.8\.7:50061".*--insecure/],
    [['--aggregator', '10.9.8.7:50060'], /--aggregator "10\.9\.8\.7:50060".*--insecure/],
    [['--aggregator', '127.0.0.1:1', '--workers', '127.0.0.1:2'], /--workers.*left out/],
    [['--workers', '127.0.0.1:1', 'more'], /"more" \(on the command line\): must be left out/],
    [['--workers', '127.0.0.1:1', '--timeout', '5'], /--timeout "5"/],
  ])('refuses %j with one line and code 2', async (args, line) => {
    const { code, stdout, stderr } = await run(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(line);
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
  });

  it.each([
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const)('ends by %s with %i, leaving no connection', async (signal, code) => {
    const waiting = await open.sidecar('a', {}, { mode: 'silent' });
    const cli = begin(workersOf(waiting));
    await waiting.until(() => waiting.openWatches === 1);
    expect(await cli.stop(signal)).toBe(code);
    await waiting.until(() => waiting.openConnections === 0);
    expect(cli.stderr.text).toBe('');
  });

  it('uses an override whatever they report, and warns', async () => {
    const sidecars = [await open.sidecar('a'), await open.sidecar('b', { size: 64 })];
    const { code, stdout, log } = await run([...workersOf(...sidecars), '--kv-cache-block-size', '16']);
    expect({ code, stdout }).toEqual({ code: 0, stdout: '16\n' });
    expect(log).toMatch(/"level":"warn".*reports 32 .*the explicit override is 16/);
  });

  it('goes on without those that are missing when it may', async () => {
    const [here, gone] = [await open.sidecar('a'), await open.sidecar('b', {}, { mode: 'hang_up' })];
    const missing = ['--on-missing', 'proceed', '--collect-timeout', '1s'];
    const { code, stdout } = await run([...workersOf(here, gone), ...missing]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: '32\n' });
  });

  it('asks for --group when models differ, and answers for the one that is named', async () => {
    const a = await open.sidecar('a', { model: 'llama', size: 16 });
    const b = await open.sidecar('b', { model: 'qwen', size: 32 });
    const all = await run(workersOf(a, b));
    expect(all).toMatchObject({ code: 4, stderr: expect.stringContaining('--group') });
    const one = await run([...workersOf(a, b), '--group', 'qwen']);
    expect(one).toMatchObject({ code: 0, stdout: '32\n' });
    const none = await run([...workersOf(a, b), '--group', 'mistral', '--timeout', '400ms']);
    expect(none).toMatchObject({ code: 3, stderr: expect.stringContaining('llama, qwen') });
  });

  it('V5: holds back where the frontend goes by declarations that are wrong', async () => {
    const a = await open.sidecar('a');
    a.setReportSilently(makeWireReport('a', { size: 32, declares: 16 }));
    expect(await run(workersOf(a))).toMatchObject({ code: 0, stdout: '32\n' });
    const { code, stderr } = await run([...workersOf(a), '--frontend-uses', 'declared']);
    expect(code).toBe(4);
    expect(stderr).toContain('declares 16');
  });
});

describe('wait on a terminal', () => {
  it('shows in one line who has reported what and who is missing, and takes it away at the end', async () => {
    const [here, late] = [await open.sidecar('a'), await open.sidecar('b', {}, { mode: 'black_hole' })];
    const cli = begin(workersOf(here, late), { isTerminal: true, columns: 200 });
    await cli.stderr.until(
      (text) => text.includes(`a (${here.address}): 32`) && text.includes('waiting for 1 of 2'),
    );
    const line = cli.stderr.text.split('\r').findLast((part) => part.includes('waiting for 1 of 2'));
    expect(line).toContain(`a (${here.address}): 32`);
    expect(line).toContain(late.address);
    late.release();
    expect(await cli.ended).toBe(0);
    expect(cli.stderr.text.endsWith('\r\u001b[2K')).toBe(true);
    expect(cli.stdout.text).toBe('32\n');
  });

  it('shortens the line to the columns, so that it never wraps', async () => {
    const sidecars = [await open.sidecar('a'), await open.sidecar('b', {}, { mode: 'silent' })];
    const cli = begin(workersOf(...sidecars), { isTerminal: true, columns: 40 });
    await cli.stderr.until((text) => text.includes(': 32'));
    await cli.stop();
    const lines = cli.stderr.text.replaceAll('\u001b[2K', '\r').split('\r');
    expect(Math.max(...lines.map(({ length }) => length))).toBe(39);
  });

  it('draws nothing elsewhere', async () => {
    const cli = begin([...workersOf(await open.sidecar('a', {}, { mode: 'silent' })), '--timeout', '300ms']);
    await cli.ended;
    expect(cli.stderr.text).not.toContain('\u001b');
    expect(cli.stderr.text).not.toContain('\r');
  });

  it.each([
    [
      'while it waits',
      3,
      {
        ...makeWireReport('a'),
        completeness: { state: Completeness_State.INCOMPLETE, reasons: [`owned ${EVIL}`] },
      },
    ],
    ['of a conflict', 4, withOrigin(makeWireReport('a', { size: 64 }), `owned ${EVIL}`)],
  ])('lets no escape sequence of a worker reach it %s', async (_, code, report) => {
    const one = await open.sidecar('a');
    one.setReportSilently(report);
    const other = await open.sidecar('b');
    const args = [...workersOf(one, other), '--timeout', '300ms', '--log-level', 'error'];
    const cli = begin(args, { isTerminal: true, columns: 500 });
    expect(await cli.ended).toBe(code);
    const own = cli.stderr.text.replaceAll('\u001b[2K', '').replaceAll('\r', '');
    expect(own).toContain('owned');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these must not be there.
    expect(own).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
  });
});

describe('wait, asking an aggregator', () => {
  it('prints what it has agreed', async () => {
    const aggregator = await open.aggregator([await open.sidecar('a')]);
    const { code, stdout } = await run(['--aggregator', aggregator.grpc]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: '32\n' });
  });

  it('waits with it, and ends when it agrees', async () => {
    const sidecar = await open.sidecar('a', {}, { mode: 'silent' });
    const aggregator = await open.aggregator([sidecar]);
    const cli = begin(['--aggregator', aggregator.grpc], { isTerminal: true, columns: 120 });
    await cli.stderr.until((text) => text.includes('waiting for 1 of 1'));
    await sidecar.until(() => sidecar.openWatches === 1);
    sidecar.setReport(makeWireReport('a'));
    expect(await cli.ended).toBe(0);
    expect(cli.stdout.text).toBe('32\n');
  });

  it('ends with 4 on its conflict', async () => {
    const aggregator = await open.aggregator([
      await open.sidecar('a'),
      await open.sidecar('b', { size: 64 }),
    ]);
    const { code, stderr } = await run(['--aggregator', aggregator.grpc]);
    expect(code).toBe(4);
    expect(stderr).toContain('disagree');
  });

  it('goes on when the aggregator is restarted meanwhile', async () => {
    const sidecar = await open.sidecar('a', {}, { mode: 'silent' });
    const first = await open.aggregator([sidecar]);
    const cli = begin(['--aggregator', first.grpc], { isTerminal: true, columns: 120 });
    await cli.stderr.until((text) => text.includes('waiting for 1 of 1'));
    await first.stop();
    await cli.log.until((text) => text.includes('Cannot follow the aggregator'));
    sidecar.mode = 'serve';
    await open.aggregator([sidecar], {}, { listen: first.addresses?.grpc });
    expect(await cli.ended).toBe(0);
    expect(cli.stdout.text).toBe('32\n');
  });

  it('ends with 5 when it cannot be reached', async () => {
    const { code, stderr, log } = await run([
      '--aggregator',
      `127.0.0.1:${await freePort()}`,
      '--timeout',
      '500ms',
    ]);
    expect(code).toBe(5);
    expect(stderr).toContain('nothing listens there');
    expect(log.match(/Cannot follow the aggregator/g)).toHaveLength(1);
  });

  it('refuses a sidecar immediately: it is no aggregator', async () => {
    const sidecar = await open.sidecar('a');
    const { code, stderr } = await run(['--aggregator', sidecar.address]);
    expect(code).toBe(2);
    expect(stderr).toContain(`${sidecar.address}: answers gRPC but is not a kv-accord aggregator`);
  });

  it('asks immediately for --group when it serves several models, and follows the one that is named', async () => {
    const aggregator = await open.aggregator([
      await open.sidecar('a', { model: 'llama' }),
      await open.sidecar('b', { model: 'qwen', size: 64 }),
    ]);
    await aggregator.untilGate(true);
    const all = await run(['--aggregator', aggregator.grpc]);
    expect(all).toMatchObject({ code: 2, stderr: expect.stringMatching(/llama, qwen.*--group/) });
    const one = await run(['--aggregator', aggregator.grpc, '--group', 'qwen']);
    expect(one).toMatchObject({ code: 0, stdout: '64\n' });
    const none = await run(['--aggregator', aggregator.grpc, '--group', 'mistral', '--timeout', '500ms']);
    expect(none).toMatchObject({ code: 3, stderr: expect.stringContaining('llama, qwen') });
    expect(none.log).toBe('');
  });

  it('V5: holds back although the aggregator itself does not', async () => {
    const sidecar = await open.sidecar('a');
    sidecar.setReportSilently(makeWireReport('a', { size: 32, declares: 16 }));
    const aggregator = await open.aggregator([sidecar]);
    await aggregator.untilGate(true);
    const declared = ['--frontend-uses', 'declared'];
    const { code, stderr } = await run(['--aggregator', aggregator.grpc, ...declared]);
    expect(code).toBe(4);
    expect(stderr).toContain('declares 16');
  });
});
