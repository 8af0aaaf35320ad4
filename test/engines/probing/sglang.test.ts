import { describe, expect, it } from 'vitest';
import type { Fact } from '../../../src/core/contract/evidence/facts.js';
import { judgeTokensPerBlock } from '../../../src/core/contract/evidence/tokens-per-block.js';
import { createEngineRpc } from '../../../src/edge/rpc/engine-rpc.js';
import { openaiModels } from '../../../src/engines/probing/openai-models.js';
import { sglangGrpc } from '../../../src/engines/sglang/grpc.js';
import { sglangMetrics } from '../../../src/engines/sglang/metrics.js';
import { sglangServerInfo } from '../../../src/engines/sglang/server-info.js';
import { vllmMetrics } from '../../../src/engines/vllm/metrics.js';
import { GetServerInfoResponse, SglangServiceService } from '../../../src/gen/engines/sglang/sglang.js';
import { EngineKind, EngineRole, EngineState, HashUnit } from '../../../src/gen/kvaccord/v1/capabilities.js';
import { fieldValues, probeFailure, probeModules, runProbe, sizeLines } from './probe-run.js';
import { recording, serveRecordings } from './recorded-engine.js';
import { grpcRecordings, serveGrpc } from './recorded-grpc-engine.js';

const sglang = {
  '/v1/models': recording('sglang-0.5.23/models.p32.json'),
  '/server_info': recording('sglang-0.5.23/server_info.p32.json'),
  '/metrics': recording('sglang-0.5.23/metrics.p32.txt'),
};

/** The facts of a `/server_info` that is a recording with some fields changed. */
async function factsOf(changes: Record<string, unknown>): Promise<readonly Fact[]> {
  const recorded = JSON.parse(sglang['/server_info']) as Record<string, unknown>;
  const body = JSON.stringify({ ...recorded, internal_states: undefined, ...changes });
  await using engine = await serveRecordings({ ...sglang, '/server_info': body });
  return (await runProbe(sglangServerInfo, { httpBaseUrl: engine.url })).facts;
}

const sizesOf = (facts: readonly Fact[]): Parameters<typeof judgeTokensPerBlock>[0] =>
  facts.flatMap((fact) => (fact.type === 'block_size' ? [fact] : []));

describe('the server info of a recorded SGLang 0.5.23', () => {
  it('says that there is no prefix cache where its radix tree is off, and else nothing of it', async () => {
    const off = await factsOf({ disable_radix_cache: true });
    expect(fieldValues(off, 'capacity.prefix_caching')).toEqual([false]);
    expect(fieldValues(await factsOf({}), 'capacity.prefix_caching')).toEqual([]);
  });

  it('gives the event size in two ways that agree, and what else a router needs', async () => {
    await using engine = await serveRecordings(sglang);
    const { facts, warnings } = await runProbe(sglangServerInfo, { httpBaseUrl: engine.url });
    expect(warnings).toEqual([]);
    expect(sizeLines(facts)).toEqual([
      'scheduler 32 engine_http',
      'kv_event 32 engine_http contract',
      'kv_event 32 engine_http contract',
    ]);
    expect(sizesOf(facts).map((fact) => fact.evidence.raw)).toEqual([
      'internal_states[0].page_size: 32',
      'internal_states[0].page_size: 32 x internal_states[0].dcp_size: 1',
      'kv_events.block_size: 32',
    ]);
    expect(fieldValues(facts, 'engine.kind')).toEqual([EngineKind.SGLANG]);
    expect(fieldValues(facts, 'engine.version')).toEqual(['0.5.23']);
    expect(fieldValues(facts, 'engine.state')).toEqual([EngineState.READY]);
    expect(fieldValues(facts, 'engine.start_marker')).toEqual([
      'startup_time=0.03612871699988318/6.288241525999638',
    ]);
    expect(fieldValues(facts, 'contract.hash_unit')).toEqual([HashUnit.TOKEN]);
    expect(fieldValues(facts, 'engine.role')).toEqual([EngineRole.AGGREGATED]);
    expect(fieldValues(facts, 'capacity.kv_cache_size_tokens')).toEqual([1_389_472]);
    expect(fieldValues(facts, 'capacity.kv_tiers')).toEqual([['device']]);
    expect(fieldValues(facts, 'kv_event_sources')).toEqual([
      [{ dataParallelRank: 0, transport: 'zmq', endpoint: 'tcp://127.0.0.1:5657', topic: 'kv-events' }],
    ]);
    expect(engine.requests).toEqual(['GET /v1/models', 'GET /server_info']);
  });

  it('is read at its older path when the newer one is not there', async () => {
    const { '/server_info': body, ...rest } = sglang;
    await using engine = await serveRecordings({ ...rest, '/get_server_info': body });
    const { facts } = await runProbe(sglangServerInfo, { httpBaseUrl: engine.url });
    expect(facts[0]?.evidence.origin).toBe(`GET ${engine.url}/get_server_info`);
    expect(engine.requests).toEqual(['GET /v1/models', 'GET /server_info', 'GET /get_server_info']);
  });
});

