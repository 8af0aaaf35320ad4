import { once } from 'node:events';
import { request as httpRequest, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { FakeClock } from '../../support/fake-clock.js';
import { OpenThings } from '../../support/open-things.js';
import { turns, until } from '../../support/turns.js';
import {
  CLOSED_URL,
  defer,
  exchangeRaw,
  type HarnessOptions,
  ProxyHarness,
  post,
  RecordedRoute,
  reset,
  ScriptedWorker,
  stalled,
} from './proxy-harness.js';

const open = new OpenThings();
afterEach(() => open.close());

async function harness(options: HarnessOptions): Promise<ProxyHarness> {
  const made = await ProxyHarness.start(options);
  open.add(() => made.stop());
  return made;
}

async function httpWorker(handle: Parameters<typeof ScriptedWorker.http>[0]): Promise<ScriptedWorker> {
  const made = await ScriptedWorker.http(handle);
  open.add(() => made.stop());
  return made;
}

async function rawWorker(handle: Parameters<typeof ScriptedWorker.raw>[0]): Promise<ScriptedWorker> {
  const made = await ScriptedWorker.raw(handle);
  open.add(() => made.stop());
  return made;
}

const OK = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}';
const UNAVAILABLE =
  'HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 7\r\nContent-Length: 14\r\n\r\n{"error":"no"}';
const EVENTS = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n';
const ANSWER = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n';
const CUT_EVENT =
  'data: {"error":{"message":"The worker ended the answer before its end.","type":"server_error","param":null,"code":"worker_cut"}}\n\n';

const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
const event = (data: unknown): string => `data: ${JSON.stringify(data)}\n\n`;

