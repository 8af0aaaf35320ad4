import { describe, expect, it } from 'vitest';
import { openaiModels } from '../../../src/engines/probing/openai-models.js';
import { versionProbe } from '../../../src/engines/probing/version-probe.js';
import { vllmMetrics } from '../../../src/engines/vllm/metrics.js';
import { EngineKind, EngineState } from '../../../src/gen/kvaccord/v1/capabilities.js';
import { fieldRaw, fieldValues, probeFailure, runProbe, sizeLines } from '../probing/probe-run.js';
import { recording, serveRecordings } from '../probing/recorded-engine.js';

const vllm = (tag: string): Record<string, string> => ({
  '/metrics': recording(`vllm-0.32.0/metrics.${tag}.txt`),
  '/v1/models': recording(`vllm-0.32.0/models.${tag}.json`),
  '/version': recording(`vllm-0.32.0/version.${tag}.json`),
});

describe('the metrics of a recorded vLLM 0.32.0', () => {
  it.each([
    ['b32', 32, 65_536, 2_097_152, 'sha256'],
    ['b128-default', 128, 16_384, 2_097_152, 'sha256'],
    ['b64-bytes', 64, 64, 4_096, 'sha256_cbor'],
  ] as const)(
    '%s gives the effective size %i and its evidence',
    async (tag, size, blocks, tokens, algorithm) => {
      await using engine = await serveRecordings(vllm(tag));
      const { facts, warnings } = await runProbe(vllmMetrics, { httpBaseUrl: engine.url });
      expect(sizeLines(facts)).toEqual([
        `effective_attention ${size} engine_metrics contract`,
        `scheduler ${size} engine_metrics`,
      ]);
      expect(facts[0]?.evidence).toMatchObject({
        origin: `GET ${engine.url}/metrics`,
        raw: `effective_attention_block_size="${size}"`,
      });
      expect(fieldValues(facts, 'capacity.total_kv_blocks')).toEqual([blocks]);
      expect(fieldValues(facts, 'capacity.kv_cache_size_tokens')).toEqual([tokens]);
      expect(fieldValues(facts, 'contract.hash_algorithm')).toEqual([algorithm]);
      expect(fieldValues(facts, 'engine.start_marker')[0]).toMatch(/^process_start_time_seconds=1\.795224/);
      expect(warnings).toEqual([]);
      expect(engine.requests).toEqual(['GET /v1/models', 'GET /metrics']);
    },
  );

  it('says of the Rust frontend that its metrics have no block size', async () => {
    await using engine = await serveRecordings({
      '/metrics': recording('vllm-0.32.0/rust-frontend/metrics.b64-seed0.txt'),
      '/v1/models': recording('vllm-0.32.0/rust-frontend/models.b64-seed0.json'),
    });
    const { facts, warnings } = await runProbe(vllmMetrics, { httpBaseUrl: engine.url });
    expect(facts).toEqual([]);
    expect(warnings).toEqual([expect.stringContaining('no vllm:cache_config_info')]);
    expect(warnings?.[0]).toContain('--engine-grpc');
  });
});

describe('speculation in the metrics of vLLM', () => {
  const drafts = (count: string): string => `vllm:spec_decode_num_drafts_total{engine="0"} ${count}\n`;
  const python = recording('vllm-0.32.0/metrics.b32.txt');
  const rust = recording('vllm-0.32.0/rust-frontend/metrics.b64-seed0.txt');

  it.each([
    ['is on where the Python frontend counts drafts, were it none yet', python + drafts('0'), [true]],
    ['is not said where the Python frontend counts none', python, []],
    ['is not said by the counter that the Rust frontend always has', rust, []],
    [
      'is on where the Rust frontend has counted drafts',
      rust.replace(/(drafts_total\{.*\}) 0/, '$1 7'),
      [true],
    ],
  ])('%s', async (_, metrics, values) => {
    await using engine = await serveRecordings({ ...vllm('b32'), '/metrics': metrics });
    const { facts } = await runProbe(vllmMetrics, { httpBaseUrl: engine.url });
    expect(fieldValues(facts, 'contract.speculative_decoding')).toEqual(values);
  });
});

