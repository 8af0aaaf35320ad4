import type { IncomingHttpHeaders } from 'node:http';
import { describe, expect, it } from 'vitest';
import type { RequestSpan, RequestTracer } from '../../../src/frontend/tracing/request-tracer.js';
import { Mode, modes, PickerHarness, workerAt } from './picker-harness.js';

const ASKED = { model: 'tiny', prompt: 'one two three' };
const FIRST = '10.0.0.1:8000';
const LIST = '10.0.0.1:8000,10.0.0.2:8000,10.0.0.3:8000';
const USAGE =
  '{"usage":{"prompt_tokens":3,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":2}}}';

describe('a request in full duplex', () => {
  it('gets its endpoints in a header and in the metadata, and its body back as it came', async () => {
    const harness = await new PickerHarness().start();
    const stream = harness.open().head().body(ASKED, 3);
    const answers = await stream.until(2);
    expect(answers.map(({ response }) => response?.$case)).toEqual(['requestHeaders', 'requestBody']);
    expect(stream.set['x-gateway-destination-endpoint']).toBe(LIST);
    expect(answers[0]?.dynamicMetadata).toEqual({ 'envoy.lb': { 'x-gateway-destination-endpoint': LIST } });
    expect(JSON.parse(stream.returned)).toEqual(ASKED);
    expect(stream.set['content-length']).toBe(String(JSON.stringify(ASKED).length));
    expect(harness.reserved[0]?.request.tokens).toEqual(new Uint32Array([1, 2, 3]));
    stream.call.cancel();
  });

  it('is released with what the engine says when its answer has ended', async () => {
    const harness = await new PickerHarness().start();
    const stream = harness.open().head().body(ASKED);
    await stream.until(2);
    expect(harness.unreleased).toBe(1);
    stream.answerHead({}, FIRST).answerBody(USAGE.slice(0, 20), false).answerBody(USAGE.slice(20));
    await stream.until(5);
    expect(harness.reserved[0]).toMatchObject({
      released: 1,
      isPrefillDone: true,
      usage: { promptTokens: 3, cachedTokens: 2, outputTokens: 1 },
    });
    stream.call.end();
    expect(await stream.ended()).toBe(0);
    expect(harness.reserved[0]?.released).toBe(1);
    expect(harness.picker.openRequests).toBe(0);
    expect(await harness.metric('kv_accord_frontend_requests_total')).toBe(1);
  });

  it('with trailers has its body end there', async () => {
    const harness = await new PickerHarness().start();
    const stream = harness.open().head();
    stream.send({
      $case: 'requestBody',
      value: { body: Buffer.from(JSON.stringify(ASKED)), endOfStream: false },
    });
    stream.send({ $case: 'requestTrailers', value: { trailers: { headers: [] } } });
    const answers = await stream.until(3);
    expect(answers.map(({ response }) => response?.$case)).toEqual([
      'requestHeaders',
      'requestBody',
      'requestTrailers',
    ]);
    stream.call.cancel();
  });

  it('is answered although the gateway has half-closed the stream before', async () => {
    const harness = await new PickerHarness().start();
    let open = (): void => undefined;
    harness.gate = new Promise((resolve) => {
      open = resolve;
    });
    const stream = harness.open().head().body(ASKED);
    stream.call.end();
    open();
    expect(await stream.ended()).toBe(0);
    expect(stream.set['x-gateway-destination-endpoint']).toBe(LIST);
    expect(harness.unreleased).toBe(0);
  });
});

