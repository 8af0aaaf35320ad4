import { describe, expect, it } from 'vitest';
import type { DiscoveredWorker } from '../../../../src/core/contract/evidence/discovered-worker.js';
import { servingOf } from '../../../../src/core/contract/serving.js';
import { SidecarlessReports } from '../../../../src/core/contract/sidecarless-reports.js';
import { readReport } from '../../../../src/core/contract/worker-report.js';
import { readRegisteredWorker } from '../../../../src/engines/dynamo/registered-worker.js';
import {
  type DirectSources,
  directKnowledge,
} from '../../../../src/fleet/indexer/relays/direct-knowledge.js';
import {
  type CapabilityReport,
  EngineKind,
  EvidenceSource,
} from '../../../../src/gen/kvaccord/v1/capabilities.js';
import { modelCard } from '../../../support/dynamo-folder.js';

function discoveredWith(size: number): DiscoveredWorker {
  const options = { origin: 'file card', observedAtMs: 0, instanceId: '1a', adapters: [] };
  return readRegisteredWorker(JSON.parse(modelCard({ size })), options);
}

function sources(ranks: number): DirectSources['sources'] {
  return Array.from({ length: ranks }, (_, rank) => ({
    rank,
    endpoint: `tcp://h:${5557 + rank}`,
    topic: '',
  }));
}

function report(said: Partial<DirectSources> = {}): CapabilityReport {
  const knowledge = directKnowledge({
    model: 'tiny',
    discovered: undefined,
    sources: sources(1),
    instanceId: 'i-1',
    observed: [],
    declaredTokensPerBlock: undefined,
    nowMs: 0,
    ...said,
  });
  return new SidecarlessReports({ workerId: 'w-1', sidecarVersion: '0.0.0' }, knowledge, 0).current;
}

function observed(
  tokensPerBlock: number,
  unit: 'token' | 'bigram' = 'token',
  rank = 0,
): DirectSources['observed'][number] {
  return {
    tokensPerBlock,
    unit,
    rank,
    origin: 'KV events of tcp://h:5557',
    raw: 'BlockStored',
    observedAtMs: 5,
  };
}

describe('the report of a worker without a sidecar', () => {
  it('names a rank for each source that is read, so that requests may be sent to it', () => {
    expect(servingOf(report({ sources: sources(2) })).ranks).toEqual([0, 1]);
    expect(servingOf(report({ sources: sources(2), discovered: discoveredWith(16) })).ranks).toEqual([0, 1]);
  });

  it('cannot be used before its first event, and says what brings that', () => {
    const read = readReport(report());
    expect(read).toMatchObject({ usable: false, group: 'tiny' });
    expect('reasons' in read && read.reasons.join()).toContain('a prompt of at least one block');
  });

  it('asks for its first event, and for no flag of a sidecar, where its registration gives no size', () => {
    const { facts, ...discovered } = discoveredWith(16);
    const unsized = { ...discovered, facts: facts.filter(({ type }) => type !== 'block_size') };
    const read = readReport(report({ discovered: unsized }));
    expect('reasons' in read && read.reasons).toEqual([
      expect.stringMatching(
        /^its registration gives no block size, and its KV events have shown none yet: .* at least one block$/,
      ),
    ]);
    expect(readReport(report({ discovered: unsized, observed: [observed(32)] }))).toMatchObject({
      usable: true,
      values: { tokens_per_block: 32 },
    });
  });

  it('has the size and the hash unit that its events tell, with that evidence', () => {
    expect(readReport(report({ observed: [observed(16, 'bigram')] }))).toMatchObject({
      usable: true,
      values: { tokens_per_block: 16, hash_unit: 'bigram' },
      evidence: {
        source: EvidenceSource.OBSERVED_EVENT,
        origin: 'KV events of tcp://h:5557',
      },
    });
  });

  it('goes by what the operator declares until its events say something, and names it when they differ', () => {
    expect(readReport(report({ declaredTokensPerBlock: 32 }))).toMatchObject({
      usable: true,
      values: { tokens_per_block: 32 },
      evidence: { source: EvidenceSource.DECLARED, origin: '--kv-cache-block-size' },
    });
    expect(readReport(report({ declaredTokensPerBlock: 32, observed: [observed(16)] }))).toMatchObject({
      usable: true,
      values: { tokens_per_block: 16 },
      declared: { tokensPerBlock: 32, origin: '--kv-cache-block-size' },
    });
  });

  it('has no size when its ranks differ', () => {
    expect(readReport(report({ observed: [observed(16), observed(32, 'token', 1)] }))).toMatchObject({
      usable: false,
    });
  });

  it('has what discovery reports of it beside its events, and differs from itself where they do', () => {
    const discovered = discoveredWith(16);
    expect(readReport(report({ discovered, model: undefined }))).toMatchObject({
      usable: true,
      group: 'tiny',
      engineKind: EngineKind.DYNAMO,
      values: { tokens_per_block: 16 },
      declared: undefined,
    });
    const differing = report({ discovered, model: undefined, observed: [observed(32)] });
    expect(readReport(differing)).toMatchObject({
      usable: true,
      values: { tokens_per_block: 32 },
      declared: { tokensPerBlock: 16, origin: 'file card' },
    });
    expect(differing.warnings[0]).toBe(
      'the engine uses a block size of 32 tokens (KV events of tcp://h:5557: BlockStored), but file card (engine_config) says 16; correct it there: a router that uses this value computes other blocks than the engine',
    );
    expect(readReport(report({ discovered, observed: [observed(16)] }))).toMatchObject({
      declared: undefined,
    });
  });

  it('warns of ranks that nobody reads', () => {
    expect(report({ discovered: discoveredWith(16) }).warnings).toEqual([]);
    expect(report({ discovered: discoveredWith(16), sources: sources(2) }).warnings).toEqual([
      '--kv-event-sources names sockets of 2, but its data_parallel_size is 1 (file card): name one for each rank',
    ]);
  });

  it('takes what an operator insists on for no word of a worker that speaks for itself', () => {
    expect(readReport(report({ discovered: discoveredWith(16), declaredTokensPerBlock: 32 }))).toMatchObject({
      values: { tokens_per_block: 16 },
      declared: undefined,
    });
  });

  it('says what is missing where neither discovery nor the operator names its model', () => {
    const read = readReport(report({ model: undefined, observed: [observed(32)] }));
    expect(read).toMatchObject({ usable: false });
    expect('reasons' in read && read.reasons.join()).toContain('discovery does not list it');
    const problem = { instanceId: '1', facts: [], warnings: [], problem: 'its card is broken' };
    expect(readReport(report({ discovered: problem }))).toMatchObject({
      usable: false,
      reasons: ['its card is broken'],
    });
  });
});