describe('a request that is answered', () => {
  it('passes status, headers and body on, and the request with its path and body', async () => {
    let got = '';
    const worker = await rawWorker((socket, request) => {
      got = request;
      socket.write(
        'HTTP/1.1 418 Teapot\r\nX-One: a\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nContent-Length: 5\r\n\r\nhello',
      );
    });
    const gateway = await harness({ workers: [`${worker.url}/prefix`] });
    const answer = await exchangeRaw(
      gateway.port,
      post('{"model":"m"}', ['Authorization: Bearer k', 'X-Custom: yes']),
    );
    expect(answer.head).toMatch(/^HTTP\/1\.1 418 /);
    expect(answer.head).toContain('\r\nX-One: a\r\n');
    expect(answer.head.match(/Set-Cookie: .=./g)).toEqual(['Set-Cookie: a=1', 'Set-Cookie: b=2']);
    expect(answer.body).toBe('hello');
    expect(got).toMatch(/^POST \/prefix\/v1\/chat\/completions\?x=1 HTTP\/1\.1\r\n/);
    expect(got).toContain(`host: ${new URL(worker.url).host}\r\n`);
    expect(got).toContain('authorization: Bearer k\r\n');
    expect(got).toContain('x-custom: yes\r\n');
    expect(got).toContain('via: 1.1 kv-accord\r\n');
    expect(got).toContain('x-forwarded-for: 127.0.0.1\r\n');
    expect(got).toContain('x-forwarded-host: gateway.example\r\n');
    expect(got.endsWith('\r\n\r\n{"model":"m"}')).toBe(true);
    await gateway.settled();
    expect(gateway.outcomes).toMatchObject([{ status: 418, ended: 'complete' }]);
    expect(gateway.routes.map(({ reported }) => reported)).toEqual([['release']]);
  });

  it.each([
    ['the key of the engines', { engineApiKey: 'engine-key' }],
    ['the key of the client', {}],
  ])('shows %s to no worker that may have none', async (_, keys) => {
    const asked: string[] = [];
    const mayHaveKeys = ({ target }: { target: string }, baseUrl: string): boolean => {
      asked.push(`${target} ${baseUrl}`);
      return false;
    };
    let got = '';
    const worker = await rawWorker((socket, request) => {
      got = request;
      socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}');
    });
    const gateway = await harness({ workers: [worker.url], proxy: { ...keys, mayHaveKeys } });
    await exchangeRaw(gateway.port, post('{"model":"m"}', ['Authorization: Bearer k']));
    expect(got).not.toMatch(/authorization|engine-key|Bearer/i);
    expect(asked).toEqual([expect.stringContaining(` ${worker.url}`)]);
    await gateway.settled();
  });

  it('reads the usage of a whole answer', async () => {
    const body = JSON.stringify({
      choices: [{ message: { content: '"usage": {"prompt_tokens": 1}' } }],
      usage: { prompt_tokens: 33, completion_tokens: 4, prompt_tokens_details: { cached_tokens: 32 } },
      prompt_token_ids: Array.from({ length: 20_000 }, (_, i) => i),
    });
    const worker = await httpWorker((_, response) =>
      response.setHeader('content-type', 'application/json').end(body),
    );
    const gateway = await harness({ workers: [worker.url] });
    const answer = await fetch(gateway.url, { method: 'POST', body: '{}' });
    expect(await answer.text()).toBe(body);
    await gateway.settled();
    expect(gateway.routes[0]).toMatchObject({
      reported: ['prefill', 'release'],
      usage: { promptTokens: 33, cachedTokens: 32 },
    });
  });

  it('passes each event of a stream on as it comes, and informs the route of its progress', async () => {
    const sockets: Socket[] = [];
    const worker = await rawWorker((socket) => {
      socket.write(EVENTS);
      sockets.push(socket);
    });
    const gateway = await harness({ workers: [worker.url] });
    const answer = await fetch(gateway.url, { method: 'POST', body: '{}' });
    expect(answer.headers.get('content-type')).toBe('text/event-stream');
    expect(gateway.routes[0]?.reported).toEqual([]);
    const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
    const [socket] = sockets as [Socket];
    for (let i = 0; i < 40; i += 1) {
      const text = event({ choices: [{ delta: { content: 'x' } }], usage: null });
      socket.write(chunk(text));
      const { value } = await reader.read();
      expect(Buffer.from(value as Uint8Array).toString()).toBe(text);
    }
    socket.write(
      `${chunk(event({ choices: [], usage: { prompt_tokens: 9, completion_tokens: 40 } }))}${chunk('data: [DONE]\n\n')}0\r\n\r\n`,
    );
    while (!(await reader.read()).done);
    await gateway.settled();
    expect(gateway.routes[0]).toMatchObject({
      reported: ['prefill', 16, 32, 'release'],
      usage: { promptTokens: 9, cachedTokens: undefined },
    });
    expect(gateway.outcomes[0]).toMatchObject({ status: 200, ended: 'complete' });
    expect(gateway.outcomes[0]?.firstByteMs).toBeGreaterThanOrEqual(0);
  });

  it('uses one connection to a worker for requests that follow each other', async () => {
    const worker = await httpWorker((_, response) => response.end('{}'));
    const gateway = await harness({ workers: [worker.url] });
    for (let i = 0; i < 5; i += 1) await (await fetch(gateway.url, { method: 'POST', body: '{}' })).text();
    expect(worker.connections).toBe(1);
  });

  it('names the chosen rank to an engine with several, and never what the client said', async () => {
    const heads: string[] = [];
    const worker = await rawWorker((socket, request) => {
      heads.push(request);
      socket.write(OK);
    });
    const many = await harness({ workers: [worker.url], decision: { rank: 3, rankCount: 4 } });
    const one = await harness({ workers: [worker.url] });
    await exchangeRaw(many.port, post('{}', ['X-Data-Parallel-Rank: 9']));
    await exchangeRaw(one.port, post('{}', ['X-Data-Parallel-Rank: 9']));
    expect(heads[0]?.match(/x-data-parallel-rank: .*/gi)).toEqual(['x-data-parallel-rank: 3']);
    expect(heads[1]).not.toMatch(/data-parallel-rank/i);
  });

  it('says how it was routed when asked to, and never what a worker says of that', async () => {
    const worker = await httpWorker((_, response) =>
      response.setHeader('x-kv-accord-worker', 'somebody else').end(),
    );
    const telling = await harness({ workers: [worker.url], proxy: { decisionHeaders: true } });
    const silent = await harness({ workers: [worker.url] });
    const { headers } = await fetch(telling.url);
    expect(headers.get('x-kv-accord-worker')).toBe('worker-of-0');
    expect(headers.get('x-kv-accord-cached-blocks')).toBe('1');
    expect(headers.get('x-kv-accord-routing-mode')).toBe('exact');
    expect((await fetch(silent.url)).headers.get('x-kv-accord-worker')).toBeNull();
  });

  it('serves a client of HTTP/1.0, whose body ends with the connection', async () => {
    const worker = await rawWorker((socket) =>
      socket.write(`${EVENTS}${chunk('data: 1\n\n')}${chunk('data: 2\n\n')}0\r\n\r\n`),
    );
    const gateway = await harness({ workers: [worker.url] });
    const answer = await exchangeRaw(gateway.port, 'POST / HTTP/1.0\r\nContent-Length: 2\r\n\r\n{}');
    expect(answer.head).not.toMatch(/transfer-encoding/i);
    expect(answer.body).toBe('data: 1\n\ndata: 2\n\n');
    expect(answer.wasReset).toBe(false);
  });

  it('meets the expectation of a client that waits for 100 Continue, and does not pass it on', async () => {
    let got = '';
    const worker = await rawWorker((socket, request) => {
      got = request;
      socket.write(OK);
    });
    const gateway = await harness({ workers: [worker.url] });
    const request = httpRequest(gateway.url, { method: 'POST', headers: { expect: '100-continue' } });
    request.flushHeaders();
    await once(request, 'continue');
    request.end('{}');
    const [response] = await once(request, 'response');
    response.resume();
    await once(response, 'end');
    expect(got).not.toMatch(/expect/i);
  });

  it('lets interim answers go by', async () => {
    const worker = await rawWorker((socket) =>
      socket.write(`HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n${OK}`),
    );
    const gateway = await harness({ workers: [worker.url] });
    const answer = await fetch(gateway.url, { method: 'POST', body: '{}' });
    expect([answer.status, await answer.text()]).toEqual([200, '{}']);
  });
});

