import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import type { AgreementEffect } from '../../../../src/core/agreement/state/events.js';
import type { AgreementOptions } from '../../../../src/core/agreement/state/options.js';
import { NOTHING_PUBLISHED } from '../../../../src/core/contract/wire/cache-view.js';
import type { Clock } from '../../../../src/edge/platform/clock.js';
import { FleetMetrics } from '../../../../src/fleet/aggregator/metrics/fleet-metrics.js';
import { MAX_MISSED_GROUPS, MISSED_FOR_MS } from '../../../../src/fleet/aggregator/metrics/missed-groups.js';
import { TestFleet } from '../../../support/fleet.js';

/** The metrics of a fleet that a test drives by hand. */
class Stage {
  readonly fleet: TestFleet;
  readonly sources = [{ name: 'dns:///workers:50061', isUp: true }];
  readonly #registry = new Registry();
  readonly #metrics: FleetMetrics;

  constructor(expectedModels: readonly string[] = [], options: Partial<AgreementOptions> = {}) {
    this.fleet = new TestFleet({ isStaticDiscovery: true, ...options });
    const { fleet } = this;
    const clock: Clock = {
      monotonicMs: () => fleet.nowMs,
      wallMs: () => 0,
      setTimer: () => ({ clear: () => undefined }),
    };
    this.#metrics = new FleetMetrics(
      { expectedModels },
      {
        registry: this.#registry,
        clock,
        view: () => fleet.view(),
        pairs: (group) => fleet.state.groups.get(group)?.pairs,
        sources: () => this.sources,
        faults: () => ({ agreement: 0, listener: 2 }),
      },
    );
  }

  /** Does what the aggregator does with effects and views. */
  take(effects: readonly AgreementEffect[]): void {
    for (const effect of effects) this.#metrics.record(effect);
    this.#metrics.update(this.fleet.view());
  }

  /** The series that begin with `prefix`. */
  async series(prefix: string): Promise<string[]> {
    const text = await this.#registry.metrics();
    return text.split('\n').filter((line) => line.startsWith(prefix));
  }
}

function conflictOf(): Stage {
  const stage = new Stage();
  stage.take(stage.fleet.list('a', 'b', 'c'));
  stage.take(stage.fleet.report('a'));
  stage.take(stage.fleet.report('b'));
  stage.take(stage.fleet.report('c'));
  stage.take(stage.fleet.report('c', { size: 64, instance: 'c-2' }));
  return stage;
}

it('have the names and labels of the contract', async () => {
  const stage = conflictOf();
  for (const line of [
    'kv_router_block_size_mismatch_total{group="tiny",worker_id="c",worker="c",source="engine_metrics"} 1',
    'kv_accord_gate_open{group="tiny"} 1',
    'kv_accord_routing_mode{group="tiny",mode="load_only"} 1',
    'kv_accord_routing_mode{group="tiny",mode="closed"} 0',
    'kv_accord_agreement_state{group="tiny",state="agreed"} 1',
    'kv_accord_agreement_state{group="tiny",state="conflict"} 0',
    'kv_accord_agreed_tokens_per_block{group="tiny"} 32',
    'kv_accord_epoch{group="tiny"} 1',
    'kv_accord_workers{group="tiny",state="conforming"} 2',
    'kv_accord_workers{group="tiny",state="dissenting"} 1',
    'kv_accord_time_to_agreement_seconds_count 1',
  ]) {
    expect(await stage.series(line), line).toHaveLength(1);
  }
});

