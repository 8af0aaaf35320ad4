import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { FakeOpenAiEngine } from '../support/fake-openai-engine.js';
import { OpenThings, workersOf } from '../support/open-things.js';
import { Program, requireBuild } from '../support/program.js';

beforeAll(requireBuild);
vi.setConfig({ testTimeout: 60_000 });

const open = new OpenThings();
afterEach(() => open.close());

const MAX_FILES = 128;
const FREE_PORTS = ['--listen', '127.0.0.1:0', '--http-listen', '127.0.0.1:0', '--http-port', '0'];
const CHAT = '{"model":"tiny","messages":[]}';

/** Asks over a connection that stays; the whole answer, undefined where the connection ends instead. */
async function ask(socket: Socket, method: string, path: string, body = ''): Promise<string | undefined> {
  const head = `${method} ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n`;
  socket.write(`${head}content-length: ${body.length}\r\n\r\n${body}`);
  const over = new AbortController();
  const { signal } = over;
  const isOver = (): undefined => undefined;
  // A connection that is reset rejects both.
  const answer = once(socket, 'data', { signal }).then((pieces: unknown[]) => String(pieces[0]), isOver);
  const end = once(socket, 'close', { signal }).then(isOver, isOver);
  try {
    return await Promise.race([answer, end]);
  } finally {
    over.abort();
    await Promise.all([answer, end]);
  }
}

describe('a frontend that can open no more files', () => {
  it('says so, holds no worker to be at fault for it, and serves again as soon as it can', async () => {
    const engine = await FakeOpenAiEngine.start();
    open.add(() => engine.stop());
    const sidecars = await Promise.all(['a', 'b', 'c'].map((name) => open.sidecar(name)));
    const urls = ['--worker-urls', sidecars.map(({ address }) => `${address}=${engine.url}`).join(',')];
    const args = ['frontend', ...workersOf(...sidecars), ...urls, ...FREE_PORTS];
    const program = new Program(args, { maxFiles: MAX_FILES });
    open.add(() => program.end('SIGKILL'));
    await program.until(({ code }) => code === 'agreed');
    const line = program.lines.find(({ msg }) => msg.includes("serves OpenAI's API"));
    const [host = '', port] = (line as unknown as { openai: string }).openai.split(':');
    const asker = connect(Number(port), host);
    const others: Socket[] = [];
    open.add(() => {
      for (const socket of [asker, ...others]) socket.destroy();
    });
    asker.on('error', () => undefined);
    await expect.poll(() => ask(asker, 'GET', '/readyz')).toContain('200 OK');

    for (let isTaken = true; isTaken; ) {
      const socket = connect(Number(port), host).on('error', () => undefined);
      others.push(socket);
      isTaken = (await ask(socket, 'GET', '/livez')) !== undefined;
    }
    for (let request = 0; request < 12; request += 1) {
      const answer = await ask(asker, 'POST', '/v1/chat/completions', CHAT);
      expect(answer).toContain('503 Service Unavailable');
      expect(answer).toContain('"code":"overloaded"');
      expect(answer?.toLowerCase()).toContain('retry-after: 1');
    }
    await program.until(({ msg }) => msg.includes(`all of its ${MAX_FILES} files open`));

    for (const socket of others) socket.destroy();
    await program.until(({ msg }) => msg.includes('Files can be opened again'));
    expect(await ask(asker, 'POST', '/v1/chat/completions', CHAT)).toContain('200 OK');
    expect(program.lines.filter(({ msg }) => msg.includes('ejected'))).toEqual([]);
    const refused = 'A request failed: This server can open no more connections now.';
    expect(program.lines.some(({ msg }) => msg.startsWith(refused))).toBe(true);
  });
});
