import { afterEach, describe, expect, it } from 'vitest';
import { RoutingError } from '../../../src/fleet/router/routing.js';
import { APIS, type Api } from '../../../src/frontend/apis/api.js';
import type { GatewayModules, GatewayOptions } from '../../../src/frontend/gateway/gateway.js';
import { WorkerProxy } from '../../../src/frontend/proxy/worker-proxy.js';
import { briskClock } from '../../support/brisk-clock.js';
import { FakeClock } from '../../support/fake-clock.js';
import { OpenThings } from '../../support/open-things.js';
import { RecordingLogger } from '../../support/recording-logger.js';
import { turns } from '../../support/turns.js';
import { GatewayHarness, makeCatalogue } from './gateway-harness.js';

const open = new OpenThings();
afterEach(() => open.close());

async function start(
  options: Partial<GatewayOptions> = {},
  modules: Partial<GatewayModules> = {},
): Promise<GatewayHarness> {
  const harness = await GatewayHarness.start(options, modules);
  open.add(() => harness.stop());
  return harness;
}

/** A gateway whose requests go through the proxy, to workers that the router names. */
async function startWithProxy(
  options: { readonly totalTimeoutMs?: number },
  modules: Partial<GatewayModules>,
): Promise<{ harness: GatewayHarness; clock: FakeClock; proxy: WorkerProxy }> {
  const clock = new FakeClock();
  const proxy = new WorkerProxy({ maxRetries: 0, ...options }, { clock, logger: new RecordingLogger() });
  open.add(() => proxy.close(0));
  return { harness: await start({}, { proxy, ...modules }), clock, proxy };
}

/** A request that one API takes, for `model`. */
function bodyOf({ reads, prompt }: Api, model: string): string | FormData {
  if (reads === 'multipart') {
    const form = new FormData();
    form.set('model', model);
    form.set('file', new Blob(['sound']), 'a.wav');
    return form;
  }
  const asks = {
    chat: { messages: [] },
    messages: { messages: [], max_tokens: 1 },
    completion: { prompt: 'x' },
    responses: { input: 'x' },
  };
  return JSON.stringify({ model, ...(prompt === undefined ? { input: 'x' } : asks[prompt]) });
}

function post(
  harness: GatewayHarness,
  api: Api,
  body: string | FormData = bodyOf(api, 'tiny'),
): Promise<Response> {
  const headers = typeof body === 'string' ? { 'content-type': 'application/json' } : {};
  return harness.ask(api.path, { method: 'POST', body, headers });
}

const isAnthropic = ({ path }: Api): boolean => path.startsWith('/v1/messages');

/** Checks that a refusal has the shape of its API, and gives its message. */
async function messageOf(response: Response, inAnthropics: boolean): Promise<string> {
  expect(response.headers.get('content-type')).toMatch(/^application\/json/);
  const text = await response.text();
  expect(text, 'ends with a line feed').toMatch(/\n$/);
  expect(Number(response.headers.get('content-length') ?? text.length)).toBe(Buffer.byteLength(text));
  const body = JSON.parse(text) as { error: { message: string } };
  if (inAnthropics)
    expect(body).toEqual({
      type: 'error',
      error: { type: expect.stringMatching(/_error$|^request_too_large$/), message: expect.any(String) },
    });
  else {
    expect(Object.keys(body)).toEqual(['error']);
    expect(Object.keys(body.error).sort()).toEqual(['code', 'message', 'param', 'type']);
  }
  expect(body.error.message).toMatch(/^[A-Z].*[.!?]$/s);
  return body.error.message;
}

/** Makes all refusals of one kind: each is for one API. */
type Refuse = () => Promise<(api: Api) => Promise<Response>>;

const TOO_LARGE = 'x'.repeat(70 * 1024);