describe('a worker that fails before the first byte', () => {
  it('is replaced by the next when nobody listens there', async () => {
    const worker = await httpWorker((_, response) => response.end('{}'));
    const gateway = await harness({ workers: [CLOSED_URL, worker.url] });
    expect((await fetch(gateway.url, { method: 'POST', body: '{}' })).status).toBe(200);
    expect(gateway.excluded).toEqual([[], ['0']]);
    await gateway.settled();
    expect(gateway.routes.map(({ releases }) => releases)).toEqual([1, 1]);
  });

  it.each(['closed', 'reset'] as const)(
    'is asked once more on another connection when its old one was just %s',
    async (how) => {
      let nth = 0;
      const worker = await rawWorker((socket) => {
        nth += 1;
        // The second request comes on a connection that ends in this moment.
        if (nth !== 2) socket.write(OK);
        else if (how === 'closed') socket.destroy();
        else socket.resetAndDestroy();
      });
      const gateway = await harness({ workers: [worker.url] });
      await (await fetch(gateway.url, { method: 'POST', body: '{}' })).text();
      const answer = await fetch(gateway.url, { method: 'POST', body: '{}' });
      expect(answer.status).toBe(200);
      await gateway.settled();
      expect(worker.connections).toBe(2);
      expect(gateway.excluded).toEqual([[], []]);
      expect(gateway.routes.map(({ releases }) => releases)).toEqual([1, 1]);
    },
  );

  it('is replaced by the next when it answers 503', async () => {
    const busy = await rawWorker((socket) => socket.write(UNAVAILABLE));
    const worker = await httpWorker((_, response) => response.end('{}'));
    const gateway = await harness({ workers: [busy.url, worker.url] });
    expect((await fetch(gateway.url, { method: 'POST', body: '{}' })).status).toBe(200);
    expect(gateway.excluded).toEqual([[], ['0']]);
  });

  it('has its 503 passed on as it came when nobody else is left', async () => {
    const busy = await rawWorker((socket) => socket.write(UNAVAILABLE));
    const gateway = await harness({ workers: [busy.url, CLOSED_URL] });
    const answer = await fetch(gateway.url, { method: 'POST', body: '{}' });
    expect([answer.status, answer.headers.get('retry-after'), await answer.text()]).toEqual([
      503,
      '7',
      '{"error":"no"}',
    ]);
    await gateway.settled();
    expect(gateway.outcomes).toMatchObject([{ status: 503, ended: 'complete' }]);
    expect(gateway.routes.map(({ releases }) => releases)).toEqual([1, 1]);
  });

  it('has its 429 passed on, and its 500 once another worker has answered it, too: the request is to blame', async () => {
    let status = 429;
    const worker = await httpWorker((_, response) => response.writeHead(status).end('{}'));
    const gateway = await harness({ workers: [worker.url, worker.url, worker.url] });
    for (status of [429, 500]) expect((await fetch(gateway.url)).status).toBe(status);
    expect(gateway.excluded).toEqual([[], [], ['0']]);
    expect(gateway.routes.flatMap(({ faults }) => faults)).toEqual([]);
  });

  it.each([
    ['500', 'server_error', (response: ServerResponse) => response.writeHead(500).end('oops')],
    ['502 with a page', 'server_error', (response: ServerResponse) => response.writeHead(502).end('<html>')],
    ['503', 'server_error', (response: ServerResponse) => response.writeHead(503).end('full')],
    ['404', 'refused', (response: ServerResponse) => response.writeHead(404).end('{"detail":"Not Found"}')],
    ['405', 'refused', (response: ServerResponse) => response.writeHead(405).end()],
    ['401', 'refused', (response: ServerResponse) => response.writeHead(401).end('{}')],
    ['307', 'refused', (response: ServerResponse) => response.writeHead(307, { location: '/x' }).end()],
    [
      'an HTML page with 200',
      'bad_answer',
      (response: ServerResponse) =>
        response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end('<h1>It works!</h1>'),
    ],
  ])('is blamed when it answers %s and another worker the same request: %s', async (_, kind, answer) => {
    const bad = await httpWorker((_request, response) => answer(response));
    const good = await httpWorker((_request, response) => response.end('{"ok":true}'));
    const gateway = await harness({ workers: [bad.url, good.url] });
    const got = await fetch(gateway.url, { method: 'POST', body: '{}' });
    expect([got.status, await got.text()]).toEqual([200, '{"ok":true}']);
    expect(gateway.routes.map(({ faults }) => faults)).toEqual([[kind], []]);
  });

  it('is not blamed when it may refuse what another one takes: an adapter, or a path that it does not have', async () => {
    const lacks = await httpWorker((_request, response) => response.writeHead(404).end('{}'));
    const has = await httpWorker((_request, response) => response.end('{"ok":true}'));
    const gateway = await harness({ workers: [lacks.url, has.url], mayBeRefused: true });
    expect((await fetch(gateway.url, { method: 'POST', body: '{}' })).status).toBe(200);
    expect(gateway.routes.flatMap(({ faults }) => faults)).toEqual([]);
  });

  it('is not blamed for a request that ends two workers, nor for one that another one refuses, too', async () => {
    const ends = await rawWorker((socket) => socket.destroy());
    const gateway = await harness({ workers: [ends.url, ends.url, ends.url] });
    expect((await fetch(gateway.url, { method: 'POST', body: '{}' })).status).toBe(502);
    expect(gateway.routes.flatMap(({ faults }) => faults)).toEqual([]);
  });

  it('is blamed when it cannot be reached, whatever others answer', async () => {
    const gateway = await harness({ workers: [CLOSED_URL] });
    await fetch(gateway.url, { method: 'POST', body: '{}' });
    expect(gateway.routes.map(({ faults }) => faults)).toEqual([['unreachable']]);
    expect(gateway.logger.messages('warn')).toEqual([
      'A request failed: The worker could not be reached. The last one was worker-of-0 (0).',
    ]);
  });

  it('gets an error in the shape of OpenAI, without an address, when none is left', async () => {
    const gateway = await harness({ workers: [CLOSED_URL, CLOSED_URL] });
    const answer = await fetch(gateway.url, { method: 'POST', body: '{}' });
    const text = await answer.text();
    expect(answer.status).toBe(502);
    expect(JSON.parse(text)).toEqual({
      error: {
        message: '2 workers were tried; the last one could not be reached.',
        type: 'server_error',
        param: null,
        code: 'worker_unreachable',
      },
    });
    expect(text).not.toContain('127.0.0');
    expect(gateway.outcomes).toMatchObject([{ status: 502, ended: 'refused' }]);
  });

  it('is replaced no more often than allowed', async () => {
    const gateway = await harness({ workers: Array(9).fill(CLOSED_URL), proxy: { maxRetries: 2 } });
    expect((await fetch(gateway.url)).status).toBe(502);
    expect(gateway.routes.map(({ releases }) => releases)).toEqual([1, 1, 1]);
  });

  it('is replaced once when its connection ends, since the request itself may be what ends engines', async () => {
    const asked: number[] = [];
    const workers = await Promise.all(
      [0, 1, 2, 3].map((at) =>
        rawWorker((socket) => {
          asked.push(at);
          socket.destroy();
        }),
      ),
    );
    const gateway = await harness({ workers: workers.map(({ url }) => url) });
    const answer = await fetch(gateway.url, { method: 'POST', body: '{}' });
    expect(answer.status).toBe(502);
    expect(await answer.json()).toMatchObject({
      error: {
        code: 'worker_closed',
        message: '2 workers were tried; the last one closed the connection before it answered.',
      },
    });
    // Each once: its connection was new, and so not just closing.
    expect(asked).toEqual([0, 1]);
    await gateway.settled();
    expect(gateway.routes.map(({ releases }) => releases)).toEqual([1, 1]);
  });

  it('is left out when it has as many requests as it may', async () => {
    const held = defer();
    const full = await rawWorker(() => held.resolve());
    const worker = await httpWorker((_, response) => response.end('{}'));
    const gateway = await harness({
      workers: [full.url, worker.url],
      proxy: { maxRequestsPerWorker: 1 },
    });
    const stop = new AbortController();
    const waiting = fetch(gateway.url, { method: 'POST', body: '{}', signal: stop.signal });
    await held.promise;
    expect((await fetch(gateway.url, { method: 'POST', body: '{}' })).status).toBe(200);
    stop.abort();
    await expect(waiting).rejects.toThrow();
    await gateway.settled();
    expect(gateway.routes.every(({ releases }) => releases === 1)).toBe(true);
  });

  it('makes a refusal of a request for which nobody can be chosen', async () => {
    const gateway = await harness({ workers: [] });
    const answer = await fetch(gateway.url);
    expect(answer.status).toBe(503);
    expect(await answer.json()).toMatchObject({ error: { code: 'no_worker' } });
    const broken = await harness({ pick: () => Promise.reject(new Error('secret 10.0.0.1')) });
    const failed = await fetch(broken.url);
    expect(failed.status).toBe(500);
    expect(await failed.text()).not.toContain('secret');
    expect(broken.logger.messages('error')).toEqual(['No worker could be chosen for a request']);
  });
});

