import { afterEach, describe, expect, it } from 'vitest';
import { batchOf, FakePublisher, stored } from '../kv-events/support/fake-publisher.js';
import { CliProcess } from '../support/cli-process.js';
import { say } from '../support/kv-events.js';
import { OpenThings, workersOf } from '../support/open-things.js';

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
