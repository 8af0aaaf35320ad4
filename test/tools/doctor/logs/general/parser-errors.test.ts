import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../../../src/tools/doctor/diagnose.js';
import type { Diagnosis } from '../../../../../src/tools/doctor/diagnosis.js';
import {
  partsAround,
  refusedClass,
  refusedPart,
} from '../../../../../src/tools/doctor/logs/general/parser-errors.js';
import { joined } from '../../support/evidence.js';
import { summaryOf } from '../summaries.js';

async function diagnosisOf(text: string): Promise<Diagnosis> {
  return diagnose(joined({ logs: [await summaryOf(`${text}\n`)] }));
}

const REFUSALS: readonly (readonly [cure: string, text: string])[] = [
  [
    'Set --model-path as the sentence asks',
    '2025-03-20T18:16:21.432748Z ERROR dynamo_runtime::worker: Application shutdown with error: out=vllm requires --model-path to be an HF repo, or for GGUF add flag --model-config <hf-repo>',
  ],
  [
    'Set --block-size to what it takes (1, 8, 16, 32, 64 or 128) in place of 24',
    'pydantic_core._pydantic_core.ValidationError: 1 validation error for CacheConfig\nblock_size\n  Input should be 1, 8, 16, 32, 64 or 128 [type=literal_error, input_value=24, input_type=int]',
  ],
  [
    'Set --kv-cache-dtype to what it takes',
    "pydantic_core._pydantic_core.ValidationError: 1 validation error for CacheConfig\ncache_dtype\n  Input should be 'auto', 'bfloat16' or 'fp8' [type=literal_error, input_value='int8', input_type=str]",
  ],
  [
    'out of the JSON of --ec-transfer-config',
    'pydantic_core._pydantic_core.ValidationError: 1 validation error for ECTransferConfig\nec_rol\n  Unexpected keyword argument [type=unexpected_keyword_argument, input_value=1, input_type=int]',
  ],
  [
    'in the JSON of --kv-transfer-config',
    "pydantic_core._pydantic_core.ValidationError: 1 validation error for KVTransferConfig\nkv_role\n  Input should be 'kv_producer' or 'kv_consumer' [type=literal_error, input_value='producer', input_type=str]",
  ],
  [
    'Take kv_cache_config.tokens_per_blok out of the engine file',
    'pydantic_core._pydantic_core.ValidationError: 1 validation error for TorchLlmArgs\nkv_cache_config.tokens_per_blok\n  Extra inputs are not permitted [type=extra_forbidden, input_value=32, input_type=int]',
  ],
  [
    'Set --max-num-batched-tokens to at least 1024, or --max-num-seqs to at most 512',
    "(APIServer pid=7) pydantic_core._pydantic_core.ValidationError: 1 validation error for SchedulerConfig\n(APIServer pid=7)   Value error, max_num_batched_tokens (512) must be greater than or equal to max_num_seqs (1024). [type=value_error, input_value=ArgsKwargs((), {'runner_ty...}), input_type=ArgsKwargs]",
  ],
  [
    'Do what the sentence asks for ("please install Ray with `pip install ray`")',
    'pydantic_core._pydantic_core.ValidationError: 1 validation error for ParallelConfig\n  Value error, Unable to load Ray: No module. Ray is required for multi-node inference, please install Ray with `pip install ray`. [type=value_error, input_value=ArgsKwargs((), {}), input_type=ArgsKwargs]',
  ],
  [
    "Set --kv-cache-dtype to what it takes ('auto', 'fp8') in place of fp9",
    "vllm serve: error: argument --kv-cache-dtype: invalid choice: 'fp9' (choose from 'auto', 'fp8')",
  ],
  ['without --kv-block-sise', "error: unexpected argument '--kv-block-sise' found"],
  ['Set --router-mode to a value', "error: invalid value 'kvv' for '--router-mode <ROUTER_MODE>'"],
  ['without --kv-cache-blocksize', 'Error: unknown flag: --kv-cache-blocksize'],
  [
    'a whole number',
    'Error: invalid argument "abc" for "--block-size" flag: strconv.ParseInt: parsing "abc"',
  ],
  ['without -poolName', 'flag provided but not defined: -poolName'],
  [
    'Set tokenProcessorConfig.blockSize to what it takes (int)',
    "Error: 1 error(s) decoding:\n\n* 'tokenProcessorConfig.blockSize' expected type 'int', got unconvertible type 'string', value: 'x'",
  ],
  [
    'Take kv_block_sise out of the configuration',
    'Error: unknown field `kv_block_sise`, expected one of `kv_block_size`, `router_mode` at line 3 column 5',
  ],
  [
    'Set routerSpec.routingLogic to what it takes',
    'Error: UPGRADE FAILED: values don\'t meet the specifications of the schema(s) in the following chart(s):\nvllm-stack:\n- routerSpec.routingLogic: routerSpec.routingLogic must be one of the following: "roundrobin", "kvaware"',
  ],
  [
    'Set spec.targetPorts[0].number to what it takes (should be greater than or equal to 1) in place of 0',
    'The InferencePool "llama" is invalid: spec.targetPorts[0].number: Invalid value: 0: spec.targetPorts[0].number in body should be greater than or equal to 1',
  ],
  [
    'Take spec.targetPort out of InferencePool',
    'Error from server (BadRequest): error when creating "pool.yaml": InferencePool in version "v1" cannot be handled as a InferencePool: strict decoding error: unknown field "spec.targetPort"',
  ],
  [
    'Write max_local_disk_size: N (above 0)',
    'ValueError: local_disk requires max_local_disk_size > 0 (lmcache)',
  ],
];