describe('the other body modes', () => {
  it('BUFFERED: the endpoint comes with the answer to the body', async () => {
    const harness = await new PickerHarness().start();
    const stream = harness.open().head({}, modes(Mode.BUFFERED));
    await stream.until(1);
    expect(stream.set).toEqual({});
    stream.body(ASKED);
    const answers = await stream.until(2);
    expect(answers[1]?.response?.$case).toBe('requestBody');
    expect(answers[1]?.dynamicMetadata).toBeDefined();
    expect(stream.set['x-gateway-destination-endpoint']).toBe(LIST);
    stream.call.cancel();
  });

  it('STREAMED before the headers are answered: the endpoint comes with the headers', async () => {
    const harness = await new PickerHarness().start();
    const stream = harness
      .open()
      .head({}, modes(Mode.STREAMED, Mode.STREAMED, true))
      .body(ASKED, 2);
    const answers = await stream.until(3);
    expect(answers.map(({ response }) => response?.$case)).toEqual([
      'requestHeaders',
      'requestBody',
      'requestBody',
    ]);
    expect(stream.returned).toBe('');
    expect(harness.reserved[0]?.request.tokens).toBeDefined();
    stream.call.cancel();
  });

  it.each([
    ['STREAMED after them', Mode.STREAMED],
    ['NONE', Mode.NONE],
  ])('%s: load alone decides', async (_, mode) => {
    const harness = await new PickerHarness().start();
    const stream = harness.open().head({}, modes(mode));
    await stream.until(1);
    expect(stream.set['x-gateway-destination-endpoint']).toBe(LIST);
    expect(harness.reserved[0]?.request.tokens).toBeUndefined();
    stream.call.cancel();
  });

  it('an observing gateway is not answered, and its request is decided all the same', async () => {
    const harness = await new PickerHarness().start();
    const stream = harness.open().head({}, { observabilityMode: true }).body(ASKED);
    stream.call.end();
    expect(await stream.ended()).toBe(0);
    expect(stream.answers).toEqual([]);
    expect(harness.reserved.length).toBe(1);
    expect(harness.unreleased).toBe(0);
  });
});

describe('who may be chosen', () => {
  const subset = (value: unknown) => ({
    metadataContext: {
      filterMetadata: { 'envoy.lb.subset_hint': { 'x-gateway-destination-endpoint-subset': value } },
    },
  });

  it.each([
    ['a list', ['10.0.0.2:8000', '10.0.0.3:8000']],
    ['a text', '10.0.0.2:8000, 10.0.0.3:8000'],
  ])('follows the subset that the gateway gives as %s', async (_, value) => {
    const harness = await new PickerHarness().start();
    const stream = harness.open().head({}, subset(value)).body(ASKED);
    await stream.until(2);
    expect(stream.set['x-gateway-destination-endpoint']).toBe('10.0.0.2:8000,10.0.0.3:8000');
    stream.call.cancel();
  });

  it.each([
    ['of others', ['10.9.9.9:8000']],
    ['that is empty', []],
    ['that cannot be read', 7],
  ])('is nobody for a subset %s: 503', async (_, value) => {
    const harness = await new PickerHarness().start();
    const stream = harness.open().head({}, subset(value)).body(ASKED);
    expect(await stream.ended()).toBe(0);
    expect(stream.refusal).toMatchObject({ status: 503, body: { error: { code: 'no_endpoint' } } });
    expect(harness.unreleased).toBe(0);
  });

  it('is by load on unknown paths, of a model that is named or that is ready', async () => {
    const harness = await new PickerHarness().start();
    const asked = [
      harness.open().head({ ':method': 'GET', ':path': '/v1/models' }, { endOfStream: true }),
      harness.open().head({ ':path': '/generate', 'content-type': 'text/plain' }).body('no JSON'),
      harness.open().head({ ':path': '/pooling' }).body({ model: 'tiny' }),
    ];
    for (const stream of asked) {
      await stream.until(1);
      expect(stream.set['x-gateway-destination-endpoint']).toBe(LIST);
      stream.call.cancel();
    }
    expect(harness.reserved.map(({ request }) => request.tokens)).toEqual([undefined, undefined, undefined]);
  });

  it('gets the rank by a header where its ranks share a port, and a client cannot choose one', async () => {
    const harness = await new PickerHarness().start();
    harness.rankCount = 4;
    harness.rank = 2;
    const stream = harness.open().head({ 'x-data-parallel-rank': '3' }).body(ASKED);
    await stream.until(2);
    expect(stream.set['x-data-parallel-rank']).toBe('2');
    stream.call.cancel();
    harness.rankCount = 1;
    harness.rank = 0;
    const single = harness.open().head({ 'x-data-parallel-rank': '3' }).body(ASKED);
    const [first] = await single.until(2);
    const value = first?.response?.$case === 'requestHeaders' ? first.response.value : undefined;
    expect(value?.response?.headerMutation?.removeHeaders).toEqual(['x-data-parallel-rank']);
    single.call.cancel();
  });

  it('gets the rank by its port where each has one', async () => {
    const harness = await new PickerHarness().start();
    const ports = (n: number) =>
      new Map([
        [0, `10.0.0.${n}:8000`],
        [1, `10.0.0.${n}:8001`],
      ]);
    harness.served = new Map([1, 2, 3].map((n) => [`10.0.0.${n}:50061`, ports(n)]));
    harness.rankCount = 2;
    harness.rank = 1;
    const stream = harness.open().head().body(ASKED);
    await stream.until(2);
    expect(stream.set['x-data-parallel-rank']).toBeUndefined();
    expect(stream.set).toMatchObject({
      'x-gateway-destination-endpoint': '10.0.0.1:8001,10.0.0.2:8001,10.0.0.3:8001',
    });
    stream.call.cancel();
  });

  it('is passed over where the address is no IP address', async () => {
    const harness = await new PickerHarness().start();
    const [group] = harness.catalogue.groups;
    if (group === undefined) expect.fail('there is one');
    harness.catalogue = {
      ...harness.catalogue,
      groups: [{ ...group, workers: [workerAt(1, { baseUrl: 'http://engine:8000' }), workerAt(2)] }],
    };
    const stream = harness.open().head().body(ASKED);
    await stream.until(2);
    expect(stream.set['x-gateway-destination-endpoint']).toBe('10.0.0.2:8000');
    expect(harness.unreleased).toBe(1);
    stream.call.cancel();
  });
});

