import { once } from 'node:events';
import type { Socket } from 'node:net';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { APIS } from '../../../src/frontend/apis/api.js';
import type { GatewayOptions } from '../../../src/frontend/gateway/gateway.js';
import { GatewayHarness } from './gateway-harness.js';

const running: GatewayHarness[] = [];
afterEach(async () => {
  for (const harness of running.splice(0)) {
    await harness.stop();
    expect(harness.gateway.openConnections).toBe(0);
    expect(await harness.metric('kv_accord_frontend_inflight_requests')).toBe(0);
  }
});

async function start(options: Partial<GatewayOptions> = {}): Promise<GatewayHarness> {
  const harness = await GatewayHarness.start(options);
  running.push(harness);
  return harness;
}

const CHAT = 'POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n';
const BODY = '{"model":"tiny"}';
const WHOLE = `${CHAT}content-length: ${BODY.length}\r\n\r\n${BODY}`;

/** Status and error of the first answer in raw bytes. */
function readAnswer(got: string): {
  readonly status: number;
  readonly code: string | null;
  readonly message: string;
} {
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(got)?.[1]);
  const { error } = JSON.parse(got.slice(got.indexOf('\r\n\r\n') + 4)) as {
    error: { type: string; code: string | null; message: string };
  };
  expect(got).toMatch(/content-type: application\/json/i);
  expect(error.type).toBe(status < 500 ? 'invalid_request_error' : 'server_error');
  return { status, code: error.code, message: error.message };
}

/** Everything that comes, to be waited for. */
class Received {
  text = '';
  readonly #socket: Socket;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (part: string) => {
      this.text += part;
    });
  }

  async until(part: string): Promise<void> {
    while (!this.text.includes(part)) await once(this.#socket, 'data');
  }
}

describe('a client that is slow', () => {
  it('with its headers gets an error, and is disconnected', async () => {
    const harness = await start({ limits: { headersTimeoutMs: 100 } });
    expect(readAnswer(await harness.sendRaw(CHAT))).toMatchObject({ status: 408 });
  });

  it('with its body gets an error, and is disconnected, and what it sent is discarded', async () => {
    const harness = await start({ limits: { headersTimeoutMs: 100, requestTimeoutMs: 300 } });
    const got = await harness.sendRaw(`${CHAT}content-length: 1000\r\n\r\n{"model":`);
    expect(readAnswer(got)).toMatchObject({ status: 408 });
    expect(await harness.metric('kv_accord_frontend_inflight_requests')).toBe(0);
  });

  it('and leaves in the middle of its body is forgotten', async () => {
    const harness = await start();
    const socket = harness.connect();
    socket.write(`${CHAT}content-length: 1000\r\n\r\n{"model":`);
    await expect.poll(() => harness.metric('kv_accord_frontend_inflight_requests')).toBe(1);
    socket.destroy();
    await expect.poll(() => harness.metric('kv_accord_frontend_inflight_requests')).toBe(0);
    expect(harness.served).toEqual([]);
  });

  it('cannot fill the memory together with others', async () => {
    const harness = await start({ bodyLimitBytes: 64 * 1024 });
    const part = Buffer.alloc(60 * 1024, 0x20);
    const answers = Array.from({ length: 20 }, () => {
      const socket = harness.connect();
      const received = new Received(socket);
      socket.write(`${CHAT}content-length: ${64 * 1024}\r\n\r\n`);
      socket.write(part);
      return received;
    });
    const refused = (): number => answers.filter(({ text }) => text.startsWith('HTTP/1.1 503 ')).length;
    await expect.poll(refused).toBe(3);
    expect(readAnswer(answers.find(({ text }) => text !== '')?.text ?? '')).toMatchObject({
      code: 'overloaded',
    });
  });
});

describe('a request that is too large', () => {
  it.each([
    ['in one header', `a: ${'x'.repeat(20_000)}\r\n`],
    ['in many headers', 'some-name: b\r\n'.repeat(5_000)],
  ])('%s is refused with 431', async (_name, headers) => {
    const harness = await start();
    expect(readAnswer(await harness.sendRaw(`${CHAT}${headers}\r\n`))).toMatchObject({ status: 431 });
  });

  it('in its length is refused before its body is read', async () => {
    const harness = await start();
    const socket = harness.connect();
    const received = new Received(socket);
    socket.write(`${CHAT}content-length: 100000000000\r\n\r\n`);
    await received.until('\r\n\r\n{');
    expect(readAnswer(received.text)).toMatchObject({ status: 413, code: 'request_too_large' });
    expect(received.text).toContain('connection: close');
  });

  it('in chunks is refused as soon as it is, and the rest is read so that the answer arrives', async () => {
    const harness = await start();
    const chunk = `${(32 * 1024).toString(16)}\r\n${'x'.repeat(32 * 1024)}\r\n`;
    const got = await harness.sendRaw(
      `${CHAT}transfer-encoding: chunked\r\n\r\n`,
      ...Array(20).fill(chunk),
      '0\r\n\r\n',
    );
    expect(readAnswer(got)).toMatchObject({ status: 413 });
  });

  it('is not read without end', async () => {
    const harness = await start();
    const socket = harness.connect();
    socket.resume();
    socket.write(`${CHAT}content-length: 100000000000\r\n\r\n`);
    const megabyte = Buffer.alloc(1024 * 1024, 0x20);
    let sent = 0;
    const send = (): void => {
      while (!socket.destroyed) {
        sent += 1;
        if (!socket.write(megabyte)) break;
      }
    };
    socket.on('drain', send);
    send();
    await new Promise((resolve) => socket.once('close', resolve));
    expect(sent).toBeLessThan(128);
  });
});