describe('a worker that fails within its answer', () => {
  it.each([
    ['with chunks', EVENTS + chunk('data: 1\n\n')],
    ['with chunks, within an event', EVENTS + chunk('data: 1\n\ndata: {"choices')],
    [
      'with chunks, on its last request',
      `${EVENTS.slice(0, -2)}Connection: close\r\n\r\n${chunk('data: 1\n\n')}`,
    ],
  ])('has its stream ended with an error event after the last whole event: %s', async (_, bytes) => {
    const worker = await rawWorker((socket) => socket.end(bytes));
    const gateway = await harness({ workers: [worker.url, worker.url] });
    const answer = await fetch(gateway.url, { method: 'POST', body: '{}' });
    expect(await answer.text()).toBe(`data: 1\n\n${CUT_EVENT}`);
    await gateway.settled();
    expect(gateway.outcomes).toMatchObject([{ status: 200, ended: 'upstream_broke' }]);
    expect(gateway.routes.map(({ releases, faults }) => [releases, faults])).toEqual([[1, ['cut']]]);
    expect(gateway.logger.messages('warn')).toMatchObject([
      expect.stringMatching(
        /^Worker worker-of-0 \(0\) ended an answer before its end \(.+\), and its client gets an error$/,
      ),
    ]);
  });

  it.each([
    ['with chunks', ANSWER + chunk('{"choices":')],
    ['with a length', 'HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\ndata: 1\n\n'],
    [
      'with a length, on its last request',
      'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 99\r\n\r\ndata: 1\n\n',
    ],
    [
      'with chunks, on its last request',
      `${ANSWER.slice(0, -2)}Connection: close\r\n\r\n${chunk('{"choices":')}`,
    ],
  ])('makes a broken answer, never a whole one: %s', async (_, bytes) => {
    const worker = await rawWorker((socket) => socket.end(bytes));
    const gateway = await harness({ workers: [worker.url, worker.url] });
    const answer = await fetch(gateway.url, { method: 'POST', body: '{}' });
    await expect(answer.text()).rejects.toThrow();
    await gateway.settled();
    expect(gateway.outcomes).toMatchObject([{ status: 200, ended: 'upstream_broke' }]);
    expect(gateway.routes.map(({ releases }) => releases)).toEqual([1]);
  });

  it('resets the connection of a client of HTTP/1.0, which could not tell otherwise', async () => {
    const worker = await rawWorker((socket) => socket.end(ANSWER + chunk('{"choices":')));
    const gateway = await harness({ workers: [worker.url] });
    const answer = await exchangeRaw(gateway.port, 'POST / HTTP/1.0\r\nContent-Length: 2\r\n\r\n{}');
    expect(answer.wasReset).toBe(true);
  });

  it.each(['reset', 'end', 'last byte and end'])(
    'does not end the process while a slow client keeps its connection waiting: %s',
    async (how) => {
      const sockets: Socket[] = [];
      const worker = await rawWorker((socket) => {
        socket.write('HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n');
        sockets.push(socket);
      });
      const gateway = await harness({ workers: [worker.url] });
      const client = connect(gateway.port, '127.0.0.1');
      client.on('error', () => {});
      client.pause();
      client.write(post('{}'));
      await until(() => sockets.length === 1 && gateway.responses.length === 1);
      const [socket] = sockets as [Socket];
      const [response] = gateway.responses as [ServerResponse];
      // Piece by piece, so that the worker's connection is empty when the client's is full.
      while (!response.writableNeedDrain) {
        if (how === 'last byte and end' && response.socket !== null && response.writableLength > 0) break;
        socket.write('x'.repeat(8_000));
        await turns(50);
      }
      if (how === 'reset') reset(socket);
      else if (how === 'end') socket.end();
      else socket.end('x'.repeat(30_000));
      await turns(200);
      client.resume();
      await new Promise((resolve) => client.once('close', resolve));
      await gateway.settled();
      expect(gateway.outcomes[0]?.ended).toBe(how === 'reset' ? 'upstream_broke' : 'complete');
      expect(gateway.routes.map(({ releases }) => releases)).toEqual([1]);
    },
  );
});

