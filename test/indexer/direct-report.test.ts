import { describe, expect, it } from 'vitest';
import { readReport } from '../../src/contract/worker-report.js';
import { EvidenceSource } from '../../src/gen/kvaccord/v1/capabilities.js';
import { type DirectKnowledge, directReport } from '../../src/indexer/direct-report.js';

function report(knowledge: Partial<DirectKnowledge> = {}): ReturnType<typeof directReport> {
  return directReport({
    workerId: 'w-1',
    model: 'tiny',
    told: undefined,
    instanceId: 'i-1',
    revision: 1n,
    observed: [],
    declaredTokensPerBlock: undefined,
    nowMs: 0,
    version: '0.0.0',
    ...knowledge,
  });
}

function observed(
  tokensPerBlock: number,
  unit: 'token' | 'bigram' = 'token',
  rank = 0,
): DirectKnowledge['observed'][number] {
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
  it('cannot be used before its first event, and says what brings that', () => {
    const read = readReport(report());
    expect(read).toMatchObject({ usable: false, group: 'tiny' });
    expect('reasons' in read && read.reasons.join()).toContain('a prompt of at least one block');
  });

  it('has the size and the hash unit that its events tell, with that evidence', () => {
    expect(readReport(report({ observed: [observed(16, 'bigram')] }))).toMatchObject({
      usable: true,
      values: { tokens_per_block: 16, hash_unit: 'bigram' },
      evidence: {
        source: EvidenceSource.EVIDENCE_SOURCE_OBSERVED_EVENT,
        origin: 'KV events of tcp://h:5557',
      },
    });
  });

  it('goes by what the operator declares until its events say something, and names it when they differ', () => {
    expect(readReport(report({ declaredTokensPerBlock: 32 }))).toMatchObject({
      usable: true,
      values: { tokens_per_block: 32 },
      evidence: { source: EvidenceSource.EVIDENCE_SOURCE_DECLARED, origin: '--kv-cache-block-size' },
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
});
