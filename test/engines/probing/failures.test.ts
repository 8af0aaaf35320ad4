import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { loadEngineProbes } from '../../../src/engines/catalogue/engines.js';
import { type EngineProbe, ProbeError, type ProbeModules } from '../../../src/engines/probing/probe.js';
import { EngineKind } from '../../../src/gen/kvaccord/v1/capabilities.js';
import { propertyRuns } from '../../support/property-runs.js';
import { probeFailure, probeModules, runProbe } from './probe-run.js';
import { type RecordedAnswer, recording, serveRecordings } from './recorded-engine.js';

const ENGINE_PROBES = await loadEngineProbes();

/** The path that each probe reads, for every probe that asks over HTTP. */
const HTTP_PROBES = ENGINE_PROBES.flatMap((probe) => {
  const origin = probe.origin({ httpBaseUrl: 'http://engine' });
  return origin === undefined
    ? []
    : [{ name: probe.name, probe, path: origin.replace('GET http://engine', '') }];
});

/** What identifies each engine, so that its probes go on to their own path. */
function identity(kind: EngineKind | undefined): Record<string, RecordedAnswer> {
  const owner = {
    [EngineKind.VLLM]: 'vllm',
    [EngineKind.SGLANG]: 'sglang',
    [EngineKind.TENSORRT_LLM]: 'tensorrt_llm',
  }[kind ?? (EngineKind.VLLM as number)];
  if (owner === undefined) return { '/live': recording('dynamo-1.6.1/mocker-health.ready.json') };
  return { '/v1/models': JSON.stringify({ data: [{ id: 'm', owned_by: owner }] }) };
}

/** Modules with answers by path and no sockets, for properties. */
function answering(bodies: (path: string) => string): ProbeModules {
  return probeModules({
    httpGet: async (url) => ({ status: 200, contentType: '', body: bodies(new URL(url).pathname) }),
  });
}

/** Runs a probe whose kind was given, so that nothing but its own path decides. */
const runGiven = (probe: EngineProbe, modules: ProbeModules): Promise<unknown> =>
  runProbe(
    probe,
    {
      httpBaseUrl: 'http://engine',
      ...(probe.engineKind === undefined ? {} : { engineKind: probe.engineKind }),
    },
    modules,
  );

it('every engine has probes over HTTP', () => {
  const kinds = new Set(HTTP_PROBES.map(({ probe }) => probe.engineKind));
  expect(kinds).toEqual(
    new Set([undefined, EngineKind.VLLM, EngineKind.SGLANG, EngineKind.TENSORRT_LLM, EngineKind.DYNAMO]),
  );
  expect(new Set(ENGINE_PROBES.map(({ name }) => name)).size).toBe(ENGINE_PROBES.length);
});

describe.each(HTTP_PROBES)('$name', ({ probe, path }) => {
  const half = (_request: unknown, response: import('node:http').ServerResponse): void => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '5000' });
    response.write('{"data": [{"id": "m"', () => response.destroy());
  };
  const endless = (_request: unknown, response: import('node:http').ServerResponse): void => {
    const chunk = Buffer.alloc(256 * 1024, ' ');
    const more = (): void => {
      while (!response.destroyed) if (!response.write(chunk)) return void response.once('drain', more);
    };
    more();
  };
  const cases: readonly (readonly [string, RecordedAnswer, string])[] = [
    ['a 500', { status: 500, body: 'Internal Server Error' }, 'bad_answer'],
    ['a missing endpoint', { status: 404, body: '{"detail":"Not Found"}' }, 'not_here'],
    ['a refused key', { status: 401, body: '' }, 'bad_answer'],
    ['HTML instead of what was asked', { type: 'text/html', body: '<!doctype html><p>hello' }, 'bad_answer'],
    ['an empty body', { body: '' }, 'bad_answer'],
    ['a list instead of an object', { body: '[]' }, 'bad_answer'],
    ['half a body', half, 'bad_answer'],
    ['a body without end', endless, 'too_large'],
    ['a reset', (request) => request.socket.resetAndDestroy(), 'unreachable'],
  ];

  it.each(cases)('names %s', async (_name, answer, code) => {
    await using engine = await serveRecordings({ ...identity(probe.engineKind), [path]: answer });
    const kind = probe.engineKind;
    // Where the path that is broken is also the one that identifies the engine, the operator has named it.
    const target = { httpBaseUrl: engine.url, ...(kind === undefined ? {} : { engineKind: kind }) };
    const failure = await probeFailure(probe, target);
    expect(failure.code).toBe(code);
    expect(failure.origin).toContain(engine.url);
    expect(failure.message.length).toBeLessThan(600);
  });

  it('gives up on a hang', async () => {
    const modules = probeModules();
    let asked: () => void = () => {};
    const request = new Promise<void>((resolve) => {
      asked = resolve;
    });
    await using engine = await serveRecordings({ ...identity(probe.engineKind), [path]: () => asked() });
    const failure = probeFailure(
      probe,
      {
        httpBaseUrl: engine.url,
        ...(probe.engineKind === undefined ? {} : { engineKind: probe.engineKind }),
      },
      modules,
    );
    await request;
    await modules.clock.advanceMs(5_000);
    expect((await failure).code).toBe('timeout');
    expect(modules.clock.pendingTimers).toBe(0);
  });

  it('throws nothing but a ProbeError for any bytes', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.string({ unit: 'binary' }),
          fc.json(),
          fc.uint8Array().map((bytes) => new TextDecoder().decode(bytes)),
        ),
        async (body) => {
          const outcome = await runGiven(
            probe,
            answering(() => body),
          ).catch((cause: unknown) => cause);
          if (outcome instanceof Error) expect(outcome).toBeInstanceOf(ProbeError);
        },
      ),
      { numRuns: propertyRuns(30) },
    );
  });

  it('throws nothing but a ProbeError when the fields that it reads have any value', async () => {
    // Every field name that any engine's answer is read by, each with any JSON value.
    const names = [
      'data',
      'id',
      'owned_by',
      'root',
      'parent',
      'version',
      'status',
      'endpoints',
      'vllm_config',
      'cache_config',
      'parallel_config',
      'scheduler_config',
      'kv_events_config',
      'model_config',
      'block_size',
      'effective_attention_block_size',
      'data_parallel_size_local',
      'data_parallel_rank',
      'page_size',
      'dcp_size',
      'dp_size',
      'kv_events',
      'kv_event_sources',
      'endpoint',
      'endpoint_host',
      'endpoint_port_base',
      'replay_endpoint',
      'topic',
      'internal_states',
      'memory_usage',
      'token_capacity',
      'startup_time',
      'load_weight',
      'scheduler_e2e',
      'speculative_algorithm',
      'tokens_per_block',
      'publisher',
      'enable_kv_cache_events',
      '0',
      '1',
    ];
    const { value } = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        fc.constantFrom(null, true, 'zmq', 'tcp://*:5557', '', 'EAGLE'),
        fc.double(),
        fc.integer(),
        fc.string(),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom(...names), tie('value'), { maxKeys: 8 }),
      ),
    }));
    await fc.assert(
      fc.asyncProperty(fc.dictionary(fc.constantFrom(...names), value, { maxKeys: 12 }), async (body) => {
        const outcome = await runGiven(
          probe,
          answering(() => JSON.stringify(body)),
        ).catch((cause: unknown) => cause);
        if (outcome instanceof Error) expect(outcome).toBeInstanceOf(ProbeError);
      }),
      { numRuns: propertyRuns(60) },
    );
  });
});
