import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { registerTrafficMetrics } from '../../../../src/fleet/router/traffic/traffic-metrics.js';
import { GroupTraffic } from '../../../../src/fleet/router/traffic/worker-traffic.js';

function measured(traffic: GroupTraffic): Registry {
  const registry = new Registry();
  const workerIdOf = (target: string): string => `id of ${target}`;
  registerTrafficMetrics(registry, new Map([['tiny', { traffic, workerIdOf, loads: () => [] }]]));
  return registry;
}

it('a bounded number of workers have series of their own, and the rest is summed', async () => {
  const traffic = new GroupTraffic();
  const targets = Array.from({ length: 510 }, (_, n) => `w-${n}`);
  traffic.setWorkers(targets);
  for (const target of targets) {
    const worker = traffic.of(target);
    if (worker !== undefined) worker.decisions = 3;
    worker?.countFailure('closed');
  }
  const text = await measured(traffic).metrics();
  expect(text).toContain(
    'kv_accord_router_worker_decisions_total{group="tiny",worker_id="id of w-499",worker="w-499"} 3',
  );
  expect(text).toContain(
    'kv_accord_router_worker_decisions_total{group="tiny",worker_id="others",worker="others"} 30',
  );
  expect(text).toContain(
    'kv_accord_router_worker_failed_requests_total{group="tiny",worker_id="others",worker="others",seen="closed"} 10',
  );
  expect(text).not.toContain('worker="w-500"');
});

it('the series of a worker end with it', async () => {
  const traffic = new GroupTraffic();
  traffic.setWorkers(['w-1', 'w-2']);
  const registry = measured(traffic);
  traffic.setWorkers(['w-2']);
  const text = await registry.metrics();
  expect(text).toContain('worker="w-2"');
  expect(text).not.toContain('worker="w-1"');
});

it('what an engine reports and cannot be true is not counted', async () => {
  const traffic = new GroupTraffic();
  traffic.setWorkers(['w-1']);
  for (const wrong of [Number.NaN, -1, Number.POSITIVE_INFINITY, 1e300])
    traffic.of('w-1')?.countUsage({ promptTokens: wrong, cachedTokens: 0, outputTokens: wrong });
  traffic.of('w-1')?.countUsage({ promptTokens: 100, cachedTokens: 0, outputTokens: 7 });
  const text = await measured(traffic).metrics();
  expect(text).toMatch(/worker_prompt_tokens_total\{[^}]*\} 100\n/);
  expect(text).toMatch(/worker_output_tokens_total\{[^}]*\} 7\n/);
});
