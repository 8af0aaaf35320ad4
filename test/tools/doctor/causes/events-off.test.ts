import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../../src/tools/doctor/diagnose.js';
import { summaryOf } from '../logs/summaries.js';
import { joined } from '../support/evidence.js';

const ENGINE =
  "INFO 05-01 10:00:00 [api_server.py:1] non-default args: {'model_tag': 'Qwen/Qwen3-8B', 'tensor_parallel_size': 2}";

const OTHER_ROUTERS: readonly (readonly [string, string])[] = [
  [
    "vLLM's production stack by turns",
    '[2026-03-03 10:00:00,123] INFO: Routing request 1 with session id None to http://10.0.0.5:8000 at 1767000000.1, process time = 0.0 (request.py:276:vllm_router.services.request_service.request)',
  ],
  [
    'Ray Serve',
    '(ProxyActor pid=97) INFO 2026-03-03 10:00:00,123 proxy 10.0.0.4 proxy.py:1191 -- Proxy starting on node abc (HTTP port: 8000).',
  ],
  [
    'sgl-router with a tree of texts',
    '2026-03-03 10:00:00  INFO sglang_router_rs::server: src/server.rs:261: Starting router on 0.0.0.0:30000 | mode: Regular | policy: CacheAware',
  ],
];

describe('KV events that are off', () => {
  it.each(OTHER_ROUTERS)('are no fault of an engine beside %s, which reads none', async (_name, router) => {
    const logs = [await summaryOf(`${ENGINE}\n`), await summaryOf(`${router}\n`)];
    const { assessments } = diagnose(joined({ logs }));
    expect(assessments.map(({ cause }) => cause)).not.toContain('events_off');
  });

  it('are a fault of an engine beside a router of Dynamo, which reads them', async () => {
    const router =
      '2026-03-03T10:00:00.123456Z  INFO dynamo_llm::kv_router::scheduler: Selected worker: worker_id=7587 dp_rank=0, logit: 12.000, cached blocks: 0, tree size: 0';
    const logs = [await summaryOf(`${ENGINE}\n`), await summaryOf(`${router}\n`)];
    expect(diagnose(joined({ logs })).assessments[0]?.cause).toBe('events_off');
  });
});

describe('prefix caching that an operator switched off', () => {
  const DECODE =
    "[2026-01-05 02:20:01] server_args=ServerArgs(model_path='/models/DeepSeek-R1', port=8080, page_size=128, disable_radix_cache=True, disaggregation_mode='decode')";
  const SERVED =
    '[2026-01-05 02:24:45 TP0] Decode batch, #running-req: 12, #token: 40192, token usage: 0.31, #queue-req: 0,';
  const PREFILL =
    '[2026-01-05 02:24:45 TP0] Prefill batch, #new-seq: 1, #new-token: 5632, #cached-token: 0, token usage: 0.00, #running-req: 0, #queue-req: 0,';

  it('is no fault of a decode engine, which gets its blocks from another', async () => {
    expect(diagnose(joined({ logs: [await summaryOf(`${DECODE}\n${SERVED}\n`)] })).assessments).toEqual([]);
  });

  it('is reported of an engine by itself, and is no finding', async () => {
    const plain = DECODE.replace("disaggregation_mode='decode'", "disaggregation_mode='null'");
    const said = diagnose(joined({ logs: [await summaryOf(`${plain}\n${PREFILL}\n`)] }));
    expect(said).toMatchObject({
      verdict: 'unknown',
      headline: 'Prefix caching is off: engines keep no blocks. This may be meant; nothing else was seen',
      assessments: [{ cause: 'events_off', confidence: 'possible' }],
    });
    expect(said.advice).toContain('start each SGLang worker without --disable-radix-cache');
  });

  it('is reported of a hybrid model, for which vLLM switches it off by itself', async () => {
    const line =
      "(EngineCore pid=7) INFO 08-02 09:19:57 [core.py:114] Initializing a V1 LLM engine (v0.25.1) with config: model='Qwen/Qwen3.6-35B-A3B', enable_prefix_caching=False, enable_chunked_prefill=True";
    const full =
      '(APIServer pid=1) INFO 08-02 09:30:57 [loggers.py:271] Engine 000: Avg prompt throughput: 90.1 tokens/s, Avg generation throughput: 40.0 tokens/s, Running: 16 reqs, Waiting: 4 reqs, GPU KV cache usage: 99.1%, Prefix cache hit rate: 0.0%';
    const { verdict, headline } = diagnose(joined({ logs: [await summaryOf(`${line}\n${full}\n`)] }));
    expect([verdict, headline]).toEqual(['unknown', expect.stringContaining('Prefix caching is off')]);
  });

  it('is a finding beside a router that looks for its blocks', async () => {
    const plain = DECODE.replace("disaggregation_mode='decode'", "disaggregation_mode='null'");
    const router =
      '2026-03-03T10:00:00.123456Z  INFO dynamo_llm::kv_router::scheduler: Selected worker: worker_id=7587 dp_rank=0, logit: 12.000, cached blocks: 0, tree size: 0';
    const logs = [await summaryOf(`${plain}\n${PREFILL}\n`), await summaryOf(`${router}\n`)];
    expect(diagnose(joined({ logs }))).toMatchObject({
      verdict: 'findings',
      assessments: [{ cause: 'events_off', confidence: 'likely' }],
    });
  });

  const vllmWith = (transfer: string): string =>
    `INFO 05-01 10:00:00 [utils.py:233] non-default args: {'model_tag': 'Qwen/Qwen3-8B', 'enable_prefix_caching': False, 'kv_transfer_config': KVTransferConfig(${transfer})}\n`;

  it.each(['OffloadingConnector', 'LMCacheConnectorV1', 'MooncakeStoreConnector'])(
    'is no fault of an engine which finds blocks through %s',
    async (connector) => {
      const log = vllmWith(`kv_connector='${connector}', kv_role='kv_both'`);
      expect(diagnose(joined({ logs: [await summaryOf(log)] })).assessments).toEqual([]);
    },
  );

  it('is named for an engine whose connector finds it no blocks', async () => {
    const log = vllmWith("kv_connector='ExampleHiddenStatesConnector', kv_role='kv_both'");
    expect(diagnose(joined({ logs: [await summaryOf(log)] })).assessments[0]?.cause).toBe('events_off');
  });

  it('comes behind the exception by which the engine ended', async () => {
    const crash = [
      'Traceback (most recent call last):',
      '  File "/usr/lib/python3.12/site-packages/lmcache/v1/storage_backend/connector/nixl_connector_v3.py", line 91, in __init__',
      '    self.port = config.peer_init_port[rank]',
      "TypeError: 'int' object is not subscriptable",
    ];
    const lines = [DECODE, PREFILL, PREFILL, ...crash];
    const [first] = diagnose(joined({ logs: [await summaryOf(`${lines.join('\n')}\n`)] })).assessments;
    expect(first?.cause).toBe('connector_crashed');
  });
});

