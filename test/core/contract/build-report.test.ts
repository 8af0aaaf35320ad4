import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { buildReport, type ReportInput, reportSubstance } from '../../../src/core/contract/build-report.js';
import type { Fact } from '../../../src/core/contract/evidence/facts.js';
import { readReport } from '../../../src/core/contract/worker-report.js';
import {
  CapabilityReport,
  Completeness_State,
  EngineRole,
  EngineState,
  Topology,
} from '../../../src/gen/kvaccord/v1/capabilities.js';
import {
  anyFact,
  COMPLETE_FACTS,
  DECLARED,
  field,
  HTTP,
  METRICS,
  OBSERVED_AT_MS,
  RPC,
  size,
} from './evidence/make-facts.js';

function report(facts: readonly Fact[], changes: Partial<ReportInput> = {}): CapabilityReport {
  return buildReport({
    workerId: 'w-1',
    instanceId: 'i-1',
    revision: 1n,
    observedAtMs: OBSERVED_AT_MS,
    sidecarVersion: '0.1.0',
    engineState: EngineState.READY,
    engineProblem: [],
    facts,
    warnings: [],
    topology: undefined,
    probes: [],
    ...changes,
  });
}

describe('a report', () => {
  it('is complete, with a digest, when the block size and the model are known', () => {
    const complete = report(COMPLETE_FACTS);
    expect(complete.completeness?.state).toBe(Completeness_State.COMPLETE);
    expect(complete.contract?.tokensPerBlock).toBe(32);
    expect(complete.digest).toMatch(/^[0-9a-f]{64}$/);
  });

  it('is incomplete without a block size, says what each source answered, and what to do', () => {
    const probes = [
      { probe: 'vllm-metrics', origin: 'GET x', answered: false, factCount: 0, error: 'GET x: status 500' },
    ];
    const incomplete = report([field('model.served_names', ['tiny'], HTTP)], { probes });
    expect(incomplete.completeness?.reasons).toEqual([
      expect.stringMatching(/no source could say tokens_per_block \(GET x: status 500\).*--tokens-per-block/),
    ]);
    expect(incomplete.digest).toBe('');
  });

  it('says what several sources say alike once, and no warning repeats it', () => {
    const error = 'GET http://127.0.0.1:8000/: no engine that is known here';
    const probes = ['vllm-metrics', 'vllm-version', 'sglang-metrics'].map((probe) => {
      return { probe, origin: `GET ${probe}`, answered: false, factCount: 0, error };
    });
    const { completeness, warnings } = report([], { probes, warnings: [error, 'something else'] });
    expect(completeness?.reasons).toEqual([
      expect.stringContaining('tokens_per_block (GET http://127.0.0.1:8000/: no engine that is known here);'),
      'no source could say which model is served; name it with --model',
    ]);
    expect(warnings).toEqual(['something else']);
  });

  it('is incomplete without a served model', () => {
    const incomplete = report([size(32, METRICS)]);
    expect(incomplete.completeness?.reasons).toEqual([expect.stringContaining('--model')]);
  });

  it('names the problem of an engine that is down, and nothing that only follows from it', () => {
    const problem = ['cannot reach the engine at http://127.0.0.1:8000: connection refused'];
    const down = report([], {
      engineState: EngineState.UNREACHABLE,
      engineProblem: problem,
    });
    expect(down.completeness?.reasons).toEqual(problem);
  });

  it('R2: has no number that no source stated, and keeps a zero that a source stated', () => {
    expect(report(COMPLETE_FACTS).parallelism).toEqual({});
    const zero = report([...COMPLETE_FACTS, field('parallelism.data_parallel_rank', 0, RPC)]);
    expect(zero.parallelism).toEqual({ dataParallelRank: 0 });
  });

  it('has the role that was stated, and none otherwise, and the same contract with any', () => {
    const alone = report(COMPLETE_FACTS);
    expect(alone.engine).not.toHaveProperty('role');
    const prefill = report([...COMPLETE_FACTS, field('engine.role', EngineRole.PREFILL, HTTP)]);
    expect(prefill.engine?.role).toBe(EngineRole.PREFILL);
    expect(prefill.evidence.map((entry) => entry.field)).toContain('engine.role');
    expect(prefill.digest).toBe(alone.digest);
  });

  it('keeps the start marker to itself', () => {
    const marked = report([...COMPLETE_FACTS, field('engine.start_marker', 'pid 1', RPC)]);
    expect(marked.evidence.map((entry) => entry.field)).not.toContain('engine.start_marker');
  });

  it('is the same for the same input', () => {
    expect(report(COMPLETE_FACTS)).toEqual(report(COMPLETE_FACTS));
  });

  it('leaves out a number that the wire cannot carry, and warns of it', () => {
    const huge = report([...COMPLETE_FACTS, field('model.max_model_len', 2 ** 40, HTTP)]);
    expect(huge.model?.maxModelLen).toBeUndefined();
    expect(huge.warnings).toEqual([expect.stringContaining('model.max_model_len')]);
    expect(() => CapabilityReport.encode(huge).finish()).not.toThrow();
  });

  it('travels the wire and is believed on the other side, whatever the sources said', () => {
    fc.assert(
      fc.property(
        fc.array(anyFact, { maxLength: 30 }),
        fc.array(fc.string({ unit: 'binary', maxLength: 30 }), { maxLength: 100 }),
        (facts, warnings) => {
          const sent = report(facts, { warnings });
          const received = CapabilityReport.decode(CapabilityReport.encode(sent).finish());
          expect(readReport(received)).not.toHaveProperty('problems');
        },
      ),
      { numRuns: 300 },
    );
  });

  it('stays within the bounds of the other side with very many facts', () => {
    const facts = Array.from({ length: 2_000 }, (_, rank) => [
      size(rank + 1, METRICS, undefined, `rank ${rank}`),
      field('engine.version', `v${rank}`, RPC, `rank ${rank}`),
    ]).flat();
    const names = field(
      'model.served_names',
      Array.from({ length: 500 }, (_, n) => `m${n}`),
      HTTP,
    );
    expect(readReport(report([...facts, names]))).not.toHaveProperty('problems');
  });
});

