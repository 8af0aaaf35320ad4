import { createServer } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { CliProcess } from '../../../support/cli-process.js';
import { OpenThings, workersOf } from '../../../support/open-things.js';
import { makeWireReport } from '../../../support/reports.js';

const open = new OpenThings();
afterEach(() => open.close());

const FREE_PORTS = ['--listen', '127.0.0.1:0', '--http-listen', '127.0.0.1:0'];

function begin(args: readonly string[]): CliProcess {
  const cli = new CliProcess(['aggregator', ...args]);
  open.add(() => cli.stop());
  return cli;
}

/** The addresses that a started aggregator has logged. */
async function addressesOf(cli: CliProcess): Promise<{ readonly grpc: string; readonly http: string }> {
  await cli.log.until((text) => text.includes('watches'));
  const line = cli.log.text.split('\n').find((text) => text.includes('watches')) ?? '{}';
  return JSON.parse(line);
}

describe('aggregator', () => {
  it('logs where it serves, says yes once all agree, and ends by a signal with 0 and nothing open', async () => {
    const sidecar = await open.sidecar('a');
    const cli = begin([...workersOf(sidecar), ...FREE_PORTS]);
    const { grpc, http } = await addressesOf(cli);
    await cli.log.until((text) => text.includes('Auto-configured KV block size to 32'));
    expect((await fetch(`http://${http}/readyz`)).status).toBe(200);
    const wait = new CliProcess(['wait', '--aggregator', grpc]);
    expect(await wait.ended).toBe(0);
    expect(await cli.stop('SIGTERM')).toBe(0);
    await sidecar.until(() => sidecar.openConnections === 0);
    await expect(fetch(`http://${http}/readyz`)).rejects.toThrow();
    expect(cli.stderr.text).toBe('');
  });

  it('--on-change refuse: ends with the code of a conflict when the majority changes', async () => {
    const all = [await open.sidecar('a'), await open.sidecar('b'), await open.sidecar('c')];
    const cli = begin([...workersOf(...all), ...FREE_PORTS, '--on-change', 'refuse', '--settle', '100ms']);
    await cli.log.until((text) => text.includes('Auto-configured'));
    for (const [index, sidecar] of all.slice(0, 2).entries()) {
      sidecar.setReport(makeWireReport(`new-${index}`, { size: 64 }));
    }
    expect(await cli.ended).toBe(4);
    expect(cli.log.text).toContain('"change_refused"');
  });

  it.each(['--listen', '--http-listen'])(
    'refuses a port of %s that is taken in one line, with code 2',
    async (flag) => {
      const taken = createServer();
      await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
      open.add(() => taken.close());
      const { port } = taken.address() as { port: number };
      const sidecar = await open.sidecar('a');
      const cli = begin([...workersOf(sidecar), ...FREE_PORTS, flag, `127.0.0.1:${port}`]);
      expect(await cli.ended).toBe(2);
      expect(cli.stderr.text).toMatch(
        new RegExp(`^kv-accord aggregator: ${flag}: .*127\\.0\\.0\\.1:${port}.*\\n$`),
      );
      expect(sidecar.connectionsSeen).toBe(0);
    },
  );

  it.each([
    [[], /--workers .*must be given/],
    [['--workers', '10.9.8.7:50061'], /--workers "10\.9\.8\.7:50061".*--insecure/],
    [['--workers', '127.0.0.1:1', '--listen', '0.0.0.0:0'], /--listen "0\.0\.0\.0:0".*--insecure/],
    [['--workers', '127.0.0.1:1', '--kv-cache-block-size', '0'], /--kv-cache-block-size "0"/],
    [['--workers', '127.0.0.1:1', '--on-chagne', 'refuse'], /--on-change/],
  ])('refuses %j in one line, with code 2', async (args, line) => {
    const cli = begin(args);
    expect(await cli.ended).toBe(2);
    expect(cli.stderr.text).toMatch(line);
    expect(cli.stderr.text.trimEnd().split('\n')).toHaveLength(1);
    expect(cli.log.text).toBe('');
  });
});
