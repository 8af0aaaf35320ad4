import { createRequire } from 'node:module';
import { describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '../../../src/edge/platform/clock.js';
import type { Environment } from '../../../src/edge/platform/processes/environment.js';
import { openTracing } from '../../../src/frontend/tracing/open-tracing.js';
import type { RequestTracer } from '../../../src/frontend/tracing/request-tracer.js';
import { anyDecision } from '../../support/any-decision.js';
import { FakeClock } from '../../support/fake-clock.js';
import { RecordingLogger } from '../../support/recording-logger.js';
import { until } from '../../support/turns.js';
import { openTraceReceiver, type TraceReceiver } from './trace-receiver.js';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';
const CHAT = '/v1/chat/completions';

const decision = anyDecision({
  target: '10.0.0.5:50061',
  workerId: 'w-5',
  instanceId: 'i-5',
  rank: 1,
  rankCount: 2,
  epoch: 3,
});

function open(
  environment: Environment,
  logger = new RecordingLogger(),
  clock: Clock = systemClock,
): Promise<RequestTracer | undefined> {
  return openTracing({ environment, version: '1.2.3' }, { clock, logger });
}

async function openTo(
  receiver: TraceReceiver,
  environment: Environment = {},
  logger = new RecordingLogger(),
): Promise<RequestTracer> {
  const tracer = await open({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, ...environment }, logger);
  if (tracer === undefined) throw new Error('nothing is traced');
  return tracer;
}

describe('without an endpoint', () => {
  it('nothing is traced, and nothing of OpenTelemetry is loaded', async () => {
    expect(await open({})).toBeUndefined();
    const loaded = (): string[] =>
      Object.keys(createRequire(import.meta.url).cache).filter((path) => path.includes('@opentelemetry'));
    expect(loaded()).toEqual([]);
    await using receiver = await openTraceReceiver();
    await (await openTo(receiver)).close();
    expect(loaded()).not.toEqual([]);
  });

  it.each(['not a url', 'collector:4318', 'ftp://a', 'unix:///run/otel.sock'])(
    'that is a URL (%s) requests go on untraced, with a warning',
    async (endpoint) => {
      const logger = new RecordingLogger();
      expect(await open({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }, logger)).toBeUndefined();
      expect(logger.messages('warn')).toEqual([expect.stringContaining('must be a URL such as')]);
    },
  );
});

describe('the span of a request', () => {
  it('says where it went, why, and how it ended, by the names of the conventions', async () => {
    await using receiver = await openTraceReceiver();
    const logger = new RecordingLogger();
    const tracer = await openTo(receiver, { OTEL_SERVICE_NAME: 'my-frontend' }, logger);
    const span = tracer.start({}, CHAT);
    span?.decided(decision, { model: 'tiny-alias', baseUrl: 'http://10.0.0.5:8000' });
    span?.end({ status: 200, usage: { promptTokens: 101, cachedTokens: 64, outputTokens: 7 } });
    await tracer.close();
    expect(receiver.paths).toEqual(['/v1/traces']);
    expect(receiver.spans).toHaveLength(1);
    const [received] = receiver.spans;
    expect(received).toMatchObject({ name: 'chat tiny', kind: 3 });
    expect(received?.attributes).toEqual({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'kv_accord',
      'gen_ai.request.model': 'tiny-alias',
      'gen_ai.usage.input_tokens': 101,
      'gen_ai.usage.cache_read.input_tokens': 64,
      'gen_ai.usage.output_tokens': 7,
      'server.address': '10.0.0.5',
      'server.port': 8000,
      'http.response.status_code': 200,
      'url.path': CHAT,
      'kv_accord.group': 'tiny',
      'kv_accord.worker': '10.0.0.5:50061',
      'kv_accord.worker_id': 'w-5',
      'kv_accord.instance_id': 'i-5',
      'kv_accord.rank': 1,
      'kv_accord.epoch': 3,
      'kv_accord.tokens_per_block': 32,
      'kv_accord.prompt_blocks': 4,
      'kv_accord.cached_blocks': 2,
      'kv_accord.is_exact': true,
      'kv_accord.routing_mode': 'exact',
      'kv_accord.attempts': 1,
    });
    expect(received?.resource).toMatchObject({ 'service.name': 'my-frontend', 'service.version': '1.2.3' });
    expect(logger.messages()).toEqual([`Tracing requests to ${receiver.url}/v1/traces.`]);
  });

  it('says who computes the prompt where that is another worker', async () => {
    await using receiver = await openTraceReceiver();
    const tracer = await openTo(receiver);
    const span = tracer.start({}, CHAT);
    const prefill = { ...decision, target: '10.0.0.6:50061', cachedBlocks: 3 };
    const about = {
      pairClass: 'unknown',
      expectedTransferMs: undefined,
      transferredTokens: undefined,
    } as const;
    span?.decided({ ...decision, pair: { prefill, protocol: 'nixl', bootstrapAddress: '', ...about } });
    span?.end({ status: 200 });
    await tracer.close();
    expect(receiver.spans[0]?.attributes).toMatchObject({
      'kv_accord.worker': '10.0.0.5:50061',
      'kv_accord.prefill_worker': '10.0.0.6:50061',
      'kv_accord.prefill_cached_blocks': 3,
    });
  });

  it('has a name of its own without OTEL_SERVICE_NAME, and for each kind of request', async () => {
    await using receiver = await openTraceReceiver();
    const tracer = await openTo(receiver);
    for (const path of ['/v1/completions', '/v1/embeddings', '/v1/else']) {
      tracer.start({}, path)?.end({ status: 200 });
    }
    await tracer.close();
    expect(receiver.spans.map(({ name }) => name)).toEqual(['text_completion', 'embeddings', 'request']);
    expect(receiver.spans[0]?.resource).toMatchObject({ 'service.name': 'kv-accord' });
  });

  it("is a part of the client's trace, and the worker's is a part of it", async () => {
    await using receiver = await openTraceReceiver();
    const tracer = await openTo(receiver);
    const headers = { traceparent: `00-${TRACE}-${PARENT}-01`, tracestate: 'vendor=x' };
    const span = tracer.start(headers, CHAT);
    expect(span?.traceparent).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-01$`));
    span?.end({ status: 200 });
    await tracer.close();
    expect(receiver.spans[0]).toMatchObject({ traceId: TRACE, parentSpanId: PARENT, traceState: 'vendor=x' });
    expect(span?.traceparent).toContain(receiver.spans[0]?.spanId);
  });

  it('is not kept where the client does not keep its trace, and the trace goes on all the same', async () => {
    await using receiver = await openTraceReceiver();
    const tracer = await openTo(receiver);
    const span = tracer.start({ traceparent: `00-${TRACE}-${PARENT}-00` }, CHAT);
    expect(span?.traceparent).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-00$`));
    span?.decided(decision);
    span?.end({ status: 200 });
    await tracer.close();
    expect(receiver.spans).toEqual([]);
  });

  it('begins a trace of its own without one, or with one that is malformed', async () => {
    await using receiver = await openTraceReceiver();
    const tracer = await openTo(receiver, { OTEL_TRACES_SAMPLER: 'parentbased_always_off' });
    for (const traceparent of ['', `00-${'0'.repeat(32)}-${PARENT}-01`, `00-${TRACE}-${PARENT}-zz`]) {
      expect(tracer.start({ traceparent }, CHAT)?.traceparent).not.toContain(TRACE);
      expect(tracer.start({ traceparent }, CHAT)?.traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/);
    }
    await tracer.close();
  });

  it.each([
    [{ status: 503 }, '503'],
    [{ status: 200, error: 'worker_lost' }, 'worker_lost'],
    [{ status: 0, error: 'client_left' }, 'client_left'],
  ])('of a failed request says why: %j', async (outcome, type) => {
    await using receiver = await openTraceReceiver();
    const tracer = await openTo(receiver);
    const span = tracer.start({}, CHAT);
    span?.decided(decision);
    span?.decided({ ...decision, target: '10.0.0.6:50061' });
    span?.end(outcome);
    // The first end counts.
    span?.end({ status: 200 });
    span?.decided(decision);
    await tracer.close();
    expect(receiver.spans).toHaveLength(1);
    expect(receiver.spans[0]).toMatchObject({
      status: 2,
      attributes: { 'error.type': type, 'kv_accord.attempts': 2, 'kv_accord.worker': '10.0.0.6:50061' },
    });
  });

  it('holds no more of what a client wrote than a bound', async () => {
    await using receiver = await openTraceReceiver();
    const tracer = await openTo(receiver);
    const span = tracer.start({ tracestate: 'x'.repeat(100_000) }, `/${'p'.repeat(100_000)}`);
    span?.decided(decision, { model: 'm'.repeat(100_000), baseUrl: 'no url' });
    span?.end({ status: 200 });
    await tracer.close();
    const attributes = receiver.spans[0]?.attributes ?? {};
    expect(String(attributes['gen_ai.request.model'])).toHaveLength(512);
    expect(attributes).not.toHaveProperty('server.address');
  });
});

