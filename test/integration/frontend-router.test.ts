import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { TestAuthority, TestFolder } from '../edge/rpc/certificates.js';
import { CliProcess } from '../support/cli-process.js';
import { FakeOpenAiEngine } from '../support/fake-openai-engine.js';
import { OpenThings } from '../support/open-things.js';
import { Program, requireBuild } from '../support/program.js';

beforeAll(requireBuild);

// Each test starts the program, some of them several times.
vi.setConfig({ testTimeout: 60_000 });

const open = new OpenThings();
afterEach(() => open.close());

function start(...args: readonly string[]): Program {
  const program = new Program(args);
  open.add(() => program.end('SIGKILL'));
  return program;
}

/** A field of the log line that says where a program serves. */
async function addressOf(program: Program, field: 'grpc' | 'http' | 'openai'): Promise<string> {
  const find = (): Record<string, string> | undefined =>
    (program.lines as unknown as Record<string, string>[]).find((line) => line[field] !== undefined);
  await program.untilText(() => find() !== undefined);
  return find()?.[field] ?? '';
}

/** One command in this process: for those that are peers here, and not what is tested. */
function run(...args: readonly string[]): CliProcess {
  const cli = new CliProcess(args);
  open.add(() => cli.stop());
  return cli;
}

async function placeOf(cli: CliProcess, field: 'grpc' | 'http'): Promise<string> {
  const find = (): string | undefined =>
    cli.log.text
      .split('\n')
      .flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Record<string, string>]))
      .find((line) => line[field] !== undefined)?.[field];
  await cli.log.until(() => find() !== undefined);
  return find() as string;
}

interface Peers {
  readonly engine: FakeOpenAiEngine;
  /** The arguments of an aggregator over the workers. */
  readonly args: readonly string[];
}

/** Workers that share one engine, and their sidecars. */
async function peers(workerCount: number, security: readonly string[] = []): Promise<Peers> {
  const engine = await FakeOpenAiEngine.start();
  open.add(() => engine.stop());
  const declared = ['--engine', 'none', '--tokens-per-block', '32', '--model', 'tiny', '--topology', 'off'];
  const places = ['--listen', '127.0.0.1:0', '--http-listen', '127.0.0.1:0'];
  const sidecars = Array.from({ length: workerCount }, (_, at) => {
    const named = ['--worker-id', `worker-${at}`, '--advertise-engine', engine.url];
    return run('sidecar', ...declared, ...places, ...named, ...security);
  });
  const addresses = await Promise.all(sidecars.map((sidecar) => placeOf(sidecar, 'grpc')));
  return { engine, args: ['--workers', addresses.join(','), ...places, ...security] };
}

interface Fleet {
  readonly engine: FakeOpenAiEngine;
  readonly aggregator: CliProcess;
  readonly grpc: string;
  readonly statusUrl: string;
}

/** A worker, its sidecar and an aggregator. */
async function fleet(security: readonly string[] = [], ...more: readonly string[]): Promise<Fleet> {
  return fleetOf(1, security, ...more);
}

/** The same with more workers, which share one engine. */
async function fleetOf(
  workerCount: number,
  security: readonly string[] = [],
  ...more: readonly string[]
): Promise<Fleet> {
  const { engine, args } = await peers(workerCount, security);
  const aggregator = run('aggregator', ...args, ...more);
  const grpc = await placeOf(aggregator, 'grpc');
  return { engine, aggregator, grpc, statusUrl: `http://${await placeOf(aggregator, 'http')}` };
}

async function frontend(
  grpc: string,
  ...args: readonly string[]
): Promise<{ program: Program; url: string }> {
  const program = start('frontend', '--router', grpc, '--http-port', '0', ...args);
  return { program, url: `http://${await addressOf(program, 'openai')}` };
}

function chat(url: string): Promise<Response> {
  return ask(url, '/v1/chat/completions', {});
}