describe('prefix caching that vLLM leaves off for a hybrid model', () => {
  const ARGUMENTS = "'model_tag': 'Qwen/Qwen3.6-35B-A3B'";
  const lines = (given: string, hitRate: string, model = HYBRID): string =>
    [
      `(APIServer pid=7) INFO 08-02 09:19:29 [api_utils.py:273] non-default args: {${given}}`,
      "(EngineCore pid=8) INFO 08-02 09:19:57 [core.py:114] Initializing a V1 LLM engine (v0.25.1) with config: model='Qwen/Qwen3.6-35B-A3B', enable_prefix_caching=False, enable_chunked_prefill=True",
      ...model,
      ...Array.from(
        { length: 4 },
        (_, at) =>
          `(APIServer pid=7) INFO 08-02 09:5${at}:22 [loggers.py:273] Engine 000: Avg prompt throughput: 120.8 tokens/s, Avg generation throughput: 12.0 tokens/s, Running: 2 reqs, Waiting: 0 reqs, GPU KV cache usage: 1.0%, Prefix cache hit rate: ${hitRate}%`,
      ),
      '',
    ].join('\n');
  const HYBRID = [
    '(EngineCore pid=8) INFO 08-02 09:20:00 [config.py:540] Setting attention block size to 1072 tokens to ensure that attention page size is >= mamba page size.',
  ];
  const found = async (text: string): Promise<readonly [string | undefined, string]> => {
    const { assessments, verdict } = diagnose(joined({ logs: [await summaryOf(text)] }));
    return [verdict === 'findings' ? assessments[0]?.headline : undefined, verdict];
  };

  it('is a finding where it served, found nothing, and nobody asked for that', async () => {
    expect(await found(lines(ARGUMENTS, '0.0'))).toEqual([
      'Prefix caching is off, as vLLM leaves it for hybrid models: engines keep no blocks',
      'findings',
    ]);
  });

  it('is none where an argument switched it off, or the model is no hybrid', async () => {
    expect(await found(lines(`${ARGUMENTS}, 'enable_prefix_caching': False`, '0.0'))).toEqual([
      undefined,
      'unknown',
    ]);
    expect(await found(lines(ARGUMENTS, '0.0', []))).toEqual([undefined, 'unknown']);
  });
});