describe('other forms of the server info', () => {
  it('a version that multiplies by dcp_size in both places is believed', async () => {
    const facts = await factsOf({
      page_size: 16,
      dcp_size: 2,
      kv_events: { block_size: 32, endpoint_host: '*' },
    });
    expect(judgeTokensPerBlock(sizesOf(facts)).winner?.size.sizeTokens).toBe(32);
  });

  it('an older one that announces the bare page under context parallelism contradicts itself and gives no value', async () => {
    const facts = await factsOf({
      page_size: 16,
      dcp_size: 2,
      kv_events: { block_size: 16, endpoint_host: '*' },
    });
    const verdict = judgeTokensPerBlock(sizesOf(facts));
    expect(verdict.winner).toBeUndefined();
    expect(verdict.problem).toContain('page_size: 16 x dcp_size: 2');
    expect(verdict.problem).toContain('kv_events.block_size: 16');
  });

  it('one that knows no dcp_size and announces nothing is taken at its page', async () => {
    const facts = await factsOf({ dcp_size: undefined, kv_events: undefined, page_size: 64 });
    expect(sizeLines(facts)).toEqual(['scheduler 64 engine_http contract']);
    expect(fieldValues(facts, 'kv_event_sources')).toEqual([]);
  });

  it('a page of 1 token is a value like any other', async () => {
    expect(sizeLines(await factsOf({ page_size: 1, kv_events: null }))).toEqual([
      'scheduler 1 engine_http',
      'kv_event 1 engine_http contract',
    ]);
  });

  it.each([
    ['EAGLE', HashUnit.BIGRAM],
    ['EAGLE3', HashUnit.BIGRAM],
    ['NEXTN', HashUnit.BIGRAM],
    ['NGRAM', HashUnit.TOKEN],
    [null, HashUnit.TOKEN],
  ])('speculation by %s has its hash unit', async (algorithm, unit) => {
    expect(fieldValues(await factsOf({ speculative_algorithm: algorithm }), 'contract.hash_unit')).toEqual([
      unit,
    ]);
  });

  it('an algorithm that is not known here gives no hash unit', async () => {
    const facts = await factsOf({ speculative_algorithm: 'DFLASH' });
    expect(fieldValues(facts, 'contract.hash_unit')).toEqual([]);
  });

  it.each([
    ['null', [EngineRole.AGGREGATED]],
    ['prefill', [EngineRole.PREFILL]],
    ['decode', [EngineRole.DECODE]],
    ['encode', []],
    ['constructor', []],
    [null, []],
    [undefined, []],
  ])('a disaggregation_mode of %j is the role %j', async (mode, roles) => {
    expect(fieldValues(await factsOf({ disaggregation_mode: mode }), 'engine.role')).toEqual(roles);
  });

  it('each data-parallel rank has its port', async () => {
    const facts = await factsOf({
      dp_size: 2,
      kv_events: {
        endpoint_host: '0.0.0.0',
        endpoint_port_base: 5657,
        topic: 't',
        dp_size: 2,
        replay_endpoint_port_base: 5757,
      },
    });
    expect(fieldValues(facts, 'kv_event_sources')[0]).toEqual([
      {
        dataParallelRank: 0,
        transport: 'zmq',
        endpoint: 'tcp://127.0.0.1:5657',
        topic: 't',
        replayEndpoint: 'tcp://127.0.0.1:5757',
      },
      {
        dataParallelRank: 1,
        transport: 'zmq',
        endpoint: 'tcp://127.0.0.1:5658',
        topic: 't',
        replayEndpoint: 'tcp://127.0.0.1:5758',
      },
    ]);
  });

  it('a publisher whose endpoint names a plain host connects, so that the sidecar has to bind', async () => {
    const host = { endpoint_host: '127.0.0.1', endpoint_port_base: 5657, topic: 't', dp_size: 1 };
    const announced = await factsOf({ kv_events: { ...host, replay_endpoint_port_base: 5757 } });
    const source = { dataParallelRank: 0, transport: 'zmq', endpoint: '@tcp://127.0.0.1:5657', topic: 't' };
    expect(fieldValues(announced, 'kv_event_sources')[0]).toEqual([
      { ...source, replayEndpoint: 'tcp://127.0.0.1:5757' },
    ]);
    const listed = await factsOf({
      kv_events: host,
      kv_event_sources: [{ dp_rank: 0, endpoint: 'tcp://127.0.0.1:5657', topic: 't' }],
    });
    expect(fieldValues(listed, 'kv_event_sources')[0]).toEqual([source]);
  });

  it('ranks on several nodes have no ports that could be known', async () => {
    const facts = await factsOf({
      nnodes: 2,
      kv_events: { endpoint_host: '*', endpoint_port_base: 5657, topic: 't', dp_size: 2 },
    });
    expect(fieldValues(facts, 'kv_event_sources')).toEqual([]);
  });

  it('a status that is not ready means that it starts', async () => {
    expect(fieldValues(await factsOf({ status: 'starting' }), 'engine.state')).toEqual([
      EngineState.STARTING,
    ]);
  });
});

