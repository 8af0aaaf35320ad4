import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { type IncomingHttpHeaders, request as plainRequest, type RequestOptions } from 'node:http';
import { request as tlsRequest } from 'node:https';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { Counter, Registry } from 'prom-client';
import { afterEach, describe, expect, test } from 'vitest';
import { ApiError, type ApiRoute } from '../../../src/edge/http/api.js';
import {
  HttpServer,
  type HttpServerModules,
  type HttpServerOptions,
} from '../../../src/edge/http/http-server.js';
import { ProbeBoard } from '../../../src/edge/http/probe-board.js';
import type { StatusContent } from '../../../src/edge/http/status-page.js';
import { type Address, parseAddress } from '../../../src/edge/platform/address.js';
import { systemClock } from '../../../src/edge/platform/clock.js';
import { FakeClock } from '../../support/fake-clock.js';
import { RecordingLogger } from '../../support/recording-logger.js';

const status: StatusContent = {
  title: 'kv-accord test',
  headline: { text: 'Gate closed: <b>w-1</b> & others', tone: 'bad' },
  facts: [['workers', '2']],
  tables: [
    { title: 'Workers', columns: ['worker', 'state'], rows: [['w-1', { text: '<script>', tone: 'bad' }]] },
  ],
};

const routes: ApiRoute[] = [
  { path: '/workers', summary: 'All.', response: { type: 'array' }, handle: () => [{ worker: 'w-1' }] },
  {
    path: '/groups/{group}',
    summary: 'One.',
    response: { type: 'object' },
    query: { verbose: 'More of it.' },
    handle: ({ params, query }) => ({ group: params['group'], verbose: query.get('verbose') }),
  },
  {
    path: '/refused',
    summary: 'Refuses.',
    response: {},
    handle: () => {
      throw new ApiError(503, 'not_agreed', 'waiting for w-2');
    },
  },
  {
    path: '/broken',
    summary: 'Breaks.',
    response: {},
    handle: () => Promise.reject(new Error('inner s3cret')),
  },
];

const LOCAL = parseAddress('127.0.0.1:0') as Address;
const pem = (name: string): string =>
  readFileSync(new URL(`./certificates/${name}.pem`, import.meta.url), 'utf8');

const running: HttpServer[] = [];
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of running.splice(0)) {
    await server.stop(0);
    expect(server.openConnections).toBe(0);
  }
});

interface Started {
  readonly server: HttpServer;
  readonly address: Address;
  readonly port: number;
  readonly probes: ProbeBoard;
  readonly registry: Registry;
  readonly logger: RecordingLogger;
}

async function start(
  options: Partial<HttpServerOptions> = {},
  modules: Partial<HttpServerModules> = {},
): Promise<Started> {
  const made = { probes: new ProbeBoard(), registry: new Registry(), logger: new RecordingLogger() };
  const server = new HttpServer(
    { listen: LOCAL, title: 'kv-accord test', version: '1.2.3', ...options },
    { clock: systemClock, status: () => status, api: routes, ...made, ...modules },
  );
  const address = await server.start();
  running.push(server);
  return { ...made, server, address, port: address.type === 'tcp' ? address.port : 0 };
}

interface Got {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly serverName: string | undefined;
}

function ask(
  path: string,
  options: RequestOptions & { tls?: { ca: string; cert?: string; key?: string } },
): Promise<Got> {
  return new Promise((resolve, reject) => {
    const { tls, ...plain } = options;
    const all = { host: '127.0.0.1', agent: false as const, ...plain, path };
    const request = tls === undefined ? plainRequest(all) : tlsRequest({ ...all, ...tls });
    request.on('error', reject);
    request.on('response', (response) => {
      const socket = response.socket as TLSSocket;
      const serverName = tls === undefined ? undefined : String(socket.getPeerCertificate().subject.CN);
      let body = '';
      response.setEncoding('utf8').on('data', (text: string) => {
        body += text;
      });
      response.on('end', () =>
        resolve({ status: response.statusCode, headers: response.headers, body, serverName }),
      );
    });
    request.end();
  });
}

/** Sends raw bytes and resolves with all that came back until the other side closed. */
function sendRaw(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    sockets.push(socket);
    let got = '';
    socket.setEncoding('utf8').on('data', (part: string) => {
      got += part;
    });
    socket.on('close', () => resolve(got));
    socket.on('error', (error: NodeJS.ErrnoException) =>
      error.code === 'ECONNRESET' ? resolve(got) : reject(error),
    );
    socket.write(text);
  });
}

