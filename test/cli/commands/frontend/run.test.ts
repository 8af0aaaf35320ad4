import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { CliProcess } from '../../../support/cli-process.js';
import { FakeOpenAiEngine } from '../../../support/fake-openai-engine.js';
import { OpenThings, workersOf } from '../../../support/open-things.js';

const open = new OpenThings();
afterEach(() => open.close());

const FREE_PORTS = ['--listen', '127.0.0.1:0', '--http-listen', '127.0.0.1:0', '--http-port', '0'];
const KEY = 'sk-0123456789abcdef';

interface Fleet {
  readonly cli: CliProcess;
  readonly engine: FakeOpenAiEngine;
  /** `http://127.0.0.1:PORT` of the OpenAI server. */
  readonly url: string;
  /** That of probes, metrics and the status page. */
  readonly statusUrl: string;
  chat(headers?: Record<string, string>): Promise<Response>;
}

async function fleet(...args: readonly string[]): Promise<Fleet> {
  const engine = await FakeOpenAiEngine.start();
  open.add(() => engine.stop());
  const sidecar = await open.sidecar('a');
  const urls = ['--worker-urls', `${sidecar.address}=${engine.url}`];
  const cli = new CliProcess(['frontend', ...workersOf(sidecar), ...FREE_PORTS, ...urls, ...args]);
  open.add(() => cli.stop());
  await cli.log.until((text) => text.includes("serves OpenAI's API"));
  const line = cli.log.text.split('\n').find((text) => text.includes("serves OpenAI's API")) ?? '{}';
  const { openai, http } = JSON.parse(line) as { openai: string; http: string };
  const url = `http://${openai}`;
  return {
    cli,
    engine,
    url,
    statusUrl: `http://${http}`,
    chat: (headers = {}) =>
      fetch(`${url}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ model: 'tiny', messages: [{ role: 'user', content: 'Hello' }] }),
      }),
  };
}

async function folder(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'kv-accord-'));
  open.add(() => rm(made, { recursive: true }));
  return made;
}

describe('frontend', () => {
  it('sends nothing before the gate is open, everything after it, and ends by a signal with 0 and nothing open', async () => {
    const { cli, engine, url, statusUrl, chat } = await fleet('--settle', '300ms', '--decision-headers');
    const early = await chat();
    expect(early.status).toBe(503);
    expect(early.headers.get('retry-after')).toBe('2');
    expect(engine.requests).toEqual([]);
    await cli.log.until((text) => text.includes('Auto-configured KV block size to 32'));
    const response = await chat({ authorization: 'Bearer of-the-engine' });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ object: 'chat.completion' });
    expect(response.headers.get('x-kv-accord-worker')).toBe('a');
    expect(engine.requests[0]).toMatchObject({
      url: '/v1/chat/completions',
      headers: { authorization: 'Bearer of-the-engine' },
      body: JSON.stringify({ model: 'tiny', messages: [{ role: 'user', content: 'Hello' }] }),
    });
    const models = (await (await fetch(`${url}/v1/models`)).json()) as { data: { id: string }[] };
    expect(models.data.map(({ id }) => id)).toEqual(['tiny']);
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    for (const from of [url, statusUrl]) {
      const metrics = await (await fetch(`${from}/metrics`)).text();
      expect(metrics).toContain(
        'kv_accord_frontend_requests_total{group="tiny",path="/v1/chat/completions",status="200"} 1',
      );
      expect(metrics).toContain('kv_accord_agreed_tokens_per_block{group="tiny"} 32');
    }
    expect(await cli.stop()).toBe(0);
    await expect(fetch(`${url}/livez`)).rejects.toThrow();
    await expect(fetch(`${statusUrl}/livez`)).rejects.toThrow();
    expect(cli.stderr.text).toBe('');
  });

  it('lets an answer end before it ends itself', async () => {
    const { cli, engine, url, chat } = await fleet();
    await cli.log.until((text) => text.includes('Auto-configured'));
    let finish: () => void = () => {};
    engine.answer = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: {}\n\n');
      finish = () => response.end('data: [DONE]\n\n');
    };
    const stream = await chat();
    const ended = cli.stop();
    await expect.poll(async () => (await fetch(`${url}/readyz`)).status).toBe(503);
    expect((await chat()).status).toBe(503);
    finish();
    expect(await stream.text()).toBe('data: {}\n\ndata: [DONE]\n\n');
    expect(await ended).toBe(0);
  });

  it('aborts an answer that does not end within --drain-timeout', async () => {
    const { cli, engine, chat } = await fleet('--drain-timeout', '50ms');
    await cli.log.until((text) => text.includes('Auto-configured'));
    engine.answer = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: {}\n\n');
    };
    const stream = await chat();
    expect(await cli.stop()).toBe(0);
    expect(await stream.text()).toMatch(/^data: \{\}\n\ndata: \{"error":.*"code":"shutting_down"/);
  });

  it('answers a request that no worker has answered by then, so that its client asks elsewhere', async () => {
    const { cli, engine, chat } = await fleet('--drain-timeout', '50ms');
    await cli.log.until((text) => text.includes('Auto-configured'));
    const asked = new Promise<void>((resolve) => {
      engine.answer = () => resolve();
    });
    const waiting = chat();
    await asked;
    expect(await cli.stop()).toBe(0);
    const refused = await waiting;
    expect(refused.status).toBe(503);
    expect(await refused.json()).toMatchObject({ error: { code: 'shutting_down' } });
  });

  it('asks for the keys of a file as it is now, and does not show them to workers', async () => {
    const path = join(await folder(), 'keys.txt');
    await writeFile(path, `# of the team\n${KEY}\n`);
    const { cli, engine, url, chat } = await fleet('--api-key-file', path);
    await cli.log.until((text) => text.includes('Auto-configured'));
    expect((await chat()).status).toBe(401);
    expect((await chat({ authorization: `Bearer ${KEY}` })).status).toBe(200);
    expect(engine.requests[0]?.headers.authorization).toBeUndefined();
    expect((await fetch(`${url}/health`)).status).toBe(200);
    await writeFile(path, 'sk-another-key-of-ours\n');
    await cli.log.until((text) => text.includes('Took up new API keys'));
    expect((await chat({ authorization: `Bearer ${KEY}` })).status).toBe(401);
    expect(cli.log.text).not.toContain(KEY);
  });

  it("shows engines their own key, for answers and for tokens, whatever the client's is", async () => {
    const path = join(await folder(), 'engine-key.txt');
    await writeFile(path, 'sk-of-the-engines\n');
    const { cli, engine, chat } = await fleet('--engine-api-key-file', path);
    await cli.log.until((text) => text.includes('Auto-configured'));
    expect((await chat({ authorization: `Bearer ${KEY}` })).status).toBe(200);
    expect(engine.requests[0]?.headers.authorization).toBe('Bearer sk-of-the-engines');
    expect(new Set(engine.tokenizeKeys)).toEqual(new Set(['Bearer sk-of-the-engines']));
    expect(cli.log.text).not.toContain('sk-of-the-engines');
  });

  it('serves other modes without tokens', async () => {
    const { cli, engine, chat, statusUrl } = await fleet('--router-mode', 'round_robin');
    await cli.log.until((text) => text.includes('Auto-configured'));
    expect((await chat()).status).toBe(200);
    expect(engine.requests.map(({ url }) => url)).toEqual(['/v1/chat/completions']);
    const metrics = await (await fetch(`${statusUrl}/metrics`)).text();
    expect(metrics).not.toContain('kv_accord_frontend_requests_without_tokens_total{');
  });

  const wrong: readonly (readonly [string, readonly string[], RegExp])[] = [
    ['a host of others without TLS', ['--http-host', '0.0.0.0'], /--http-host .*loopback address/],
    ['a host that is none', ['--http-host', 'a b'], /--http-host .*a host name or an IP address/],
    ['a port beyond the last', ['--http-port', '65536'], /--http-port/],
    [
      'the port of its own gRPC',
      ['--listen', '127.0.0.1:8000', '--http-port', '8000'],
      /--http-port "8000" \(on the command line\): must be another port than that of --listen, 127\.0\.0\.1:8000/,
    ],
    ['a worker without a URL', ['--worker-urls', 'w-1'], /--worker-urls .*WORKER=http/],
    [
      'a host for keys that is none',
      ['--engine-key-hosts', 'http://a.example'],
      /--engine-key-hosts .*host names/,
    ],
    ['an origin with a path', ['--cors-origins', 'https://a.example/x'], /--cors-origins .*without a path/],
    ['a tokenizer that is not there', ['--tokenizer', '/nowhere'], /--tokenizer/],
    ['a negative temperature', ['--router-temperature', '-1'], /--router-temperature/],
  ];
  it.each(wrong)('refuses %s in one line, with code 2', async (_name, args, message) => {
    const cli = new CliProcess(['frontend', '--workers', '127.0.0.1:1', ...FREE_PORTS, ...args]);
    expect(await cli.ended).toBe(2);
    expect(cli.stderr.text).toMatch(message);
    expect(cli.stderr.text.trim().split('\n')).toHaveLength(1);
  });

  it('refuses a file without a key, and leaves nothing open', async () => {
    const path = join(await folder(), 'keys.txt');
    await writeFile(path, '# none yet\n');
    const cli = new CliProcess([
      'frontend',
      '--workers',
      '127.0.0.1:1',
      ...FREE_PORTS,
      '--api-key-file',
      path,
    ]);
    expect(await cli.ended).toBe(2);
    expect(cli.stderr.text).toContain(`--api-key-file ${path}: has no key`);
  });
});