describe('a refusal', () => {
  it('says why a gate is shut, in the shape of the API', async () => {
    const harness = await new PickerHarness().start();
    const [group] = harness.catalogue.groups;
    if (group === undefined) expect.fail('there is one');
    const reasons = [{ code: 'conflict' as const, text: 'worker w-2 has a block size of 16' }];
    harness.catalogue = {
      ...harness.catalogue,
      groups: [{ ...group, isReady: false, reasons: reasons as never }],
    };
    const openAi = harness.open().head().body(ASKED);
    await openAi.ended();
    expect(openAi.refusal).toMatchObject({
      status: 503,
      headers: { 'retry-after': '2', 'content-type': 'application/json' },
      body: {
        error: { code: 'gate_shut', message: expect.stringContaining('Worker w-2 has a block size of 16.') },
      },
    });
    const anthropic = harness.open().head({ ':path': '/v1/messages' }).body(ASKED);
    await anthropic.ended();
    expect(anthropic.refusal?.body).toMatchObject({ type: 'error', error: { type: 'overloaded_error' } });
    const get = harness.open().head({ ':method': 'GET', ':path': '/v1/models' }, { endOfStream: true });
    await get.ended();
    expect(get.refusal?.status).toBe(503);
  });

  it.each([
    ['a body without a model', { prompt: 'one' }, {}, 400],
    ['a body that is no JSON', '{"model":', {}, 400],
    ['a body of another type', ASKED, { 'content-type': 'text/plain' }, 415],
    ['a compressed body', ASKED, { 'content-encoding': 'gzip' }, 415],
    ['a body that is announced as too long', ASKED, { 'content-length': '99999999' }, 413],
  ])('of %s is that of a frontend', async (_, body, headers, status) => {
    const harness = await new PickerHarness().start();
    const stream = harness.open().head(headers).body(body);
    await stream.ended();
    expect(stream.refusal?.status).toBe(status);
    expect(harness.picker.openRequests).toBe(0);
  });

  it('is 429 when every worker has as many requests as it may, and earlier for lower priorities', async () => {
    const priorities: Readonly<Record<string, number>> = { batch: -1 };
    const harness = await new PickerHarness(
      { maxRequestsPerWorker: 4 },
      { priorityOf: (name = '') => priorities[name] ?? 0 },
    ).start();
    const ask = (headers: Readonly<Record<string, string>> = {}) => harness.open().head(headers).body(ASKED);
    const batch = { 'x-gateway-inference-objective': 'batch' };
    const streams = [];
    for (let at = 0; at < 11; at += 1) {
      const stream = ask(at === 0 ? batch : {});
      await stream.until(2);
      streams.push(stream);
    }
    // Four at each of two workers, and three at the last.
    const shed = ask(batch);
    await shed.ended();
    expect(shed.refusal).toMatchObject({
      status: 429,
      headers: { 'retry-after': '1' },
      body: { error: { code: 'workers_full', message: expect.stringContaining('of priority -1') } },
    });
    const last = ask();
    await last.until(2);
    streams.push(last);
    const full = ask();
    await full.ended();
    expect(full.refusal?.status).toBe(429);
    streams[0]?.call.cancel();
    await streams[0]?.ended();
    const again = ask();
    await again.until(2);
    expect(again.refusal).toBeUndefined();
    for (const stream of [again, ...streams]) stream.call.cancel();
  });

  it('is 503 for new requests while the process drains, and open ones end', async () => {
    const harness = await new PickerHarness().start();
    const stream = harness.open().head().body(ASKED);
    await stream.until(2);
    const drained = harness.picker.drain(60_000);
    const late = harness.open().head().body(ASKED);
    await late.ended();
    expect(late.refusal).toMatchObject({ status: 503, body: { error: { code: 'shutting_down' } } });
    stream.answerHead().answerBody(USAGE);
    await stream.until(4);
    stream.call.end();
    await drained;
    expect(harness.unreleased).toBe(0);
  });
});

