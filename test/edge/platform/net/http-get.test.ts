import { createServer as createHttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createServer, type Server, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import {
  askedUrl,
  createHttpGet,
  createHttpPost,
  type HttpAnswer,
  type HttpGetOptions,
} from '../../../../src/edge/platform/net/http-get.js';
import { ProbeError } from '../../../../src/edge/platform/probe-error.js';
import { serveRecordings } from '../../../engines/probing/recorded-engine.js';
import { FakeClock } from '../../../support/fake-clock.js';

function get(url: string, options: HttpGetOptions = {}, clock = new FakeClock()): Promise<HttpAnswer> {
  return createHttpGet(options, { clock })(url, { signal: new AbortController().signal });
}

async function failure(promise: Promise<unknown>): Promise<ProbeError> {
  const cause = await promise.then(
    (value) => new Error(`expected a failure, got ${JSON.stringify(value)}`),
    (error: unknown) => error,
  );
  if (cause instanceof ProbeError) return cause;
  throw cause;
}

interface RawServer extends AsyncDisposable {
  readonly url: string;
  /** Resolves when every connection has ended, and there was one. */
  readonly closed: Promise<void>;
  readonly connected: Promise<void>;
}

/** A TCP server that writes what a test says, when a request has come. */
async function rawServer(onRequest: (socket: Socket) => void): Promise<RawServer> {
  const sockets = new Set<Socket>();
  let closed: () => void = () => {};
  let connected: () => void = () => {};
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => closed());
    socket.once('data', () => onRequest(socket));
    connected();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/metrics`,
    closed: new Promise((resolve) => {
      closed = resolve;
    }),
    connected: new Promise((resolve) => {
      connected = resolve;
    }),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

describe('asking an engine over HTTP', () => {
  it('gives status, content type and body, and leaves no timer and no connection', async () => {
    const clock = new FakeClock();
    await using engine = await serveRecordings({
      '/metrics': { type: 'Text/Plain; version=1.0.0', body: 'métrique 1' },
    });
    expect(await get(`${engine.url}/metrics`, {}, clock)).toEqual({
      status: 200,
      contentType: 'text/plain',
      body: 'métrique 1',
    });
    expect(engine.lastHeaders).toMatchObject({ 'accept-encoding': 'identity', connection: 'close' });
    expect(engine.lastHeaders.authorization).toBeUndefined();
    expect(clock.pendingTimers).toBe(0);
  });

  it('takes an HTTP error status for an answer', async () => {
    await using engine = await serveRecordings({ '/x': { status: 500, body: 'Internal Server Error' } });
    expect(await get(`${engine.url}/x`)).toMatchObject({ status: 500, body: 'Internal Server Error' });
  });

  it('sends the key of the engine and shows it nowhere', async () => {
    await using engine = await serveRecordings({ '/x': (_request, response) => response.destroy() });
    const error = await failure(get(`${engine.url}/x`, { bearerKey: 'sk-secret' }));
    expect(engine.lastHeaders.authorization).toBe('Bearer sk-secret');
    expect(`${error.message} ${error.stack}`).not.toContain('sk-secret');
  });

  it('refuses a key that no header can hold, without showing it', () => {
    expect(() => createHttpGet({ bearerKey: 'sk-secret\n' })).toThrow(/must be printable ASCII/);
    expect(() => createHttpGet({ bearerKey: 'sk-secret\n' })).not.toThrow(/sk-secret/);
  });

  it('follows a redirect to the same path with a slash, and no other', async () => {
    await using other = await serveRecordings({ '/metrics': 'stolen' });
    const to = (location: string) => (_request: unknown, response: import('node:http').ServerResponse) =>
      response.writeHead(307, { location }).end();
    await using engine = await serveRecordings({
      '/metrics': to('/metrics/'),
      '/metrics/': 'a 1',
      '/away': to(`${other.url}/metrics`),
      '/elsewhere': to('/kv_cache_events'),
      '/loop': to('/loop'),
      '/loop/': to('/loop'),
      '/odd': to('http://[broken'),
    });
    expect((await get(`${engine.url}/metrics`)).body).toBe('a 1');
    for (const path of ['/away', '/elsewhere', '/loop', '/odd']) {
      const error = await failure(get(`${engine.url}${path}`, { bearerKey: 'sk-secret' }));
      expect(error).toMatchObject({ code: 'bad_answer', message: expect.stringContaining('redirects to') });
    }
    expect(other.requests).toEqual([]);
    expect(engine.requests).not.toContain('GET /kv_cache_events');
  });

  it('stops reading a body of 5 GB at the limit', async () => {
    let written = 0;
    const chunk = Buffer.alloc(64 * 1024, 'x');
    await using engine = await serveRecordings({
      '/metrics': (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/plain' });
        const more = (): void => {
          while (written < 5e9 && !response.destroyed) {
            written += chunk.length;
            if (!response.write(chunk)) {
              response.once('drain', more);
              return;
            }
          }
        };
        more();
      },
    });
    const error = await failure(get(`${engine.url}/metrics`));
    expect(error).toMatchObject({ code: 'too_large', message: expect.stringContaining('1048576 bytes') });
    expect(written).toBeLessThan(64e6);
  });

  it('does not begin to read a body that is announced as too large', async () => {
    await using engine = await serveRecordings({
      '/metrics': (_request, response) => {
        response.writeHead(200, { 'content-length': '5000000000' });
        response.flushHeaders();
      },
    });
    expect((await failure(get(`${engine.url}/metrics`))).code).toBe('too_large');
  });

  it('says after how much of the body the connection ended', async () => {
    await using engine = await rawServer((socket) =>
      socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2000\r\n\r\n{"half":'),
    );
    const error = await failure(get(engine.url));
    expect(error).toMatchObject({
      code: 'bad_answer',
      message: expect.stringContaining('after 8 of 2000 bytes'),
    });
  });

  it('refuses a compressed body that it did not ask for', async () => {
    await using engine = await serveRecordings({
      '/metrics': (_request, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end('bomb'),
    });
    expect((await failure(get(`${engine.url}/metrics`))).message).toContain('content-encoding "gzip"');
  });

  it.each<[string, (socket: Socket) => void, string]>([
    ['a reset', (socket) => socket.resetAndDestroy(), 'unreachable'],
    ['an end without an answer', (socket) => socket.end(), 'unreachable'],
    ['what is no HTTP', (socket) => socket.end('SSH-2.0-OpenSSH_9.2\r\n'), 'bad_answer'],
    [
      'a header without end',
      (socket) => socket.write(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(100_000)}`),
      'bad_answer',
    ],
  ])('names %s', async (_name, onRequest, code) => {
    const clock = new FakeClock();
    await using engine = await rawServer(onRequest);
    const error = await failure(get(engine.url, {}, clock));
    expect(error).toMatchObject({ code, origin: `GET ${engine.url}` });
    expect(clock.pendingTimers).toBe(0);
  });

  it('names an address where nobody listens', async () => {
    const gone = await serveRecordings({});
    await gone[Symbol.asyncDispose]();
    const error = await failure(get(`${gone.url}/metrics`));
    expect(error).toMatchObject({ code: 'unreachable', message: expect.stringContaining('ECONNREFUSED') });
  });
});

