import { describe, expect, it } from 'vitest';
import { buildReport } from '../../../src/core/contract/build-report.js';
import {
  type Fact,
  type FactField,
  type FactFields,
  fieldFact,
} from '../../../src/core/contract/evidence/facts.js';
import {
  describeSideChannel,
  describeTransfer,
} from '../../../src/core/contract/transfer/describe-transfer.js';
import { transferOf } from '../../../src/core/contract/transfer/transfer.js';
import { readReport } from '../../../src/core/contract/worker-report.js';
import {
  CapabilityReport,
  EngineKind,
  EngineState,
  EvidenceSource,
  ServingAddress_Protocol,
  type SideChannel,
  SideChannel_State,
  TransferMode,
  TransferRole,
} from '../../../src/gen/kvaccord/v1/capabilities.js';

function fact<F extends FactField>(
  field: F,
  value: FactFields[F],
  source: EvidenceSource = EvidenceSource.ENGINE_CONFIG,
): Fact {
  return fieldFact(field, value, { source, origin: 'GET http://e/server_info', raw: 'raw', observedAtMs: 0 });
}

function reportOf(facts: readonly Fact[]): CapabilityReport {
  const report = buildReport({
    workerId: 'w-1',
    instanceId: 'i-1',
    revision: 1n,
    observedAtMs: 0,
    sidecarVersion: '0.1.0',
    engineState: EngineState.READY,
    engineProblem: [],
    facts,
    warnings: [],
    topology: undefined,
    probes: [],
  });
  return CapabilityReport.decode(CapabilityReport.encode(report).finish());
}

function channel(address: string, state: SideChannel_State = SideChannel_State.NOT_ASKED): SideChannel {
  return { dataParallelRank: 0, address, state, reason: state === SideChannel_State.ANSWERED ? '' : 'why' };
}

describe('how an engine exchanges KV blocks, in its report', () => {
  it('has each value with its evidence, over the wire and back', () => {
    const report = reportOf([
      fact('transfer.connector', 'nixl'),
      fact('transfer.role', TransferRole.PRODUCER),
      fact('transfer.mode', TransferMode.PULL),
      fact('transfer.dtype', 'bfloat16'),
      fact('transfer.kv_cache_dtype', 'auto'),
      fact('transfer.lease_seconds', 30),
      fact('transfer.side_channels', [channel('10.0.0.1:5600', SideChannel_State.ANSWERED)]),
      fact('transfer.compatibility_hash', 'c80b58ca062bbae7'),
    ]);
    const read = readReport(report);
    if ('problems' in read) throw new Error(read.problems.join());
    expect(read.transfer).toEqual({
      values: {
        connector: 'nixl',
        role: 'producer',
        mode: 'pull',
        dtype: 'bfloat16',
        kv_cache_dtype: 'auto',
        lease_seconds: 30,
        compatibility_hash: 'c80b58ca062bbae7',
      },
      sideChannels: [{ dataParallelRank: 0, address: '10.0.0.1:5600', state: 'answered', reason: '' }],
      origins: Object.fromEntries(
        ['connector', 'role', 'mode', 'dtype', 'kv_cache_dtype', 'lease_seconds', 'compatibility_hash'].map(
          (name) => [name, 'GET http://e/server_info'],
        ),
      ),
    });
  });

  it('is no part of the digest: a pair is judged by it, and not a fleet', () => {
    const facts: Fact[] = [
      fact('model.served_names', ['tiny']),
      {
        type: 'block_size',
        size: { kind: 6, sizeTokens: 32 },
        forContract: true,
        evidence: { source: EvidenceSource.ENGINE_METRICS, origin: 'o', raw: 'r', observedAtMs: 0 },
      },
    ];
    const plain = reportOf(facts);
    expect(plain.digest).toMatch(/^[0-9a-f]{64}$/);
    expect(reportOf([...facts, fact('transfer.connector', 'nixl')]).digest).toBe(plain.digest);
  });

  it('is absent for an engine of which only a dtype is known', () => {
    expect(reportOf([fact('transfer.dtype', 'bfloat16')]).transfer).toBeUndefined();
  });

  it('takes what was asked over what is configured, and that over what is declared', () => {
    const { transfer, evidence } = reportOf([
      fact('transfer.side_channels', [channel('a:5600')], EvidenceSource.DECLARED),
      fact(
        'transfer.side_channels',
        [channel('b:5600', SideChannel_State.ANSWERED)],
        EvidenceSource.ENGINE_RPC,
      ),
      fact('transfer.side_channels', [channel('b:5600')]),
    ]);
    expect(transfer?.sideChannels).toEqual([channel('b:5600', SideChannel_State.ANSWERED)]);
    expect(evidence).toMatchObject([{ field: 'transfer.side_channels', source: EvidenceSource.ENGINE_RPC }]);
  });

  it("has SGLang's bootstrap server where others reach the engine", () => {
    const { transfer } = reportOf([
      fact('engine.kind', EngineKind.SGLANG),
      fact('transfer.side_channels', [channel('127.0.0.1:8998')], EvidenceSource.ENGINE_HTTP),
      fact(
        'engine.serving_addresses',
        [{ protocol: ServingAddress_Protocol.OPENAI_HTTP, address: 'http://[fd00::7]:30000/x' }],
        EvidenceSource.DECLARED,
      ),
    ]);
    expect(transfer?.sideChannels[0]?.address).toBe('[fd00::7]:8998');
  });

  it('leaves out with a sentence what cannot be sent', () => {
    const report = reportOf([
      fact('transfer.connector', 'n'.repeat(600)),
      fact('transfer.role', TransferRole.BOTH),
      fact('transfer.engine_id', 'a\u001b[2J'),
      fact('transfer.tokens_per_block', 2 ** 40),
      fact('transfer.side_channels', [
        channel('bad\u0007:1'),
        { ...channel('a:5600'), dataParallelRank: 2 ** 40 },
        { ...channel('a:5601'), reason: 'r'.repeat(9_000) },
      ]),
    ]);
    expect(report.transfer).toMatchObject({ connector: '', sideChannels: [{ address: 'a:5601' }] });
    expect(report.transfer?.engineId).toBeUndefined();
    expect(report.warnings.join()).toContain('left out transfer.connector');
    expect(report.warnings.join()).toContain('left out transfer.tokens_per_block: 1099511627776');
    expect('problems' in readReport(report)).toBe(false);
  });
});

describe('the words for it', () => {
  it('say what is known and nothing else', () => {
    const transfer = transferOf(
      reportOf([
        fact('transfer.connector', 'nixl'),
        fact('transfer.role', TransferRole.CONSUMER),
        fact('transfer.tokens_per_block', 32),
        fact('transfer.kv_cache_dtype', 'auto'),
        fact('transfer.compatibility_hash', 'c80b58ca062bbae707cb644e'),
      ]),
    );
    if (transfer === undefined) throw new Error('the report has a transfer');
    expect(describeTransfer(transfer)).toBe(
      'nixl, consumer, blocks of 32 tokens, KV cache auto, hash c80b58ca062b',
    );
  });

  it('name the rank of a side channel that is not the first', () => {
    expect(
      describeSideChannel({ dataParallelRank: 1, address: 'a:5601', state: 'not_asked', reason: 'off' }),
    ).toBe('rank 1: a:5601 not asked: off');
  });
});
