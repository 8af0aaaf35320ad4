import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { ScrapedMetrics } from '../../../../src/edge/platform/metrics/scraped-metrics.js';

describe('metrics that are read at each scrape', () => {
  it('have the series that are there now, and none of what has ended', async () => {
    const registry = new Registry();
    const totals = new Map([
      ['a', 2],
      ['b', 0],
    ]);
    new ScrapedMetrics(registry).counter('served_total', 'Served.', ['group'], (add) => {
      for (const [group, total] of totals) add({ group }, total);
    });
    expect(await registry.metrics()).toContain('served_total{group="a"} 2\nserved_total{group="b"} 0\n');
    totals.delete('a');
    totals.set('b', 5);
    const page = await registry.metrics();
    expect(page).toContain('served_total{group="b"} 5\n');
    expect(page).not.toContain('group="a"');
  });

  it('add what belongs to one series, and have one without labels from the beginning', async () => {
    const registry = new Registry();
    const metrics = new ScrapedMetrics(registry);
    metrics.gauge('active', 'Active.', ['worker'], (add) => {
      add({ worker: 'w0' }, 1.5);
      add({ worker: 'w0' }, 2);
    });
    metrics.counter('ended_total', 'Ended.', [], (add) => add({}, 3));
    for (let scrape = 0; scrape < 2; scrape += 1) {
      const page = await registry.metrics();
      expect(page).toContain('active{worker="w0"} 3.5\n');
      expect(page).toContain('ended_total 3\n');
    }
  });
});