describe('a client that leaves', () => {
  it.each([
    ['while a worker is chosen', 'picking'],
    ['while the connection is made', 'connecting'],
    ['while the worker thinks', 'waiting'],
    ['within the answer', 'passing'],
  ])('ends the request at its worker: %s', async (_, phase) => {
    const reached = defer();
    const worker = await rawWorker((socket) => {
      if (phase === 'passing') socket.write(EVENTS + chunk('data: 1\n\n'));
      reached.resolve();
    });
    const go = defer();
    const gateway: ProxyHarness = await harness({
      workers: [worker.url],
      pick: async (excluded) => {
        const picked = await gateway.pickInOrder(excluded);
        if (phase === 'picking') {
          reached.resolve();
          await go.promise;
        }
        if (phase === 'connecting') reached.resolve();
        return picked;
      },
    });
    const client = connect(gateway.port, '127.0.0.1');
    client.write(post('{}'));
    await reached.promise;
    if (phase === 'passing') await once(client, 'data');
    client.destroy();
    await until(() => gateway.outcomes.length === 1);
    expect(gateway.outcomes).toMatchObject([{ ended: 'client_gone' }]);
    go.resolve();
    await until(() => gateway.routes[0]?.releases === 1 && worker.closed >= (phase === 'picking' ? 0 : 1));
  });

  it('ends the request at its worker while the worker waits for it to read', async () => {
    const worker = await rawWorker((socket) => {
      socket.write(EVENTS);
      const write = (): void => {
        while (socket.writable && socket.write(chunk('x'.repeat(60_000))));
        socket.once('drain', write);
      };
      write();
    });
    const gateway = await harness({ workers: [worker.url] });
    const client = connect(gateway.port, '127.0.0.1');
    client.pause();
    client.write(post('{}'));
    await until(() => worker.sockets.size === 1);
    const [socket] = worker.sockets as unknown as [Socket];
    await stalled(gateway, socket);
    // Back pressure reached the worker: far less than it wanted to write has left it.
    expect(socket.bytesWritten).toBeLessThan(64 * 1024 * 1024);
    client.destroy();
    await until(() => worker.closed === 1);
    await gateway.settled();
    expect(gateway.outcomes).toMatchObject([{ status: 200, ended: 'client_gone' }]);
    expect(gateway.routes.map(({ releases }) => releases)).toEqual([1]);
  });
});

