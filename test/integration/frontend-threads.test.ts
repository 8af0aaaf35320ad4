import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { get } from 'node:https';
import { type AddressInfo, connect, createServer } from 'node:net';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { TestAuthority, TestFolder } from '../edge/rpc/certificates.js';
import { FakeOpenAiEngine } from '../support/fake-openai-engine.js';
import { OpenThings, workersOf } from '../support/open-things.js';
import { Program, requireBuild } from '../support/program.js';

beforeAll(requireBuild);

// Each test starts the program three times.
vi.setConfig({ testTimeout: 60_000 });

const open = new OpenThings();
afterEach(() => open.close());

const FREE_PORTS = ['--listen', '127.0.0.1:0', '--http-listen', '127.0.0.1:0', '--http-port', '0'];

interface Fleet {
  readonly program: Program;
  readonly engine: FakeOpenAiEngine;
  /** `http://127.0.0.1:PORT` of the OpenAI server. */
  readonly url: string;
  /** That of the first process: probes, metrics and the status page. */
  readonly statusUrl: string;
}

function start(...args: readonly string[]): Program {
  const program = new Program(['frontend', ...args]);
  open.add(() => program.end('SIGKILL'));
  return program;
}

async function fleet(...args: readonly string[]): Promise<Fleet> {
  return fleetOf(['a'], ...args);
}

/** Workers of these names, which share one engine. */
async function fleetOf(workers: readonly string[], ...args: readonly string[]): Promise<Fleet> {
  const engine = await FakeOpenAiEngine.start();
  open.add(() => engine.stop());
  const sidecars = await Promise.all(workers.map((name) => open.sidecar(name)));
  const urls = ['--worker-urls', sidecars.map(({ address }) => `${address}=${engine.url}`).join(',')];
  const program = start(...workersOf(...sidecars), ...FREE_PORTS, ...urls, '--threads', '2', ...args);
  await program.until(({ msg }) => msg.includes("serves OpenAI's API"));
  await program.until(({ code }) => code === 'agreed');
  const line = program.lines.find(({ msg }) => msg.includes("serves OpenAI's API"));
  const { openai, http } = line as unknown as { openai: string; http: string };
  return { program, engine, url: `http://${openai}`, statusUrl: `http://${http}` };
}

/** Where a program serves OpenAI's API, once it does. */
async function openAiOf(program: Program): Promise<string> {
  await program.until(({ msg }) => msg.includes("serves OpenAI's API"));
  const line = program.lines.find(({ msg }) => msg.includes("serves OpenAI's API"));
  return (line as unknown as { openai: string }).openai;
}

/** Over a connection of its own, so that the processes take turns. */
function chat(url: string, more: Readonly<Record<string, string>> = {}): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', connection: 'close', ...more },
    body: JSON.stringify({ model: 'tiny', messages: [{ role: 'user', content: 'Hello' }] }),
  });
}

/** A stream over a connection of its own: resolves when it has begun, `text` with all that came and how it ended. */
function stream(url: string): Promise<{ readonly text: Promise<string> }> {
  return new Promise((resolve, reject) => {
    const asked = request(
      `${url}/v1/chat/completions`,
      { method: 'POST', agent: false, headers: { 'content-type': 'application/json' } },
      (response) => {
        let got = '';
        response.setEncoding('utf8').on('data', (piece: string) => {
          got += piece;
        });
        const text = new Promise<string>((end) => {
          response.once('end', () => end(got));
          response.once('error', () => end(`${got}broken`));
        });
        response.once('data', () => resolve({ text }));
      },
    );
    asked.once('error', reject);
    asked.end(JSON.stringify({ model: 'tiny', messages: [], stream: true }));
  });
}

/** Has the engine answer with streams that go on until the function that comes back is called. */
function holdStreams(engine: FakeOpenAiEngine): () => void {
  const finish: (() => void)[] = [];
  engine.answer = (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: {}\n\n');
    finish.push(() => response.end('data: [DONE]\n\n'));
  };
  return () => {
    for (const end of finish) end();
  };
}

const WHOLE = 'data: {}\n\ndata: [DONE]\n\n';
const BROKEN = 'data: {}\n\nbroken';

/** Asks until the answer is that of the new epoch of things. */
async function untilServed(url: string): Promise<void> {
  await expect.poll(async () => (await fetch(`${url}/readyz`)).status, { timeout: 10_000 }).toBe(200);
}

