import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import type { ProxiedRequest, ProxyOutcome } from '../../../src/frontend/proxy/proxied-request.js';
import { GatewayHarness, makeCatalogue } from './gateway-harness.js';

const running = new Set<GatewayHarness>();
afterEach(async () => {
  for (const harness of running) await harness.stop();
  running.clear();
});

const worker = (name: string) => ({
  target: name,
  workerId: name,
  instanceId: `${name}-1`,
  baseUrl: `http://${name}:8000`,
  isOffered: true,
  tokenizerFingerprint: undefined,
});

async function start(...workers: readonly string[]): Promise<GatewayHarness> {
  const harness = await GatewayHarness.start();
  running.add(harness);
  harness.catalogue = makeCatalogue({ workers: workers.map(worker) });
  harness.targets = [workers[0] ?? ''];
  return harness;
}

/** Answers with a response of that id, in pieces. */
function answering(id: string) {
  return async (request: ProxiedRequest, response: ServerResponse): Promise<ProxyOutcome> => {
    const { route } = await request.pick([]);
    for (const piece of [`{"object":"response","id":"${id.slice(0, 4)}`, `${id.slice(4)}","output":[]}`]) {
      request.onPiece?.(Buffer.from(piece), route.decision);
      response.write(piece);
    }
    response.end();
    route.release();
    return { status: 200, ended: 'complete', firstByteMs: 1 };
  };
}

const ask = (harness: GatewayHarness, body: object = {}): Promise<Response> =>
  harness.post('/v1/responses', { model: 'tiny', input: 'hello', ...body });

async function errorOf(response: Response): Promise<Record<string, unknown>> {
  return ((await response.json()) as { error: Record<string, unknown> }).error;
}

describe('a response that goes on from another one', () => {
  it('goes to the worker that gave that, without tokens, and nobody is asked', async () => {
    const harness = await start('a', 'b', 'c');
    harness.serve = answering('resp_1');
    await (await ask(harness)).text();
    await (await ask(harness, { previous_response_id: 'resp_1' })).text();
    expect(harness.routed[1]).toMatchObject({ tokens: undefined, excluded: ['b', 'c'] });
    expect(harness.asked).toEqual([]);
    expect(
      await harness.metric('kv_accord_frontend_requests_without_tokens_total', { reason: 'continued' }),
    ).toBe(1);
  });

  it('of which nothing is known here goes to the worker that says that it keeps it', async () => {
    const harness = await start('a', 'b');
    harness.engineAnswers = (target) => ({ status: target === 'b' ? 200 : 404, body: Buffer.alloc(0) });
    await (await ask(harness, { previous_response_id: 'resp_2' })).text();
    expect(harness.asked.sort()).toEqual(['a/v1/responses/resp_2', 'b/v1/responses/resp_2']);
    expect(harness.routed[0]?.excluded).toEqual(['a']);
  });

  it('is refused where no worker keeps it', async () => {
    const harness = await start('a', 'b');
    const response = await ask(harness, { previous_response_id: 'resp_3' });
    expect(response.status).toBe(404);
    expect(await errorOf(response)).toMatchObject({
      param: 'previous_response_id',
      code: 'previous_response_not_found',
    });
    expect(harness.routed).toEqual([]);
  });

  it('is refused where its worker has left, and says so', async () => {
    const harness = await start('a', 'b');
    harness.serve = answering('resp_4');
    await (await ask(harness)).text();
    harness.catalogue = makeCatalogue({ workers: [worker('b'), worker('c')] });
    const response = await ask(harness, { previous_response_id: 'resp_4' });
    expect(response.status).toBe(404);
    expect((await errorOf(response))['message']).toContain('the worker that had it has left');
  });

  it('is worth another try where a worker does not say whether it keeps it', async () => {
    const harness = await start('a', 'b');
    harness.engineAnswers = (target) => (target === 'a' ? undefined : { status: 404, body: Buffer.alloc(0) });
    const response = await ask(harness, { previous_response_id: 'resp_5' });
    expect(response.status).toBe(503);
    expect(response.headers.get('retry-after')).toBe('1');
  });

  it('is worth another try where a worker wants another key to say so', async () => {
    const harness = await start('a', 'b');
    harness.engineAnswers = (target) => ({ status: target === 'a' ? 401 : 404, body: Buffer.alloc(0) });
    expect((await ask(harness, { previous_response_id: 'resp_5' })).status).toBe(503);
  });

  it('is left to the only worker that there is', async () => {
    const harness = await start('a');
    expect((await ask(harness, { previous_response_id: 'resp_6' })).status).toBe(200);
    expect(harness.asked).toEqual([]);
  });

  it('may go on from a conversation', async () => {
    const harness = await start('a', 'b');
    const response = await ask(harness, { conversation: { id: 'conv_1' } });
    expect(response.status).toBe(404);
    expect(await errorOf(response)).toMatchObject({ param: 'conversation', code: 'conversation_not_found' });
    expect(harness.asked[0]).toMatch(/\/v1\/conversations\/conv_1$/);
  });

  it.each([
    [{ previous_response_id: 7 }, 400],
    [{ conversation: {} }, 400],
    [{ background: true }, 400],
    [{ previous_response_id: 'x'.repeat(300) }, 404],
    [{ background: false, previous_response_id: null, conversation: null }, 200],
  ])('and says %j is answered %i', async (body, status) => {
    const harness = await start('a', 'b');
    expect((await ask(harness, body)).status).toBe(status);
  });
});