describe('probes over HTTP', () => {
  test('say why not, and "ok" when all is well', async () => {
    const { port, probes } = await start();
    probes.set('readyz', [
      { name: 'workers', ok: true },
      { name: 'gate', ok: false, text: 'closed: waiting for w-2' },
    ]);
    const refused = await ask('/readyz', { port });
    expect(refused.status).toBe(503);
    expect(refused.body).toBe('[-]gate closed: waiting for w-2\n[+]workers ok\nreadyz check failed\n');
    probes.set('readyz', [{ name: 'gate', ok: true }]);
    expect(await ask('/readyz', { port })).toMatchObject({ status: 200, body: 'ok\n' });
    expect((await ask('/readyz?verbose', { port })).body).toBe('[+]gate ok\nreadyz check passed\n');
    expect((await ask('/livez', { port })).status).toBe(200);
    expect((await ask('/startupz', { port })).status).toBe(503);
  });

  test('are for everybody, whatever the status page and the API ask for', async () => {
    const access = { findCallerProblem: () => 'no token' };
    const { port } = await start({}, { access });
    expect((await ask('/livez', { port })).status).toBe(200);
    expect((await ask('/metrics', { port })).status).toBe(200);
    expect((await ask('/', { port })).status).toBe(401);
    expect(await ask('/api/v1/workers', { port })).toMatchObject({
      status: 401,
      headers: { 'www-authenticate': 'Bearer' },
      body: expect.stringContaining('no token'),
    });
  });
});

test('the caller is judged by its header', async () => {
  const access = {
    findCallerProblem: (header: string | undefined) => (header === 'Bearer abc' ? undefined : 'no'),
  };
  const { port } = await start({}, { access });
  expect((await ask('/', { port, headers: { authorization: 'Bearer abc' } })).status).toBe(200);
  expect((await ask('/', { port, headers: { authorization: 'Bearer abd' } })).status).toBe(401);
});

test('metrics come as Prometheus text, or as OpenMetrics where that is accepted, also at the same time', async () => {
  const { port, registry } = await start();
  const registers = [registry];
  new Counter({ name: 'kv_test_total', help: 'Test.', registers }).inc(3);
  const accept = 'application/openmetrics-text;version=1.0.0,text/plain;q=0.5';
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, i) => ask('/metrics', { port, headers: i % 2 ? { accept } : {} })),
  );
  for (const [i, answer] of answers.entries()) {
    expect(answer.headers['content-type']).toContain(i % 2 ? 'application/openmetrics-text' : 'text/plain');
    expect(answer.body.endsWith('# EOF\n')).toBe(i % 2 === 1);
    expect(answer.body).toContain(i % 2 ? '# TYPE kv_test counter' : '# TYPE kv_test_total counter');
    expect(answer.body).toContain('kv_test_total 3');
  }
});

test('the status page loads nothing, runs nothing, and takes nothing for HTML', async () => {
  const { port } = await start();
  const { body, headers } = await ask('/', { port });
  expect(headers['content-type']).toBe('text/html; charset=utf-8');
  expect(headers['content-security-policy']).toContain("default-src 'none'");
  expect(body).toContain('Gate closed: &lt;b&gt;w-1&lt;/b&gt; &amp; others');
  expect(body).toContain('<td class="bad">&lt;script&gt;</td>');
  expect(body).not.toMatch(/<script|src=|https?:/);
  expect(body).toContain('<meta http-equiv="refresh" content="5">');
});

describe('the API', () => {
  test('answers JSON, with parameters of the path and the query', async () => {
    const { port } = await start();
    expect(JSON.parse((await ask('/api/v1/workers', { port })).body)).toEqual([{ worker: 'w-1' }]);
    const got = await ask('/api/v1/groups/meta%2Fllama?verbose=1', { port });
    expect(got.headers['content-type']).toBe('application/json');
    expect(JSON.parse(got.body)).toEqual({ group: 'meta/llama', verbose: '1' });
  });

  test('refuses with a reason, and says nothing of what breaks inside', async () => {
    const { port, logger } = await start();
    const refused = await ask('/api/v1/refused', { port });
    expect(refused.status).toBe(503);
    expect(JSON.parse(refused.body)).toEqual({ error: { reason: 'not_agreed', message: 'waiting for w-2' } });
    const broken = await ask('/api/v1/broken', { port });
    expect(broken.status).toBe(500);
    expect(broken.body).not.toContain('s3cret');
    expect(logger.messages('error')).toEqual(['An HTTP request could not be answered']);
    expect((await ask('/api/v1/none', { port })).status).toBe(404);
    expect((await ask('/api/v1/groups/', { port })).status).toBe(404);
    expect((await ask('/api/v1/groups/%zz', { port })).status).toBe(404);
  });

  test('describes itself', async () => {
    const { port } = await start();
    const document = JSON.parse((await ask('/api/v1/openapi.json', { port })).body);
    expect(document).toMatchObject({ openapi: '3.1.0', info: { title: 'kv-accord test', version: '1.2.3' } });
    expect(Object.keys(document.paths)).toEqual(routes.map(({ path }) => path));
    expect(document.paths['/groups/{group}'].get).toMatchObject({
      operationId: 'getGroupsGroup',
      parameters: [
        { name: 'group', in: 'path', required: true },
        { name: 'verbose', in: 'query' },
      ],
    });
  });
});