describe('a request that is not HTTP as it must be', () => {
  it.each([
    ['no HTTP at all', 'hello\r\n\r\n'],
    ['two lengths', `${CHAT}content-length: 5\r\ncontent-length: 6\r\n\r\n`],
    ['a length beside chunks', `${CHAT}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n`],
    ['a chunk without a size', `${CHAT}transfer-encoding: chunked\r\n\r\nxyz\r\n`],
    ['no host', 'GET /livez HTTP/1.1\r\n\r\n'],
    ['a header that is folded', `${CHAT}a: b\r\n c\r\n\r\n`],
    ['a method that nobody knows', 'BREW /v1/models HTTP/1.1\r\nhost: x\r\n\r\n'],
  ])('is refused: %s', async (_name, text) => {
    const harness = await start();
    const got = await harness.sendRaw(text);
    expect(got).toMatch(/^HTTP\/1\.1 4\d\d /);
    expect(harness.served).toEqual([]);
    expect((await harness.ask('/livez')).status).toBe(200);
  });

  it('does not break into an answer that is on its way over the same connection', async () => {
    const harness = await start();
    harness.serve = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: 1\n\n');
      return new Promise((resolve) => {
        response.once('close', () => resolve({ status: 200, ended: 'client_gone', firstByteMs: 1 }));
      });
    };
    const socket = harness.connect();
    const received = new Received(socket);
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.write(WHOLE);
    await received.until('data: 1');
    socket.write('nonsense\r\n\r\n');
    await closed;
    expect(received.text).not.toContain('HTTP/1.1 400');
  });
});

describe('a request that is refused before its body has come', () => {
  it.each([
    ['goes on with what is no chunk', { limits: {} }, 'nonsense\r\n\r\n'],
    ['does not go on', { limits: { headersTimeoutMs: 100, requestTimeoutMs: 300 } }, ''],
  ])('is answered once, also when it %s', async (_name, options, rest) => {
    const harness = await start(options);
    const socket = harness.connect();
    const received = new Received(socket);
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.write(`${CHAT}content-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n`);
    await received.until('}\n');
    if (rest !== '') socket.write(rest);
    await closed;
    expect(received.text).toMatch(/^HTTP\/1\.1 415 /);
    expect(received.text.split('HTTP/1.1 ')).toHaveLength(2);
  });
});

describe('several requests together on one connection', () => {
  it('are not taken: the second one is sent away behind the answer to the first', async () => {
    const harness = await start();
    const got = await harness.sendRaw(WHOLE + WHOLE);
    const [, first = '', second = ''] = got.split('HTTP/1.1 ');
    expect(first).toMatch(/^200 /);
    expect(readAnswer(`HTTP/1.1 ${second}`)).toMatchObject({ status: 503, code: 'pipelined' });
    expect(harness.served).toHaveLength(1);
  });

  it('are taken one after the other', async () => {
    const harness = await start();
    const socket = harness.connect();
    const received = new Received(socket);
    for (let count = 1; count <= 3; count += 1) {
      socket.write(WHOLE);
      await expect.poll(() => received.text.split('{"ok":true}').length).toBe(count + 1);
    }
    expect(harness.served).toHaveLength(3);
  });
});