describe('an engine that does not answer', () => {
  it.each<[string, string]>([
    ['anything', ''],
    ['more than the header', 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n'],
    ['the end of its body', 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc'],
  ])('with %s is given up after the whole time, and its connection is closed', async (_name, sent) => {
    const clock = new FakeClock();
    let asked: () => void = () => {};
    const request = new Promise<void>((resolve) => {
      asked = resolve;
    });
    await using engine = await rawServer((socket) => {
      socket.write(sent, () => asked());
      if (sent === '') asked();
    });
    const outcome = failure(get(engine.url, {}, clock));
    await request;
    await clock.advanceMs(5_000);
    expect(await outcome).toMatchObject({
      code: 'timeout',
      message: expect.stringContaining('within 5000 ms'),
    });
    await engine.closed;
    expect(clock.pendingTimers).toBe(0);
  });

  it('stops immediately when the round is over', async () => {
    const clock = new FakeClock();
    const round = new AbortController();
    await using engine = await rawServer(() => round.abort());
    const error = await failure(createHttpGet({}, { clock })(engine.url, { signal: round.signal }));
    expect(error).toMatchObject({ code: 'timeout', message: expect.stringContaining('round is over') });
    await engine.closed;
    const again = await failure(createHttpGet({}, { clock })(engine.url, { signal: round.signal }));
    expect(again.message).toContain('before it was asked');
    expect(clock.pendingTimers).toBe(0);
  });

  it('that is not made in time has a code of its own', async () => {
    const clock = new FakeClock();
    await using silent = await rawServer(() => {});
    const outcome = failure(get(silent.url, {}, clock));
    // Nothing of the network has had a turn yet: for the request it is silent.
    await clock.advanceMs(2_000);
    expect(await outcome).toMatchObject({
      code: 'no_connection',
      message: expect.stringContaining('no connection within 2000 ms'),
    });
    expect(clock.pendingTimers).toBe(0);
  });

  it('to the TLS handshake is given up after the time for connecting', async () => {
    const clock = new FakeClock();
    let heard: () => void = () => {};
    const spoken = new Promise<void>((resolve) => {
      heard = resolve;
    });
    await using silent = await rawServer(() => heard());
    const outcome = failure(get(silent.url.replace('http:', 'https:'), {}, clock));
    await spoken;
    await clock.advanceMs(2_000);
    expect(await outcome).toMatchObject({
      code: 'timeout',
      message: expect.stringContaining('no connection within 2000 ms'),
    });
    await silent.closed;
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('an address', () => {
  it.each([
    ['ftp://127.0.0.1/x', 'expected http or https'],
    ['no url', 'expected http://HOST:PORT'],
    ['http://user:secret@127.0.0.1:1/x', 'give the key apart'],
  ])('of the wrong form is refused: %s', async (url, words) => {
    const error = await failure(get(url));
    expect(error.message).toContain(words);
    expect(error.message).not.toContain('secret');
  });

  it('is named without credentials', () => {
    expect(askedUrl('http://user:secret@h:1/x?y=1')).toBe('GET http://h:1/x?y=1');
  });
});

describe('a post that takes what an endpoint gives away', () => {
  const post = (url: string): Promise<string> =>
    createHttpPost({}, { clock: new FakeClock() })(url, new AbortController().signal);

  it('posts nothing and gives the text of the answer', async () => {
    let asked = '';
    const http = createHttpServer((request, response) => {
      asked = `${request.method} ${request.url} ${request.headers['content-length']}`;
      response.end('[1]');
    });
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/kv_cache_events`;
    expect(await post(url)).toBe('[1]');
    expect(asked).toBe('POST /kv_cache_events 0');
    await new Promise((resolve) => http.close(resolve));
  });

  it('follows no redirect and takes no refusal for an answer', async () => {
    await using server = await rawServer((socket) => {
      socket.end('HTTP/1.1 307 Temporary Redirect\r\nlocation: /metrics/\r\ncontent-length: 0\r\n\r\n');
    });
    const { message, code } = await failure(post(server.url));
    expect(code).toBe('bad_answer');
    expect(message).toContain('status 307');
  });
});
