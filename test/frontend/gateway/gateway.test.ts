import { readFileSync } from 'node:fs';
import { request as tlsRequest } from 'node:https';
import { afterEach, describe, expect, it } from 'vitest';
import { notRoutedError } from '../../../src/frontend/errors/openai-error.js';
import { ApiKeys } from '../../../src/frontend/gateway/api-keys.js';
import type { GatewayModules, GatewayOptions } from '../../../src/frontend/gateway/gateway.js';
import type { RequestTracer } from '../../../src/frontend/tracing/request-tracer.js';
import { GatewayHarness, makeCatalogue, makeGroup } from './gateway-harness.js';

const running: GatewayHarness[] = [];
afterEach(async () => {
  for (const harness of running.splice(0)) {
    await harness.stop();
    expect(harness.gateway.openConnections).toBe(0);
  }
});

async function start(
  options: Partial<GatewayOptions> = {},
  modules: Partial<GatewayModules> = {},
): Promise<GatewayHarness> {
  const harness = await GatewayHarness.start(options, modules);
  running.push(harness);
  return harness;
}

const chatRequest =
  'POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 16\r\n\r\n{"model":"tiny"}';

interface ErrorBody {
  readonly error: { message: string; type: string; param: string | null; code: string | null };
}

async function errorOf(response: Response): Promise<ErrorBody['error']> {
  expect(response.headers.get('content-type')).toBe('application/json');
  const { error } = (await response.json()) as ErrorBody;
  expect(Object.keys(error)).toEqual(['message', 'type', 'param', 'code']);
  return error;
}

