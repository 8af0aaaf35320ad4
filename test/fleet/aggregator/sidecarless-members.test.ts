import { describe, expect, it } from 'vitest';
import type { DiscoveredWorker } from '../../../src/core/contract/evidence/discovered-worker.js';
import { readReport } from '../../../src/core/contract/worker-report.js';
import { readRegisteredWorker } from '../../../src/engines/dynamo/registered-worker.js';
import { SidecarlessMembers } from '../../../src/fleet/aggregator/sidecarless-members.js';
import type { Endpoint } from '../../../src/fleet/discovery/source.js';
import type { CapabilityReport } from '../../../src/gen/kvaccord/v1/capabilities.js';
import { modelCard } from '../../support/dynamo-folder.js';
import { FakeClock } from '../../support/fake-clock.js';

function discoveredWith(size: number, instanceId = '1a'): DiscoveredWorker {
  const options = { origin: 'file card', observedAtMs: 0, instanceId, adapters: [] };
  return readRegisteredWorker(JSON.parse(modelCard({ size })), options);
}

function members(): { reports: CapabilityReport[]; list(...endpoints: Endpoint[]): string[] } {
  const reports: CapabilityReport[] = [];
  const discovered = new SidecarlessMembers({
    clock: new FakeClock(),
    reported: (_target, report) => reports.push(report) > 0,
  });
  return {
    reports,
    list: (...endpoints) => {
      const before = reports.length;
      discovered.setEndpoints(endpoints);
      return reports
        .slice(before)
        .map(({ workerId, instanceId, revision, contract }) =>
          [workerId, instanceId, revision, contract?.tokensPerBlock].join(' '),
        );
    },
  };
}

describe('a member without a sidecar', () => {
  it('is reported as discovery reports it, again when that changes, and as another instance when it is one', () => {
    const { list } = members();
    expect(list({ target: 'a', discovered: discoveredWith(16) })).toEqual(['a 1a 1 16']);
    expect(list({ target: 'a', discovered: discoveredWith(16) })).toEqual([]);
    expect(list({ target: 'a', discovered: discoveredWith(32) })).toEqual(['a 1a 2 32']);
    expect(list({ target: 'a', discovered: discoveredWith(32, '2b') })).toEqual(['a 2b 1 32']);
    expect(list()).toEqual([]);
    expect(list({ target: 'a', discovered: discoveredWith(32, '2b') })).toEqual(['a 2b 1 32']);
  });

  it('whose card lacks something says what, with the reason, and no flag of a sidecar', () => {
    const { reports, list } = members();
    const card = { card_json: { kv_cache_block_size: 'many' } };
    const options = { origin: 'file card', observedAtMs: 0, instanceId: '1a', adapters: [] };
    list({ target: 'a', discovered: readRegisteredWorker(card, options) });
    const [report] = reports;
    expect(report && readReport(report)).toMatchObject({
      usable: false,
      reasons: [
        'its registration gives no block size and no model ' +
          '(file card: card_json.kv_cache_block_size is "many"; expected a whole number from 0 to 2^53-1)',
      ],
    });
  });

  it('has a report that can be compared, with the card as evidence', () => {
    const { reports, list } = members();
    list({ target: 'a', discovered: discoveredWith(16) });
    const [report] = reports;
    expect(report && readReport(report)).toMatchObject({
      workerId: 'a',
      instanceId: '1a',
      group: 'tiny',
      usable: true,
      values: { tokens_per_block: 16 },
      evidence: { origin: 'file card', raw: 'card_json.kv_cache_block_size: 16' },
      declared: undefined,
    });
  });

  it('of which nothing is known is incomplete, for the reason that discovery gives', () => {
    const { reports, list } = members();
    list({ target: 'a', discovered: { instanceId: '1', facts: [], warnings: [], problem: 'no card' } });
    const [report] = reports;
    expect(report && readReport(report)).toMatchObject({ usable: false, reasons: ['no card'] });
  });

  it('is left to its sidecar where it has one', () => {
    const { list } = members();
    expect(
      list({ target: 'a', address: 'a:1', discovered: discoveredWith(16) }, { target: 'b', pending: 'soon' }),
    ).toEqual([]);
  });
});
