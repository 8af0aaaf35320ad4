import { afterEach, describe, expect, it } from 'vitest';
import { CliProcess } from '../../../support/cli-process.js';
import { say } from '../../../support/kv-events.js';
import { OpenThings, workersOf } from '../../../support/open-things.js';

const open = new OpenThings();
afterEach(() => open.close());

const PLACES = ['--listen', '127.0.0.1:0', '--http-listen', '127.0.0.1:0'];

function begin(args: readonly string[], environment: Readonly<Record<string, string>> = {}): CliProcess {
  const cli = new CliProcess(['aggregator', ...PLACES, ...args], { environment });
  open.add(() => cli.stop());
  return cli;
}

describe('aggregator with a router', () => {
  it('serves the Router, and ends with nothing open', async () => {
    const sidecar = await open.sidecar(
      'w-1',
      {},
      { kvEvents: () => [say.start(), say.part([1]), say.end()] },
    );
    const cli = begin([...workersOf(sidecar), '--router-mode', 'round_robin', '--router-seed', '7']);
    await cli.log.until((text) => text.includes('is now exact'));
    expect(await cli.stop('SIGTERM')).toBe(0);
    await sidecar.until(() => sidecar.openConnections === 0);
  });

  it.each<readonly [readonly string[], string]>([
    [
      ['--kv-overlap-score-weight', '-1'],
      '--kv-overlap-score-weight "-1" (on the command line): must be a number from 0 to 1000000, such as 0.5',
    ],
    [
      ['--router-temperature', '-0.1'],
      '--router-temperature "-0.1" (on the command line): must be a number from 0 to 1000, such as 0.5',
    ],
    [['--router-temperature', 'NaN'], '--router-temperature "NaN"'],
    [['--kv-overlap-score-weight', 'Infinity'], '--kv-overlap-score-weight "Infinity"'],
    [['--router-host-cache-hit-weight', '1.01'], 'must be a number from 0 to 1'],
    [['--router-disk-cache-hit-weight', '0x1'], '--router-disk-cache-hit-weight "0x1"'],
    [['--router-seed', '1.5'], 'must be an integer from 0 to 4294967295'],
    [
      ['--router-mode', 'robin'],
      '--router-mode "robin" (on the command line): must be one of kv, round-robin, random, least-loaded',
    ],
    [
      ['--kv-cache-block-size', '0'],
      '--kv-cache-block-size "0" (on the command line): must be an integer from 1',
    ],
  ])('refuses %j with one line and code 2', async (args, words) => {
    const cli = begin(['--workers', '127.0.0.1:1', ...args]);
    expect(await cli.ended).toBe(2);
    expect(cli.stderr.text).toContain(words);
    expect(cli.stderr.text.trim().split('\n')).toHaveLength(1);
  });

  it.each([
    ['DYN_ROUTER_MODE', 'kvv'],
    ['DYN_ROUTER_TEMPERATURE', '-1'],
    ['DYN_KV_OVERLAP_SCORE_WEIGHT', 'nan'],
    ['DYN_ROUTER_HOST_CACHE_HIT_WEIGHT', '2'],
    ['DYN_ROUTER_DISK_CACHE_HIT_WEIGHT', '-1'],
    ['DYN_KV_CACHE_BLOCK_SIZE', '0'],
    ['KV_ACCORD_ROUTER_SEED', '-1'],
  ])('refuses %s=%s, and names it', async (name, value) => {
    const cli = begin(['--workers', '127.0.0.1:1'], { [name]: value });
    expect(await cli.ended).toBe(2);
    expect(cli.stderr.text).toContain(`"${value}" (from ${name}): must be`);
  });

  it('takes all of it from the environment, in the words of others', async () => {
    const cli = begin(['--workers', '127.0.0.1:1', '--print-config', '--json'], {
      DYN_ROUTER_MODE: 'round_robin',
      DYN_ROUTER_TEMPERATURE: '0.5',
      DYN_KV_OVERLAP_SCORE_WEIGHT: '1.5',
      DYN_ROUTER_HOST_CACHE_HIT_WEIGHT: '0',
      DYN_ROUTER_DISK_CACHE_HIT_WEIGHT: '1',
    });
    expect(await cli.ended).toBe(0);
    const settings = JSON.parse(cli.stdout.text) as Record<string, { value: unknown }>;
    expect(
      [
        'router-mode',
        'router-temperature',
        'kv-overlap-score-weight',
        'router-host-cache-hit-weight',
        'router-disk-cache-hit-weight',
      ].map((name) => settings[name]?.value),
    ).toEqual(['round-robin', 0.5, 1.5, 0, 1]);
  });
});
