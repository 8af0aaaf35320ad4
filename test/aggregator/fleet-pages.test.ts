import { describe, expect, it } from 'vitest';
import { fleetStatus } from '../../src/aggregator/fleet-pages.js';
import { TestFleet } from '../support/fleet.js';

describe('the status page of an aggregator', () => {
  it('says how each model is routed and why, and what is known of each cache', () => {
    const fleet = new TestFleet({ isStaticDiscovery: true });
    fleet.list('w-0', 'w-1', 'w-2');
    for (const target of ['w-0', 'w-1', 'w-2']) fleet.report(target);
    fleet.pictured('w-0', 'exact');
    fleet.pictured('w-1', 'partial', 'unknown before sequence 12');
    fleet.mismatched('w-2', 16);
    const { facts, tables } = fleetStatus(fleet.view());
    expect(facts).toContainEqual([
      'Routing of tiny',
      'mixed: not exact: w-1 (partial: unknown before sequence 12)',
    ]);
    const [table] = tables;
    expect(table?.columns.slice(-2)).toEqual(['Picture', 'Why']);
    expect(table?.rows.map((row) => row.slice(-2))).toEqual([
      ['exact', ''],
      ['partial', 'unknown before sequence 12'],
      ['', expect.stringContaining('Worker w-2 has KV block size (tokens_per_block) 16')],
    ]);
  });
});