describe('the connector in the metrics of vLLM', () => {
  const python = recording('vllm-0.32.0/metrics.b32.txt');
  const rust = recording('vllm-0.32.0/rust-frontend/metrics.b64-seed0.txt');
  const failures = (connector: string, count = 0): string =>
    `vllm:${connector}_num_failed_transfers_total{engine="0"} ${count}\n`;

  it.each([
    ['NIXL', python + failures('nixl'), ['nixl']],
    ['Mooncake, since 0.33', python + failures('mooncake'), ['mooncake']],
    ['none', python, []],
    ['none that the Rust frontend names alone', rust + failures('mooncake'), []],
    [
      'Mooncake, of which the Rust frontend has counted failures',
      rust + failures('mooncake', 2),
      ['mooncake'],
    ],
  ])('is %s', async (_, metrics, connectors) => {
    await using engine = await serveRecordings({ ...vllm('b32'), '/metrics': metrics });
    const { facts } = await runProbe(vllmMetrics, { httpBaseUrl: engine.url });
    expect(fieldValues(facts, 'transfer.connector')).toEqual(connectors);
  });
});

describe('other series of vllm:cache_config_info', () => {
  const cases: readonly (readonly [string, string, readonly string[], RegExp | undefined])[] = [
    [
      'an older vLLM without the effective label is taken at its block_size, with a warning',
      recording('vllm-public-reports/metrics.before-effective-label.txt'),
      ['scheduler 16 engine_metrics contract'],
      /one full-attention group/,
    ],
    [
      'a hybrid model of vLLM 0.28 has no candidate, because blocks times size is not its capacity',
      recording('vllm-public-reports/metrics.0.28-hybrid.txt'),
      ['scheduler 784 engine_metrics'],
      /kv_cache_size_tokens 141994 is not block_size 784 x num_gpu_blocks 208/,
    ],
    [
      'a mamba_block_size speaks of a hybrid model',
      'vllm:cache_config_info{block_size="528",engine="0",mamba_block_size="528"} 1.0\n',
      ['scheduler 528 engine_metrics'],
      /mamba_block_size is 528/,
    ],
    [
      'an effective label that is there and "None" leaves no candidate',
      'vllm:cache_config_info{block_size="4",effective_attention_block_size="None",engine="0"} 1.0\n',
      ['scheduler 4 engine_metrics'],
      /effective_attention_block_size is None/,
    ],
    [
      'decoys whose names end in block_size are never read for it',
      'vllm:cache_config_info{_block_size_resolved="True",hash_block_size="8",mamba_block_size="None",prefix_match_unit="32",user_specified_block_size="64",effective_attention_block_size="1056"} 1.0\n',
      [
        'effective_attention 1056 engine_metrics contract',
        'prefix_match_unit 32 engine_metrics',
        'hash 8 engine_metrics',
      ],
      undefined,
    ],
    [
      'a size of no number is a warning and loses nothing else',
      'vllm:cache_config_info{block_size="32.5",effective_attention_block_size="32"} 1.0\n',
      ['effective_attention 32 engine_metrics contract'],
      /block_size is "32.5"; expected a whole number/,
    ],
  ];
  it.each(cases)('%s', async (_name, text, sizes, warning) => {
    await using engine = await serveRecordings({ ...vllm('b32'), '/metrics': text });
    const { facts, warnings } = await runProbe(vllmMetrics, { httpBaseUrl: engine.url });
    expect(sizeLines(facts)).toEqual(sizes);
    if (warning === undefined) expect(warnings).toEqual([]);
    else expect(warnings).toEqual([expect.stringMatching(warning)]);
  });

  it('each data-parallel engine states a size of its own, and capacity is their sum', async () => {
    const series = (engine: number, size: number, blocks: number): string =>
      `vllm:cache_config_info{effective_attention_block_size="${size}",engine="${engine}",num_gpu_blocks="${blocks}"} 1.0\n`;
    await using engine = await serveRecordings({
      ...vllm('b32'),
      '/metrics': series(0, 32, 100) + series(1, 16, 90),
    });
    const { facts } = await runProbe(vllmMetrics, { httpBaseUrl: engine.url });
    expect(sizeLines(facts)).toEqual([
      'effective_attention 32 engine_metrics contract',
      'effective_attention 16 engine_metrics contract',
    ]);
    expect(facts.map((fact) => fact.evidence.raw)).toContain(
      'engine="1",effective_attention_block_size="16"',
    );
    expect(fieldValues(facts, 'capacity.total_kv_blocks')).toEqual([190]);
    expect(fieldRaw(facts, 'capacity.total_kv_blocks')).toEqual([
      'num_gpu_blocks="100" + num_gpu_blocks="90"',
    ]);
  });
});

