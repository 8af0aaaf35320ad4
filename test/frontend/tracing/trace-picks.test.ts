import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/edge/platform/clock.js';
import { openTracing } from '../../../src/frontend/tracing/open-tracing.js';
import type { RequestTracer } from '../../../src/frontend/tracing/request-tracer.js';
import { OpenThings } from '../../support/open-things.js';
import { RecordingLogger } from '../../support/recording-logger.js';
import { GatewayHarness } from '../gateway/gateway-harness.js';
import { openTraceReceiver, type TraceReceiver } from './trace-receiver.js';

const open = new OpenThings();
afterEach(() => open.close());

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';

/** A gateway that informs a receiver of its requests. */
async function traced(): Promise<{
  harness: GatewayHarness;
  receiver: TraceReceiver;
  tracer: RequestTracer;
}> {
  const receiver = await openTraceReceiver();
  open.add(() => receiver[Symbol.asyncDispose]());
  const tracer = await openTracing(
    { environment: { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url }, version: '1.2.3' },
    { clock: systemClock, logger: new RecordingLogger() },
  );
  if (tracer === undefined) throw new Error('nothing is traced');
  const harness = await GatewayHarness.start({}, { tracer });
  open.add(() => harness.stop());
  return { harness, receiver, tracer };
}

describe('a request to a gateway that traces', () => {
  it("is a part of the client's trace, and its worker receives it", async () => {
    const { harness, receiver, tracer } = await traced();
    const headers = { traceparent: `00-${TRACE}-${PARENT}-01`, tracestate: 'vendor=x' };
    expect((await harness.chat({ model: 'tiny-lora' }, headers)).status).toBe(200);
    await tracer.close();
    const [span] = receiver.spans;
    expect(span).toMatchObject({
      name: 'chat tiny',
      traceId: TRACE,
      parentSpanId: PARENT,
      attributes: {
        'gen_ai.request.model': 'tiny-lora',
        'gen_ai.usage.input_tokens': 3,
        'kv_accord.worker': 'w-1:50061',
        'server.address': 'w-1',
        'server.port': 8000,
        'http.response.status_code': 200,
      },
    });
    expect(harness.served[0]?.headers).toMatchObject({
      traceparent: `00-${TRACE}-${span?.spanId}-01`,
      tracestate: 'vendor=x',
    });
  });

  it('begins a trace of its own where the client has none that can be read, and drops what belonged to that', async () => {
    const { harness, tracer } = await traced();
    await harness.chat({}, { traceparent: `00-${TRACE}-${PARENT}`, tracestate: 'vendor=x' });
    await tracer.close();
    const headers = harness.served[0]?.headers ?? {};
    expect(headers).not.toHaveProperty('tracestate');
    expect(headers['traceparent']).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
    expect(headers['traceparent']).not.toContain(TRACE);
  });

  it('has the numbers of its engine, and each worker that was tried', async () => {
    const { harness, receiver, tracer } = await traced();
    harness.serve = async ({ pick }, response) => {
      const first = await pick([]);
      first.route.release();
      const { route } = await pick(['w-1:50061']);
      route.prefillDone();
      response.end('{}');
      route.release({ promptTokens: 5, cachedTokens: 4 });
      return { status: 200, ended: 'complete', firstByteMs: 1 };
    };
    await harness.chat();
    await tracer.close();
    expect(receiver.spans[0]?.attributes).toMatchObject({
      'gen_ai.usage.input_tokens': 5,
      'gen_ai.usage.cache_read.input_tokens': 4,
      'kv_accord.attempts': 2,
    });
  });

  it('that is refused, or whose worker breaks off, says so', async () => {
    const { harness, receiver, tracer } = await traced();
    await harness.chat({ model: 'unknown' });
    harness.serve = async ({ pick }, response) => {
      (await pick([])).route.release();
      response.end('{}');
      return { status: 200, ended: 'upstream_broke', firstByteMs: 1 };
    };
    await harness.chat();
    await tracer.close();
    expect(receiver.spans.map(({ status, attributes }) => [status, attributes['error.type']])).toEqual([
      [2, 'refused'],
      [2, 'upstream_broke'],
    ]);
    expect(receiver.spans[0]?.attributes['http.response.status_code']).toBe(404);
  });
});
