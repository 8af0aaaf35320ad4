import { describe, expect, it } from 'vitest';
import { loadEngineProbes } from '../../../src/engines/catalogue/engines.js';
import { openaiModels } from '../../../src/engines/probing/openai-models.js';
import type { ProbeTarget } from '../../../src/engines/probing/probe.js';
import { versionProbe } from '../../../src/engines/probing/version-probe.js';
import { trtllmConfig } from '../../../src/engines/trtllm/config.js';
import { trtllmMetrics } from '../../../src/engines/trtllm/metrics.js';
import { trtllmServerInfo } from '../../../src/engines/trtllm/server-info.js';
import { EngineKind, EngineState } from '../../../src/gen/kvaccord/v1/capabilities.js';
import { fieldValues, probeFailure, probeModules, runProbe, sizeLines } from './probe-run.js';
import { type RecordedAnswer, type RecordedEngine, recording, serveRecordings } from './recorded-engine.js';

const ENGINE_PROBES = await loadEngineProbes();

const file = (name: string): string => recording(`trtllm-public-reports/${name}`);
const trtllm: Record<string, RecordedAnswer> = {
  '/v1/models': file('models.json'),
  '/version': file('version.json'),
  '/server_info': file('server_info.json'),
  '/prometheus/metrics': file('prometheus-metrics.txt'),
  // Each of these destroys something in use, or may end the process.
  '/metrics': file('metrics.draining.json'),
  '/perf_metrics': '[]',
  '/kv_cache_events': '[]',
  '/health': '',
  '/health_generate': '',
};
const HARMLESS = new Set([
  '/v1/models',
  '/version',
  '/server_info',
  '/server_info?config_format=json',
  '/get_server_info',
  '/prometheus/metrics',
  '/live',
  '/kv_event_sources',
]);

describe('TensorRT-LLM', () => {
  it('reports the running size in its gauge, and the configured one in its server info with a warning', async () => {
    await using engine = await serveRecordings(trtllm);
    const target = { httpBaseUrl: engine.url };
    const metrics = await runProbe(trtllmMetrics, target);
    expect(sizeLines(metrics.facts)).toEqual(['effective_attention 64 engine_metrics contract']);
    expect(fieldValues(metrics.facts, 'capacity.total_kv_blocks')).toEqual([101_256]);
    expect(metrics.warnings).toEqual([]);
    const info = await runProbe(trtllmServerInfo, target);
    expect(sizeLines(info.facts)).toEqual(['requested 32 engine_config contract']);
    expect(info.warnings).toEqual([expect.stringContaining('is the configured value')]);
    expect(fieldValues(info.facts, 'contract.hash_algorithm')).toEqual(['v1_block_key']);
    expect(fieldValues(info.facts, 'capacity.max_running_requests')).toEqual([2048]);
    const version = await runProbe(versionProbe('trtllm-version', EngineKind.TENSORRT_LLM), target);
    expect(fieldValues(version.facts, 'engine.version')).toEqual(['1.3.0rc21']);
    const models = await runProbe(openaiModels, target);
    expect(fieldValues(models.facts, 'engine.kind')).toEqual([EngineKind.TENSORRT_LLM]);
    expect(fieldValues(models.facts, 'engine.state')).toEqual([EngineState.READY]);
    expect(fieldValues(models.facts, 'model.served_names')).toEqual([['DeepSeek-R1']]);
  });

  it('has no size at all in an older server info, and none is made up', async () => {
    await using engine = await serveRecordings({ ...trtllm, '/server_info': file('server_info.older.json') });
    expect(await runProbe(trtllmServerInfo, { httpBaseUrl: engine.url })).toEqual({
      facts: [],
      warnings: [],
    });
  });

  it.each([
    ['no gauge yet', '# HELP trtllm_num_requests_running x\ntrtllm_num_requests_running 0.0\n'],
    ['a gauge that was never set', 'trtllm_kv_cache_tokens_per_block{model_name="m"} 0.0\n'],
  ])('with %s reports no size and why', async (_name, text) => {
    await using engine = await serveRecordings({ ...trtllm, '/prometheus/metrics': text });
    const { facts, warnings } = await runProbe(trtllmMetrics, { httpBaseUrl: engine.url });
    expect(facts).toEqual([]);
    expect(warnings).toEqual([expect.stringContaining('with the first request')]);
  });
});

