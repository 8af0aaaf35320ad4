import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { askChat, type ChatAnswer } from '../../../src/tools/demo/chat-client.js';
import { FakeClock } from '../../support/fake-clock.js';
import { OpenThings } from '../../support/open-things.js';

const open = new OpenThings();
afterEach(() => open.close());

const clock = new FakeClock();

/** A server that answers each question so. */
async function serve(answer: (response: ServerResponse) => unknown): Promise<string> {
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () => void answer(response));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.add(() => {
    server.closeAllConnections();
    return new Promise<void>((resolve) => void server.close(() => resolve()));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function ask(url: string, signal = new AbortController().signal): Promise<ChatAnswer> {
  const messages = [{ role: 'user', content: 'Why?' }];
  return askChat(url, { model: 'tiny', messages, maxTokens: 2 }, { clock, signal });
}

const event = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;
const token = (content: string): string => event({ choices: [{ index: 0, delta: { content } }] });
const USAGE = event({
  choices: [],
  usage: { prompt_tokens: 70, prompt_tokens_details: { cached_tokens: 64 } },
});

describe('a chat client', () => {
  it('sees text, worker, usage and when the first token came, wherever the pieces are cut', async () => {
    const stream = `${token('')}${token('Bé')}${token('cause')}${USAGE}data: [DONE]\n\n`;
    const url = await serve(async (response) => {
      response.writeHead(200, { 'x-kv-accord-worker': 'worker-a' });
      response.flushHeaders();
      await clock.advanceMs(30);
      for (const byte of Buffer.from(stream)) response.write(Buffer.of(byte));
      response.end();
    });
    expect(await ask(url)).toEqual({
      text: 'Bécause',
      worker: 'worker-a',
      promptTokens: 70,
      cachedTokens: 64,
      firstTokenMs: 30,
    });
  });

  it('learns what there is instead of an answer', async () => {
    const url = await serve((response) => response.writeHead(503).end('the gate is shut'));
    await expect(ask(url)).rejects.toThrow(`${url} answered 503: the gate is shut`);
  });

  it.each([
    ['without usage', `${token('Because')}data: [DONE]\n\n`],
    ['without text', `${USAGE}data: [DONE]\n\n`],
  ])('notices an answer %s', async (_name, stream) => {
    const url = await serve((response) => response.end(stream));
    await expect(ask(url)).rejects.toThrow('broke its answer off');
  });

  it('stops when it is to end', async () => {
    const ending = new AbortController();
    const url = await serve(() => ending.abort(new Error('asked to end')));
    await expect(ask(url, ending.signal)).rejects.toThrow('asked to end');
  });
});