const REFUSALS: readonly (readonly [name: string, status: number, of: RegExp, refuse: Refuse])[] = [
  [
    'a shut gate',
    503,
    /no agreement/i,
    async () => {
      const harness = await start();
      harness.catalogue = makeCatalogue({
        isReady: false,
        reasons: [{ code: 'conflict', text: 'there is no agreement' }],
      });
      return (api) => post(harness, api);
    },
  ],
  [
    'no report so far',
    503,
    /./,
    async () => {
      const harness = await start();
      harness.catalogue = { models: [], groups: [], reasons: [] };
      return (api) => post(harness, api);
    },
  ],
  [
    'no worker',
    503,
    /worker/,
    async () => {
      const route = () => Promise.reject(new RoutingError('no_worker', 'nobody is left'));
      const { harness } = await startWithProxy({}, { routing: { route } });
      return (api) => post(harness, api);
    },
  ],
  [
    'an unknown model',
    404,
    /`nope`/,
    async () => {
      // Engines are asked for a name that nobody has twice a second at most.
      const harness = await start({}, { clock: briskClock((delayMs) => delayMs <= 500) });
      return (api) => post(harness, api, bodyOf(api, 'nope'));
    },
  ],
  [
    'a body that is too large',
    413,
    /65536 bytes/,
    async () => {
      const harness = await start();
      return (api) => post(harness, api, api.reads === 'multipart' ? formOf(TOO_LARGE) : TOO_LARGE);
    },
  ],
  [
    'a body that cannot be read',
    400,
    /./,
    async () => {
      const harness = await start();
      return (api) => post(harness, api, api.reads === 'multipart' ? formOf('no model') : '{"model":');
    },
  ],
  [
    'a body of another type',
    415,
    /Content-Type/,
    async () => {
      const harness = await start();
      return (api) =>
        harness.ask(api.path, { method: 'POST', body: 'x', headers: { 'content-type': 'text/csv' } });
    },
  ],
  [
    'another method',
    405,
    /./,
    async () => {
      const harness = await start();
      return (api) => harness.ask(api.path, { method: 'PUT', body: '{}' });
    },
  ],
  [
    'a missing API key',
    401,
    /key/,
    async () => {
      const harness = await start({}, { apiKeys: () => ({ findProblem: () => 'missing' }) as never });
      return (api) => post(harness, api);
    },
  ],
  [
    'a proxy that leads back to itself',
    508,
    /./,
    async () => {
      const harness = await start();
      const via = Array(20).fill('1.1 kv-accord').join(', ');
      return (api) =>
        harness.ask(api.path, {
          method: 'POST',
          body: bodyOf(api, 'tiny'),
          headers: { via, ...(api.reads === 'multipart' ? {} : { 'content-type': 'application/json' }) },
        });
    },
  ],
  [
    'a fault of this program',
    500,
    /./,
    async () => {
      const proxy = {
        serve: () => Promise.reject(new Error('a fault')),
        close: () => Promise.resolve(),
      };
      const harness = await start({}, { proxy });
      return (api) => post(harness, api);
    },
  ],
  [
    'a worker that cannot be reached',
    502,
    /could not be reached/,
    async () => {
      const { harness } = await startWithProxy({}, {});
      harness.catalogue = makeCatalogue({
        workers: makeCatalogue().groups[0]?.workers.map((worker) => ({
          ...worker,
          baseUrl: 'http://127.0.0.1:1',
        })),
      } as never);
      return (api) => post(harness, api);
    },
  ],
  [
    'a request whose time is over',
    504,
    /time/,
    async () => {
      const route = () => new Promise<never>(() => {});
      const { harness, clock, proxy } = await startWithProxy({ totalTimeoutMs: 100 }, { routing: { route } });
      return async (api) => {
        const answer = post(harness, api);
        while (proxy.running === 0) await turns();
        await clock.advanceMs(1_000);
        return answer;
      };
    },
  ],
  [
    'a gateway that shuts down',
    503,
    /shut/i,
    async () => {
      const harness = await start();
      let end = (): void => {};
      const begun = new Promise<void>((begin) => {
        harness.serve = async (_request, response) => {
          begin();
          await new Promise<void>((resolve) => {
            end = resolve;
          });
          response.end('{}');
          return { status: 200, ended: 'complete', firstByteMs: 1 };
        };
      });
      const running = harness.chat();
      await begun;
      const drained = harness.gateway.drain(60_000);
      open.add(async () => {
        end();
        await (await running).text();
        await drained;
      });
      return (api) => post(harness, api);
    },
  ],
];

function formOf(text: string): FormData {
  const form = new FormData();
  form.set('file', text);
  return form;
}

describe('is refused in the shape of the API that is asked', () => {
  it.each(REFUSALS)('%s', async (_name, status, of, refuse) => {
    const ask = await refuse();
    for (const api of APIS) {
      const response = await ask(api);
      expect([api.path, response.status]).toEqual([api.path, status]);
      expect(await messageOf(response, isAnthropic(api))).toMatch(of);
    }
  });

  it('a path that no engine of the model has', async () => {
    const harness = await start();
    const [worker] = makeCatalogue().groups[0]?.workers ?? [];
    harness.catalogue = makeCatalogue({ workers: [{ ...(worker as object), apis: ['/health'] }] } as never);
    for (const api of APIS) {
      const response = await post(harness, api);
      expect([api.path, response.status]).toEqual([api.path, 404]);
      expect(await messageOf(response, isAnthropic(api))).toContain(api.path);
    }
  });

  it.each([
    ['GET', '/v1/responses/none', {}, 404, false],
    ['DELETE', '/v1/responses/none', {}, 404, false],
    ['POST', '/v1/responses/none/cancel', {}, 404, false],
    ['POST', '/v1/messages/batches', {}, 404, true],
    ['GET', '/v1/messages', {}, 405, true],
    ['POST', '/v1/nothing', {}, 404, false],
    ['POST', '/v1/nothing', { 'anthropic-version': '2023-06-01' }, 404, true],
    ['POST', '/v1/chat/completions/x', {}, 404, false],
    ['GET', '/v1/models/nope', {}, 404, false],
    ['GET', '/v1/models/nope', { 'anthropic-version': '2023-06-01' }, 404, true],
    ['POST', '/v1/chat/completions', { expect: 'a-miracle' }, 417, false],
    ['POST', '/v1/messages', { expect: 'a-miracle' }, 417, true],
  ] as const)('%s %s with %j', async (method, path, headers, status, inAnthropics) => {
    const harness = await start();
    const [worker] = makeCatalogue().groups[0]?.workers ?? [];
    harness.catalogue = makeCatalogue({ workers: [worker, { ...worker, target: 'w-2:50061' }] } as never);
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    const got = await harness.sendRaw(
      `${method} ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n${lines.join('')}\r\n`,
    );
    const [head = '', body = ''] = got.split('\r\n\r\n');
    expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    const json = JSON.parse(/\{.*\}/s.exec(body)?.[0] ?? '');
    expect(Object.keys(json)).toEqual(inAnthropics ? ['type', 'error'] : ['error']);
  });

  it('a body whose chunks cannot be read', async () => {
    const harness = await start();
    for (const [path, keys] of [
      ['/v1/messages', ['type', 'error']],
      ['/v1/chat/completions', ['error']],
    ] as const) {
      const got = await harness.sendRaw(
        `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
        'nonsense\r\n',
      );
      expect(got).toMatch(/^HTTP\/1.1 400 /);
      expect(Object.keys(JSON.parse(got.split('\r\n\r\n')[1] ?? ''))).toEqual(keys);
    }
  });
});