describe('a request for a chat completion', () => {
  it('is sent on byte by byte, with what the router has to know', async () => {
    const harness = await start();
    const body =
      '{ "model" : "tiny",\n "messages":[{"role":"user","content":"Grüße"}], "unknown": 1.0, "cache_salt":"s" }';
    const response = await harness.post('/v1/chat/completions?x=1', body, { 'x-own': 'y' });
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ ok: true });
    const [served] = harness.served;
    expect(served?.body.toString()).toBe(body);
    expect(served).toMatchObject({ method: 'POST', path: '/v1/chat/completions?x=1', group: 'tiny' });
    expect(served?.headers['x-own']).toBe('y');
    expect(harness.prompts).toMatchObject([
      { kind: 'chat', body: JSON.parse(body), losesNumbers: false, raw: { bytes: Buffer.from(body) } },
    ]);
    expect(harness.routed).toEqual([
      {
        group: 'tiny',
        tokens: new Uint32Array([1, 2, 3]),
        loraName: '',
        cacheSalt: 's',
        cacheUse: 'plain',
        excluded: [],
      },
    ]);
  });

  it('names its LoRA adapter to the router', async () => {
    const harness = await start();
    await harness.chat({ model: 'tiny-lora' });
    expect(harness.routed[0]).toMatchObject({ group: 'tiny', loraName: 'tiny-lora' });
  });

  it('is served without tokens where they cannot be had, and counted', async () => {
    const harness = await start();
    harness.tokens = { tokens: undefined, reason: 'media' };
    expect((await harness.chat()).status).toBe(200);
    expect(harness.routed[0]?.tokens).toBeUndefined();
    const name = 'kv_accord_frontend_requests_without_tokens_total';
    expect(await harness.metric(name, { group: 'tiny', reason: 'media' })).toBe(1);
  });

  it('is answered also when it cannot be traced', async () => {
    const start: RequestTracer['start'] = () => {
      throw new Error('no trace');
    };
    const traced = await GatewayHarness.start({}, { tracer: { start, close: () => Promise.resolve() } });
    running.push(traced);
    expect((await traced.chat()).status).toBe(500);
    expect(traced.logger.messages('error')).toEqual(['A request could not be answered']);
  });

  it('is refused when it comes back again and again: an address leads from here to here', async () => {
    const harness = await start();
    const chain = { via: '1.1 nginx, 1.1 kv-accord, 1.1 kv-accord' };
    expect((await harness.chat({}, chain)).status).toBe(200);
    const loop = { via: Array(4).fill('1.1 kv-accord').join(', ') };
    const refused = await harness.chat({}, loop);
    expect(refused.status).toBe(508);
    expect(await errorOf(refused)).toMatchObject({
      code: 'loop_detected',
      message: expect.stringContaining('--worker-urls'),
    });
    expect(harness.served).toHaveLength(1);
  });

  it('names its session to the router by a hash, where that is asked for', async () => {
    const session = { 'x-session-id': 'conversation-1' };
    const harness = await start({ sessionAffinity: 'header' });
    await harness.chat({}, session);
    await harness.chat({}, session);
    await harness.chat();
    const [first, second, third] = harness.routed.map(({ sessionHash }) => sessionHash);
    expect(first).toBeTypeOf('number');
    expect([second, third]).toEqual([first, undefined]);
    const off = await start();
    await off.chat({}, session);
    expect(off.routed[0]?.sessionHash).toBeUndefined();
  });

  it('may be refused by a worker in good order only where it asks for what not all have', async () => {
    const harness = await start();
    await harness.chat();
    await harness.chat({ model: 'tiny-lora' });
    await harness.post('/v1/embeddings', '{"model":"tiny","input":"x"}');
    expect(harness.served.map(({ mayBeRefused }) => mayBeRefused)).toEqual([false, true, true]);
  });

  it('needs no tokens where workers are not chosen by them', async () => {
    const harness = await start({ wantsTokens: false });
    await harness.chat();
    expect(harness.prompts).toEqual([]);
    expect(harness.routed[0]?.tokens).toBeUndefined();
  });

  it('asks again when the worker that was chosen has no address any longer', async () => {
    const harness = await start();
    harness.targets = ['gone:50061', 'w-1:50061'];
    expect((await harness.chat()).status).toBe(200);
    expect(harness.routed.map(({ excluded }) => excluded)).toEqual([[], ['gone:50061']]);
    expect(harness.released).toBe(2);
  });

  it('passes its path on without the host of an absolute request line', async () => {
    const harness = await start();
    const got = await harness.sendRaw(
      'POST http://elsewhere/v1/completions?a=b HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 16\r\n\r\n{"model":"tiny"}',
    );
    expect(got).toMatch(/^HTTP\/1\.1 200 /);
    expect(harness.served[0]?.path).toBe('/v1/completions?a=b');
  });

  it('is measured', async () => {
    const harness = await start();
    await harness.chat();
    await harness.post('/v1/embeddings', { model: 'none' });
    const name = 'kv_accord_frontend_requests_total';
    expect(await harness.metric(name, { group: 'tiny', path: '/v1/chat/completions', status: '200' })).toBe(
      1,
    );
    expect(await harness.metric(name, { group: '', path: '/v1/embeddings', status: '404' })).toBe(1);
    const count = { group: 'tiny', le: '+Inf' };
    expect(await harness.metric('kv_accord_frontend_request_duration_seconds', count)).toBe(1);
    expect(await harness.metric('kv_accord_frontend_time_to_first_byte_seconds', count)).toBe(1);
    expect(await harness.metric('kv_accord_frontend_inflight_requests')).toBe(0);
  });

  it('is not counted any more when its group has left, also where it ends after that', async () => {
    const harness = await start();
    harness.tokens = { tokens: undefined, reason: 'media' };
    await harness.chat();
    const gone = { models: [], groups: [], reasons: [] };
    harness.serve = (_request, response) => {
      harness.catalogue = gone;
      response.end();
      return Promise.resolve({ status: 502, ended: 'upstream_broke', firstByteMs: 1 });
    };
    expect(await harness.registry.metrics()).toContain('{group="tiny"');
    await harness.chat();
    expect(await harness.registry.metrics()).not.toContain('group="tiny"');
    await harness.chat();
    const none = { group: '', status: '503' };
    expect(await harness.metric('kv_accord_frontend_requests_total', none)).toBe(1);
  });
});