/** Over a connection of its own, so that processes take turns. */
function ask(url: string, path: string, more: object): Promise<Response> {
  return fetch(`${url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify({
      model: 'tiny',
      messages: [{ role: 'user', content: 'Hello' }],
      input: 'Hello',
      ...more,
    }),
  });
}

async function untilReady(url: string): Promise<void> {
  const isReady = async (): Promise<number> =>
    (await fetch(`${url}/readyz`, { headers: { connection: 'close' } })).status;
  await expect.poll(isReady, { timeout: 20_000 }).toBe(200);
}

async function active(statusUrl: string): Promise<number> {
  const text = await (await fetch(`${statusUrl}/metrics`)).text();
  return Number(/^kv_accord_router_active_requests\{.*\} (\d+)$/m.exec(text)?.[1] ?? 0);
}

describe('kv-accord frontend --router', () => {
  it('serves over the router of an aggregator, with TLS and a token, and releases what it had when it is killed', async () => {
    const folder = new TestFolder();
    const authority = await TestAuthority.create();
    const { tlsCert, tlsKey } = folder.writeIdentity('peer', await authority.issue());
    const ca = ['--tls-ca', folder.write('ca.crt', authority.pem)];
    const name = ['--tls-server-name', 'localhost'];
    const token = ['--token-file', folder.write('token', 'the-token-of-this-test\n')];
    const { engine, grpc, aggregator } = await fleet([
      ...ca,
      ...name,
      ...token,
      '--tls-cert',
      tlsCert,
      '--tls-key',
      tlsKey,
    ]);
    const { program, url } = await frontend(grpc, ...ca, ...name, ...token, '--decision-headers');
    await untilReady(url);
    const models = (await (await fetch(`${url}/v1/models`)).json()) as { data: { id: string }[] };
    expect(models.data.map(({ id }) => id)).toEqual(['tiny']);
    const answered = await chat(url);
    expect(answered.status).toBe(200);
    expect(answered.headers.get('x-kv-accord-routing-mode')).not.toBeNull();
    expect(engine.requests.filter(({ url: path }) => path === '/v1/chat/completions')).toHaveLength(1);
    expect(program.stderr + aggregator.stderr.text + aggregator.log.text).not.toContain('of-this-test');

    const falseToken = ['--token-file', folder.write('false-token', 'another-token-of-others\n')];
    const refused = await frontend(grpc, ...ca, ...name, ...falseToken);
    await refused.program.until(({ msg }) => msg.includes('refuses us as unauthenticated'));
    const ready = await fetch(`${refused.url}/readyz?verbose`);
    expect(ready.status).toBe(503);
    expect(await ready.text()).toContain('[-]router');
    expect(await (await chat(refused.url)).json()).toMatchObject({ error: { code: 'router_unavailable' } });
    expect(await program.end('SIGTERM')).toBe(0);
  });

  it('says what the gate says while it is shut', async () => {
    const { grpc } = await fleet([], '--min-workers', '2');
    const { url } = await frontend(grpc);
    await expect
      .poll(async () => (await chat(url)).json(), { timeout: 20_000 })
      .toMatchObject({ error: { code: 'gate_shut', message: expect.stringContaining('--min-workers') } });
    const refused = await chat(url);
    expect(refused.status).toBe(503);
    expect(refused.headers.get('retry-after')).toBe('2');
    expect((await fetch(`${url}/readyz`)).status).toBe(503);
  });

  it('refuses requests while the router is away, says so once, and serves again when it is back', async () => {
    const { args } = await peers(1);
    const aggregator = start('aggregator', ...args);
    const [grpc, http] = [await addressOf(aggregator, 'grpc'), await addressOf(aggregator, 'http')];
    const { program, url } = await frontend(grpc);
    await untilReady(url);
    expect((await chat(url)).status).toBe(200);
    await aggregator.end('SIGKILL');
    await program.until(({ msg }) =>
      msg.startsWith(`Requests are refused: the router at ${grpc} cannot be asked: `),
    );
    const refused = await chat(url);
    expect(refused.status).toBe(503);
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(await refused.json()).toMatchObject({ error: { code: 'router_unavailable' } });
    expect(await (await fetch(`${url}/readyz?verbose`)).text()).toContain(
      `the router at ${grpc} cannot be asked`,
    );
    expect(await (await fetch(`${url}/v1/models`)).json()).toMatchObject({ data: [] });
    start('aggregator', ...args, '--listen', grpc, '--http-listen', http);
    await untilReady(url);
    expect((await chat(url)).status).toBe(200);
    expect(program.lines.filter(({ msg }) => msg === 'The router can be asked again.')).toHaveLength(1);
  });

  it('shares a port between processes that give a session to one worker, and the router releases what a killed one had reserved', async () => {
    const { engine, grpc, statusUrl } = await fleetOf(2, [], '--router-mode', 'least-loaded');
    const sessions = ['--session-affinity', 'user', '--decision-headers'];
    const { program, url } = await frontend(grpc, '--threads', '2', ...sessions);
    // Connections go to the processes in turn, and each of them must know the fleet.
    for (let turn = 0; turn < 4; turn += 1) await untilReady(url);
    const workers = new Set<string>();
    for (let user = 0; user < 6; user += 1) {
      const name = `user-${user}`;
      const ofUser = new Set<string>();
      for (const [path, more] of [
        ['/v1/chat/completions', { prompt_cache_key: name }],
        ['/v1/chat/completions', { user: name }],
        ['/v1/chat/completions', { safety_identifier: name }],
        ['/v1/responses', { user: name }],
        ['/v1/messages', { metadata: { user_id: name }, max_tokens: 1 }],
      ] as const) {
        const answer = await ask(url, path, more);
        expect([path, answer.status]).toEqual([path, 200]);
        ofUser.add(answer.headers.get('x-kv-accord-worker') ?? '');
        // The end of a request is reported a few milliseconds later, and until then its worker is not as good as the other.
        await expect.poll(() => active(statusUrl)).toBe(0);
      }
      expect([name, ...ofUser]).toHaveLength(2);
      for (const worker of ofUser) workers.add(worker);
    }
    expect([...workers].sort()).toEqual(['worker-0', 'worker-1']);
    let began = 0;
    engine.answer = (_request, response) => {
      began += 1;
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: {}\n\n');
    };
    const streams = [chat(url), chat(url)].map((asked) => asked.catch(() => undefined));
    await expect.poll(() => began).toBe(2);
    expect(await active(statusUrl)).toBe(2);
    await program.end('SIGKILL');
    await expect.poll(() => active(statusUrl), { timeout: 10_000 }).toBe(0);
    await Promise.all(streams);
  });

  it('refuses workers and settings of another process beside --router, and plaintext to another machine', async () => {
    const both = start('frontend', '--router', '127.0.0.1:1', '--workers', '127.0.0.1:2');
    expect(await both.ended()).toBe(2);
    expect(both.stderr).toContain('--workers');
    const size = start('frontend', '--router', '127.0.0.1:1', '--kv-cache-block-size', '16');
    expect(await size.ended()).toBe(2);
    expect(size.stderr).toContain(
      '--kv-cache-block-size "16" (on the command line): must be left out when --router is given',
    );
    const plain = start('frontend', '--router', 'router.example:50060');
    expect(await plain.ended()).toBe(2);
    expect(plain.stderr).toContain('--router');
  });
});