describe("TensorRT-LLM's endpoints that drain or can end it", () => {
  const everyProbe = async (engine: RecordedEngine, target: ProbeTarget = {}): Promise<readonly string[]> => {
    const modules = probeModules();
    await Promise.allSettled(
      ENGINE_PROBES.filter((probe) => probe.origin({ httpBaseUrl: engine.url, ...target }) !== undefined).map(
        (probe) => runProbe(probe, { httpBaseUrl: engine.url, ...target }, modules),
      ),
    );
    expect(engine.requests.length).toBeGreaterThan(0);
    return engine.requests.filter((request) => !HARMLESS.has(request.replace('GET ', '')));
  };

  it.each<[string, Record<string, RecordedAnswer>, ProbeTarget]>([
    ['nobody said what it is', {}, {}],
    [
      'its model list has an owner that nobody knows',
      { '/v1/models': '{"data":[{"id":"m","owned_by":"me"}]}' },
      {},
    ],
    ['its model list is refused', { '/v1/models': { status: 401, body: '' } }, {}],
    [
      'its model list fails and its server info is old',
      { '/v1/models': { status: 500, body: 'x' }, '/server_info': file('server_info.older.json') },
      {},
    ],
    [
      'nothing that sets it apart is there',
      { '/v1/models': 'no', '/server_info': 'no', '/version': file('version.json') },
      {},
    ],
    ['it still starts', { '/v1/models': { status: 503, body: '' } }, {}],
    ['it was taken for a vLLM by mistake', {}, { engineKind: EngineKind.VLLM }],
    ['it was taken for a SGLang by mistake', {}, { engineKind: EngineKind.SGLANG }],
    ['it was taken for a Dynamo worker by mistake', {}, { engineKind: EngineKind.DYNAMO }],
  ])('are never asked by any probe when %s', async (_name, changes, target) => {
    await using engine = await serveRecordings({ ...trtllm, ...changes });
    expect(await everyProbe(engine, target)).toEqual([]);
  });

  it('are not asked either when a redirect leads to them', async () => {
    await using engine = await serveRecordings({
      ...trtllm,
      '/prometheus/metrics': (_request, response) => response.writeHead(307, { location: '/metrics' }).end(),
    });
    const failure = await probeFailure(trtllmMetrics, { httpBaseUrl: engine.url });
    expect(failure.message).toContain('redirects to "/metrics"');
    expect(engine.requests).not.toContain('GET /metrics');
  });
});

describe("TensorRT-LLM's configuration file", () => {
  const read = (text: string): ReturnType<typeof runProbe> =>
    runProbe(
      trtllmConfig,
      { configFile: '/etc/trtllm.yaml', httpBaseUrl: 'http://engine:8000' },
      probeModules({ readFile: async () => text }),
    );

  it('says what was asked for, and a publisher for each attention-DP rank', async () => {
    const { facts, warnings } = await read(file('config.yaml'));
    expect(warnings).toEqual([]);
    expect(sizeLines(facts)).toEqual(['requested 32 engine_config contract']);
    expect(facts[0]?.evidence).toMatchObject({
      origin: 'file /etc/trtllm.yaml',
      raw: 'kv_cache_config.tokens_per_block: 32',
    });
    expect(fieldValues(facts, 'parallelism.tensor_parallel_size')).toEqual([2]);
    expect(fieldValues(facts, 'kv_event_sources')[0]).toEqual([
      {
        dataParallelRank: 0,
        transport: 'zmq',
        endpoint: 'tcp://engine:5557',
        topic: 'kv-events',
        replayEndpoint: 'tcp://engine:5657',
      },
      {
        dataParallelRank: 1,
        transport: 'zmq',
        endpoint: 'tcp://engine:5558',
        topic: 'kv-events',
        replayEndpoint: 'tcp://engine:5658',
      },
    ]);
  });

  it.each(['', '# nothing\n', 'kv_cache_config:\n  dtype: fp8\n'])(
    'without a size does not assume 32: %j',
    async (text) => {
      const { facts, warnings } = await read(text);
      expect(facts).toEqual([]);
      expect(warnings).toEqual([expect.stringContaining('is not assumed')]);
    },
  );

  it('with a size of the wrong type says so and keeps the rest', async () => {
    const { facts, warnings } = await read('max_batch_size: 8\nkv_cache_config: {tokens_per_block: "32"}\n');
    expect(sizeLines(facts)).toEqual([]);
    expect(fieldValues(facts, 'capacity.max_running_requests')).toEqual([8]);
    expect(warnings?.[0]).toContain('kv_cache_config.tokens_per_block is "32"; expected a whole number');
  });

  const bomb = `a: &a [${'x,'.repeat(9)}x]\n${[...'bcdefghi'].map((name, i) => `${name}: &${name} [${`*${'abcdefgh'[i]},`.repeat(9)}*${'abcdefgh'[i]}]`).join('\n')}\n`;
  it.each([
    ['an alias bomb', bomb, 'bad_answer'],
    ['nesting without end', '['.repeat(60_000), 'bad_answer'],
    ['a list', '- a\n- b\n', 'bad_answer'],
    ['broken indentation', 'a:\n  b: 1\n c: 2\n', 'bad_answer'],
    ['the same field twice', 'a: 1\na: 2\n', 'bad_answer'],
    ['more than 64 KiB', 'a: 1\n'.repeat(20_000), 'too_large'],
  ])('that is %s is refused immediately', async (_name, text, code) => {
    const failure = await read(text).catch((cause: unknown) => cause);
    expect(failure).toMatchObject({ name: 'ProbeError', code });
  });

  it('that is not there is said to be missing', async () => {
    const readFile = async (): Promise<string> => {
      throw Object.assign(new Error('ENOENT: no such file'), { code: 'ENOENT' });
    };
    const failure = await probeFailure(trtllmConfig, { configFile: '/nowhere' }, probeModules({ readFile }));
    expect(failure).toMatchObject({ code: 'not_here', message: 'file /nowhere: does not exist' });
  });
});
