import { decode } from '@msgpack/msgpack';
import { afterEach, describe, expect, it } from 'vitest';
import type { Fact } from '../../../../src/core/contract/evidence/facts.js';
import { systemClock } from '../../../../src/edge/platform/clock.js';
import { loadEngineProbes } from '../../../../src/engines/catalogue/engines.js';
import { dynamoModelCard } from '../../../../src/engines/dynamo/model-card-probe.js';
import {
  dynamoSystemHealth,
  dynamoSystemMetrics,
} from '../../../../src/engines/dynamo/system-status-probe.js';
import { openaiModels } from '../../../../src/engines/probing/openai-models.js';
import { vllmMetrics } from '../../../../src/engines/vllm/metrics.js';
import { EngineState } from '../../../../src/gen/kvaccord/v1/capabilities.js';
import type { EngineSetup, EngineSurface } from '../../../../src/tools/demo/engines/engine-surface.js';
import { metricNumber } from '../../../../src/tools/demo/engines/engine-surface.js';
import type { KvEventPorts } from '../../../../src/tools/demo/engines/kv-publisher.js';
import { simulatedDynamo } from '../../../../src/tools/demo/engines/simulated-dynamo.js';
import { SimulatedEngine } from '../../../../src/tools/demo/engines/simulated-engine.js';
import { simulatedSglang } from '../../../../src/tools/demo/engines/simulated-sglang.js';
import { simulatedTrtllm } from '../../../../src/tools/demo/engines/simulated-trtllm.js';
import { simulatedVllm } from '../../../../src/tools/demo/engines/simulated-vllm.js';
import { replay } from '../../../../src/worker/kv-events/readers/replay-client.js';
import { loadZmqSockets } from '../../../../src/worker/kv-events/sockets/zmq-sockets.js';
import {
  fieldValues,
  probeFailure,
  probeModules,
  runProbe,
  sizeLines,
} from '../../../engines/probing/probe-run.js';
import { recording, serveRecordings } from '../../../engines/probing/recorded-engine.js';
import { FakeClock } from '../../../support/fake-clock.js';
import { RecordingLogger } from '../../../support/recording-logger.js';
import { makeCache, readRecording } from '../../../worker/kv-events/support/engine-payloads.js';

const ENGINE_PROBES = await loadEngineProbes();

/** What every probe that finds something reads at an address, without the address and the times. */
async function readBy(url: string): Promise<Record<string, unknown>> {
  const answers: Record<string, unknown> = {};
  for (const probe of ENGINE_PROBES) {
    if (probe.origin({ httpBaseUrl: url }) === undefined) continue;
    const answer = await runProbe(probe, { httpBaseUrl: url }).catch(() => undefined);
    if (answer === undefined) continue;
    const reported = { facts: answer.facts.map(plain), warnings: answer.warnings };
    answers[probe.name] = JSON.parse(JSON.stringify(reported).replaceAll(url, 'URL'));
  }
  return answers;
}

/** Times differ, and a start marker is another one at every start: only its form is compared. */
function plain(fact: Fact): unknown {
  const evidence = { ...fact.evidence, observedAtMs: 0 };
  if (fact.type !== 'field' || fact.field !== 'engine.start_marker') return { ...fact, evidence };
  return JSON.stringify({ ...fact, evidence }).replace(/[\d.]+(e\+\d\d)?/g, 'N');
}

/** Recordings are kept readable; on the wire there are no line breaks between the fields. */
const onOneLine = (json: string): string => JSON.stringify(JSON.parse(json));

const open: SimulatedEngine[] = [];
afterEach(async () => {
  for (const engine of open.splice(0)) await engine.close();
});

async function simulate(
  surface: EngineSurface,
  setup: Partial<EngineSetup> = {},
  clock: FakeClock = new FakeClock(),
): Promise<SimulatedEngine> {
  const engine = new SimulatedEngine(
    { surface, setup: { model: 'tiny', tokensPerBlock: 32, ...setup } },
    { clock },
  );
  open.push(engine);
  await engine.open();
  return engine;
}