describe('a collector that takes nothing', () => {
  it('is logged once, and once more when it takes spans again', async () => {
    await using receiver = await openTraceReceiver();
    const logger = new RecordingLogger();
    receiver.status = 400;
    const tracer = await openTo(receiver, {}, logger);
    const sendBatches = async (count: number, isDone: () => boolean): Promise<void> => {
      // A full batch goes immediately.
      for (let n = 0; n < 512 * count; n += 1) tracer.start({}, CHAT)?.end({ status: 200 });
      await until(isDone);
    };
    await sendBatches(2, () => receiver.paths.length >= 2);
    const before = receiver.paths.length;
    receiver.status = 200;
    await sendBatches(1, () => receiver.paths.length > before && receiver.spans.length > 0);
    await tracer.close();
    expect(logger.messages('warn')).toEqual([
      expect.stringMatching(/^Cannot export spans to http:\/\/127.0.0.1:\d+\/v1\/traces: .*Bad Request/),
    ]);
    expect(logger.messages('info').at(-1)).toMatch(/^Exporting spans to .* again; \d+ were lost\.$/);
  });

  it('that is not there is one warning too, without the password of its address', async () => {
    const receiver = await openTraceReceiver();
    await receiver[Symbol.asyncDispose]();
    const logger = new RecordingLogger();
    const endpoint = receiver.url.replace('//', '//me:secret@');
    const tracer = await open(
      { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_EXPORTER_OTLP_TIMEOUT: '300' },
      logger,
    );
    tracer?.start({}, CHAT)?.end({ status: 200 });
    await tracer?.close();
    expect(logger.messages('warn')).toHaveLength(1);
    expect(logger.messages().join()).not.toContain('secret');
  });

  it('holds the end of the process up for a bounded time', async () => {
    await using receiver = await openTraceReceiver();
    receiver.status = 'hang';
    const logger = new RecordingLogger();
    const clock = new FakeClock();
    const tracer = await open({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url }, logger, clock);
    tracer?.start({}, CHAT)?.end({ status: 200 });
    const closed = tracer?.close();
    expect(tracer?.close()).toBe(closed);
    await clock.advanceMs(3_000);
    await closed;
    expect(logger.messages('warn')).toEqual([expect.stringContaining('could not be exported in time')]);
  });
});
