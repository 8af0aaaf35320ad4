import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { FleetMetrics } from '../../src/aggregator/fleet-metrics.js';
import type { AgreementEffect } from '../../src/agreement/events.js';
import { TestFleet } from '../support/fleet.js';

/** The metrics of a fleet that a test drives by hand. */
class Stage {
  readonly fleet = new TestFleet({ isStaticDiscovery: true });
  readonly #registry = new Registry();
  readonly #metrics = new FleetMetrics(this.#registry, () => this.fleet.view());

  /** Does what the aggregator does with effects and views. */
  take(effects: readonly AgreementEffect[]): void {
    for (const effect of effects) this.#metrics.record(effect);
    this.#metrics.prune(this.fleet.view());
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
    'kv_router_block_size_mismatch_total{group="tiny",worker="c",source="engine_metrics"} 1',
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
  expect(await stage.series('kv_accord_not_ready_reasons{')).toEqual([
    'kv_accord_not_ready_reasons{group="tiny",reason="waiting_for_workers"} 1',
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
    'kv_router_block_size_mismatch_total{group="tiny",worker="c",source="engine_metrics"} 2',
  ]);
});

it('count every event of another width, apart from reports', async () => {
  const stage = conflictOf();
  stage.take(stage.fleet.mismatched('a', 16));
  stage.take(stage.fleet.mismatched('a', 16, 4_812));
  expect(await stage.series('kv_router_block_size_mismatch_total{')).toEqual([
    'kv_router_block_size_mismatch_total{group="tiny",worker="c",source="engine_metrics"} 1',
    'kv_router_block_size_mismatch_total{group="tiny",worker="a",source="observed_event"} 4813',
  ]);
  stage.take(stage.fleet.list('b'));
  expect(await stage.series('kv_router_block_size_mismatch_total{')).toEqual([]);
});

it('follow the routing mode', async () => {
  const stage = conflictOf();
  const mode = async (): Promise<string[]> =>
    (await stage.series('kv_accord_routing_mode{')).filter((line) => line.endsWith(' 1'));
  expect(await mode()).toEqual(['kv_accord_routing_mode{group="tiny",mode="load_only"} 1']);
  stage.take(stage.fleet.pictured('a', 'exact'));
  expect(await mode()).toEqual(['kv_accord_routing_mode{group="tiny",mode="mixed"} 1']);
  stage.take(stage.fleet.pictured('b', 'exact'));
  expect(await mode()).toEqual(['kv_accord_routing_mode{group="tiny",mode="exact"} 1']);
});

it('take the series of a worker back when it leaves, and keep those of the others', async () => {
  const stage = conflictOf();
  stage.take(stage.fleet.list('a', 'c'));
  expect(await stage.series('kv_router_block_size_mismatch_total{')).toHaveLength(1);
  stage.take(stage.fleet.list('a', 'b'));
  expect(await stage.series('kv_router_block_size_mismatch_total{')).toEqual([]);
});

it('take all series of a model back when nobody serves it any more', async () => {
  const stage = conflictOf();
  stage.take(stage.fleet.list('c'));
  stage.take(stage.fleet.report('c', { model: 'other', instance: 'c-3' }));
  expect(await stage.series('kv_accord_gate_open{group="tiny"}')).toHaveLength(1);
  stage.take(stage.fleet.advance(60_000));
  const left = await Promise.all([
    stage.series('kv_router_block_size_mismatch_total{'),
    stage.series('kv_accord_gate_open{'),
    stage.series('kv_accord_epoch{'),
  ]);
  expect(left.flat().filter((line) => line.includes('"tiny"'))).toEqual([]);
});