describe('a response that is kept', () => {
  it('is shown, deleted and cancelled by the worker that keeps it, with the query', async () => {
    const harness = await start('a', 'b');
    harness.engineAnswers = (target) => ({ status: target === 'b' ? 200 : 404, body: Buffer.alloc(0) });
    expect((await harness.ask('/v1/responses/resp_1?stream=true')).status).toBe(200);
    expect((await harness.ask('/v1/responses/resp_1', { method: 'DELETE' })).status).toBe(200);
    expect((await harness.ask('/v1/responses/resp_1/cancel', { method: 'POST' })).status).toBe(200);
    expect(harness.served.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'GET /v1/responses/resp_1?stream=true',
      'DELETE /v1/responses/resp_1',
      'POST /v1/responses/resp_1/cancel',
    ]);
    expect(harness.routed.every(({ excluded }) => excluded.join() === 'a')).toBe(true);
    // It is remembered after the first time.
    expect(harness.asked).toHaveLength(2);
    expect(
      await harness.metric('kv_accord_frontend_requests_total', {
        path: '/v1/responses/{id}',
        status: '200',
      }),
    ).toBe(3);
  });

  it('is sought by an id that cannot leave its path', async () => {
    const harness = await start('a', 'b');
    expect((await harness.ask('/v1/responses/..%2F..%2Fadmin')).status).toBe(404);
    expect(harness.asked).toEqual(['a/v1/responses/..%2F..%2Fadmin', 'b/v1/responses/..%2F..%2Fadmin']);
  });

  it('is asked for with a key where there are keys', async () => {
    const harness = await start('a', 'b');
    expect((await harness.ask('/v1/responses/none')).status).toBe(404);
    expect((await harness.ask('/v1/responses/none', { method: 'PUT' })).status).toBe(405);
  });
});

