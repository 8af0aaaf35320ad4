import { describe, expect, it } from 'vitest';
import { identifyEngine } from '../../../src/engines/probing/identify-engine.js';
import type { ProbeTarget } from '../../../src/engines/probing/probe.js';
import { EngineKind } from '../../../src/gen/kvaccord/v1/capabilities.js';
import { probeModules } from './probe-run.js';
import { type RecordedAnswer, recording, serveRecordings } from './recorded-engine.js';

/** What a server with these answers is taken for, and the requests that it took. */
async function identify(
  answers: Record<string, RecordedAnswer>,
  given: ProbeTarget = {},
): Promise<{ outcome: unknown; requests: readonly string[] }> {
  await using engine = await serveRecordings(answers);
  const target = { httpBaseUrl: engine.url, ...given };
  const outcome = await identifyEngine(target, probeModules(), new AbortController().signal).catch(
    (cause: unknown) => cause,
  );
  return { outcome, requests: [...engine.requests] };
}

const rust = 'vllm-0.32.0/rust-frontend';

describe('what an engine is', () => {
  it.each<[string, Record<string, RecordedAnswer>, EngineKind, string]>([
    [
      'vLLM by its model list',
      { '/v1/models': recording('vllm-0.32.0/models.b32.json') },
      EngineKind.VLLM,
      '/v1/models says owned_by "vllm"',
    ],
    [
      "vLLM's Rust frontend by its model list",
      { '/v1/models': recording(`${rust}/models.b64-seed0.json`) },
      EngineKind.VLLM,
      '/v1/models says owned_by "vllm-frontend-rs"',
    ],
    [
      "vLLM's Rust frontend by its version",
      { '/version': recording(`${rust}/version.b64-seed0.json`) },
      EngineKind.VLLM,
      '/version has rust_frontend_version',
    ],
    [
      'vLLM by its server info',
      { '/server_info': recording('vllm-0.32.0/server_info.b32.json') },
      EngineKind.VLLM,
      '/server_info has vllm_config',
    ],
    [
      'SGLang by its model list',
      { '/v1/models': recording('sglang-0.5.23/models.p32.json') },
      EngineKind.SGLANG,
      '/v1/models says owned_by "sglang"',
    ],
    [
      'SGLang by its server info',
      { '/server_info': recording('sglang-0.5.23/server_info.p32.json') },
      EngineKind.SGLANG,
      '/server_info has page_size and model_path',
    ],
    [
      'TensorRT-LLM by its model list',
      { '/v1/models': recording('trtllm-public-reports/models.json') },
      EngineKind.TENSORRT_LLM,
      '/v1/models says owned_by "tensorrt_llm"',
    ],
    [
      'TensorRT-LLM by its server info',
      { '/server_info': recording('trtllm-public-reports/server_info.json') },
      EngineKind.TENSORRT_LLM,
      '/server_info has tokens_per_block',
    ],
    [
      'older TensorRT-LLM by its server info',
      { '/server_info': recording('trtllm-public-reports/server_info.older.json') },
      EngineKind.TENSORRT_LLM,
      '/server_info has disaggregated_params',
    ],
    [
      'a Dynamo worker by its system port',
      { '/live': recording('dynamo-1.6.1/mocker-health.ready.json') },
      EngineKind.DYNAMO,
      "/live is Dynamo's system status (ready)",
    ],
  ])('is recognized: %s', async (_name, answers, kind, reason) => {
    expect((await identify(answers)).outcome).toEqual({ kind, reason });
  });

  it('is not guessed from a version alone, which two engines answer alike', async () => {
    const { outcome, requests } = await identify({ '/version': '{"version":"0.20.0"}' });
    expect(outcome).toMatchObject({ code: 'bad_answer', message: expect.stringContaining('--engine-kind') });
    expect(requests).toEqual(['GET /v1/models', 'GET /version', 'GET /server_info', 'GET /live']);
  });

  describe('that has no name which is known here, but vLLM metrics', () => {
    const models = '{"object":"list","data":[{"id":"tiny","object":"model","owned_by":"acme"}]}';
    const metrics = 'vllm:cache_config_info{block_size="16",num_gpu_blocks="1024"} 1\n';

    it('is vLLM where there is no /version, which every TensorRT-LLM has', async () => {
      const { outcome, requests } = await identify({ '/v1/models': models, '/metrics': metrics });
      expect(outcome).toEqual({
        kind: EngineKind.VLLM,
        reason: "/metrics has vLLM's cache configuration, and there is no /version",
      });
      expect(requests.at(-1)).toBe('GET /metrics');
    });

    it.each<[string, Record<string, RecordedAnswer>]>([
      [
        'it answers /version, as TensorRT-LLM does',
        { '/v1/models': models, '/version': '{"version":"1.2.0"}' },
      ],
      ['its /version fails', { '/v1/models': models, '/version': { status: 500, body: '' } }],
      ['its /version wants a key', { '/v1/models': models, '/version': { status: 401, body: '' } }],
      ['it has no model list: a proxy may hide /version too', {}],
    ])('is never asked for /metrics where %s', async (_name, answers) => {
      const { outcome, requests } = await identify({ ...answers, '/metrics': metrics });
      expect(outcome).toMatchObject({ code: 'bad_answer' });
      expect(requests).not.toContain('GET /metrics');
    });

    it('is unknown where the metrics are of something else', async () => {
      const { outcome } = await identify({ '/v1/models': models, '/metrics': 'vllm_like_total 1\n' });
      expect(outcome).toMatchObject({ code: 'bad_answer', message: expect.stringContaining('/metrics 200') });
    });
  });

  it('is what was given, unless the model list names another', async () => {
    const given = { engineKind: EngineKind.SGLANG };
    expect((await identify({}, given)).outcome).toMatchObject({ kind: EngineKind.SGLANG });
    const { outcome } = await identify({ '/v1/models': recording('vllm-0.32.0/models.b32.json') }, given);
    expect(outcome).toMatchObject({
      code: 'bad_answer',
      message: expect.stringContaining('owned_by "vllm"'),
    });
  });

  it('waits while the engine is not ready', async () => {
    const { outcome, requests } = await identify({ '/v1/models': { status: 503, body: '' } });
    expect(outcome).toMatchObject({ code: 'not_ready' });
    expect(requests).toEqual(['GET /v1/models']);
  });
});