async function series(url: string, name: string): Promise<Map<string, number>> {
  const text = await (await fetch(`${url}/metrics`, { headers: { connection: 'close' } })).text();
  const found = new Map<string, number>();
  for (const [, labels = '', value] of text.matchAll(new RegExp(`^${name}(?:\\{(.*)\\})? (\\S+)$`, 'gm')))
    found.set(labels, Number(value));
  return found;
}

async function total(url: string, name: string): Promise<number> {
  return [...(await series(url, name)).values()].reduce((sum, value) => sum + value, 0);
}

/** The processes that a process has started. */
function childrenOf(program: Program): number[] {
  const { pid = 0 } = program.child;
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return text.trim().split(' ').filter(Boolean).map(Number);
}

function isRunning(pid: number): boolean {
  try {
    // One that has ended and was not waited for is still there, as a zombie.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

describe('kv-accord frontend --threads 2', () => {
  it('serves from both processes with one router, shows one page of metrics, and ends by a signal with 0', async () => {
    const { program, engine, url, statusUrl } = await fleet('--decision-headers');
    await untilServed(url);
    for (let at = 0; at < 8; at += 1) {
      const response = await chat(url);
      expect(response.status).toBe(200);
      expect(await response.json()).toMatchObject({ object: 'chat.completion' });
      expect(response.headers.get('x-kv-accord-worker')).toBe('a');
    }
    expect(engine.requests.filter(({ url: path }) => path === '/v1/chat/completions')).toHaveLength(8);
    for (const from of [url, statusUrl]) {
      const counted = await series(from, 'kv_accord_frontend_requests_total');
      expect(counted.get('group="tiny",path="/v1/chat/completions",status="200"')).toBe(8);
      expect(await total(from, 'kv_accord_frontend_threads')).toBe(2);
      expect((await series(from, 'kv_accord_agreed_tokens_per_block')).get('group="tiny"')).toBe(32);
      expect([...(await series(from, 'kv_accord_frontend_thread_cpu_seconds_total')).keys()].sort()).toEqual([
        'thread="1"',
        'thread="2"',
      ]);
      expect((await series(from, 'process_cpu_seconds_total')).size).toBe(1);
      expect(await total(from, 'kv_accord_router_active_requests')).toBe(0);
    }
    const children = childrenOf(program);
    expect(children).toHaveLength(2);
    expect(await program.end('SIGTERM')).toBe(0);
    expect(children.filter(isRunning)).toEqual([]);
    expect(program.lines.filter(({ level }) => level === 'error' || level === 'warn')).toEqual([]);
  });

  it('gives a session to one worker, whichever process is asked, and counts in OpenMetrics too', async () => {
    // By load alone, for all prompts have the same beginning: where it is cached goes before the session.
    const byLoad = ['--router-mode', 'least-loaded'];
    const sessions = ['--session-affinity', 'header', '--decision-headers'];
    const { url, statusUrl } = await fleetOf(['a', 'b'], ...byLoad, ...sessions);
    await untilServed(url);
    const workersOfSession = async (session: string, times: number): Promise<string[]> => {
      const names = new Set<string>();
      for (let at = 0; at < times; at += 1) {
        const { headers } = await chat(url, { 'x-session-id': session });
        // The end of a request is reported a few milliseconds later, and until then its worker is not as good as the other.
        await expect.poll(() => total(statusUrl, 'kv_accord_router_active_requests')).toBe(0);
        names.add(headers.get('x-kv-accord-worker') ?? '');
      }
      return [...names];
    };
    const ofSessions: string[] = [];
    for (let session = 0; session < 8; session += 1) {
      const names = await workersOfSession(`session-${session}`, 4);
      expect(names).toHaveLength(1);
      ofSessions.push(...names);
    }
    expect([...new Set(ofSessions)].sort()).toEqual(['a', 'b']);
    const headers = { accept: 'application/openmetrics-text; version=1.0.0' };
    const text = await (await fetch(`${url}/metrics`, { headers })).text();
    expect(text).toMatch(/^# TYPE kv_accord_frontend_requests counter$/m);
    expect(text).toMatch(/^kv_accord_frontend_requests_total\{.*status="200"\} 32$/m);
    expect(text).toMatch(/^kv_accord_frontend_request_duration_seconds_count\{group="tiny"\} 32$/m);
    expect(text).not.toContain('_total_total');
    expect(text.trimEnd().endsWith('# EOF')).toBe(true);
    expect(await total(url, 'kv_accord_frontend_requests_total')).toBe(32);
  });

  it('sends nothing while the gate is shut, and says why, whichever process is asked', async () => {
    const sidecar = await open.sidecar('a');
    const program = start(...workersOf(sidecar), ...FREE_PORTS, '--threads', '2', '--min-workers', '2');
    const url = `http://${await openAiOf(program)}`;
    await expect
      .poll(async () => (await chat(url)).json())
      .toMatchObject({ error: { code: 'gate_shut', message: expect.stringContaining('--min-workers') } });
    for (let at = 0; at < 4; at += 1) {
      const refused = await chat(url);
      expect(refused.status).toBe(503);
      expect(refused.headers.get('retry-after')).toBe('2');
      expect((await fetch(`${url}/readyz`, { headers: { connection: 'close' } })).status).toBe(503);
    }
  });

  it('loses only what a killed process was doing, releases it, starts another one and keeps its counts', async () => {
    const { program, engine, url, statusUrl } = await fleet();
    await untilServed(url);
    for (let at = 0; at < 4; at += 1) expect((await chat(url)).status).toBe(200);
    expect(await total(statusUrl, 'kv_accord_frontend_requests_total')).toBe(4);
    const finish = holdStreams(engine);
    const streams = await Promise.all([stream(url), stream(url)]);
    const active = (): Promise<number> => total(statusUrl, 'kv_accord_router_active_requests');
    expect(await active()).toBe(2);
    expect(await total(statusUrl, 'kv_accord_frontend_inflight_requests')).toBe(2);

    const [victim = 0, other = 0] = childrenOf(program);
    process.kill(victim, 'SIGKILL');
    await program.until(({ msg }) =>
      /^HTTP process \d was ended by SIGKILL\. Its requests are lost/.test(msg),
    );
    // The log speaks of the process, and the router hears of the end of its stream: in any order.
    await expect.poll(active).toBe(1);
    await program.until(({ msg }) => /^HTTP process \d serves again\.$/.test(msg));
    finish();
    expect((await Promise.all(streams.map(({ text }) => text))).sort()).toEqual([BROKEN, WHOLE].sort());
    await expect.poll(active).toBe(0);
    expect(await total(statusUrl, 'kv_accord_frontend_requests_total')).toBeGreaterThanOrEqual(5);
    expect(await total(statusUrl, 'kv_accord_frontend_inflight_requests')).toBe(0);
    expect(await total(statusUrl, 'kv_accord_frontend_thread_restarts_total')).toBe(1);
    engine.answer = undefined;
    for (let at = 0; at < 4; at += 1) expect((await chat(url)).status).toBe(200);
    const children = childrenOf(program);
    expect(children).toContain(other);
    expect(children).toHaveLength(2);
    expect(await program.end('SIGTERM')).toBe(0);
  });

  it('lets answers end when every process gets the signal, as a terminal sends it', async () => {
    const { program, engine, url } = await fleet();
    await untilServed(url);
    const finish = holdStreams(engine);
    const streams = await Promise.all([stream(url), stream(url)]);
    for (const pid of [...childrenOf(program), program.child.pid ?? 0]) process.kill(pid, 'SIGINT');
    // Each process takes the signal at its own time.
    await expect.poll(async () => (await chat(url)).status).toBe(503);
    await expect.poll(async () => (await fetch(`${url}/readyz`)).status).toBe(503);
    finish();
    for (const { text } of streams) expect(await text).toBe(WHOLE);
    expect(await program.ended()).toBe(0);
  });

  it('aborts an answer that does not end within --drain-timeout', async () => {
    const { program, engine, url } = await fleet('--drain-timeout', '50ms');
    await untilServed(url);
    holdStreams(engine);
    const { text } = await stream(url);
    expect(await program.end('SIGTERM')).toBe(0);
    const events = (await text).split('\n\n');
    expect(events[0]).toBe('data: {}');
    expect(events[1]).toContain('"code":"shutting_down"');
  });

  it('leaves no process behind when the first one is killed', async () => {
    const { program, url } = await fleet();
    const children = childrenOf(program);
    await program.end('SIGKILL');
    await expect.poll(() => children.filter(isRunning)).toEqual([]);
    await expect(fetch(`${url}/livez`)).rejects.toThrow();
  });

  it('asks for keys in each process, as they are now', async () => {
    const folder = new TestFolder();
    const path = folder.write('keys.txt', 'sk-0123456789abcdef\n');
    const { program, url } = await fleet('--api-key-file', path);
    for (let at = 0; at < 4; at += 1) expect((await chat(url)).status).toBe(401);
    folder.write('keys.txt', 'sk-another-key-of-ours\n');
    const took = (): number =>
      program.lines.filter(({ msg }) => msg.startsWith('Took up new API keys')).length;
    await program.untilText(() => took() === 2);
    const headers = { authorization: 'Bearer sk-another-key-of-ours', connection: 'close' };
    for (let at = 0; at < 4; at += 1) expect((await fetch(`${url}/v1/models`, { headers })).status).toBe(200);
  });

  it('serves TLS from both', async () => {
    const folder = new TestFolder();
    const authority = await TestAuthority.create();
    folder.writeIdentity('peer', await authority.issue());
    const ca = authority.pem;
    const program = start(
      ...[
        '--workers',
        '127.0.0.1:1',
        ...FREE_PORTS,
        '--threads',
        '2',
        '--tls-ca',
        folder.write('ca.crt', ca),
      ],
      ...['--tls-cert', folder.path('peer.crt'), '--tls-key', folder.path('peer.key')],
    );
    const openai = await openAiOf(program);
    for (let at = 0; at < 4; at += 1) {
      const status = await new Promise((resolve, reject) => {
        get(`https://${openai}/livez`, { ca, agent: false }, (response) => resolve(response.statusCode)).once(
          'error',
          reject,
        );
      });
      expect(status).toBe(200);
    }
  });

  it('says of a port that is taken what one process says, with the same code', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    open.add(() => server.close());
    const { port } = server.address() as AddressInfo;
    const sidecar = await open.sidecar('a');
    const places = ['--listen', '127.0.0.1:0', '--http-listen', '127.0.0.1:0', '--http-port', String(port)];
    const ends = ['1', '2'].map(async (threads) => {
      const program = start(...workersOf(sidecar), ...places, '--threads', threads);
      const code = await program.ended();
      return { code, words: program.stderr.split('\n').filter((line) => line.startsWith('kv-accord')) };
    });
    const [one, two] = await Promise.all(ends);
    expect(one?.code).toBe(2);
    expect(one?.words.join()).toContain('another process listens on it');
    expect(two).toEqual(one);
  });

  it('says once what is wrong with a file that each process reads', async () => {
    const folder = new TestFolder();
    const path = folder.write('keys.txt', 'short\n');
    const sidecar = await open.sidecar('a');
    const program = start(...workersOf(sidecar), ...FREE_PORTS, '--threads', '2', '--api-key-file', path);
    expect(await program.ended()).toBe(2);
    expect(program.stderr.split('\n').filter((line) => line.includes('--api-key-file'))).toHaveLength(1);
  });

  it('closes connections beyond --max-connections, of which each process has its part, and keeps the others', async () => {
    const program = start(
      '--workers',
      '127.0.0.1:1',
      ...FREE_PORTS,
      '--threads',
      '2',
      '--max-connections',
      '2',
    );
    const openai = await openAiOf(program);
    const [host = '', port = ''] = openai.split(':');
    const ends = await Promise.all(
      Array.from({ length: 6 }, async () => {
        const socket = connect(Number(port), host);
        open.add(() => socket.destroy());
        return new Promise<string>((resolve) => {
          socket.once('error', () => resolve('closed'));
          socket.once('close', () => resolve('closed'));
          socket.once('data', (bytes: Buffer) => resolve(bytes.toString().slice(0, 12)));
          socket.write('GET /livez HTTP/1.1\r\nHost: a\r\n\r\n');
        });
      }),
    );
    const served = ends.filter((end) => end === 'HTTP/1.1 200').length;
    expect(served).toBeGreaterThanOrEqual(1);
    expect(served).toBeLessThanOrEqual(2);
    expect(ends.filter((end) => end === 'closed')).toHaveLength(6 - served);
  });

  it('refuses a number that is none', async () => {
    const program = start('--workers', '127.0.0.1:1', '--threads', '0');
    expect(await program.ended()).toBe(2);
    expect(program.stderr).toContain('must be a whole number from 1 to 256, or auto');
  });
});