describe('who answered', () => {
  it('a fallback: those before it failed, and the request counts there, without a prediction', async () => {
    const harness = await new PickerHarness().start();
    const stream = harness.open().head().body(ASKED);
    await stream.until(2);
    stream.answerHead({}, '10.0.0.2:8000').answerBody(USAGE);
    await stream.until(4);
    const [first, second] = harness.reserved;
    expect(first).toMatchObject({ released: 1, usage: undefined, faults: [{ kind: 'unreachable' }] });
    expect(second?.decision.target).toBe('10.0.0.2:50061');
    expect(second?.request.tokens).toBeUndefined();
    stream.call.end();
    await stream.ended();
    expect(second).toMatchObject({ released: 1, faults: [] });
    expect(await harness.metric('kv_accord_epp_reserved_requests')).toBe(0);
  });

  it('an error of a worker is its fault once another worker answers the same request, and not before', async () => {
    const harness = await new PickerHarness().start();
    const ask = async (status: string, text: string, served: string): Promise<void> => {
      const stream = harness.open().head().body(ASKED);
      await stream.until(2);
      stream.answerHead({ ':status': status }, served).answerBody(text);
      await stream.until(4);
      stream.call.end();
      await stream.ended();
    };
    await ask('500', '{"error":"it broke"}', FIRST);
    const [failed] = harness.reserved;
    expect(failed).toMatchObject({ released: 1, faults: [] });
    // The next one is chosen, as the router would once its worker is busy.
    const [group] = harness.catalogue.groups;
    if (group !== undefined)
      harness.catalogue = {
        ...harness.catalogue,
        groups: [{ ...group, workers: [workerAt(2), workerAt(1)] }],
      };
    await ask('200', USAGE, '10.0.0.2:8000');
    expect(failed?.faults).toEqual([{ kind: 'server_error', detail: 'status 500' }]);
    expect(await harness.metric('kv_accord_epp_failures_total')).toBe(1);
  });

  it('the gateway itself, because no connection could be made: the worker failed', async () => {
    const harness = await new PickerHarness().start();
    const stream = harness.open().head().body(ASKED);
    await stream.until(2);
    const text = 'upstream connect error or disconnect/reset before headers. reset reason: ';
    stream
      .answerHead({ ':status': '503' })
      .answerBody(text, false)
      .answerBody('remote connection failure, x');
    await stream.until(5);
    expect(harness.reserved[0]?.faults).toEqual([
      { kind: 'unreachable', detail: 'the gateway says: remote connection failure' },
    ]);
    stream.call.cancel();
  });

  it('a fallback with an error: both failed, each as was seen', async () => {
    const harness = await new PickerHarness().start();
    const stream = harness.open().head().body(ASKED);
    await stream.until(2);
    const text =
      'upstream connect error or disconnect/reset before headers. reset reason: connection timeout';
    stream.answerHead({ ':status': '503' }, '10.0.0.2:8000').answerBody(text);
    await stream.until(4);
    expect(harness.reserved.map(({ faults }) => faults.map(({ kind }) => kind))).toEqual([
      ['unreachable'],
      ['unreachable'],
    ]);
    stream.call.cancel();
  });

  it('another endpoint than any of the list: nobody is blamed', async () => {
    const harness = await new PickerHarness().start();
    const stream = harness.open().head().body(ASKED);
    await stream.until(2);
    stream.answerHead({}, '10.0.0.77:8000').answerBody(USAGE);
    await stream.until(4);
    expect(harness.reserved).toMatchObject([{ released: 1, faults: [], usage: undefined }]);
    stream.call.cancel();
  });
});