describe('other requests', () => {
  it('for completions give their tokens by their prompt, and for embeddings give none', async () => {
    const harness = await start();
    await harness.post('/v1/completions', { model: 'tiny', prompt: [1, 2] });
    await harness.post('/v1/embeddings', { model: 'tiny', input: 'x' });
    expect(harness.prompts).toMatchObject([
      { kind: 'completion', body: { model: 'tiny', prompt: [1, 2] }, losesNumbers: false },
    ]);
    expect(harness.routed.map(({ tokens }) => tokens !== undefined)).toEqual([true, false]);
  });

  it('for / get a page in the form that they ask for, and HEAD gets its head alone', async () => {
    const harness = await start({ statusAddress: '127.0.0.1:9463', version: '1.2.3' });
    const forms = [
      ['text/html,application/xhtml+xml,*/*;q=0.8', 'text/html; charset=utf-8'],
      ['application/json', 'application/json'],
      ['*/*', 'text/plain; charset=utf-8'],
    ] as const;
    for (const [accept, type] of forms) {
      const response = await harness.ask('/', { headers: { accept } });
      expect(response.status).toBe(200);
      expect(response.headers.get('content-type')).toBe(type);
      const text = await response.text();
      expect(text).toContain('127.0.0.1:9463');
      expect(text).toContain('POST /v1/chat/completions');
      const head = await harness.ask('/', { method: 'HEAD', headers: { accept } });
      expect(head.status).toBe(200);
      expect(head.headers.get('content-type')).toBe(type);
      expect(head.headers.get('content-length')).toBe(String(Buffer.byteLength(text)));
      expect(await head.text()).toBe('');
    }
  });

  it('list the models that are served now, adapters with their parent', async () => {
    const harness = await start();
    harness.catalogue = {
      models: [...makeCatalogue().models, { name: 'other/big', group: 'other/big', loraName: '' }],
      groups: [makeGroup('tiny'), makeGroup('other/big', { isReady: false })],
      reasons: [],
    };
    const list = (await (await harness.ask('/v1/models')).json()) as { object: string; data: object[] };
    expect(list.object).toBe('list');
    expect(list.data).toEqual([
      { id: 'tiny', object: 'model', created: expect.any(Number), owned_by: 'kv-accord', parent: null },
      {
        id: 'tiny-lora',
        object: 'model',
        created: expect.any(Number),
        owned_by: 'kv-accord',
        parent: 'tiny',
      },
    ]);
    expect(await (await harness.ask('/v1/models/tiny-lora')).json()).toEqual(list.data[1]);
    expect((await harness.ask('/v1/models/other%2Fbig')).status).toBe(503);
    expect((await harness.ask('/v1/models/other/big')).status).toBe(503);
    expect((await errorOf(await harness.ask('/v1/models/nope'))).code).toBe('model_not_found');
  });

  it('for probes and metrics are answered as everywhere', async () => {
    const harness = await start();
    expect((await harness.ask('/livez')).status).toBe(200);
    expect((await harness.ask('/readyz')).status).toBe(503);
    harness.probes.set('readyz', [{ name: 'gate:tiny', ok: true, text: 'open' }]);
    expect(await (await harness.ask('/readyz')).text()).toBe('ok\n');
    expect(await (await harness.ask('/readyz?verbose')).text()).toBe(
      '[+]gate:tiny open\nreadyz check passed\n',
    );
    expect(await (await harness.ask('/metrics')).text()).toContain('kv_accord_frontend_inflight_requests 0');
    expect((await harness.ask('/livez', { method: 'HEAD' })).status).toBe(200);
  });

  it('for health stay within a bound with 256 models that are shut, and name each', async () => {
    const harness = await start();
    const [group] = makeCatalogue({
      isReady: false,
      reasons: Array.from({ length: 16 }, () => ({ code: 'conflict' as const, text: 'x'.repeat(8_192) })),
    }).groups;
    if (group === undefined) throw new Error('no group');
    const groups = Array.from({ length: 256 }, (_, at) => ({ ...group, group: `model-${at}` }));
    harness.catalogue = { models: [], groups, reasons: group.reasons };
    const text = await (await harness.ask('/health')).text();
    expect(text.length).toBeLessThan(3 * 32_768);
    for (const { group: name } of groups) expect(text).toContain(`"${name}"`);
  });

  it('for health tell what can be served', async () => {
    const harness = await start();
    const good = await harness.ask('/health');
    expect(good.status).toBe(200);
    expect(await good.json()).toEqual({
      status: 'ready',
      reasons: [],
      models: [{ model: 'tiny', ready: true, workers: 1, reasons: [] }],
    });
    harness.catalogue = makeCatalogue({
      isReady: false,
      reasons: [{ code: 'settling', text: 'settling for 2 s more' }],
    });
    const bad = await harness.ask('/health');
    expect(bad.status).toBe(503);
    expect(await bad.json()).toMatchObject({
      status: 'not_ready',
      models: [{ reasons: ['settling for 2 s more'] }],
    });
  });
});