it('say nothing of a size before one is agreed, and why', async () => {
  const stage = new Stage();
  stage.take(stage.fleet.list('a', 'b'));
  stage.take(stage.fleet.report('a'));
  expect(await stage.series('kv_accord_agreed_tokens_per_block{')).toEqual([]);
  expect(await stage.series('kv_accord_gate_open{')).toEqual(['kv_accord_gate_open{group="tiny"} 0']);
  expect(await stage.series('kv_accord_not_ready_reasons{group="tiny"')).toEqual([
    'kv_accord_not_ready_reasons{group="tiny",reason="no_workers"} 0',
    'kv_accord_not_ready_reasons{group="tiny",reason="waiting_for_workers"} 1',
    'kv_accord_not_ready_reasons{group="tiny",reason="below_min_workers"} 0',
    'kv_accord_not_ready_reasons{group="tiny",reason="settling"} 0',
    'kv_accord_not_ready_reasons{group="tiny",reason="conflict"} 0',
    'kv_accord_not_ready_reasons{group="tiny",reason="no_worker_offered"} 0',
    'kv_accord_not_ready_reasons{group="tiny",reason="waiting_for_role"} 0',
    'kv_accord_not_ready_reasons{group="tiny",reason="no_pair"} 0',
  ]);
  expect(await stage.series('kv_accord_time_to_agreement_seconds_count')).toEqual([
    'kv_accord_time_to_agreement_seconds_count 0',
  ]);
});

it('count one worker that differs once for each of its instances', async () => {
  const stage = conflictOf();
  stage.take(stage.fleet.report('c', { size: 64, instance: 'c-2', revision: 2 }));
  stage.take(stage.fleet.report('c', { size: 64, instance: 'c-3' }));
  expect(await stage.series('kv_router_block_size_mismatch_total{')).toEqual([
    'kv_router_block_size_mismatch_total{group="tiny",worker_id="c",worker="c",source="engine_metrics"} 2',
  ]);
});

it('count every event of another width, apart from reports', async () => {
  const stage = conflictOf();
  stage.take(stage.fleet.mismatched('a', 16));
  stage.take(stage.fleet.mismatched('a', 16, 4_812));
  expect(await stage.series('kv_router_block_size_mismatch_total{')).toEqual([
    'kv_router_block_size_mismatch_total{group="tiny",worker_id="c",worker="c",source="engine_metrics"} 1',
    'kv_router_block_size_mismatch_total{group="tiny",worker_id="a",worker="a",source="observed_event"} 4813',
  ]);
  stage.take(stage.fleet.list('b'));
  expect(await stage.series('kv_router_block_size_mismatch_total{')).toEqual([]);
});

it('follow the routing mode', async () => {
  const stage = conflictOf();
  const mode = async (): Promise<string[]> =>
    (await stage.series('kv_accord_routing_mode{')).filter((line) => line.endsWith(' 1'));
  expect(await mode()).toEqual(['kv_accord_routing_mode{group="tiny",mode="load_only"} 1']);
  stage.take(stage.fleet.cacheViewChanged('a', 'exact'));
  expect(await mode()).toEqual(['kv_accord_routing_mode{group="tiny",mode="mixed"} 1']);
  stage.take(stage.fleet.cacheViewChanged('b', 'exact'));
  expect(await mode()).toEqual(['kv_accord_routing_mode{group="tiny",mode="exact"} 1']);
});

it('take the series of a worker back when it leaves, and keep those of the others', async () => {
  const stage = conflictOf();
  stage.take(stage.fleet.list('a', 'c'));
  expect(await stage.series('kv_router_block_size_mismatch_total{')).toHaveLength(1);
  stage.take(stage.fleet.list('a', 'b'));
  expect(await stage.series('kv_router_block_size_mismatch_total{')).toEqual([]);
});

it('take all series of a model back when its workers serve another one', async () => {
  const stage = conflictOf();
  stage.take(stage.fleet.list('c'));
  stage.take(stage.fleet.report('c', { model: 'other', instance: 'c-3' }));
  const left = await Promise.all([
    stage.series('kv_router_block_size_mismatch_total{'),
    stage.series('kv_accord_gate_open{'),
    stage.series('kv_accord_epoch{'),
  ]);
  expect(left.flat().filter((line) => line.includes('"tiny"'))).toEqual([]);
});