describe("a request of Anthropic's API", () => {
  const messages = (harness: GatewayHarness, body: object): Promise<Response> =>
    harness.post('/v1/messages', { model: 'tiny', max_tokens: 1, messages: [], ...body });

  it('is sent on with its tokens, and refused in the shape of Anthropic', async () => {
    const harness = await start('a');
    expect((await messages(harness, {})).status).toBe(200);
    expect(harness.prompts[0]?.kind).toBe('messages');
    const refused = await messages(harness, { model: 'other' });
    expect(refused.status).toBe(404);
    expect(await refused.json()).toMatchObject({ type: 'error', error: { type: 'not_found_error' } });
    const method = await harness.ask('/v1/messages');
    expect(await method.json()).toMatchObject({ type: 'error', error: { type: 'invalid_request_error' } });
  });

  it('has no tokens where a tool was called with a number that JavaScript does not keep', async () => {
    const harness = await start('a');
    const call = '{"type":"tool_use","id":"1","name":"f","input":{"x":1.0}}';
    await harness.post(
      '/v1/messages',
      `{"model":"tiny","max_tokens":1,"messages":[{"role":"assistant","content":[${call}]}]}`,
    );
    expect(harness.prompts[0]?.losesNumbers).toBe(true);
  });
});

describe('a path that not every engine has', () => {
  it('goes to the engines that have it, and to those of which that is not known', async () => {
    const harness = await start('a', 'b', 'c');
    const [a, b, c] = ['a', 'b', 'c'].map(worker);
    harness.catalogue = makeCatalogue({
      workers: [
        { ...(a as ReturnType<typeof worker>), apis: ['/v1/chat/completions'] },
        { ...(b as ReturnType<typeof worker>), apis: ['/v1/embeddings'] },
        c as ReturnType<typeof worker>,
      ],
    });
    await harness.post('/v1/embeddings', { model: 'tiny', input: 'x' });
    expect(harness.routed[0]?.excluded).toEqual(['a']);
  });

  it('is refused, and says why, where none has it', async () => {
    const harness = await start('a');
    harness.catalogue = makeCatalogue({ workers: [{ ...worker('a'), apis: ['/v1/chat/completions'] }] });
    const refused = await harness.post('/v1/embeddings', { model: 'tiny', input: 'x' });
    expect(refused.status).toBe(404);
    expect(await errorOf(refused)).toMatchObject({
      code: 'api_not_served',
      message: expect.stringContaining('serves /v1/embeddings'),
    });
    const messages = await harness.post('/v1/messages', { model: 'tiny', max_tokens: 1, messages: [] });
    expect(await messages.json()).toMatchObject({ type: 'error', error: { type: 'not_found_error' } });
  });
});

it('an adapter that was loaded a moment ago is served by the workers that list it', async () => {
  const harness = await start('a', 'b');
  harness.engineAnswers = (target) => ({
    status: 200,
    body: Buffer.from(JSON.stringify({ data: target === 'b' ? [{ id: 'new-lora', parent: 'tiny' }] : [] })),
  });
  expect((await harness.chat({ model: 'new-lora' })).status).toBe(200);
  expect(harness.routed[0]).toMatchObject({ loraName: 'new-lora', excluded: ['a'] });
});

it('a model is listed with the fields of its engine', async () => {
  const harness = await start('a');
  const card = { id: 'tiny', owned_by: 'vllm', created: 1, root: '/m', max_model_len: 2_048, permission: [] };
  harness.engineAnswers = () => ({ status: 200, body: Buffer.from(JSON.stringify({ data: [card] })) });
  const list = (await (await harness.ask('/v1/models')).json()) as { data: Record<string, unknown>[] };
  expect(list.data[0]).toMatchObject({ id: 'tiny', owned_by: 'kv-accord', root: '/m', max_model_len: 2_048 });
  expect(await (await harness.ask('/v1/models/tiny')).json()).toEqual(list.data[0]);
});

it('a form goes to a worker as it is, by the model in it', async () => {
  const harness = await start('a');
  const form = new FormData();
  form.append('file', new Blob([Buffer.from([0, 1, 2, 255])]), 'speech.wav');
  form.append('model', 'tiny');
  expect((await harness.ask('/v1/audio/transcriptions', { method: 'POST', body: form })).status).toBe(200);
  expect(harness.served[0]?.body.includes(Buffer.from([0, 1, 2, 255]))).toBe(true);
  expect(harness.routed[0]?.tokens).toBeUndefined();
  const json = await harness.post('/v1/audio/transcriptions', { model: 'tiny' });
  expect(json.status).toBe(415);
});
