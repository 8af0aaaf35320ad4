import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import type { AgreementEffect } from '../../../src/core/agreement/state/events.js';
import type { FleetView } from '../../../src/core/agreement/view/snapshot.js';
import {
  FleetIndexing,
  type FleetIndexingModules,
  type FleetIndexingOptions,
} from '../../../src/fleet/indexer/fleet-indexing.js';
import { FakeClock } from '../../support/fake-clock.js';
import { RecordingLogger } from '../../support/recording-logger.js';

interface Made {
  readonly indexing: FleetIndexing;
  readonly clock: FakeClock;
  readonly registry: Registry;
  readonly logger: RecordingLogger;
}

function make(options: FleetIndexingOptions = {}): Made {
  const clock = new FakeClock();
  const registry = new Registry();
  const logger = new RecordingLogger();
  const view: FleetView = { version: 0, groups: [], unassigned: [], reasons: [], expectedWorkers: undefined };
  const modules: FleetIndexingModules = {
    clock,
    registry,
    random: { fraction: () => 0.5, uniqueId: () => '0' },
    turns: { soon: (run) => clock.setTimer(0, run) },
    logger,
    fleet: {
      view,
      reportOf: () => undefined,
      reported: () => true,
      cacheViewChanged: () => undefined,
      mismatchedEvents: () => undefined,
    },
    edge: {} as FleetIndexingModules['edge'],
  };
  return { indexing: new FleetIndexing(options, modules), clock, registry, logger };
}

function started(epoch: number, size = 32): AgreementEffect {
  return {
    type: 'epoch_started',
    group: 'tiny',
    epoch,
    values: { tokens_per_block: size },
    isOverride: false,
    collectedForMs: 0,
  };
}

describe('the indexes of a fleet', () => {
  it('G2: makes the index at the beginning of an epoch, before the gate is open, and drops it at the end', () => {
    const { indexing } = make();
    expect(indexing.of('tiny')).toBeUndefined();
    indexing.onEffect(started(1));
    const first = indexing.of('tiny');
    expect(first).toMatchObject({ epoch: 1, tokensPerBlock: 32 });
    indexing.onEffect({ type: 'gate', group: 'tiny', open: true });
    expect(indexing.of('tiny')).toBe(first);
    indexing.onEffect({ type: 'epoch_ended', group: 'tiny', epoch: 1 });
    expect(indexing.of('tiny')).toBeUndefined();
    indexing.onEffect(started(2, 64));
    expect(indexing.of('tiny')).toMatchObject({ epoch: 2, tokensPerBlock: 64 });
  });

  it('goes on without an index, and says so, when its memory cannot be had', () => {
    const { indexing, logger } = make({ maxBytes: 1 });
    indexing.onEffect(started(1));
    expect(indexing.of('tiny')).toBeUndefined();
    expect(logger.lines).toMatchObject([
      { level: 'error', message: expect.stringContaining('"tiny" has no index in this epoch') },
    ]);
    indexing.onEffect({ type: 'epoch_ended', group: 'tiny', epoch: 1 });
  });

  it('has no series of a model that nobody serves any more, and no timer', async () => {
    const { indexing, registry, clock } = make();
    indexing.onEffect(started(1));
    expect(await registry.metrics()).toContain('kv_accord_index_blocks{group="tiny"} 0');
    indexing.onEffect({ type: 'epoch_ended', group: 'tiny', epoch: 1 });
    expect(await registry.metrics()).toContain('kv_accord_kv_gaps_total{group="tiny",outcome="resumed"} 0');
    indexing.onEffect({ type: 'group_ended', group: 'tiny' });
    expect(await registry.metrics()).not.toContain('tiny');
    await indexing.close();
    expect(clock.pendingTimers).toBe(0);
  });
});