describe('a server', () => {
  test('answers nothing but GET and HEAD, and reads no bodies', async () => {
    const { port } = await start();
    expect(await ask('/livez', { port, method: 'POST' })).toMatchObject({
      status: 405,
      headers: { allow: 'GET, HEAD' },
    });
    const head = await ask('/livez', { port, method: 'HEAD' });
    expect(head).toMatchObject({ status: 200, body: '', headers: { 'content-length': '3' } });
    // Closed by the server although the announced body never comes.
    const got = await sendRaw(port, 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000000\r\n\r\n');
    expect(got).toMatch(/^HTTP\/1.1 405 /);
  });

  test('refuses headers that are too large', async () => {
    const { port } = await start();
    const got = await sendRaw(port, `GET / HTTP/1.1\r\nhost: x\r\na: ${'x'.repeat(9000)}\r\n\r\n`);
    expect(got).toMatch(/^HTTP\/1.1 431 /);
  });

  test('disconnects a client that begins a request and does not end it', async () => {
    const { port } = await start({ limits: { requestTimeoutMs: 100 } });
    expect(await sendRaw(port, 'GET / HTTP/1.1\r\nhost')).toMatch(/^(HTTP\/1.1 408 |$)/);
  });

  test('closes connections beyond its bound immediately', async () => {
    const { port } = await start({ limits: { maxConnections: 1 } });
    const first = connect(port, '127.0.0.1');
    sockets.push(first);
    await new Promise((resolve) => first.once('connect', resolve));
    expect(await sendRaw(port, 'GET /livez HTTP/1.1\r\nhost: x\r\n\r\n')).toBe('');
  });

  test.each(['*', 'http://[', '//'])('survives the path %s', async (target) => {
    const { port } = await start();
    const got = await sendRaw(port, `GET ${target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`);
    expect(got).toMatch(/^HTTP\/1.1 4\d\d /);
  });

  test('listens on a Unix socket', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'kv-accord-'));
    const path = join(folder, 'http.sock');
    const { address } = await start({ listen: parseAddress(`unix:${path}`) as Address });
    expect(address.text).toBe(`unix:${path}`);
    expect((await ask('/livez', { socketPath: path })).status).toBe(200);
    await running.pop()?.stop(0);
    await rm(folder, { recursive: true });
  });

  test('says in one line that its port is taken', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const taken = other.address() as { port: number };
    const listen = parseAddress(`127.0.0.1:${taken.port}`) as Address;
    await expect(start({ listen })).rejects.toThrow(
      `--http-listen: cannot listen on 127.0.0.1:${taken.port}: another process listens on it`,
    );
    await new Promise((resolve) => other.close(resolve));
  });

  test('ends a running answer before it ends itself, and closes who only waits', async () => {
    let release: (value: unknown) => void = () => {};
    let begin: () => void = () => {};
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const slow: ApiRoute = {
      path: '/slow',
      summary: 'Waits.',
      response: {},
      handle: () => {
        begin();
        return new Promise((resolve) => {
          release = resolve;
        });
      },
    };
    const { port, server } = await start({}, { api: [slow] });
    const idle = connect(port, '127.0.0.1');
    sockets.push(idle);
    await new Promise((resolve) => idle.once('connect', resolve));
    const answer = ask('/api/v1/slow', { port });
    await begun;
    const stopped = server.stop(60_000);
    release('done');
    expect((await answer).body).toBe('"done"\n');
    await stopped;
    await expect(ask('/livez', { port })).rejects.toThrow('ECONNREFUSED');
  });
});

