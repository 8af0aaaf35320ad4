import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { EngineHttp } from '../../../src/frontend/engine-access/engine-http.js';
import { OpenThings } from '../../support/open-things.js';

const open = new OpenThings();
afterEach(() => open.close());

const MAX_BYTES = 100;
const ASK = { body: Buffer.from('{}'), mayHaveKey: false };
const never = new AbortController().signal;

interface Engine {
  readonly url: URL;
  /** Resolves when its first connection ends. */
  readonly closed: Promise<void>;
}

async function engineThat(answer: (response: ServerResponse) => void): Promise<Engine> {
  const server = createServer((request, response) => {
    request.resume().once('end', () => answer(response));
  });
  const closed = new Promise<void>((resolve) => {
    server.once('connection', (socket) => socket.once('close', () => resolve()));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  open.add(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/tokenize`), closed };
}

function makeHttp(): EngineHttp {
  const http = new EngineHttp({ maxAnswerBytes: MAX_BYTES, connectTimeoutMs: 2_000 });
  open.add(() => http.close());
  return http;
}

describe('an engine that is asked', () => {
  it('gives its answer in one piece, in several, or an empty one', async () => {
    const answers = [['whole'], ['in ', 'two'], []];
    const { url } = await engineThat((response) => {
      response.writeHead(202);
      const pieces = answers.shift() ?? [];
      const next = (): void => {
        const piece = pieces.shift();
        if (piece === undefined) response.end();
        else response.write(piece, () => setImmediate(next));
      };
      next();
    });
    const http = makeHttp();
    for (const text of ['whole', 'in two', '']) {
      const answer = await http.ask(url, ASK, never);
      expect([answer.status, answer.body.toString()]).toEqual([202, text]);
      expect(answer.read(String)).toBe(text);
    }
  });

  it('may be read after another one that came before it, of any length', async () => {
    const texts = ['two pieces', 'x'.repeat(MAX_BYTES), 'y'.repeat(20)];
    const { url } = await engineThat((response) => {
      const text = texts.shift() ?? '';
      response.write(text.slice(0, 5), () => setImmediate(() => response.end(text.slice(5))));
    });
    const http = makeHttp();
    const answers = [];
    for (const _ of [...texts]) answers.push(await http.ask(url, ASK, never));
    expect(answers.map((answer) => answer.read(String))).toEqual([
      'two pieces',
      'x'.repeat(MAX_BYTES),
      'y'.repeat(20),
    ]);
  });

  it('is left when its answer is too long, and its connection is closed', async () => {
    const { url, closed } = await engineThat((response) => response.write('x'.repeat(MAX_BYTES + 1)));
    await expect(makeHttp().ask(url, ASK, never)).rejects.toThrow(
      new RangeError(`the answer has more than ${MAX_BYTES} bytes`),
    );
    await closed;
  });

  it('is left with the reason of a client that gave up, before and after it was asked', async () => {
    const gone = new Error('gone');
    const giveUp = new AbortController();
    const { url, closed } = await engineThat(() => giveUp.abort(gone));
    const http = makeHttp();
    await expect(http.ask(url, ASK, giveUp.signal)).rejects.toBe(gone);
    await closed;
    await expect(http.ask(url, ASK, giveUp.signal)).rejects.toBe(gone);
  });

  it('fails who asked when it breaks off, or is not there', async () => {
    const { url } = await engineThat((response) => {
      response.writeHead(200, { 'content-length': '10' });
      response.write('abc', () => response.destroy());
    });
    const http = makeHttp();
    await expect(http.ask(url, ASK, never)).rejects.toThrow();
    await expect(http.ask(new URL('http://127.0.0.1:1/'), ASK, never)).rejects.toThrow('ECONNREFUSED');
  });
});