describe('the probes read from a simulated engine what they read from the recording', () => {
  type Recordings = Record<string, string>;
  const cases: readonly (readonly [
    string,
    EngineSurface,
    Partial<EngineSetup>,
    (ports: KvEventPorts) => Recordings,
  ])[] = [
    [
      'of vLLM 0.32.0',
      simulatedVllm,
      { maxModelLen: 2_048 },
      ({ live, replay }) => ({
        '/metrics': recording('vllm-0.32.0/metrics.b32.txt'),
        '/version': recording('vllm-0.32.0/version.b32.json'),
        '/v1/models': recording('vllm-0.32.0/models.b32.json'),
        '/kv_event_sources': onOneLine(recording('vllm-0.32.0/kv_event_sources.b32.json'))
          .replace(':5557', `:${live}`)
          .replace(':5558', `:${replay}`),
      }),
    ],
    [
      'of SGLang 0.5.23 with a replay endpoint',
      simulatedSglang,
      { totalBlocks: 43_421 },
      ({ live, replay }) => {
        const info = JSON.parse(recording('sglang-0.5.23/server_info.p32.json'));
        Object.assign(info.kv_events, { endpoint_port_base: live, replay_endpoint_port_base: replay });
        return {
          '/metrics': recording('sglang-0.5.23/metrics.p32.txt'),
          '/v1/models': recording('sglang-0.5.23/models.p32.json'),
          '/server_info': JSON.stringify(info),
        };
      },
    ],
    [
      'of a TensorRT-LLM that runs 64 where 32 is configured',
      simulatedTrtllm,
      { model: 'DeepSeek-R1', tokensPerBlock: 64, configuredTokensPerBlock: 32, totalBlocks: 101_256 },
      () => ({
        '/prometheus/metrics': recording('trtllm-public-reports/prometheus-metrics.txt'),
        '/version': recording('trtllm-public-reports/version.json'),
        '/v1/models': recording('trtllm-public-reports/models.json'),
        '/server_info': recording('trtllm-public-reports/server_info.json'),
      }),
    ],
  ];
  it.each(cases)('%s', async (_name, surface, setup, recordingsOf) => {
    const engine = await simulate(surface, { publishesKvEvents: true, ...setup });
    engine.start();
    await using recorded = await serveRecordings(recordingsOf(engine.kvEventPorts ?? { live: 0, replay: 0 }));
    const [simulated, real] = [await readBy(engine.url), await readBy(recorded.url)];
    expect(Object.keys(simulated).length).toBeGreaterThanOrEqual(3);
    expect(simulated).toEqual(real);
  });

  it('down to the labels of vLLM that nobody reads yet', async () => {
    const engine = await simulate(simulatedVllm, { maxModelLen: 2_048 });
    engine.start();
    const { body } = await probeModules().httpGet(`${engine.url}/metrics`, {
      signal: new AbortController().signal,
    });
    const infoLine = (text: string): string | undefined => /^vllm:cache_config_info\{.*$/m.exec(text)?.[0];
    const recorded = infoLine(recording('vllm-0.32.0/metrics.b32.txt'));
    expect(recorded).toBeDefined();
    expect(infoLine(body)).toBe(recorded?.replace('max_concurrency="1024.0"', 'max_concurrency="1024"'));
  });
});

describe('a simulated engine', () => {
  it('hangs up while it is down, says 503 while it loads, and then serves', async () => {
    const clock = new FakeClock();
    const engine = await simulate(simulatedVllm, {}, clock);
    const target = { httpBaseUrl: engine.url };
    expect((await probeFailure(vllmMetrics, target)).code).toBe('unreachable');
    engine.start({}, 1_000);
    expect(fieldValues((await runProbe(openaiModels, target)).facts, 'engine.state')).toEqual([
      EngineState.STARTING,
    ]);
    await clock.advanceMs(1_000);
    expect(sizeLines((await runProbe(vllmMetrics, target)).facts)[0]).toBe(
      'effective_attention 32 engine_metrics contract',
    );
    engine.crash();
    expect((await probeFailure(vllmMetrics, target)).code).toBe('unreachable');
  });

  it.each([
    ['vLLM', simulatedVllm],
    ['SGLang', simulatedSglang],
  ] as const)(
    '%s has another start marker and another size after a restart on the same clock tick',
    async (_name, surface) => {
      const engine = await simulate(surface);
      engine.start();
      const before = await readBy(engine.url);
      const markers = new Set<string>();
      for (const tokensPerBlock of [16, 64, 64]) {
        engine.start({ tokensPerBlock });
        const facts = await factsOf(engine.url);
        for (const marker of fieldValues(facts, 'engine.start_marker')) markers.add(marker);
        expect(sizeLines(facts).join()).toContain(` ${tokensPerBlock} `);
      }
      expect(markers.size).toBe(3);
      expect(await readBy(engine.url)).not.toEqual(before);
    },
  );

  it('counts what it is asked, and never more paths than it has room for', async () => {
    const engine = await simulate(simulatedTrtllm);
    engine.start();
    const { httpGet } = probeModules();
    const { signal } = new AbortController();
    for (let path = 0; path < 70; path += 1) await httpGet(`${engine.url}/p${path}?q=1`, { signal });
    await httpGet(`${engine.url}/p0`, { signal });
    expect(engine.requests.get('GET /p0')).toBe(2);
    expect(engine.requests.get('others')).toBe(6);
    expect(engine.requests.size).toBe(65);
  });

  it('is never asked by any probe for what TensorRT-LLM gives only once', async () => {
    const engine = await simulate(simulatedTrtllm);
    engine.start();
    await readBy(engine.url);
    const asked = [...engine.requests.keys()];
    expect(asked).toContain('GET /prometheus/metrics');
    for (const path of ['/metrics', '/perf_metrics', '/kv_cache_events', '/health']) {
      expect(asked).not.toContain(`GET ${path}`);
    }
  });

  it('can be closed before it was opened, and twice', async () => {
    const engine = new SimulatedEngine(
      { surface: simulatedVllm, setup: { model: 'tiny', tokensPerBlock: 16 } },
      { clock: new FakeClock() },
    );
    await engine.close();
    await engine.close();
    expect(engine.url).toBe('');
  });
});

describe('the KV events of a simulated engine', () => {
  const recordings = [
    ['vLLM', simulatedVllm, 'vllm-0.32.0.block-32'],
    ['SGLang', simulatedSglang, 'sglang-0.5.23.page-32'],
  ] as const;

  it.each(recordings)(
    'of %s have the fields of the real ones, in their order',
    async (_name, surface, name) => {
      const engine = await simulate(surface, { publishesKvEvents: true });
      engine.start();
      engine.prompt(tokens(1, 128));
      const simulated = (await batchesOf(engine)).flatMap(eventsIn);
      const real = readRecording(name).flatMap(({ payload }) => eventsIn(payload));
      expect(simulated.at(-1)?.[0]).toBe('BlockStored');
      for (const event of simulated) expect(real).toContainEqual(event);
    },
  );

  it.each(recordings)('of %s are read as what its cache holds', async (_name, surface) => {
    const engine = await simulate(surface, { publishesKvEvents: true, totalBlocks: 8 });
    engine.start();
    const { cache, held, counted } = makeCache();
    const prompts = [tokens(1, 100), tokens(500, 200), tokens(1, 150), tokens(1, 400), tokens(500, 64)];
    let size = 0;
    for (const prompt of prompts) {
      const { stored, evicted } = engine.prompt(prompt);
      size += stored.length - evicted.length;
    }
    for (const batch of await batchesOf(engine)) cache.apply(batch);
    expect(held()).toHaveLength(size);
    expect(held().every((block) => block.startsWith('device 32 '))).toBe(true);
    expect(counted().every((line) => / (applied|duplicate) /.test(line))).toBe(true);
  });

  it('begin with a clear, where the engine is SGLang, at every start', async () => {
    const engine = await simulate(simulatedSglang, { publishesKvEvents: true });
    for (let start = 0; start < 2; start += 1) {
      engine.start();
      engine.prompt(tokens(1, 64));
      const types = (await batchesOf(engine)).flatMap(eventsIn).map(([type]) => type);
      expect(types).toEqual(['AllBlocksCleared', 'BlockStored']);
    }
  });

  it('are none where a prompt changes nothing, and none of an engine that is not set to publish', async () => {
    const engine = await simulate(simulatedVllm, { publishesKvEvents: true });
    engine.start();
    engine.prompt(tokens(1, 64));
    engine.prompt(tokens(1, 64));
    engine.prompt([1, 2, 3]);
    expect(await batchesOf(engine)).toHaveLength(1);
    const silent = await simulate(simulatedVllm);
    silent.start();
    expect(silent.prompt(tokens(1, 64)).stored).toHaveLength(2);
    expect(silent.kvEventPorts).toBeUndefined();
  });

  it('cannot come of an engine that is down', async () => {
    const engine = await simulate(simulatedVllm, { publishesKvEvents: true });
    expect(() => engine.prompt([1])).toThrow('not up');
  });
});

describe('a simulated worker of Dynamo', () => {
  it('declares by its model card what was configured, whatever size its engine uses', async () => {
    const engine = await simulate(simulatedDynamo, { tokensPerBlock: 32, configuredTokensPerBlock: 16 });
    engine.start();
    const modules = probeModules({
      readFile: async (path: string) => engine.files[path] ?? '',
      listFiles: async () => Object.keys(engine.files).map((path) => path.split('/').at(-1) ?? ''),
    });
    const target = { httpBaseUrl: engine.url, dynamoFileKv: engine.discoveryFolder ?? '' };
    const { facts, warnings } = await runProbe(dynamoModelCard, target, modules);
    expect(sizeLines(facts)).toEqual(['requested 16 declared contract']);
    expect(fieldValues(facts, 'model.served_names')).toEqual([['tiny']]);
    expect(warnings).toEqual([]);
    const { facts: health } = await runProbe(dynamoSystemHealth, target);
    expect(fieldValues(health, 'engine.state')).toEqual([EngineState.READY]);
    const { facts: metrics } = await runProbe(dynamoSystemMetrics, target);
    expect(fieldValues(metrics, 'engine.start_marker')).toEqual(fieldValues(facts, 'engine.start_marker'));
    expect(sizeLines(metrics)).toEqual([]);
  });
});

it('writes numbers as the Python client does', () => {
  expect([0, 32, 0.5, 1_389_472, 1_795_224_193.49, 43_421].map(metricNumber)).toEqual([
    '0.0',
    '32.0',
    '0.5',
    '1.389472e+06',
    '1.79522419349e+09',
    '43421.0',
  ]);
});

function tokens(first: number, length: number): number[] {
  return Array.from({ length }, (_, index) => first + index);
}

/** Each event of a batch by its type and its fields. */
function eventsIn(payload: Uint8Array): [string, string][] {
  const [, events] = decode(payload, { useBigInt64: true }) as [number, Record<string, unknown>[]];
  return events.map((event) => [String(event['type']), Object.keys(event).join()]);
}

/** All that an engine has published, as its replay gives it. */
async function batchesOf(engine: SimulatedEngine): Promise<Uint8Array[]> {
  const sockets = await loadZmqSockets({}, { logger: new RecordingLogger() });
  const endpoint = `tcp://127.0.0.1:${engine.kvEventPorts?.replay}`;
  const { signal } = new AbortController();
  const batches: Uint8Array[] = [];
  for await (const { payload } of replay(endpoint, 0, {}, { clock: systemClock, sockets }, signal)) {
    batches.push(payload);
  }
  return batches;
}

async function factsOf(url: string): Promise<Fact[]> {
  const facts: Fact[] = [];
  for (const probe of ENGINE_PROBES) {
    if (probe.origin({ httpBaseUrl: url }) === undefined) continue;
    facts.push(...((await runProbe(probe, { httpBaseUrl: url }).catch(() => undefined))?.facts ?? []));
  }
  return facts;
}
