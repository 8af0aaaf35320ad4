import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Publisher } from 'zeromq';
import { systemClock } from '../../src/edge/platform/clock.js';
import { packBatch } from '../../src/tools/demo/engines/msgpack.js';
import { SimulatedEngine } from '../../src/tools/demo/engines/simulated-engine.js';
import { simulatedVllm, VLLM_KV_EVENTS } from '../../src/tools/demo/engines/simulated-vllm.js';
import { repositoryFile } from '../deploy/manifests.js';
import { freePort } from '../support/ports.js';
import { type Served, startAggregatorWith, startSidecar, startSidecarOn } from './support/kv-accord.js';
import { lacks } from './support/peers.js';
import { Prometheus } from './support/prometheus.js';
import { scratchFolder } from './support/scratch.js';
import { until } from './support/until.js';

/**
 * The rules that are shipped, 150 times as fast as `for` has it: 15 minutes are 6 s. The grace time of a lost worker is
 * shortened by the same factor (30 s, 200 ms), so that an alert that rests on it for too long does not fire here either.
 */
function shortened(rules: string): string {
  return rules
    .replaceAll(/for: (\d+)m/g, (_, minutes) => `for: ${Number(minutes) * 400}ms`)
    .replaceAll('[1d]', '[1m]')
    .replaceAll(/\[\d+m\]/g, (window) => (window === '[1m]' ? window : '[10s]'))
    .replaceAll(/offset \d+m/g, 'offset 10s');
}

const FAST = ['--settle', '200ms', '--grace', '200ms', '--index-memory', '16MiB'];

