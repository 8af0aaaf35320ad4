import { afterEach, describe, expect, it } from 'vitest';
import { CliProcess } from '../../../support/cli-process.js';
import { say } from '../../../support/kv-events.js';
import { OpenThings, workersOf } from '../../../support/open-things.js';
import { batchOf, FakePublisher, stored } from '../../../worker/kv-events/support/fake-publisher.js';

const open = new OpenThings();
afterEach(() => open.close());

const FREE_PORTS = ['--listen', '127.0.0.1:0', '--http-listen', '127.0.0.1:0'];

function begin(args: readonly string[]): CliProcess {
  const cli = new CliProcess(['aggregator', ...FREE_PORTS, ...args]);
  open.add(() => cli.stop());
  return cli;
}

describe('aggregator with an index', () => {
  it('reads engines beside sidecars, and ends with nothing open', async () => {
    const engine = await FakePublisher.start();
    open.add(() => engine.stop());
    await engine.publish(batchOf(stored(10)));
    const kvEvents = () => [say.start(), say.part([1], 0, 'device', 4), say.end()];
    const sidecar = await open.sidecar('w-1', { size: 4 }, { kvEvents });
    const { endpoint, replayEndpoint = '' } = engine;
    const cli = begin([
      ...workersOf(sidecar),
      ...['--kv-event-sources', `direct=${endpoint}`, '--kv-replay-sources', `direct=${replayEndpoint}`],
      ...['--model', 'tiny'],
    ]);
    await cli.log.until((text) => text.includes('is now exact'));
    expect(await cli.stop('SIGTERM')).toBe(0);
    await sidecar.until(() => sidecar.openConnections === 0);
  });

  it('takes from a sidecar what its engine publishes, and is exact again after the sidecar was restarted', async () => {
    const engine = await FakePublisher.start();
    open.add(() => engine.stop());
    await engine.publish(batchOf(stored(10), stored(20, 10)));
    const { endpoint, replayEndpoint = '' } = engine;
    const about = ['--engine', 'none', '--model', 'tiny', '--tokens-per-block', '4', '--worker-id', 'w-1'];
    const events = ['--kv-event-sources', endpoint, '--kv-replay-sources', replayEndpoint];
    const sidecarAt = (listen: string): CliProcess => {
      const made = new CliProcess([
        'sidecar',
        ...about,
        ...events,
        '--listen',
        listen,
        '--http-listen',
        '127.0.0.1:0',
      ]);
      open.add(() => made.stop());
      return made;
    };
    const first = sidecarAt('127.0.0.1:0');
    await first.stdout.until((text) => text.includes('gRPC on'));
    const address = /gRPC on (\S+),/.exec(first.stdout.text)?.[1] ?? '';
    const cli = begin(['--workers', address]);
    await cli.log.until((text) => text.includes('watches'));
    const line = cli.log.text.split('\n').find((text) => text.includes('watches')) ?? '{}';
    const { grpc } = JSON.parse(line) as { grpc: string };
    const held = async (): Promise<string> => {
      const status = new CliProcess(['status', '--index', grpc]);
      await status.ended;
      return status.stdout.text.split('\n')[2]?.replace(/ +/g, ' ') ?? '';
    };
    await expect.poll(held, { timeout: 10_000 }).toBe(`w-1 (${address}) 0 exact 2 0 0 0`);
    await first.stop('SIGTERM');
    await engine.publish(batchOf(stored(30, 20)));
    sidecarAt(address);
    await expect.poll(held, { timeout: 20_000 }).toBe(`w-1 (${address}) 0 exact 3 0 0 0`);
  }, 40_000);

  it('guesses without KV events, and says so', async () => {
    const sidecar = await open.sidecar('w-1');
    const cli = begin([...workersOf(sidecar), '--no-kv-events', '--router-ttl-secs', '60']);
    await cli.log.until((text) => text.includes('is now approximate'));
    expect(sidecar.subscriptionRequests).toEqual([]);
  });

  it.each<readonly [readonly string[], string]>([
    [[], '--workers (not set)'],
    [['--kv-event-sources', 'w-1=tcp://h:1'], 'must be given with --kv-event-sources'],
    [['--kv-event-sources', 'tcp://h:1', '--model', 'm'], 'WORKER=tcp://HOST:PORT'],
    [['--kv-event-sources', 'w-1=h:1', '--model', 'm'], 'WORKER=tcp://HOST:PORT'],
    [['--kv-event-sources', 'a=tcp://h:1,b=tcp://h:1', '--model', 'm'], 'names each URL once'],
    [['--kv-event-sources', 'a=tcp://h:1', '--kv-replay-sources', 'b=tcp://h:2', '--model', 'm'], '"b"'],
    [
      ['--kv-event-sources', 'a=tcp://h:1,tcp://h:2', '--kv-replay-sources', 'a=tcp://h:3', '--model', 'm'],
      'as many for a as its --kv-event-sources: 2',
    ],
    [
      ['--kv-event-sources', 'a=tcp://h:1', '--kv-replay-sources', 'a=@tcp://h:3', '--model', 'm'],
      'without @',
    ],
    [['--kv-event-sources', 'a=tcp://h:1', '--no-kv-events', '--model', 'm'], 'left out with --no-kv-events'],
    [['--workers', '127.0.0.1:1', '--router-prune-target-ratio', '1.5'], 'above 0 and at most 1'],
    [['--workers', '127.0.0.1:1', '--router-prune-target-ratio', '0'], 'above 0 and at most 1'],
  ])('refuses %j with one line and code 2', async (args, words) => {
    const cli = begin(args);
    expect(await cli.ended).toBe(2);
    expect(cli.stderr.text).toContain(words);
    expect(cli.stderr.text.trim().split('\n')).toHaveLength(1);
  });
});
