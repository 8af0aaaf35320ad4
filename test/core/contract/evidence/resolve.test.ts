import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_RAW_CHARS, resolveFacts } from '../../../../src/core/contract/evidence/resolve.js';
import {
  EngineRole,
  type KvEventSource,
  type ServingAddress,
} from '../../../../src/gen/kvaccord/v1/capabilities.js';
import {
  anyFact,
  CONFIG,
  DECLARED,
  EFFECTIVE,
  field,
  HTTP,
  KV_EVENT,
  METRICS,
  OBSERVED,
  otherSize,
  REQUESTED,
  RPC,
  size,
} from './make-facts.js';

describe('resolving what all sources say', () => {
  it('fills nothing in: no facts, no values', () => {
    const resolved = resolveFacts([]);
    expect(resolved.fields).toEqual({});
    expect(resolved.tokensPerBlock).toBeUndefined();
    expect(resolved.problems).toEqual([]);
  });

  it('R2: keeps an explicit zero as a value', () => {
    const resolved = resolveFacts([field('parallelism.data_parallel_rank', 0, RPC)]);
    expect(resolved.fields['parallelism.data_parallel_rank']).toBe(0);
  });

  it('R3: takes the best source for a field and keeps each one that differs as a conflict', () => {
    const resolved = resolveFacts([
      field('contract.hash_algorithm', 'sha256', METRICS),
      field('contract.hash_algorithm', 'xxhash', DECLARED),
      field('contract.hash_algorithm', 'sha256_cbor', RPC, 'gRPC x'),
    ]);
    expect(resolved.fields['contract.hash_algorithm']).toBe('sha256_cbor');
    expect(resolved.conflicts.map((conflict) => [conflict.keptValue, conflict.otherValue])).toEqual([
      ['sha256_cbor', 'sha256'],
      ['sha256_cbor', 'xxhash'],
    ]);
  });

  it('R3: sees no conflict where sources say the same', () => {
    const same = [field('engine.version', '0.32.0', RPC), field('engine.version', '0.32.0', HTTP)];
    expect(resolveFacts(same).conflicts).toEqual([]);
  });

  it('R4: keeps a configured value beside the live one that outranks it', () => {
    const resolved = resolveFacts([size(32, CONFIG), size(64, METRICS)]);
    expect(resolved.tokensPerBlock).toBe(64);
    expect(resolved.conflicts).toMatchObject([
      { field: 'contract.tokens_per_block', keptValue: '64', otherValue: '32', otherSource: CONFIG },
    ]);
  });

  it("says in words where a value is fixed that the engine's own events contradict", () => {
    const resolved = resolveFacts([
      size(16, DECLARED, REQUESTED, '--tokens-per-block'),
      size(32, METRICS, EFFECTIVE),
      size(32, OBSERVED, KV_EVENT, 'KV events of tcp://e:1'),
    ]);
    expect(resolved.tokensPerBlock).toBe(32);
    expect(resolved.conflicts).toMatchObject([
      { keptValue: '32', keptSource: OBSERVED, otherValue: '16', otherOrigin: '--tokens-per-block' },
    ]);
    expect(resolved.warnings).toEqual([
      'the engine uses a block size of 32 tokens (KV events of tcp://e:1: block_size="32"), but --tokens-per-block ' +
        '(declared) says 16; correct it there: a router that uses this value computes other blocks than the engine',
    ]);
  });

  it('adds up the event sources that the frontends of one engine know, and takes none of a worse source', () => {
    const source = (dataParallelRank: number, endpoint: string): KvEventSource => ({
      dataParallelRank,
      endpoint,
      transport: 'zmq',
      topic: '',
    });
    const stated = [
      field('kv_event_sources', [source(1, 'tcp://b:1'), source(0, 'tcp://b:0')], HTTP, 'GET b'),
      field('kv_event_sources', [source(0, 'tcp://a:0')], HTTP, 'GET a'),
      field('kv_event_sources', [source(2, 'tcp://c:2')], CONFIG, 'GET a config'),
    ];
    for (const facts of [stated, [...stated].reverse()]) {
      const { fields } = resolveFacts(facts);
      expect(fields.kv_event_sources?.map(({ endpoint }) => endpoint)).toEqual(['tcp://a:0', 'tcp://b:1']);
    }
  });

  it('does not call start markers of different sources a conflict', () => {
    const markers = [field('engine.start_marker', 'a', RPC), field('engine.start_marker', 'b', METRICS)];
    expect(resolveFacts(markers).conflicts).toEqual([]);
  });

  it('lists every kind of size once, with evidence for each', () => {
    const resolved = resolveFacts([size(32, METRICS), size(32, RPC), otherSize(64, METRICS, REQUESTED)]);
    expect(resolved.blockSizes).toEqual([
      { kind: EFFECTIVE, sizeTokens: 32 },
      { kind: REQUESTED, sizeTokens: 64 },
    ]);
    expect(resolved.evidence.map((entry) => entry.field)).toEqual([
      'contract.tokens_per_block',
      'block_sizes.effective_attention',
      'block_sizes.requested',
    ]);
  });

  it('adds up the addresses that each source knows of the engine', () => {
    const at = (address: string): ServingAddress => ({ protocol: 1, address });
    const resolved = resolveFacts([
      field('engine.serving_addresses', [at('http://a:1')], HTTP, 'GET http://a:1'),
      field('engine.serving_addresses', [at('http://b:1'), at('http://a:1')], HTTP, 'GET http://b:1'),
      field('engine.serving_addresses', [at('a:2')], RPC),
    ]);
    expect(resolved.fields['engine.serving_addresses']).toEqual([
      at('a:2'),
      at('http://a:1'),
      at('http://b:1'),
    ]);
    expect(resolved.conflicts).toEqual([]);
  });

  it('puts the address that the operator advertises before all others, and says who declared it', () => {
    const at = (address: string): ServingAddress => ({ protocol: 1, address });
    const resolved = resolveFacts([
      field('engine.serving_addresses', [at('http://127.0.0.1:8000')], HTTP),
      field('engine.serving_addresses', [at('http://gpu-7.lan')], DECLARED),
      field('engine.serving_addresses', [at('127.0.0.1:50051')], RPC),
    ]);
    expect(resolved.fields['engine.serving_addresses']).toEqual([
      at('http://gpu-7.lan'),
      at('127.0.0.1:50051'),
      at('http://127.0.0.1:8000'),
    ]);
    expect(resolved.evidence.map(({ source }) => source)).toEqual([DECLARED]);
    expect(resolved.conflicts).toEqual([]);
  });

  it('takes the role of a live source before a declared one, and keeps the other as a conflict', () => {
    const resolved = resolveFacts([
      field('engine.role', EngineRole.PREFILL, DECLARED),
      field('engine.role', EngineRole.DECODE, HTTP),
    ]);
    expect(resolved.fields['engine.role']).toBe(EngineRole.DECODE);
    expect(resolved.conflicts.map((conflict) => conflict.field)).toEqual(['engine.role']);
  });

  it('names a differing block size before all other conflicts, which a bound may cut off', () => {
    const resolved = resolveFacts([
      field('engine.version', '1', RPC),
      field('engine.version', '2', HTTP),
      size(32, METRICS),
      size(16, DECLARED),
    ]);
    expect(resolved.conflicts.map((conflict) => conflict.field)).toEqual([
      'contract.tokens_per_block',
      'engine.version',
    ]);
  });

  it('leaves out a size that cannot be, with a warning, although nothing depends on it', () => {
    const resolved = resolveFacts([size(32, METRICS), otherSize(0, METRICS, REQUESTED)]);
    expect(resolved.tokensPerBlock).toBe(32);
    expect(resolved.blockSizes).toHaveLength(1);
    expect(resolved.warnings).toEqual([expect.stringContaining('left out the requested block size 0')]);
  });

  it('truncates raw evidence to its bound', () => {
    const long = 'x'.repeat(5_000);
    const [entry] = resolveFacts([field('engine.version', long, RPC)]).evidence;
    expect(entry?.raw).toHaveLength(MAX_RAW_CHARS);
  });

  it('yields the same values in any order of the sources', () => {
    fc.assert(
      fc.property(
        fc
          .array(anyFact, { maxLength: 8 })
          .chain((facts) =>
            fc.tuple(
              fc.constant(facts),
              fc.shuffledSubarray(facts, { minLength: facts.length, maxLength: facts.length }),
            ),
          ),
        ([facts, shuffled]) => {
          const [a, b] = [resolveFacts(facts), resolveFacts(shuffled)];
          expect(b.fields).toEqual(a.fields);
          expect(b.tokensPerBlock).toEqual(a.tokensPerBlock);
        },
      ),
      { numRuns: 500 },
    );
  });
});
