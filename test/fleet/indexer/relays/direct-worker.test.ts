import { afterEach, describe, expect, it } from 'vitest';
import type { DiscoveredWorker } from '../../../../src/core/contract/evidence/discovered-worker.js';
import { readReport } from '../../../../src/core/contract/worker-report.js';
import { systemClock } from '../../../../src/edge/platform/clock.js';
import { systemRandom } from '../../../../src/edge/platform/random.js';
import { readRegisteredWorker } from '../../../../src/engines/dynamo/registered-worker.js';
import { DirectWorker } from '../../../../src/fleet/indexer/relays/direct-worker.js';
import { EngineEventReader } from '../../../../src/worker/kv-events/engine-event-reader.js';
import { Changes } from '../../../support/changes.js';
import { modelCard } from '../../../support/dynamo-folder.js';
import { OpenThings } from '../../../support/open-things.js';
import { RecordingLogger } from '../../../support/recording-logger.js';
import { batchOf, FakePublisher, stored } from '../../../worker/kv-events/support/fake-publisher.js';

const open = new OpenThings();
afterEach(() => open.close());

function discoveredWith(size: number, instanceId: string): DiscoveredWorker {
  const options = { origin: 'file card', observedAtMs: 0, instanceId, adapters: [] };
  return readRegisteredWorker(JSON.parse(modelCard({ size })), options);
}

/** A worker of which an engine's events are read, and how it is seen: `instance size declared`. */
async function reading(): Promise<{
  engine: FakePublisher;
  worker: DirectWorker;
  until(seen: string): Promise<void>;
}> {
  const engine = await FakePublisher.start();
  open.add(() => engine.stop());
  const changes = new Changes();
  const worker = new DirectWorker(
    {
      target: 'w',
      model: undefined,
      sources: [engine.source],
      declaredTokensPerBlock: undefined,
      version: '0.0.0',
    },
    {
      clock: systemClock,
      random: systemRandom,
      logger: new RecordingLogger(),
      createEngineReader: (modules) => new EngineEventReader({}, modules),
      onReport: () => changes.notify(),
    },
  );
  open.add(() => worker.close());
  worker.start();
  const seen = (): string => {
    const read = readReport(worker.report);
    if ('problems' in read) return read.problems.join();
    const declared = read.declared === undefined ? '' : ` declared ${read.declared.tokensPerBlock}`;
    return `${read.instanceId} ${read.values.tokens_per_block ?? 'nothing'}${declared}`;
  };
  return { engine, worker, until: (wanted) => changes.until(() => seen() === wanted) };
}

/** What the engine's events prove, in one line. */
function evidence(worker: DirectWorker): string {
  return worker.report.evidence.map(({ raw }) => raw).join();
}

describe('an engine that is read here, and that discovery reports', () => {
  it('keeps what its events proved when it is discovered for the first time', async () => {
    const { engine, worker, until } = await reading();
    await engine.publish(batchOf(stored(10)));
    await expect.poll(() => evidence(worker), { timeout: 10_000 }).toContain('block_size=4');
    worker.setDiscovered(discoveredWith(16, '1a'));
    await until('1a 4 declared 16');
  });

  it('has proved nothing when it is discovered as another instance, until it speaks', async () => {
    const { engine, worker, until } = await reading();
    worker.setDiscovered(discoveredWith(16, '1a'));
    await until('1a 16');
    await engine.publish(batchOf(stored(10)));
    await until('1a 4 declared 16');
    engine.stop();
    await engine.comeBack({ isNewProcess: true });
    worker.setDiscovered(discoveredWith(4, '2b'));
    await until('2b 4');
    expect(evidence(worker)).not.toContain('BlockStored');
  });

  it('keeps what it proved since its restart when discovery reports that only later', async () => {
    const { engine, worker, until } = await reading();
    worker.setDiscovered(discoveredWith(16, '1a'));
    await engine.publish(batchOf(stored(10), stored(20, 10)));
    await until('1a 4 declared 16');
    const { revision } = worker.report;
    engine.stop();
    await engine.comeBack({ isNewProcess: true });
    await engine.publish(batchOf(stored(30)));
    // Its publisher counts from 0 again: another engine, which discovery has not reported yet.
    await expect
      .poll(() => [evidence(worker), worker.report.revision > revision], { timeout: 10_000 })
      .toEqual([expect.stringContaining('BlockStored'), true]);
    worker.setDiscovered(discoveredWith(16, '2b'));
    await until('2b 4 declared 16');
    worker.setDiscovered(discoveredWith(16, '3c'));
    await until('3c 16');
  }, 30_000);

  it('is the same one, with nothing known of its model, while discovery does not list it', async () => {
    const { worker, until } = await reading();
    worker.setDiscovered(discoveredWith(16, '1a'));
    const { revision } = worker.report;
    worker.setDiscovered(undefined);
    await until('1a nothing');
    worker.setDiscovered(discoveredWith(16, '1a'));
    await until('1a 16');
    expect(worker.report.revision).toBe(revision + 2n);
  });

  it('has no other report when discovery reads the same card again', async () => {
    const { worker } = await reading();
    worker.setDiscovered(discoveredWith(16, '1a'));
    const { report } = worker;
    worker.setDiscovered(discoveredWith(16, '1a'));
    expect(worker.report).toBe(report);
  });
});