describe.skipIf(lacks('prometheus'))('in a real Prometheus', () => {
  const workersFile = join(mkdtempSync(join(scratchFolder(), 'workers-')), 'workers.yaml');
  const engines: SimulatedEngine[] = [];
  const started: Served[] = [];
  let prometheus: Prometheus;
  let aggregator: Served;
  let a: Served;
  let b: Served;

  beforeAll(async () => {
    const jobs = ['kv-accord', 'kv-accord-sidecar'];
    prometheus = await Prometheus.start(
      shortened(repositoryFile('deploy/helm/kv-accord/files/alerts.yaml')),
      jobs,
    );
    [a, b] = [await besides(await engine(32)), await besides(await engine(32))];
    for (const each of engines) serve(each, 32);
    list(a, b);
    aggregator = await aggregate('2');
    scrape(a, b);
    await until('the gate to open', async () => (await get(aggregator, '/readyz')).ok, {
      needs: [aggregator.program],
    });
    await prometheus.untilQuiet();
  });

  afterAll(async () => {
    await Promise.all([prometheus?.program.stop(), ...started.map(({ program }) => program.stop())]);
    await Promise.all(engines.map((each) => each.close()));
  });

  async function engine(tokensPerBlock: number): Promise<SimulatedEngine> {
    const setup = { model: 'tiny', tokensPerBlock, publishesKvEvents: true };
    const made = new SimulatedEngine({ surface: simulatedVllm, setup }, { clock: systemClock });
    engines.push(made);
    await made.open();
    made.start();
    return made;
  }

  /** Starts an engine, or starts it again, and has it publish a block: one that has published nothing is never exact. */
  function serve(each: SimulatedEngine | undefined, tokensPerBlock: number): void {
    each?.start({ tokensPerBlock });
    each?.prompt(Array.from({ length: 64 }, (_, index) => index));
  }

  /** A sidecar beside an engine that it can ask. */
  function besides({ url }: SimulatedEngine, ...flags: string[]): Promise<Served> {
    return keep(startSidecar('worker', '--engine', url, '--probe-interval', '200ms', ...flags));
  }

  /** A sidecar of an engine that has events and nothing else. */
  function besidesEvents(port: number, tokensPerBlock: number, model: string): Promise<Served> {
    const declared = ['--engine', 'none', '--model', model, '--tokens-per-block', String(tokensPerBlock)];
    return keep(startSidecar('events', ...declared, '--kv-event-sources', `tcp://127.0.0.1:${port}`));
  }

  function restarted({ grpcPort }: Served, { url }: SimulatedEngine | { url: string }): Promise<Served> {
    return keep(startSidecarOn(grpcPort, 'worker', '--engine', url, '--probe-interval', '200ms'));
  }

  function aggregate(minWorkers: string): Promise<Served> {
    const flags = ['--workers-file', workersFile, '--min-workers', minWorkers, ...FAST];
    return keep(startAggregatorWith('aggregator', flags));
  }

  async function keep(starting: Promise<Served>): Promise<Served> {
    const served = await starting;
    started.push(served);
    return served;
  }

  function list(...workers: readonly Served[]): void {
    writeFileSync(workersFile, JSON.stringify(workers.map(({ grpcPort }) => `127.0.0.1:${grpcPort}`)));
  }

  function scrape(...sidecars: readonly Served[]): void {
    prometheus.scrape({
      'kv-accord': [aggregator.httpPort],
      'kv-accord-sidecar': sidecars.map(({ httpPort }) => httpPort),
    });
  }

  function get({ httpPort }: Served, path: string): Promise<Response> {
    return fetch(`http://127.0.0.1:${httpPort}${path}`, { signal: AbortSignal.timeout(5_000) });
  }

  const urlOf = (index: number): { url: string } => ({ url: engines[index]?.url ?? '' });

  test('workers that are scaled to 0 fire, and resolve when they are back', async () => {
    list();
    const alerts = await prometheus.untilFired('KvAccordNoWorkers', 'KvAccordGateShut');
    expect(alerts.get('KvAccordGateShut')?.labels).toMatchObject({ group: 'tiny', severity: 'critical' });
    list(a, b);
    await prometheus.untilQuiet();
  });

  test('one sidecar that is killed fires, and resolves when it is back', async () => {
    await b.program.kill();
    const names = ['KvAccordWorkerLost', 'KvAccordWorkersMissing', 'KvAccordTargetDown'];
    const alerts = await prometheus.untilFired(...names);
    expect(alerts.get('KvAccordWorkerLost')?.annotations['summary']).toBe(
      '1 workers of tiny do not report any more',
    );
    b = await restarted(b, urlOf(1));
    scrape(a, b);
    await prometheus.untilQuiet();
  });

  test('all sidecars that are killed fire, also after the aggregator was started again', async () => {
    await Promise.all([a.program.kill(), b.program.kill()]);
    const alerts = await prometheus.untilFired('KvAccordNoWorkers', 'KvAccordWorkerLost');
    expect(alerts.get('KvAccordNoWorkers')?.annotations['summary']).toBe('No worker can serve tiny');
    await aggregator.program.kill();
    await prometheus.untilFired('KvAccordGone');
    aggregator = await aggregate('2');
    scrape(a, b);
    await prometheus.untilFired('KvAccordNobodyReports', 'KvAccordWorkerSilent');
    [a, b] = [await restarted(a, urlOf(0)), await restarted(b, urlOf(1))];
    scrape(a, b);
    await prometheus.untilQuiet();
  });

  test('a list of workers that cannot be read fires, and resolves although the list is the same again', async () => {
    writeFileSync(workersFile, 'workers: none');
    await prometheus.untilFired('KvAccordDiscoveryFailing');
    list(a, b);
    await prometheus.untilQuiet();
  });

  test('an engine of another block size fires: kept out of an agreed fleet, in conflict with a new one', async () => {
    serve(engines[1], 16);
    await prometheus.untilFired('KvAccordWorkerKeptOut');
    await aggregator.program.stop();
    aggregator = await aggregate('2');
    scrape(a, b);
    await prometheus.untilFired('KvAccordConflict', 'KvAccordGateShut');
    serve(engines[1], 32);
    await prometheus.untilQuiet();
  });

  test('events of another width than is declared fire', async () => {
    const odd = await engine(16);
    const { live = 0 } = odd.kvEventPorts ?? {};
    const c = await besidesEvents(live, 32, 'tiny');
    list(a, b, c);
    scrape(a, b, c);
    const offered = 'kv_accord_group_workers{group="tiny",state="offered"} 3';
    await until('three workers', async () =>
      (await (await get(aggregator, '/metrics')).text()).includes(offered),
    );
    odd.prompt(Array.from({ length: 64 }, (_, index) => index));
    await prometheus.untilFired('KvAccordBlockSizeMismatch', 'KvAccordSourcesDiffer');
    list(a, b);
    scrape(a, b);
    await prometheus.untilQuiet();
  });

  test('a cache that is not known fires', async () => {
    const nobody = await freePort();
    const d = await besides(await engine(32), '--kv-event-sources', `tcp://127.0.0.1:${nobody}`);
    list(a, b, d);
    scrape(a, b, d);
    // Without traffic nobody is hurt by it.
    let prompts = 0;
    const traffic = setInterval(() => {
      prompts += 1;
      engines[0]?.prompt(Array.from({ length: 64 }, (_, index) => 64 * prompts + index));
    }, 1_000);
    try {
      await prometheus.untilFired('KvAccordNotExact', 'KvAccordPictureNotExact');
    } finally {
      clearInterval(traffic);
    }
    list(a, b);
    scrape(a, b);
    await prometheus.untilQuiet();
  });

  test('events that are late or lost fire', async () => {
    const publisher = new Publisher({ linger: 0, sendHighWaterMark: 100_000 });
    try {
      const port = await freePort();
      await publisher.bind(`tcp://127.0.0.1:${port}`);
      await aggregator.program.stop();
      const e = await besidesEvents(port, 1, 'one-token');
      list(e);
      aggregator = await aggregate('1');
      scrape(e);
      /** One batch of one block of one token. */
      const publish = async (sequence: number, ageSeconds: number): Promise<void> => {
        const block = { hash: BigInt(sequence), parentHash: undefined, tokenIds: [sequence % 100] };
        const frame = Buffer.alloc(8);
        frame.writeBigUInt64BE(BigInt(sequence));
        const batch = packBatch(Date.now() / 1_000 - ageSeconds, [VLLM_KV_EVENTS.stored([block], 1)], 0);
        await publisher.send(['kv-events', frame, batch]);
      };
      let sequence = 0;
      let step = 1;
      const publishing = setInterval(() => {
        void publish(sequence, 100);
        sequence += step;
      }, 200);
      try {
        await prometheus.untilFired('KvAccordEventsLate');
        const before = sequence;
        step = 2;
        await until('a gap', () => sequence > before, { pollMs: 20 });
        step = 1;
        await prometheus.untilFired('KvAccordGapNotClosed');
      } finally {
        clearInterval(publishing);
      }
      await aggregator.program.stop();
      list(a, b);
      aggregator = await aggregate('2');
      scrape(a, b);
      await prometheus.untilQuiet();
    } finally {
      publisher.close();
    }
  });
});