describe('a worker that does not begin to answer', () => {
  const proxy = { firstByteTimeoutMs: 4_000 };

  it('keeps no request when it does not answer and another one can serve', async () => {
    const clock = new FakeClock();
    const reached = defer();
    const asked: string[] = [];
    const stopped = await rawWorker((_socket, request) => {
      asked.push(request.split(' HTTP/')[0] as string);
      reached.resolve();
    });
    const other = await rawWorker((socket) => socket.write(OK));
    const gateway = await harness({ workers: [stopped.url, other.url], clock, proxy });
    const answer = fetch(gateway.url, { method: 'POST', body: '{}' });
    await reached.promise;
    await clock.advanceMs(2_250);
    await until(() => asked.length === 2);
    expect(asked[1]).toBe('GET /v1/models');
    expect(other.connections).toBe(0);
    await clock.advanceMs(2_250);
    expect((await answer).status).toBe(200);
    await gateway.settled();
    await until(() => stopped.closed === 2);
    expect(gateway.routes.map(({ releases }) => releases)).toEqual([1, 1]);
    const warnings = gateway.logger.lines
      .filter(({ level }) => level === 'warn')
      .map(({ message }) => message);
    expect(warnings).toEqual(['A worker says nothing, and its requests go to others']);
  });

  it('keeps no request when ejected workers are offered before the one that can serve', async () => {
    const clock = new FakeClock();
    const reached = defer();
    const stopped = await rawWorker(() => reached.resolve());
    const other = await rawWorker((socket) => socket.write(OK));
    const offered: RecordedRoute[] = [];
    const urls = [stopped.url, CLOSED_URL, CLOSED_URL, other.url];
    const gateway = await harness({
      clock,
      proxy,
      pick: async (excluded) => {
        const at = urls.findIndex((_, index) => !excluded.includes(String(index)));
        const route = new RecordedRoute(String(at), at === 1 || at === 2 ? { isTrial: true } : {});
        offered.push(route);
        return { route, baseUrl: urls[at] as string };
      },
    });
    const answer = fetch(gateway.url, { method: 'POST', body: '{}' });
    await reached.promise;
    for (let step = 0; step < 2; step += 1) await clock.advanceMs(2_250);
    expect((await answer).status).toBe(200);
    await gateway.settled();
    expect(offered.map(({ decision, releases }) => [decision.target, releases])).toEqual([
      ['0', 1],
      ['1', 1],
      ['2', 1],
      ['3', 1],
    ]);
  });

  it('keeps its request as long as it answers who asks for its models', async () => {
    const clock = new FakeClock();
    let answerNow = (): void => {};
    const reached = defer();
    let asked = 0;
    const full = await httpWorker((request, response) => {
      if (request.method === 'GET') {
        asked += 1;
        response.writeHead(401).end();
        return;
      }
      answerNow = () => void response.end('{}');
      reached.resolve();
    });
    const other = await rawWorker((socket) => socket.write(OK));
    const gateway = await harness({ workers: [full.url, other.url], clock, proxy });
    const answer = fetch(gateway.url, { method: 'POST', body: '{}' });
    await reached.promise;
    for (let round = 1; round <= 5; round += 1) {
      await clock.advanceMs(2_250);
      await until(() => asked === round);
      // Its answer is on the way here.
      await fetch(full.url);
      asked -= 1;
    }
    answerNow();
    expect((await answer).status).toBe(200);
    expect(other.connections).toBe(0);
  });

  it('keeps its request when nobody else can serve it', async () => {
    const clock = new FakeClock();
    const sockets: (() => void)[] = [];
    const reached = defer();
    const stopped = await rawWorker((socket) => {
      sockets.push(() => void socket.write(OK));
      reached.resolve();
    });
    const gateway = await harness({ workers: [stopped.url], clock, proxy });
    const answer = fetch(gateway.url, { method: 'POST', body: '{}' });
    await reached.promise;
    for (let step = 0; step < 10; step += 1) await clock.advanceMs(2_250);
    expect(gateway.excluded.length).toBeGreaterThan(1);
    sockets[0]?.();
    expect((await answer).status).toBe(200);
    expect(gateway.routes.map(({ releases }) => releases)).toEqual([1]);
  });
});