describe('when workers go away', () => {
  /** The counts that are not 0, and the reasons that hold. */
  async function outage(stage: Stage): Promise<string[]> {
    const lines = [
      ...(await stage.series('kv_accord_group_workers{')),
      ...(await stage.series('kv_accord_not_ready_reasons{')),
    ];
    return lines.filter((line) => !line.endsWith(' 0'));
  }

  /** One model of two workers. */
  function agreed(...args: ConstructorParameters<typeof Stage>): Stage {
    const stage = new Stage(...args);
    stage.take(stage.fleet.list('a', 'b'));
    stage.take(stage.fleet.report('a'));
    stage.take(stage.fleet.report('b'));
    return stage;
  }

  it('count every listed worker once, by what the group has of it', async () => {
    const stage = conflictOf();
    stage.take(stage.fleet.list('a', 'b', 'c', 'd', 'e', 'f'));
    stage.take(stage.fleet.report('d', { draining: true }));
    stage.take(stage.fleet.report('e', { unusable: 'no source could say tokens_per_block' }));
    stage.take(stage.fleet.broken('b'));
    expect(await outage(stage)).toEqual([
      'kv_accord_group_workers{group="tiny",state="offered"} 1',
      'kv_accord_group_workers{group="tiny",state="lost"} 1',
      'kv_accord_group_workers{group="tiny",state="silent"} 1',
      'kv_accord_group_workers{group="tiny",state="kept_out"} 1',
      'kv_accord_group_workers{group="tiny",state="draining"} 1',
      'kv_accord_group_workers{group="",state="silent"} 1',
    ]);
  });

  it('count whose caches are not known exactly, and no engine that has published nothing yet', async () => {
    const stage = agreed();
    const inexact = () => stage.series('kv_accord_group_inexact_workers{');
    stage.take(stage.fleet.cacheViewChanged('a', 'exact'));
    stage.take(stage.fleet.cacheViewChanged('b', 'partial', NOTHING_PUBLISHED));
    expect(await inexact()).toEqual(['kv_accord_group_inexact_workers{group="tiny"} 0']);
    stage.take(stage.fleet.cacheViewChanged('b', 'partial', 'unknown before sequence 12'));
    expect(await inexact()).toEqual(['kv_accord_group_inexact_workers{group="tiny"} 1']);
  });

  it('call a worker lost for as long as it is, not for the grace time alone', async () => {
    const stage = agreed();
    stage.take(stage.fleet.broken('b'));
    stage.take(stage.fleet.advance(24 * 3_600_000));
    expect(await outage(stage)).toEqual([
      'kv_accord_group_workers{group="tiny",state="offered"} 1',
      'kv_accord_group_workers{group="tiny",state="lost"} 1',
    ]);
    stage.take(stage.fleet.report('b'));
    expect(await outage(stage)).toEqual(['kv_accord_group_workers{group="tiny",state="offered"} 2']);
  });

  it('say that no worker is offered when all sidecars are killed', async () => {
    const stage = agreed();
    stage.take(stage.fleet.broken('a'));
    stage.take(stage.fleet.broken('b'));
    stage.take(stage.fleet.advance(60_000));
    expect(await outage(stage)).toEqual([
      'kv_accord_group_workers{group="tiny",state="lost"} 2',
      'kv_accord_not_ready_reasons{group="tiny",reason="no_worker_offered"} 1',
    ]);
  });

  it('keep the series of a model whose workers are scaled to 0, until they are back', async () => {
    const stage = agreed();
    stage.take(stage.fleet.list());
    stage.take(stage.fleet.advance(3_600_000));
    expect(await outage(stage)).toEqual([
      'kv_accord_not_ready_reasons{group="",reason="no_workers"} 1',
      'kv_accord_not_ready_reasons{group="tiny",reason="no_workers"} 1',
    ]);
    expect(await stage.series('kv_accord_gate_open{')).toEqual(['kv_accord_gate_open{group="tiny"} 0']);
    expect(await stage.series('kv_accord_group_workers{group="tiny",state="offered"}')).toEqual([
      'kv_accord_group_workers{group="tiny",state="offered"} 0',
    ]);
    stage.take(stage.fleet.list('a'));
    stage.take(stage.fleet.report('a', { instance: 'a-2' }));
    expect(await outage(stage)).toEqual(['kv_accord_group_workers{group="tiny",state="offered"} 1']);
  });

  it('forget a model at last, but never that the whole fleet is gone', async () => {
    const stage = agreed();
    stage.take(stage.fleet.list());
    stage.take(stage.fleet.advance(60_000));
    stage.take(stage.fleet.advance(MISSED_FOR_MS));
    expect(await stage.series('kv_accord_gate_open{')).toEqual([]);
    expect(await outage(stage)).toEqual(['kv_accord_not_ready_reasons{group="",reason="no_workers"} 1']);
  });

  it('never forget a model that is expected, from the very start, and miss no other', async () => {
    const stage = agreed(['llama']);
    stage.take(stage.fleet.list());
    stage.take(stage.fleet.advance(60_000));
    stage.take(stage.fleet.advance(2 * MISSED_FOR_MS));
    expect(await stage.series('kv_accord_gate_open{')).toEqual(['kv_accord_gate_open{group="llama"} 0']);
    expect(await outage(stage)).toContain('kv_accord_not_ready_reasons{group="llama",reason="no_workers"} 1');
  });

  it('remember a bounded number of models, the latest', async () => {
    const stage = new Stage();
    const models = Array.from({ length: MAX_MISSED_GROUPS + 3 }, (_, index) => `model-${index}`);
    stage.take(stage.fleet.list(...models));
    for (const model of models) stage.take(stage.fleet.report(model, { model }));
    for (let left = models.length - 1; left >= 0; left -= 1) {
      stage.take(stage.fleet.list(...models.slice(0, left)));
      stage.take(stage.fleet.advance(31_000));
    }
    const series = await stage.series('kv_accord_gate_open{');
    expect(series).toHaveLength(MAX_MISSED_GROUPS);
    expect(series).toContain('kv_accord_gate_open{group="model-0"} 0');
  });

  it('are not missed where they were never agreed: one worker with many names makes no series', async () => {
    const stage = agreed([], { minWorkers: 2 });
    for (let index = 0; index < 100; index += 1) {
      stage.take(stage.fleet.report('b', { model: `name-${index}`, revision: index + 2 }));
    }
    stage.take(stage.fleet.list('a'));
    stage.take(stage.fleet.advance(60_000));
    expect(await stage.series('kv_accord_gate_open{')).toEqual(['kv_accord_gate_open{group="tiny"} 1']);
  });
});

it('say how many workers there are to be: in each group by a number, in the fleet by auto', async () => {
  const byNumber = new Stage([], { minWorkers: 2 });
  byNumber.take(byNumber.fleet.list('a'));
  byNumber.take(byNumber.fleet.report('a'));
  expect(await byNumber.series('kv_accord_expected_workers{')).toEqual([
    'kv_accord_expected_workers{group="tiny"} 2',
  ]);
  const byWorkload = new Stage([], { minWorkers: 'auto' });
  expect(await byWorkload.series('kv_accord_expected_workers{')).toEqual([]);
  const expected = { count: 8, origin: 'Deployment worker' };
  byWorkload.take(byWorkload.fleet.do({ type: 'listed', members: [], expected }));
  expect(await byWorkload.series('kv_accord_expected_workers{')).toEqual([
    'kv_accord_expected_workers{group=""} 8',
  ]);
});

it('say of each source of discovery whether it works', async () => {
  const stage = new Stage();
  stage.sources.push({ name: 'workers.yaml', isUp: false });
  expect(await stage.series('kv_accord_discovery_up{')).toEqual([
    'kv_accord_discovery_up{source="dns:///workers:50061"} 1',
    'kv_accord_discovery_up{source="workers.yaml"} 0',
  ]);
});
