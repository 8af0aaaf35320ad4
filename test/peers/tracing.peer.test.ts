import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { FakeOpenAiEngine } from '../support/fake-openai-engine.js';
import { FakeSidecar } from '../support/fake-sidecar.js';
import { makeWireReport } from '../support/reports.js';
import { type CollectedSpan, Collector } from './support/collector.js';
import { startEnvoy } from './support/envoy.js';
import { forThisTest } from './support/for-this-test.js';
import { probe, type Served, startEppWith, startFrontendWith } from './support/kv-accord.js';
import { lacks } from './support/peers.js';
import { until } from './support/until.js';

const MODEL = 'tiny';
const HEARTBEAT_MS = 5_000;
/** The span of who asks, as W3C writes it. */
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const CALLER = '00f067aa0ba902b7';
/** What must stand in no trace. */
const SECRETS = { prompt: 'prompt-of-a-client', answer: 'answer-of-an-engine', key: 'key-of-a-client' };
const COLLECTOR_KEY = 'key-of-the-collector';
const USAGE = { prompt_tokens: 90, completion_tokens: 4, prompt_tokens_details: { cached_tokens: 32 } };

/** One engine with a sidecar, until the current test is over, and the flags by which they are found. */
async function startWorker(): Promise<{
  readonly engine: FakeOpenAiEngine;
  readonly flags: readonly string[];
}> {
  const engine = await FakeOpenAiEngine.start();
  onTestFinished(() => engine.stop());
  engine.answer = (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    const choices = [{ index: 0, text: SECRETS.answer, finish_reason: 'stop' }];
    response.end(JSON.stringify({ object: 'text_completion', model: MODEL, choices, usage: USAGE }));
  };
  const sidecar = await FakeSidecar.start({ report: makeWireReport('engine') });
  const beat = setInterval(() => sidecar.sendHeartbeat(), HEARTBEAT_MS);
  onTestFinished(async () => {
    clearInterval(beat);
    await sidecar.stop();
  });
  const workers = ['--workers', sidecar.address, '--worker-urls', `${sidecar.address}=${engine.url}`];
  return { engine, flags: [...workers, '--settle', '500ms'] };
}

async function untilReady(served: Served): Promise<void> {
  const isReady = async (): Promise<boolean> => (await probe(served, '/readyz')).status === 200;
  await until('the gate to open', isReady, { needs: [served.program] });
}

async function ask(url: string): Promise<void> {
  const answer = await fetch(`${url}/v1/completions`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${SECRETS.key}`,
      traceparent: `00-${TRACE}-${CALLER}-01`,
    },
    body: JSON.stringify({ model: MODEL, prompt: SECRETS.prompt }),
  });
  expect(answer.status).toBe(200);
  expect(await answer.text()).toContain(SECRETS.answer);
}

/** The span id that an engine was asked with, in the trace of who asked. */
function askedWith({ requests }: FakeOpenAiEngine): string | undefined {
  const [, trace, span] = String(requests.at(-1)?.headers['traceparent']).split('-');
  expect(trace).toBe(TRACE);
  return span;
}

describe.skipIf(lacks('otelcol'))('a real OpenTelemetry Collector', () => {
  let collector: Collector;
  beforeAll(async () => {
    collector = await Collector.start();
  });
  afterAll(() => collector?.stop());

  const surroundings = (service: string): { readonly env: Readonly<Record<string, string>> } => ({
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${collector.port}`,
      OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer ${COLLECTOR_KEY}`,
      OTEL_SERVICE_NAME: service,
    },
  });
  const spanOf = async (service: string): Promise<CollectedSpan> => {
    const find = (): CollectedSpan | undefined => collector.spans.find((span) => span.service === service);
    await until(`a span of ${service}`, () => find() !== undefined);
    return find() as CollectedSpan;
  };
  const expectNoSecrets = (): void => {
    for (const secret of [...Object.values(SECRETS), COLLECTOR_KEY])
      expect(collector.text).not.toContain(secret);
  };
  const DOCUMENTED = {
    'gen_ai.operation.name': 'text_completion',
    'gen_ai.request.model': MODEL,
    'gen_ai.usage.input_tokens': '90',
    'gen_ai.usage.output_tokens': '4',
    'gen_ai.usage.cache_read.input_tokens': '32',
    'http.response.status_code': '200',
    'server.address': '127.0.0.1',
    'kv_accord.worker_id': 'engine',
    'kv_accord.rank': '0',
    'kv_accord.cached_blocks': '0',
  };

  it('takes the spans of a frontend, between those of its client and of its engine', async () => {
    const { engine, flags } = await startWorker();
    const frontend = forThisTest(await startFrontendWith('frontend', flags, surroundings('frontend')));
    await untilReady(frontend);
    await ask(frontend.url);
    const span = await spanOf('frontend');
    expect(span).toMatchObject({ traceId: TRACE, parentSpanId: CALLER, attributes: DOCUMENTED });
    expect(askedWith(engine)).toBe(span.spanId);
    expectNoSecrets();
  });

  it.skipIf(lacks('envoy')).each([
    ['does not trace', 'epp-alone', false],
    ['traces too', 'epp-traced', true],
  ])('takes the spans of an Endpoint Picker whose gateway %s', async (_, service, isTracing) => {
    const { engine, flags } = await startWorker();
    const epp = forThisTest(await startEppWith('epp', flags, surroundings(service)));
    await untilReady(epp);
    const envoy = await startEnvoy(`envoy-${service}`, {
      pickerPort: epp.pickerPort,
      engines: [Number(new URL(engine.url).port)],
      ...(isTracing ? { collectorPort: collector.port } : {}),
    });
    forThisTest(envoy);
    await ask(envoy.url);
    const span = await spanOf(service);
    expect(span).toMatchObject({ traceId: TRACE, attributes: DOCUMENTED });
    if (isTracing) {
      const gateway = await spanOf('envoy');
      expect(gateway).toMatchObject({ traceId: TRACE, parentSpanId: CALLER });
      expect([CALLER, gateway.spanId]).toContain(span.parentSpanId);
    } else {
      expect(span.parentSpanId).toBe(CALLER);
      expect(askedWith(engine)).toBe(span.spanId);
    }
    expectNoSecrets();
  });
});