describe('what cannot be served is refused in the shape of OpenAI', () => {
  it('an unknown model', async () => {
    const harness = await start();
    const response = await harness.chat({ model: 'nope' });
    expect(response.status).toBe(404);
    expect(await errorOf(response)).toEqual({
      message: 'The model `nope` does not exist. Served here: `tiny`, `tiny-lora`.',
      type: 'invalid_request_error',
      param: 'model',
      code: 'model_not_found',
    });
  });

  it('any model before the first report, as worth another try', async () => {
    const harness = await start();
    harness.catalogue = {
      models: [],
      groups: [],
      reasons: [{ code: 'no_workers', text: 'no worker is listed' }],
    };
    const response = await harness.chat();
    expect(response.status).toBe(503);
    expect(response.headers.get('retry-after')).toBe('2');
    expect((await errorOf(response)).message).toContain('No worker is listed.');
  });

  it('a model whose gate is shut, with the reasons', async () => {
    const harness = await start();
    harness.catalogue = makeCatalogue({
      isReady: false,
      reasons: [{ code: 'waiting_for_workers', text: 'waiting for 1 of 2 workers' }],
    });
    const response = await harness.chat();
    expect(response.status).toBe(503);
    expect(response.headers.get('retry-after')).toBe('2');
    expect(await errorOf(response)).toMatchObject({
      type: 'server_error',
      code: 'gate_shut',
      message: expect.stringContaining('Waiting for 1 of 2 workers.'),
    });
    expect(await harness.metric('kv_accord_frontend_requests_total', { group: 'tiny', status: '503' })).toBe(
      1,
    );
  });

  const bodies: readonly (readonly [string, string, number, string | null, RegExp])[] = [
    ['no body', '', 400, null, /no body/],
    ['broken JSON', '{"model":', 400, null, /not valid JSON/],
    ['an array', '[]', 400, null, /must be a JSON object, not an array/],
    ['null', 'null', 400, null, /not null/],
    ['no model', '{}', 400, 'model', /must provide a model/],
    ['a model that is no text', '{"model":7}', 400, 'model', /must be a string/],
    ['a nesting without end', '['.repeat(60_000), 400, null, /nested deeper/],
    ['too much of it', `{"model":"tiny","x":"${'x'.repeat(70_000)}"}`, 413, null, /limit of 65536 bytes/],
  ];
  it.each(bodies)('%s', async (_name, body, status, param, message) => {
    const harness = await start();
    const response = await harness.post('/v1/chat/completions', body);
    expect(response.status).toBe(status);
    const error = await errorOf(response);
    expect(error.message).toMatch(message);
    expect(error.param).toBe(param);
    expect(harness.served).toEqual([]);
  });

  it('a body that is not JSON, compressed, or of a type that cannot be read', async () => {
    const harness = await start();
    const types = [
      { 'content-type': 'text/plain' },
      { 'content-type': 'multipart/form-data; boundary=x' },
      { 'content-type': 'application/jsonl' },
      { 'content-encoding': 'gzip' },
    ];
    for (const headers of types) {
      const response = await harness.chat({}, headers);
      expect(response.status).toBe(415);
      await errorOf(response);
    }
    for (const type of ['application/json; charset=utf-8', 'Application/JSON', 'application/json;'])
      expect((await harness.chat({}, { 'content-type': type })).status).toBe(200);
  });

  it('takes a body without a type for JSON', async () => {
    const harness = await start();
    const got = await harness.sendRaw(
      'POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 16\r\n\r\n{"model":"tiny"}',
    );
    expect(got).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('paths and methods that are not there', async () => {
    const harness = await start();
    const unknown = await harness.post('/v1/batches', {});
    expect(unknown.status).toBe(404);
    expect(await errorOf(unknown)).toMatchObject({
      message: 'Invalid URL (POST /v1/batches).',
      code: 'unknown_url',
    });
    const wrong = await harness.ask('/v1/chat/completions');
    expect(wrong.status).toBe(405);
    expect(wrong.headers.get('allow')).toBe('POST');
    await errorOf(wrong);
    expect((await harness.post('/v1/models', {})).status).toBe(405);
    expect((await harness.post('/v1/models/tiny', {})).status).toBe(405);
    expect((await harness.ask('/v1/models', { method: 'OPTIONS' })).status).toBe(405);
    expect((await harness.ask('/v1/%zz')).status).toBe(400);
    expect((await harness.ask('/nothing')).status).toBe(404);
  });

  it('what goes wrong inside, without a word of it', async () => {
    const harness = await start();
    harness.serve = () => Promise.reject(new Error('inner s3cret'));
    const response = await harness.chat();
    expect(response.status).toBe(500);
    expect((await errorOf(response)).message).not.toContain('s3cret');
    expect(harness.logger.messages('error')).toEqual(['A request could not be answered']);
  });

  it('what the proxy refuses, once', async () => {
    const harness = await start();
    harness.serve = () => Promise.reject(notRoutedError({ code: 'no_worker' }));
    expect((await errorOf(await harness.chat())).code).toBe('no_worker');
    expect(await harness.metric('kv_accord_frontend_requests_total')).toBe(1);
  });
});

describe('API keys', () => {
  const keys = new ApiKeys(['sk-0123456789abcdef'], 'secret');

  it('are asked for wherever something is to be had', async () => {
    const harness = await start({}, { apiKeys: () => keys });
    for (const path of ['/v1/models', '/v1/models/tiny', '/metrics'])
      expect((await harness.ask(path)).status).toBe(401);
    const missing = await harness.chat();
    expect(missing.status).toBe(401);
    expect(missing.headers.get('www-authenticate')).toBe('Bearer');
    expect(await errorOf(missing)).toMatchObject({ type: 'invalid_request_error', code: 'invalid_api_key' });
    const wrong = await harness.chat({}, { authorization: 'Bearer sk-0123456789abcdeg' });
    expect((await errorOf(wrong)).message).toBe('Incorrect API key provided.');
    expect((await harness.chat({}, { authorization: 'Bearer sk-0123456789abcdef' })).status).toBe(200);
    for (const path of ['/livez', '/health']) expect((await harness.ask(path)).status).toBe(200);
    expect((await harness.ask('/readyz')).status).toBe(503);
  });

  it('are those that hold now', async () => {
    let current = keys;
    const harness = await start({}, { apiKeys: () => current });
    const authorization = 'Bearer sk-0123456789abcdef';
    expect((await harness.chat({}, { authorization })).status).toBe(200);
    current = new ApiKeys(['sk-another-key-of-ours'], 'secret');
    expect((await harness.chat({}, { authorization })).status).toBe(401);
  });
});

describe('browsers', () => {
  const origin = 'https://chat.example';

  it('are not let in by default, whatever the engine would say', async () => {
    const harness = await start();
    const response = await harness.chat({}, { origin });
    expect(response.headers.get('access-control-allow-origin')).toBeNull();
    expect(harness.served[0]?.headers.origin).toBeUndefined();
    expect(
      (await harness.ask('/v1/chat/completions', { method: 'OPTIONS', headers: { origin } })).status,
    ).toBe(405);
  });

  it('are let in from the origins that are named, also to errors', async () => {
    const harness = await start({ corsOrigins: [origin] }, { apiKeys: () => new ApiKeys([], '') });
    const preflight = await harness.ask('/v1/chat/completions', {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization,content-type',
      },
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get('access-control-allow-origin')).toBe(origin);
    expect(preflight.headers.get('access-control-allow-headers')).toBe('authorization,content-type');
    const refused = await harness.chat({}, { origin });
    expect(refused.status).toBe(401);
    expect(refused.headers.get('access-control-allow-origin')).toBe(origin);
    const other = await harness.ask('/livez', { headers: { origin: 'https://evil.example' } });
    expect(other.headers.get('access-control-allow-origin')).toBeNull();
  });

  it('get the headers with an answer of a worker too', async () => {
    const harness = await start({ corsOrigins: ['*'] });
    const response = await harness.chat({}, { origin });
    expect(response.status).toBe(200);
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
    expect(response.headers.get('content-type')).toBe('application/json');
  });
});

describe('TLS', () => {
  const pem = (name: string): string =>
    readFileSync(new URL(`../../edge/http/certificates/${name}.pem`, import.meta.url), 'utf8');
  const ca = pem('ca');
  const material = { cert: pem('first-cert'), key: pem('first-key'), ca };
  const client = { cert: pem('client-cert'), key: pem('client-key') };

  function ask(port: number, path: string, shown: object = {}): Promise<{ status: number; body: string }> {
    return new Promise((resolve, reject) => {
      const options = { host: '127.0.0.1', port, path, ca, agent: false as const, ...shown };
      const request = tlsRequest(options, (response) => {
        let body = '';
        response.setEncoding('utf8').on('data', (text: string) => {
          body += text;
        });
        response.on('end', () => resolve({ status: response.statusCode ?? 0, body }));
      });
      request.on('error', reject).end();
    });
  }

  it('asks callers for a certificate everywhere but at probes', async () => {
    const tls = { current: () => material, clientAuth: 'require' as const };
    const { port } = await start({}, { tls });
    expect((await ask(port, '/livez')).status).toBe(200);
    const refused = await ask(port, '/v1/models');
    expect(refused.status).toBe(401);
    expect(JSON.parse(refused.body)).toMatchObject({ error: { code: 'no_client_certificate' } });
    expect((await ask(port, '/v1/models', client)).status).toBe(200);
  });
});

describe('a gateway that goes', () => {
  it('ends what runs, and refuses what is new', async () => {
    const harness = await start();
    harness.probes.set('readyz', [{ name: 'gate', ok: true }]);
    let begin: () => void = () => {};
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    let finish: () => void = () => {};
    harness.serve = async (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: 1\n\n');
      begin();
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
      response.end('data: [DONE]\n\n');
      return { status: 200, ended: 'complete', firstByteMs: 1 };
    };
    const stream = await harness.chat({ stream: true });
    await begun;
    const drained = harness.gateway.drain(60_000);
    expect((await harness.ask('/readyz')).status).toBe(503);
    expect((await harness.ask('/livez')).status).toBe(200);
    const refused = await harness.chat();
    expect(refused.status).toBe(503);
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(refused.headers.get('connection')).toBe('close');
    expect((await errorOf(refused)).code).toBe('shutting_down');
    finish();
    expect(await stream.text()).toBe('data: 1\n\ndata: [DONE]\n\n');
    await drained;
    await expect(harness.ask('/livez')).rejects.toThrow();
  });

  it('has its connections end with the answers that begin from then on, probes included', async () => {
    const harness = await start();
    let begin: () => void = () => {};
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    let finish: () => void = () => {};
    harness.serve = async (_request, response) => {
      begin();
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
      // As the proxy writes the head of a worker's answer: names and values in turn.
      response.writeHead(200, ['content-type', 'application/json']).end('{}');
      return { status: 200, ended: 'complete', firstByteMs: 1 };
    };
    const running = harness.chat();
    await begun;
    const drained = harness.gateway.drain(60_000);
    expect((await harness.ask('/livez')).headers.get('connection')).toBe('close');
    finish();
    const answer = await running;
    expect([answer.status, answer.headers.get('connection')]).toEqual([200, 'close']);
    expect(answer.headers.get('content-type')).toBe('application/json');
    await drained;
  });

  it('aborts what takes too long', async () => {
    const harness = await start();
    let begin: () => void = () => {};
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    harness.serve = (_request, response) => {
      response.writeHead(200).write('data: 1\n\n', () => begin());
      return new Promise((resolve) => {
        response.once('close', () => resolve({ status: 200, ended: 'client_gone', firstByteMs: 1 }));
      });
    };
    const stream = harness.sendRaw(chatRequest);
    await begun;
    await harness.gateway.drain(20);
    const got = await stream;
    expect(got).toContain('data: 1');
    expect(got).not.toContain('\r\n0\r\n');
    expect(await harness.metric('kv_accord_frontend_unfinished_answers_total', { by: 'client' })).toBe(1);
  });
});