describe('time-outs', () => {
  it('give up on a worker that does not begin to answer', async () => {
    const clock = new FakeClock();
    const reached = defer();
    const worker = await rawWorker(() => reached.resolve());
    const gateway = await harness({ workers: [worker.url], clock, proxy: { headersTimeoutMs: 1_000 } });
    const answer = fetch(gateway.url, { method: 'POST', body: '{}' });
    await reached.promise;
    await clock.advanceMs(1_500);
    expect((await answer).status).toBe(504);
    expect(await (await answer).json()).toMatchObject({ error: { code: 'timeout' } });
    await until(() => worker.closed === 1);
    expect(gateway.routes.map(({ releases }) => releases)).toEqual([1]);
  });

  it.each([
    ['that falls silent', { idleTimeoutMs: 1_000 }],
    ['that never ends', { totalTimeoutMs: 1_000 }],
  ])('cut an answer %s', async (_, proxy) => {
    const clock = new FakeClock();
    const worker = await rawWorker((socket) => socket.write(EVENTS + chunk('data: 1\n\n')));
    const gateway = await harness({ workers: [worker.url], clock, proxy });
    const answer = await fetch(gateway.url, { method: 'POST', body: '{}' });
    await clock.advanceMs(1_500);
    expect(await answer.text()).toMatch(/^data: 1\n\ndata: \{"error":\{.+\}\}\n\n$/);
    await until(() => worker.closed === 1);
    expect(gateway.outcomes).toMatchObject([{ ended: 'upstream_broke' }]);
    expect(gateway.routes.map(({ releases }) => releases)).toEqual([1]);
  });

  it('cut a client that does not read', async () => {
    const clock = new FakeClock();
    const worker = await rawWorker((socket) => {
      socket.write(EVENTS);
      const write = (): void => {
        while (socket.writable && socket.write(chunk('x'.repeat(60_000))));
        socket.once('drain', write);
      };
      write();
    });
    const gateway = await harness({ workers: [worker.url], clock, proxy: { slowClientTimeoutMs: 1_000 } });
    const client = connect(gateway.port, '127.0.0.1');
    client.on('error', () => {});
    client.pause();
    client.write(post('{}'));
    await until(() => worker.sockets.size === 1);
    const [socket] = worker.sockets as unknown as [Socket];
    await stalled(gateway, socket);
    await clock.advanceMs(1_500);
    await gateway.settled();
    expect(gateway.outcomes).toMatchObject([{ ended: 'client_gone' }]);
    await until(() => worker.closed === 1);
    client.destroy();
  });
});