describe('the version and the model list', () => {
  it('of vLLM tell what it is, what it serves and that it is ready', async () => {
    await using engine = await serveRecordings(vllm('b32'));
    const target = { httpBaseUrl: engine.url };
    const { facts, warnings } = await runProbe(openaiModels, target);
    expect(warnings).toEqual([]);
    expect(fieldValues(facts, 'engine.kind')).toEqual([EngineKind.VLLM]);
    expect(fieldRaw(facts, 'engine.kind')).toEqual(['/v1/models says owned_by "vllm"']);
    expect(fieldValues(facts, 'engine.state')).toEqual([EngineState.READY]);
    expect(fieldValues(facts, 'model.served_names')).toEqual([['tiny']]);
    expect(fieldValues(facts, 'model.root')).toEqual(['tiny']);
    expect(fieldValues(facts, 'model.max_model_len')).toEqual([2048]);
    expect(fieldValues(facts, 'engine.serving_addresses')[0]?.[0]?.address).toBe(engine.url);
    expect(
      fieldValues(
        (await runProbe(versionProbe('vllm-version', EngineKind.VLLM), target)).facts,
        'engine.version',
      ),
    ).toEqual(['0.32.0']);
  });

  it('keep LoRA adapters apart from the names of the base model', async () => {
    const list = {
      data: [
        { id: 'base', owned_by: 'vllm', root: '/models/base', parent: null, max_model_len: 4096 },
        { id: 'alias', owned_by: 'vllm', root: '/models/base', parent: null, max_model_len: 4096 },
        { id: 'french', owned_by: 'vllm', root: '/loras/french', parent: 'base', max_model_len: null },
      ],
    };
    await using engine = await serveRecordings({ '/v1/models': JSON.stringify(list) });
    const { facts } = await runProbe(openaiModels, { httpBaseUrl: engine.url });
    expect(fieldValues(facts, 'model.served_names')).toEqual([['base', 'alias']]);
    expect(fieldValues(facts, 'model.lora_adapters')).toEqual([['french']]);
    expect(fieldValues(facts, 'model.root')).toEqual(['/models/base']);
  });

  it('say STARTING as long as the engine answers 503', async () => {
    await using engine = await serveRecordings({ '/v1/models': { status: 503, body: 'loading' } });
    const { facts } = await runProbe(openaiModels, { httpBaseUrl: engine.url });
    expect(fieldValues(facts, 'engine.state')).toEqual([EngineState.STARTING]);
    expect((await probeFailure(vllmMetrics, { httpBaseUrl: engine.url })).code).toBe('not_ready');
  });

  it('explain a key that is missing', async () => {
    await using engine = await serveRecordings({
      '/v1/models': { status: 401, body: '{"error":"Unauthorized"}' },
    });
    const failure = await probeFailure(openaiModels, { httpBaseUrl: engine.url });
    expect(failure.message).toContain('API key');
  });
});
