import { describe, expect, it } from 'vitest';
import type { Fact } from '../../../src/core/contract/evidence/facts.js';
import { declaredFacts } from '../../../src/engines/probing/declared.js';
import {
  EngineKind,
  EngineRole,
  HashUnit,
  ServingAddress_Protocol,
} from '../../../src/gen/kvaccord/v1/capabilities.js';
import { fieldRaw, fieldValues, sizeLines } from './probe-run.js';

const fromFile = (text: string): Promise<readonly Fact[]> =>
  declaredFacts({ file: { path: '/etc/worker.yaml', text } }, 1_000);

describe('what an operator declares', () => {
  it('by flags becomes facts that say so', async () => {
    const facts = await declaredFacts(
      {
        tokensPerBlock: { value: 64, origin: 'KV_ACCORD_TOKENS_PER_BLOCK' },
        model: { value: 'llama', origin: '--model' },
        engineKind: { value: EngineKind.VLLM, origin: '--engine-kind' },
        role: { value: EngineRole.PREFILL, origin: '--role' },
        advertisedUrls: { value: ['http://gpu-7.lan:8000'], origin: '--advertise-engine' },
      },
      1_000,
    );
    expect(sizeLines(facts)).toEqual(['requested 64 declared contract']);
    expect(facts[0]?.evidence).toMatchObject({
      origin: 'KV_ACCORD_TOKENS_PER_BLOCK',
      raw: '64',
      observedAtMs: 1_000,
    });
    expect(fieldValues(facts, 'model.served_names')).toEqual([['llama']]);
    expect(fieldValues(facts, 'engine.kind')).toEqual([EngineKind.VLLM]);
    expect(fieldValues(facts, 'engine.role')).toEqual([EngineRole.PREFILL]);
    expect(fieldRaw(facts, 'engine.role')).toEqual(['prefill']);
    expect(fieldValues(facts, 'engine.serving_addresses')).toEqual([
      [{ protocol: ServingAddress_Protocol.OPENAI_HTTP, address: 'http://gpu-7.lan:8000' }],
    ]);
  });

  it('by a file has the names of the report, in sections', async () => {
    const facts = await fromFile(`
engine: { kind: trtllm, version: 1.3.0rc21, role: decode }
model: { served_names: [a, b], max_model_len: 4096 }
contract: { tokens_per_block: 32, hash_unit: bigram, hash_seed: "0" }
parallelism: { tensor_parallel_size: 8, data_parallel_rank: 0 }
capacity: { total_kv_blocks: 9007199254740991, kv_tiers: [device, host] }
kv_event_sources:
  - { data_parallel_rank: 0, endpoint: "tcp://127.0.0.1:5557", topic: kv, replay_endpoint: "tcp://127.0.0.1:5558" }
`);
    expect(sizeLines(facts)).toEqual(['requested 32 declared contract']);
    expect(fieldValues(facts, 'engine.kind')).toEqual([EngineKind.TENSORRT_LLM]);
    expect(fieldValues(facts, 'engine.role')).toEqual([EngineRole.DECODE]);
    expect(fieldValues(facts, 'model.served_names')).toEqual([['a', 'b']]);
    expect(fieldValues(facts, 'contract.hash_unit')).toEqual([HashUnit.BIGRAM]);
    expect(fieldValues(facts, 'contract.hash_seed')).toEqual(['0']);
    expect(fieldValues(facts, 'parallelism.data_parallel_rank')).toEqual([0]);
    expect(fieldValues(facts, 'capacity.total_kv_blocks')).toEqual([9007199254740991]);
    expect(fieldValues(facts, 'kv_event_sources')[0]).toEqual([
      {
        dataParallelRank: 0,
        transport: 'zmq',
        endpoint: 'tcp://127.0.0.1:5557',
        topic: 'kv',
        replayEndpoint: 'tcp://127.0.0.1:5558',
      },
    ]);
    expect(facts.every(({ evidence }) => evidence.origin === 'file /etc/worker.yaml')).toBe(true);
  });

  it('may be JSON, and short', async () => {
    expect(sizeLines(await fromFile('{"tokens_per_block": 16}'))).toEqual(['requested 16 declared contract']);
    expect(await fromFile('')).toEqual([]);
  });

  it.each([
    ['tokens_per_block: 0', 'tokens_per_block is 0; expected an integer from 1 to 1,048,576'],
    ['tokens_per_block: "32"', 'expected an integer from 1'],
    ['contract: { tokens_per_block: 2097152 }', 'expected an integer from 1'],
    ['tokens_per_blok: 32', 'the nearest one is tokens_per_block'],
    ['parallelism: { tensor_paralel_size: 2 }', 'the nearest one is parallelism.tensor_parallel_size'],
    [
      'parallelism: { world_size: -1 }',
      'parallelism.world_size is -1; expected a whole number from 0 to 4294967295',
    ],
    ['parallelism: 2', 'parallelism is 2; expected fields with values'],
    ['engine: { kind: llamacpp }', 'expected one of vllm, sglang, trtllm, dynamo, other'],
    ['engine: { kind: toString }', 'expected one of vllm'],
    ['engine: { role: both }', 'engine.role is "both"; expected one of aggregated, prefill, decode'],
    ['model: { served_names: llama }', 'expected a list of at most'],
    ['model: { root: "" }', 'expected a text'],
    ['kv_event_sources: [{ endpoint: x }]', 'expected a list of { data_parallel_rank, endpoint'],
    ['"__proto__": { a: 1 }', 'is no field that can be declared'],
    ['- 1', 'expected fields with values'],
    ['a: [', 'is no YAML'],
    ['a: [1,\n  b: }', 'end with a ] at line 2, column 6'],
  ])('is refused with the field, the value and what would be right: %s', async (text, words) => {
    const failure = await fromFile(text).catch((cause: unknown) => cause);
    expect(failure).toMatchObject({
      name: 'ProbeError',
      code: 'bad_answer',
      message: expect.stringContaining(words),
    });
    expect((failure as Error).message).toMatch(/^file \/etc\/worker\.yaml: .*[^:]$/s);
  });
});
