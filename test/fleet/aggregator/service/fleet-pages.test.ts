import { describe, expect, it } from 'vitest';
import { renderStatusPage } from '../../../../src/edge/http/status-page.js';
import { fleetStatus } from '../../../../src/fleet/aggregator/service/fleet-pages.js';
import { TestFleet } from '../../../support/fleet.js';

describe('the status page of an aggregator', () => {
  it('says how each model is routed and why, and what is known of each cache', () => {
    const fleet = new TestFleet({ isStaticDiscovery: true });
    fleet.list('w-0', 'w-1', 'w-2');
    for (const target of ['w-0', 'w-1', 'w-2']) fleet.report(target);
    fleet.cacheViewChanged('w-0', 'exact');
    fleet.cacheViewChanged('w-1', 'partial', 'unknown before sequence 12');
    fleet.mismatched('w-2', 16);
    const { facts, tables } = fleetStatus(fleet.view());
    expect(facts).toContainEqual([
      'Routing of tiny',
      'mixed: not exact: w-1 (partial: unknown before sequence 12)',
    ]);
    const [table] = tables;
    expect(table?.columns.slice(-2)).toEqual(['Cache view', 'Why']);
    expect(table?.rows.map((row) => row.slice(-2))).toEqual([
      ['', expect.stringContaining('Worker w-2 has KV block size (tokens_per_block) 16')],
      ['exact', ''],
      ['partial', 'unknown before sequence 12'],
    ]);
  });

  it('shows the worst first, counts by state, and is amber while a worker is kept out of an open gate', () => {
    const fleet = new TestFleet({ isStaticDiscovery: true });
    const names = Array.from({ length: 1_000 }, (_, index) => `w-${String(index).padStart(4, '0')}`);
    fleet.list(...names);
    for (const target of names) fleet.report(target);
    const bad = names.slice(-10);
    for (const target of bad) fleet.mismatched(target, 16);
    const { headline, facts, tables } = fleetStatus(fleet.view(), 'kv-accord frontend');
    expect(headline.tone).toBe('warn');
    expect(headline.text).toContain('10 of 1000 workers get no requests: 10 dissenting');
    expect(facts).toContainEqual(['Workers', '1000: 10 dissenting, 990 conforming']);
    expect(tables[0]?.note).toBe('10 dissenting, 990 conforming');
    expect(tables[0]?.rows.slice(0, 10).map(([target]) => target)).toEqual(bad);
    const page = renderStatusPage(fleetStatus(fleet.view(), 'kv-accord frontend')).body;
    expect(page).toContain('<title>kv-accord frontend</title>');
    for (const target of bad) expect(page).toContain(target);
  });

  it('is amber while a worker is ejected, which comes first, with what was seen of it', () => {
    const fleet = new TestFleet({ isStaticDiscovery: true });
    fleet.list('w-0', 'w-1');
    for (const target of ['w-0', 'w-1']) fleet.report(target);
    expect(fleetStatus(fleet.view()).headline.tone).toBe('good');
    fleet.do({ type: 'ejection', target: 'w-1', reason: '3 failed requests' });
    const { headline, tables } = fleetStatus(fleet.view());
    expect(headline).toMatchObject({
      tone: 'warn',
      text: expect.stringContaining('1 of 2 workers get nothing but a try from time to time: 1 ejected'),
    });
    const [first] = tables[0]?.rows ?? [];
    expect(first?.slice(0, 2)).toEqual(['w-1', { text: 'ejected', tone: 'bad' }]);
    expect(first?.at(-1)).toBe('3 failed requests');
  });
});