describe('HTTPS', () => {
  const ca = pem('ca');
  const first = { cert: pem('first-cert'), key: pem('first-key'), ca };
  const second = { cert: pem('second-cert'), key: pem('second-key'), ca };
  const client = { ca, cert: pem('client-cert'), key: pem('client-key') };
  const stranger = { ca, cert: pem('stranger-cert'), key: pem('stranger-key') };

  test('serves the certificate that holds now', async () => {
    let material = first;
    const { port } = await start({}, { tls: { current: () => material, clientAuth: 'none' } });
    expect(await ask('/livez', { port, tls: { ca } })).toMatchObject({ status: 200, serverName: 'first' });
    material = second;
    expect(await ask('/livez', { port, tls: { ca } })).toMatchObject({ status: 200, serverName: 'second' });
    material = { ...first, key: 'no key' };
    expect(await ask('/livez', { port, tls: { ca } })).toMatchObject({ status: 200, serverName: 'second' });
  });

  test('reports a certificate that cannot be used', async () => {
    let material = first;
    const { port, logger } = await start({}, { tls: { current: () => material, clientAuth: 'none' } });
    material = { ...first, key: 'no key' };
    await ask('/livez', { port, tls: { ca } });
    await ask('/livez', { port, tls: { ca } });
    expect(logger.messages('error')).toEqual([
      'The new certificate cannot be used; the old one stays in use',
    ]);
  });

  test('asks callers for a certificate everywhere but at probes and metrics', async () => {
    const { port } = await start({}, { tls: { current: () => first, clientAuth: 'require' } });
    expect((await ask('/livez', { port, tls: { ca } })).status).toBe(200);
    expect((await ask('/metrics', { port, tls: { ca } })).status).toBe(200);
    expect((await ask('/', { port, tls: client })).status).toBe(200);
    for (const path of ['/', '/api/v1/workers']) {
      expect((await ask(path, { port, tls: { ca } })).status).toBe(401);
      expect((await ask(path, { port, tls: stranger })).status).toBe(401);
    }
  });

  test('shows access whether a good certificate was shown', async () => {
    const seen: boolean[] = [];
    const access = {
      findCallerProblem: (_: string | undefined, isVerified: boolean) => {
        seen.push(isVerified);
        return undefined;
      },
    };
    const { port } = await start({}, { access, tls: { current: () => first, clientAuth: 'request' } });
    for (const tls of [client, stranger, { ca }]) await ask('/', { port, tls });
    expect(seen).toEqual([true, false, false]);
  });

  test.each([
    ['sends nothing', 0],
    ['sends a byte a second', 1],
  ])('closes a client that %s in its handshake after ten seconds', async (_, bytes) => {
    const clock = new FakeClock();
    const { server, port } = await start({}, { clock, tls: { current: () => first, clientAuth: 'none' } });
    const slow = connect(port, '127.0.0.1');
    sockets.push(slow);
    slow.on('error', () => undefined).resume();
    const closed = new Promise((resolve) => slow.once('close', resolve));
    // The head of a record of 512 bytes.
    if (bytes > 0) slow.write(Buffer.from([22, 3, 1, 2, 0]));
    await expect.poll(() => server.openConnections).toBe(1);
    for (let second = 1; second <= 10; second += 1) {
      expect(server.openConnections).toBe(1);
      if (bytes > 0) slow.write(Buffer.alloc(bytes, 1));
      await clock.advanceMs(1_000);
    }
    await closed;
    await expect.poll(() => server.openConnections).toBe(0);
    expect(clock.pendingTimers).toBe(0);
  });

  test.each([
    ['sends nothing', ''],
    ['begins a request and does not end it', 'GET / HTTP/1.1\r\nhost'],
  ])('closes a client that %s after its handshake, at the bound of the first request', async (_, text) => {
    const clock = new FakeClock();
    const tls = { current: () => first, clientAuth: 'none' as const };
    // Node looks at its own clock for this bound: nothing here depends on how soon it does.
    const { server, port } = await start({ limits: { headersTimeoutMs: 100 } }, { clock, tls });
    const mute = connectTls({ host: '127.0.0.1', port, ca });
    sockets.push(mute);
    const closed = new Promise((resolve) => mute.once('close', resolve));
    mute.on('error', () => undefined).resume();
    await new Promise((resolve) => mute.once('secureConnect', resolve));
    if (text !== '') mute.write(text);
    await closed;
    await expect.poll(() => server.openConnections).toBe(0);
    expect(clock.pendingTimers).toBe(0);
  });

  test('does not speak TLS 1.1, and does not speak plainly', async () => {
    const { port } = await start({}, { tls: { current: () => first, clientAuth: 'none' } });
    await expect(ask('/livez', { port })).rejects.toThrow();
    const old = { ca, maxVersion: 'TLSv1.1', minVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' };
    await expect(ask('/livez', { port, tls: old })).rejects.toThrow(/protocol/);
  });
});