describe('with tracing', () => {
  /** Spans in words. */
  class Recorder implements RequestTracer {
    readonly said: string[] = [];

    start(headers: IncomingHttpHeaders, path: string): RequestSpan {
      this.said.push(`start ${path}`);
      return {
        traceparent: '00-1-2-01',
        isContinued: headers['traceparent'] !== undefined,
        decided: ({ target }, sent) => this.said.push(`to ${target} ${sent?.model} ${sent?.baseUrl}`),
        end: ({ status, error = 'whole', usage }) =>
          this.said.push(`end ${status} ${error} ${usage?.cachedTokens}`),
      };
    }

    close(): Promise<void> {
      return Promise.resolve();
    }
  }

  it('a span says where a request went and how it ended, and the engine goes on with it', async () => {
    const tracer = new Recorder();
    const harness = await new PickerHarness({}, { tracer }).start();
    const stream = harness.open().head({ tracestate: 'a=b' }).body(ASKED);
    const [head] = await stream.until(2);
    expect(stream.set['traceparent']).toBe('00-1-2-01');
    expect(JSON.stringify(head)).toContain('"removeHeaders":["tracestate"]');
    stream.answerHead({}, '10.0.0.2:8000').answerBody(USAGE);
    await stream.until(4);
    stream.call.end();
    await stream.ended();
    expect(tracer.said).toEqual([
      'start /v1/completions',
      'to 10.0.0.1:50061 tiny http://10.0.0.1:8000',
      'to 10.0.0.2:50061 tiny http://10.0.0.2:8000',
      'end 200 whole 2',
    ]);
  });

  it('a span of a refusal says so, and one whose client leaves; a trace that goes on keeps its state', async () => {
    const tracer = new Recorder();
    const harness = await new PickerHarness({}, { tracer }).start();
    await harness.open().head().body({ prompt: 'of no model' }).ended();
    const left = harness.open().head({ traceparent: '00-1-9-01', tracestate: 'a=b' }).body(ASKED);
    const [head] = await left.until(2);
    expect(JSON.stringify(head)).toContain('"removeHeaders":[]');
    left.call.cancel();
    await left.ended();
    await expect.poll(() => tracer.said.length).toBe(5);
    expect(tracer.said.filter((line) => line.startsWith('end'))).toEqual([
      'end 400 refused undefined',
      'end 499 client_gone undefined',
    ]);
  });
});

describe('in the shadow of another picker', () => {
  it('every message is answered without a change, and what would have been is counted', async () => {
    const harness = await new PickerHarness({ isShadow: true }).start();
    const theirs = harness.open().head({ 'x-gateway-destination-endpoint': '10.0.0.2:8000' });
    expect((await theirs.until(1)).length).toBe(1);
    theirs.body(ASKED).answerHead().answerBody(USAGE);
    await theirs.until(4);
    expect(theirs.set).toEqual({});
    expect(JSON.parse(theirs.returned)).toEqual(ASKED);
    const unknown = harness.open().head().body('no JSON').answerHead().answerBody('{}');
    await unknown.until(4);
    expect(unknown.refusal).toBeUndefined();
    for (const stream of [theirs, unknown]) {
      stream.call.end();
      await stream.ended();
    }
    const page = await harness.registry.getSingleMetricAsString('kv_accord_epp_shadow_requests_total');
    expect(page).toContain('{result="other"} 1');
    expect(page).toContain('{result="would_refuse"} 1');
    expect(harness.unreleased).toBe(0);
  });
});

describe('--model-rewrite', () => {
  it.each([
    ['full duplex', Mode.FULL_DUPLEX_STREAMED],
    ['buffered', Mode.BUFFERED],
  ])('replaces the name alone, in a body that is %s', async (_, mode) => {
    const harness = await new PickerHarness({ modelRewrites: new Map([['chat', 'tiny']]) }).start();
    const text = '{ "model" : "chat", "prompt":  [1, 2.0]}';
    const stream = harness.open().head({}, modes(mode)).body(text);
    await stream.until(2);
    const expected = '{ "model" :"tiny", "prompt":  [1, 2.0]}';
    expect(stream.set['content-length']).toBe(String(expected.length));
    if (mode === Mode.FULL_DUPLEX_STREAMED) expect(stream.returned).toBe(expected);
    else {
      const last = stream.answers[1]?.response;
      const mutation =
        last?.$case === 'requestBody' ? last.value.response?.bodyMutation?.mutation : undefined;
      expect(mutation).toEqual({ $case: 'body', value: Buffer.from(expected) });
    }
    expect(harness.reserved[0]?.request.group).toBe('tiny');
    stream.call.cancel();
  });
});