describe('many', () => {
  it('connections beyond the bound are closed immediately', async () => {
    const harness = await start({ maxConnections: 2 });
    const first = [harness.connect(), harness.connect()];
    await expect.poll(() => harness.gateway.openConnections).toBe(2);
    expect(await harness.sendRaw(WHOLE)).toBe('');
    first[0]?.destroy();
    await expect.poll(() => harness.gateway.openConnections).toBe(1);
    expect((await harness.ask('/livez')).status).toBe(200);
  });

  it('random bytes do not bring it down', async () => {
    const harness = await start({ limits: { headersTimeoutMs: 200, requestTimeoutMs: 400 } });
    const line = fc.constantFrom(
      'POST /v1/chat/completions HTTP/1.1\r\n',
      'GET /v1/models HTTP/1.1\r\n',
      'host: x\r\n',
      'content-length: 16\r\n',
      'content-type: application/json\r\n',
      'transfer-encoding: chunked\r\n',
      'expect: 100-continue\r\n',
      'upgrade: websocket\r\nconnection: upgrade\r\n',
      '\r\n',
      '10\r\n',
      BODY,
      '{"model":"tiny","x":[[[[',
      '0\r\n\r\n',
    );
    const piece = fc.oneof(
      { weight: 4, arbitrary: line.map((text) => Buffer.from(text)) },
      fc.uint8Array({ maxLength: 64 }).map((bytes) => Buffer.from(bytes)),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { minLength: 1, maxLength: 12 }), async (pieces) => {
        const socket = harness.connect();
        socket.resume();
        const closed = new Promise((resolve) => socket.once('close', resolve));
        socket.end(Buffer.concat(pieces));
        await closed;
      }),
      { numRuns: 100 },
    );
    expect((await harness.chat()).status).toBe(200);
    expect(harness.logger.messages('error')).toEqual([]);
    expect(harness.logger.messages('warn')).toEqual([]);
  });

  it('bodies of any bytes are answered on each path, and none of them brings it down', async () => {
    const harness = await start();
    const json = fc.json().map((text) => Buffer.from(text));
    const path = fc.constantFrom(...APIS.map((api) => api.path));
    const bytes = fc.uint8Array({ maxLength: 200 }).map((some) => Buffer.from(some));
    const nearly = fc
      .tuple(fc.nat(BODY.length), bytes)
      .map(([at, some]) =>
        Buffer.concat([Buffer.from(BODY.slice(0, at)), some, Buffer.from(BODY.slice(at))]),
      );
    await fc.assert(
      fc.asyncProperty(fc.oneof(json, bytes, nearly), path, async (body, asked) => {
        const response = await harness.ask(asked, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: new Uint8Array(body),
        });
        // A form is asked for where sounds come in.
        expect(asked.startsWith('/v1/audio/t') ? [415] : [200, 400, 404]).toContain(response.status);
        const refusal = (await response.json()) as { readonly type?: string };
        if (response.status !== 200 && asked.startsWith('/v1/messages')) expect(refusal.type).toBe('error');
      }),
      { numRuns: 200 },
    );
    expect(harness.logger.messages('error')).toEqual([]);
  });
});

it('answers a client that asks whether its body is wanted', async () => {
  const harness = await start();
  const socket = harness.connect();
  const received = new Received(socket);
  socket.write(`${CHAT}expect: 100-continue\r\ncontent-length: ${BODY.length}\r\n\r\n`);
  await received.until('HTTP/1.1 100 Continue');
  socket.write(BODY);
  await received.until('{"ok":true}');
});

describe('a request whose head is not as it must be', () => {
  const headers = (count: number): string =>
    Array.from({ length: count }, (_, i) => `x-${i}: 1\r\n`).join('');

  it.each([
    ['no Host header', 'GET /livez HTTP/1.1\r\n', 400, 'There is no Host header.'],
    [
      'two Host headers',
      'GET /livez HTTP/1.1\r\nhost: a\r\nHOST: b\r\n',
      400,
      'There is more than one Host header.',
    ],
    [
      'an Expect that nobody knows',
      'GET /livez HTTP/1.1\r\nhost: a\r\nexpect: the best\r\n',
      417,
      'Of Expect only 100-continue is understood.',
    ],
    [
      '101 headers',
      `GET /livez HTTP/1.1\r\nhost: a\r\n${headers(100)}`,
      431,
      'There are more than 100 headers.',
    ],
    [
      'CONNECT',
      'CONNECT engine:8000 HTTP/1.1\r\nhost: engine:8000\r\n',
      405,
      'CONNECT is not understood: this is no proxy.',
    ],
  ])('(%s) is refused in the shape of every other error', async (_, head, status, message) => {
    const harness = await start();
    const code = status === 405 ? 'method_not_supported' : null;
    expect(readAnswer(await harness.sendRaw(`${head}\r\n`))).toEqual({ status, code, message });
  });

  it('is one with 101 headers, and not one with 100', async () => {
    const harness = await start();
    const got = await harness.sendRaw(
      `GET /livez HTTP/1.1\r\nhost: a\r\nconnection: close\r\n${headers(98)}\r\n`,
    );
    expect(got).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('may not name a coding of its body beside chunked', async () => {
    const harness = await start();
    const coded = `${CHAT}transfer-encoding: gzip, chunked\r\n\r\n2\r\n\x1f\x8b\r\n0\r\n\r\n`;
    expect(readAnswer(await harness.sendRaw(coded))).toEqual({
      status: 501,
      code: null,
      message: 'Of Transfer-Encoding only chunked is understood.',
    });
    const chunked = `${CHAT}transfer-encoding: Chunked\r\nconnection: close\r\n\r\n`;
    const body = `${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`;
    expect(await harness.sendRaw(chunked + body)).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('may lack a Host header in HTTP/1.0', async () => {
    const harness = await start();
    expect(await harness.sendRaw('GET /livez HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 /);
  });
});