describe('the metrics of SGLang', () => {
  it('as recorded tell the page as the scheduler unit, and the capacity', async () => {
    await using engine = await serveRecordings(sglang);
    const { facts, warnings } = await runProbe(sglangMetrics, { httpBaseUrl: engine.url });
    expect(warnings).toEqual([]);
    expect(sizeLines(facts)).toEqual(['scheduler 32 engine_metrics']);
    expect(fieldValues(facts, 'capacity.total_kv_blocks')).toEqual([43_421]);
    expect(fieldValues(facts, 'capacity.kv_cache_size_tokens')).toEqual([1_389_472]);
  });

  it('before 0.5.11 had them as labels', async () => {
    const text = recording('sglang-public-reports/metrics.before-0.5.11.txt');
    await using engine = await serveRecordings({ ...sglang, '/metrics': text });
    const { facts } = await runProbe(sglangMetrics, { httpBaseUrl: engine.url });
    expect(sizeLines(facts)).toEqual(['scheduler 64 engine_metrics']);
  });

  it('count each data-parallel rank once, whatever its tensor ranks repeat', async () => {
    const line = (dp: number, tp: number): string =>
      `sglang:num_pages{dp_rank="${dp}",tp_rank="${tp}"} 100.0\n`;
    const text = line(0, 0) + line(0, 1) + line(1, 0) + line(1, 1);
    await using engine = await serveRecordings({ ...sglang, '/metrics': text });
    const { facts } = await runProbe(sglangMetrics, { httpBaseUrl: engine.url });
    expect(fieldValues(facts, 'capacity.total_kv_blocks')).toEqual([200]);
  });

  it('are not here when the server was started without them', async () => {
    const { '/metrics': _none, ...rest } = sglang;
    await using engine = await serveRecordings(rest);
    expect((await probeFailure(sglangMetrics, { httpBaseUrl: engine.url })).code).toBe('not_here');
  });
});

describe('the native gRPC of a recorded SGLang', () => {
  const recorded = grpcRecordings(recording('sglang-0.5.23/grpc.p64.jsonl'));
  const hex = recorded.get('sglang.runtime.v1.SglangService/GetServerInfo') ?? '';
  const rpcModules = (): ReturnType<typeof probeModules> => {
    const modules = probeModules();
    return Object.assign(modules, { rpc: createEngineRpc({}, modules) });
  };

  it('reports the same as HTTP, with the event sources by rank', async () => {
    await using engine = await serveGrpc([[SglangServiceService.getServerInfo, { hex }]]);
    const { facts, warnings } = await runProbe(sglangGrpc, { grpcAddress: engine.address }, rpcModules());
    expect(warnings).toEqual([]);
    expect(new Set(sizeLines(facts))).toEqual(
      new Set(['scheduler 64 engine_rpc', 'kv_event 64 engine_rpc contract']),
    );
    expect(fieldValues(facts, 'kv_event_sources')[0]?.[0]).toEqual({
      dataParallelRank: 0,
      transport: 'zmq',
      endpoint: 'tcp://127.0.0.1:5657',
      topic: 'kv-events',
      replayEndpoint: 'tcp://127.0.0.1:5658',
    });
    expect(fieldValues(facts, 'engine.start_marker')[0]).toMatch(/^startup_time=0\.0101/);
  });

  it('rejects a message whose JSON is cut off', async () => {
    const half = GetServerInfoResponse.encode({ jsonInfo: '{"page_size": 3' }).finish();
    await using engine = await serveGrpc([
      [SglangServiceService.getServerInfo, { hex: Buffer.from(half).toString('hex') }],
    ]);
    const failure = await probeFailure(sglangGrpc, { grpcAddress: engine.address }, rpcModules());
    expect(failure).toMatchObject({ code: 'bad_answer', message: expect.stringContaining('cut off') });
  });
});

describe('SGLang beside the probes of other engines', () => {
  it('is recognized by its model list, so that those do not ask it', async () => {
    await using engine = await serveRecordings(sglang);
    const { facts } = await runProbe(openaiModels, { httpBaseUrl: engine.url });
    expect(fieldValues(facts, 'engine.kind')).toEqual([EngineKind.SGLANG]);
    // Its root is the served name again and would contradict the path in the server info.
    expect(fieldValues(facts, 'model.root')).toEqual([]);
    const failure = await probeFailure(vllmMetrics, { httpBaseUrl: engine.url });
    expect(failure.code).toBe('not_here');
    expect(failure.message).toContain('owned_by "sglang"');
    expect(engine.requests).not.toContain('GET /metrics');
  });
});