describe('a setting that is refused', () => {
  it.each(REFUSALS)('is named with what to do: %s', async (cure, text) => {
    const { assessments, advice } = await diagnosisOf(text);
    expect(assessments[0]?.cause).toBe('settings_refused');
    expect(advice).toContain(cure);
  });

  it.each([
    'ERROR 11-02 10:00:00 [serving.py:9] failed to parse request body: json: unknown field "foo"',
    'pydantic_core._pydantic_core.ValidationError: 1 validation error for ChatCompletionRequest\nmessages\n  Field required [type=missing, input_value={}, input_type=dict]',
    '2026-11-02T10:00:00Z ERROR dynamo_llm::http: Failed to deserialize the body: missing field `model`',
    'train.py: error: unrecognized arguments: --learning-rate',
  ])('is none of one request, or of another program: %s', async (text) => {
    expect((await diagnosisOf(text)).verdict).toBe('unknown');
  });
});

describe('a line of any length', () => {
  const REFUSAL = 'The Deployment "vllm" is invalid: spec.replicas: Required value';
  const HOSTILE = ['Aa.', "'--a", '" is invalid: ', "invalid value '", 'value "', 'validation error'];

  it('is looked at around the words of a refusal, in three places at most', () => {
    for (const hostile of HOSTILE) {
      const text = hostile.repeat(65_536 / hostile.length);
      for (const needle of HOSTILE) {
        const parts = partsAround(text, needle);
        expect(parts.length).toBeLessThanOrEqual(3);
        expect(parts.join('').length).toBeLessThanOrEqual(3_903);
        if (!text.includes(needle)) expect(parts).toEqual([]);
      }
    }
  });

  it('says what it refuses wherever that stands', () => {
    for (const before of ['', 'x '.repeat(150), 'x '.repeat(8_000)])
      expect(refusedPart(`${before}${REFUSAL}`)).toBe(REFUSAL.slice('The '.length));
  });

  it('begins where it begins, and not where a part of it does', () => {
    const argument = "argument --block-size: invalid choice: '24' (choose from 16, 32";
    expect(refusedPart(argument)).toBe(argument);
    const needle = ': invalid choice: ';
    const [first, second] = partsAround(`${'y'.repeat(400)}${needle}${'y'.repeat(1_000)}${needle}`, needle);
    expect([first?.indexOf(needle), second?.indexOf(needle)]).toEqual([301, 301]);
    expect(refusedPart(`${'y'.repeat(300)}${argument}`)).toBeUndefined();
  });
});

describe('a check of a whole class of settings', () => {
  it.each([
    [
      'Async scheduling is not supported with it.',
      "  Value error, Async scheduling is not supported with it. [type=value_error, input_value=ArgsKwargs((), {'a': 1}), input_type=ArgsKwargs]",
    ],
    [
      'it has no layers',
      '1 validation error for ModelConfig Assertion failed, it has no layers [type=assertion_error, input_value={}]',
    ],
    // A request, and what a kind of error says more of.
    [
      undefined,
      "  Value error, `n` must be at least 1 [type=value_error, input_value={'model': 'm'}, input_type=dict]",
    ],
    [
      undefined,
      "1 validation error for ModelConfig Value error, Model architectures ['A'] are not supported for now. [type=value_error, input_value=ArgsKwargs((), {})]",
    ],
  ])('says %j', (words, text) => {
    expect(refusedClass(text)).toBe(words);
  });
});