describe('a report that would be too large', () => {
  const names = (count: number): string[] =>
    Array.from({ length: count }, (_, n) => `${n}-${'x'.repeat(500)}`);
  const adapters = field('model.lora_adapters', names(4_096), HTTP);
  const links = Array.from({ length: 20_000 }, (_, n) => ({
    a: `GPU-${n}-${'a'.repeat(40)}`,
    b: `GPU-${n}-${'b'.repeat(40)}`,
    kind: 1 as const,
  }));

  it('does without what is missed least, says so, and stays usable', () => {
    const topology = Topology.fromPartial({ links });
    const large = report([...COMPLETE_FACTS, adapters], { topology });
    expect(CapabilityReport.encode(large).finish().length).toBeLessThan(2.2 * 1024 * 1024);
    expect(large.topology?.links).toEqual([]);
    expect(large.warnings[0]).toContain('left out topology.links');
    expect(large.completeness?.state).toBe(Completeness_State.COMPLETE);
    // What was handed in is the caller's and may be used again.
    expect(topology.links).toHaveLength(20_000);
  });
});

describe('the digest', () => {
  const withFact = (...facts: Fact[]): string => report([...COMPLETE_FACTS, ...facts]).digest;

  it('is equal for equal contracts, wherever the values came from', () => {
    const other = report([field('model.served_names', ['tiny'], DECLARED), size(32, RPC)], {
      workerId: 'w-2',
      instanceId: 'i-9',
      revision: 77n,
    });
    expect(other.digest).toBe(report(COMPLETE_FACTS).digest);
  });

  it.each([
    ['another block size', [field('model.served_names', ['tiny'], HTTP), size(64, METRICS)]],
    ['another model', [field('model.served_names', ['huge'], HTTP), size(32, METRICS)]],
  ])('differs with %s', (_what, facts) => {
    expect(report(facts).digest).not.toBe(report(COMPLETE_FACTS).digest);
  });

  it.each([
    field('contract.hash_algorithm', 'sha256', RPC),
    field('contract.hash_seed', '0', RPC),
    field('model.revision', 'main', RPC),
    field('model.tokenizer_fingerprint', 'ab', RPC),
  ])('differs when $field is known', (fact) => {
    expect(withFact(fact)).not.toBe(withFact());
  });

  it('does not move values from one field to another', () => {
    expect(withFact(field('contract.hash_seed', 'x', RPC))).not.toBe(
      withFact(field('contract.hash_algorithm', 'x', RPC)),
    );
  });

  it('ignores what is no part of the contract', () => {
    expect(withFact(field('engine.version', '9', RPC), field('capacity.total_kv_blocks', 7, RPC))).toBe(
      withFact(),
    );
  });
});

describe('the substance of a report', () => {
  const base = report(COMPLETE_FACTS);

  it('stays the same when only times, raw texts, the revision and the words of failures differ', () => {
    const failed = (error: string): ReportInput['probes'] => [
      { probe: 'p', origin: 'o', answered: false, factCount: 0, error },
    ];
    const earlier = report(COMPLETE_FACTS, { probes: failed('after 31 ms') });
    const later = report(
      COMPLETE_FACTS.map((fact) => ({
        ...fact,
        evidence: { ...fact.evidence, raw: 'another text', observedAtMs: OBSERVED_AT_MS + 9_000 },
      })),
      { probes: failed('after 32 ms'), revision: 8n, observedAtMs: OBSERVED_AT_MS + 9_999 },
    );
    expect(reportSubstance(later)).toBe(reportSubstance(earlier));
  });

  it.each<[string, CapabilityReport]>([
    ['the block size', report([field('model.served_names', ['tiny'], HTTP), size(64, METRICS)])],
    ['its source', report([field('model.served_names', ['tiny'], HTTP), size(32, RPC)])],
    ['the engine state', report(COMPLETE_FACTS, { engineState: EngineState.DRAINING })],
    ['the instance', report(COMPLETE_FACTS, { instanceId: 'i-2' })],
    ['a warning', report(COMPLETE_FACTS, { warnings: ['look'] })],
    ['a 64-bit number', report([...COMPLETE_FACTS, field('capacity.total_kv_blocks', 5, RPC)])],
  ])('changes with %s', (_what, changed) => {
    expect(reportSubstance(changed)).not.toBe(reportSubstance(base));
  });
});