describe('a hostile worker', () => {
  it.each([
    ['whose headers are too large', `HTTP/1.1 200 OK\r\nX: ${'a'.repeat(100_000)}\r\n\r\n`],
    ['whose headers do not end', `HTTP/1.1 200 OK\r\n${'X: aaaaaaaa\r\n'.repeat(10_000)}`],
    ['that does not speak HTTP', 'SSH-2.0-OpenSSH_9.6\r\n'],
    [
      'that switches protocols',
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n',
    ],
    ['that sends interim answers for ever', 'HTTP/1.1 102 Processing\r\n\r\n'.repeat(1_000)],
    ['with two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab'],
  ])('is replaced by the next: %s', async (_, bytes) => {
    const hostile = await rawWorker((socket) => socket.write(bytes));
    const worker = await httpWorker((_request, response) => response.end('{}'));
    const gateway = await harness({ workers: [hostile.url, worker.url] });
    const answer = await fetch(gateway.url, { method: 'POST', body: '{}' });
    expect([answer.status, await answer.text()]).toEqual([200, '{}']);
    await gateway.settled();
    expect(gateway.routes.map(({ releases }) => releases)).toEqual([1, 1]);
    await until(() => hostile.closed >= 1);
  });

  it('cannot say more than the length that it announced', async () => {
    const worker = await rawWorker((socket) =>
      socket.write(
        'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil',
      ),
    );
    const gateway = await harness({ workers: [worker.url] });
    for (let i = 0; i < 3; i += 1) {
      const answer = await exchangeRaw(gateway.port, post('{}'));
      expect(answer.body).toBe('{}');
    }
  });

  it('can put any byte into a header without harm', async () => {
    for (const byte of [0x01, 0x0b, 0x7f, 0x80, 0xff]) {
      const worker = await rawWorker((socket) =>
        socket.write(
          Buffer.from(
            `HTTP/1.1 200 OK\r\nX-A: a${String.fromCharCode(byte)}b\r\nContent-Length: 2\r\n\r\n{}`,
            'latin1',
          ),
        ),
      );
      const gateway = await harness({ workers: [worker.url] });
      const answer = await exchangeRaw(gateway.port, post('{}'));
      expect(answer.head).toMatch(/^HTTP\/1\.1 (200|502) /);
    }
  });

  it('cannot make a 503 last', async () => {
    const clock = new FakeClock();
    const reached = defer();
    const hostile = await rawWorker((socket) => {
      socket.write('HTTP/1.1 503 No\r\nContent-Length: 9999\r\n\r\nx', () => reached.resolve());
    });
    const worker = await httpWorker((_request, response) => response.end('{}'));
    const gateway = await harness({ workers: [hostile.url, worker.url], clock });
    const answer = fetch(gateway.url, { method: 'POST', body: '{}' });
    await reached.promise;
    await turns(50);
    await clock.advanceMs(3_000);
    expect((await answer).status).toBe(200);
  });

  it('cannot make a 503 large', async () => {
    const hostile = await rawWorker((socket) => {
      socket.write(`HTTP/1.1 503 No\r\nContent-Length: 9999999\r\n\r\n${'x'.repeat(1_000_000)}`);
    });
    const gateway = await harness({ workers: [hostile.url] });
    const answer = await fetch(gateway.url, { method: 'POST', body: '{}' });
    expect(answer.status).toBe(503);
    expect(await answer.json()).toMatchObject({ error: { code: 'worker_unavailable' } });
    await until(() => hostile.closed >= 1);
  });
});

describe('workers that come and go', () => {
  it('lets the running request of a worker that left end, and closes its connections then', async () => {
    const sockets: Socket[] = [];
    const worker = await rawWorker((socket) => {
      sockets.push(socket);
      socket.write(EVENTS + chunk('data: 1\n\n'));
    });
    const gateway = await harness({ workers: [worker.url] });
    gateway.proxy.setWorkers(new Set([worker.url]));
    const answer = await fetch(gateway.url, { method: 'POST', body: '{}' });
    gateway.proxy.setWorkers(new Set());
    sockets[0]?.write(`${chunk('data: 2\n\n')}0\r\n\r\n`);
    expect(await answer.text()).toBe('data: 1\n\ndata: 2\n\n');
    await until(() => worker.sockets.size === 0);
  });
});

describe('closing', () => {
  it('lets running requests finish within the time that they have, and refuses new ones', async () => {
    const sockets: Socket[] = [];
    const worker = await rawWorker((socket) => {
      sockets.push(socket);
      socket.write(EVENTS + chunk('data: 1\n\n'));
    });
    const gateway = await harness({ workers: [worker.url] });
    const answer = await fetch(gateway.url, { method: 'POST', body: '{}' });
    const closed = gateway.proxy.close(60_000);
    const refused = await fetch(gateway.url);
    expect(refused.status).toBe(503);
    expect(await refused.json()).toMatchObject({ error: { code: 'shutting_down' } });
    sockets[0]?.write('0\r\n\r\n');
    expect(await answer.text()).toBe('data: 1\n\n');
    await closed;
    await until(() => worker.sockets.size === 0);
  });

  it('aborts what is left after that time', async () => {
    const worker = await rawWorker((socket, _request, nth) => {
      if (nth === 0) socket.write(EVENTS + chunk('data: 1\n\n'));
    });
    const gateway = await harness({ workers: [worker.url] });
    const streaming = await fetch(gateway.url, { method: 'POST', body: '{}' });
    const waiting = fetch(gateway.url, { method: 'POST', body: '{}' });
    await until(() => worker.sockets.size === 2);
    await gateway.proxy.close(0);
    expect(await streaming.text()).toMatch(/"code":"shutting_down"\}\}\n\n$/);
    expect((await waiting).status).toBe(503);
    await gateway.settled();
    expect(gateway.outcomes.map(({ ended }) => ended).sort()).toEqual(['refused', 'upstream_broke']);
    expect(gateway.routes.map(({ releases }) => releases)).toEqual([1, 1]);
    expect(gateway.proxy.running).toBe(0);
    await until(() => worker.sockets.size === 0);
  });
});
