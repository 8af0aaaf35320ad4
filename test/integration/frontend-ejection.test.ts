import OpenAI from 'openai';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { ViewDocument } from '../../src/core/view/view-document.js';
import { CliProcess } from '../support/cli-process.js';
import { FakeOpenAiEngine } from '../support/fake-openai-engine.js';
import { OpenThings, workersOf } from '../support/open-things.js';
import { Program, requireBuild } from '../support/program.js';

vi.setConfig({ testTimeout: 60_000 });

const open = new OpenThings();
afterEach(() => open.close());

/** Requests of one run; of `AT_A_TIME` clients. */
const REQUESTS = 120;
const AT_A_TIME = 8;
/** At a port that nobody listens on. */
const WRONG_URL = 'http://127.0.0.1:9';

const PLACES = ['--listen', '127.0.0.1:0', '--http-listen', '127.0.0.1:0', '--settle', '100ms'];

interface Workers {
  readonly engines: readonly FakeOpenAiEngine[];
  /** `--workers …`. */
  readonly workers: readonly string[];
  /** `--worker-urls …`; those in `wrong` lead nowhere. */
  readonly urls: readonly string[];
}

async function makeWorkers(count: number, wrong: readonly number[] = []): Promise<Workers> {
  const engines: FakeOpenAiEngine[] = [];
  const sidecars = [];
  for (let at = 0; at < count; at += 1) {
    const engine = await FakeOpenAiEngine.start();
    open.add(() => engine.stop());
    engines.push(engine);
    sidecars.push(await open.sidecar(`w-${at}`));
  }
  const urls = sidecars.map(
    ({ address }, at) => `${address}=${wrong.includes(at) ? WRONG_URL : engines[at]?.url}`,
  );
  return { engines, workers: workersOf(...sidecars), urls: ['--worker-urls', urls.join(',')] };
}

/** One command in this process. */
function run(...args: readonly string[]): CliProcess {
  const cli = new CliProcess(args);
  open.add(() => cli.stop());
  return cli;
}

/** A field of the line of a log that says where a command serves. */
async function placeOf(cli: CliProcess, field: string): Promise<string> {
  const find = (): string | undefined =>
    cli.log.text
      .split('\n')
      .flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Record<string, string>]))
      .find((line) => line[field] !== undefined)?.[field];
  await cli.log.until(() => find() !== undefined);
  return find() as string;
}

function chat(url: string): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'tiny', messages: [{ role: 'user', content: 'Hello' }] }),
  });
}

async function untilReady(url: string): Promise<void> {
  await expect
    .poll(async () => (await fetch(`${url}/readyz`).catch(() => undefined))?.status, { timeout: 20_000 })
    .toBe(200);
}

/** Sends many requests, some at a time; how many of them failed. */
async function load(url: string): Promise<number> {
  let left = REQUESTS;
  let failed = 0;
  const client = async (): Promise<void> => {
    for (; left > 0; ) {
      left -= 1;
      const answer = await chat(url);
      await answer.arrayBuffer();
      if (answer.status !== 200) failed += 1;
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, client));
  return failed;
}

const ejectedLines = (text: string): readonly string[] =>
  text.split('\n').flatMap((line) => {
    const { msg } = (line === '' ? {} : JSON.parse(line)) as { msg?: string };
    return msg?.includes('is ejected') ? [msg] : [];
  });

describe('a frontend under load', () => {
  it('fails no request for a worker with a wrong URL, and says once what it saw', async () => {
    const { workers, urls, engines } = await makeWorkers(3, [0]);
    const cli = run(
      'frontend',
      ...workers,
      ...PLACES,
      '--http-port',
      '0',
      ...urls,
      '--eject-time',
      '10m',
      '--max-eject-time',
      '10m',
    );
    const url = `http://${await placeOf(cli, 'openai')}`;
    const grpc = await placeOf(cli, 'grpc');
    await untilReady(url);
    expect(await load(url)).toBe(0);
    expect((engines[1]?.requests.length ?? 0) + (engines[2]?.requests.length ?? 0)).toBe(REQUESTS);
    await expect
      .poll(() => ejectedLines(cli.log.text))
      .toEqual([
        expect.stringMatching(
          /^Worker w-0 \(127\.0\.0\.1:\d+\) is ejected: \d+ failed requests, the last time it could not be reached \(connect ECONNREFUSED 127\.0\.0\.1:9\); ejected for \d+ s\.$/,
        ),
      ]);
    const table = run('status', grpc);
    expect(await table.ended).toBe(0);
    expect(table.stdout.text).toMatch(/w-0 \(127\.0\.0\.1:\d+\) +ejected .*tries/);
    expect(await (await fetch(`${url}/metrics`)).text()).toMatch(
      /kv_accord_router_worker_ejections_total\{group="tiny",worker_id="w-0",worker="127[^"]+",seen="unreachable"\} 1/,
    );
  });

  it('fails no request for a worker that answers 500, which comes back when it does not', async () => {
    const { workers, urls, engines } = await makeWorkers(3);
    const [bad] = engines;
    if (bad === undefined) throw new Error('no engine');
    bad.answer = (_, response) => response.writeHead(500).end('{"error":"no core"}');
    const cli = run('frontend', ...workers, ...PLACES, '--http-port', '0', ...urls, '--eject-time', '100ms');
    const url = `http://${await placeOf(cli, 'openai')}`;
    await untilReady(url);
    expect(await load(url)).toBe(0);
    // The log is written in the background.
    await expect.poll(() => ejectedLines(cli.log.text)[0]).toMatch(/an error of its own \(status 500\)/);
    bad.answer = undefined;
    await expect
      .poll(
        async () => {
          await load(url);
          return cli.log.text.includes('gets requests again: its try was answered');
        },
        { timeout: 30_000 },
      )
      .toBe(true);
  });

  it('ejects nobody for a request that is to blame itself', async () => {
    const { workers, urls, engines } = await makeWorkers(3);
    for (const engine of engines)
      engine.answer = (_, response) => response.writeHead(500).end('{"error":"template"}');
    const cli = run('frontend', ...workers, ...PLACES, '--http-port', '0', ...urls);
    const url = `http://${await placeOf(cli, 'openai')}`;
    await untilReady(url);
    expect(await load(url)).toBe(REQUESTS);
    expect(ejectedLines(cli.log.text)).toEqual([]);
  });

  it("ends a stream that its engine cuts with an error that OpenAI's client throws", async () => {
    const { workers, urls, engines } = await makeWorkers(1);
    const [engine] = engines;
    if (engine === undefined) throw new Error('no engine');
    engine.answer = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(
        `data: ${JSON.stringify({ id: '1', choices: [{ index: 0, delta: { content: 'Hi' } }] })}\n\n`,
      );
      setImmediate(() => response.destroy());
    };
    const cli = run('frontend', ...workers, ...PLACES, '--http-port', '0', ...urls);
    const url = `http://${await placeOf(cli, 'openai')}`;
    await untilReady(url);
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 });
    const stream = await client.chat.completions.create({
      model: 'tiny',
      messages: [{ role: 'user', content: 'x' }],
      stream: true,
    });
    const seen: string[] = [];
    const read = async (): Promise<void> => {
      for await (const { choices } of stream) seen.push(choices[0]?.delta.content ?? '');
    };
    await expect(read()).rejects.toThrow('The worker ended the answer before its end.');
    expect(seen).toEqual(['Hi']);
  });

  it('says to the router of another process what its requests meet, and logs what that one ejects', async () => {
    const { workers, urls } = await makeWorkers(3, [0]);
    const aggregator = run(
      'aggregator',
      ...workers,
      ...PLACES,
      '--eject-time',
      '10m',
      '--max-eject-time',
      '10m',
    );
    const grpc = await placeOf(aggregator, 'grpc');
    const cli = run('frontend', '--router', grpc, '--http-port', '0', ...urls);
    const url = `http://${await placeOf(cli, 'openai')}`;
    await untilReady(url);
    // The page that its own names is the router's, whose view has the failures beside the decisions that met them.
    const welcome = await fetch(url, { headers: { accept: 'application/json' } });
    const { status_page: page } = (await welcome.json()) as { status_page: string };
    expect(page).toBe(`http://${await placeOf(aggregator, 'http')}/`);
    expect(await (await fetch(page)).text()).toContain('kv-accord aggregator');
    const failed = async (): Promise<readonly (string | undefined)[][]> => {
      // At the same time: one after the other, equal prompts all go where the first of them went.
      await Promise.all(Array.from({ length: 12 }, async () => (await chat(url)).text()));
      const view = (await (await fetch(`${page}api/v1/view`)).json()) as ViewDocument;
      return view.decisions.flatMap(({ failure, worker }) =>
        failure === undefined ? [] : [[failure, worker]],
      );
    };
    await expect
      .poll(async () => (await failed())[0])
      .toEqual(['unreachable', expect.stringMatching(/^w-0 /)]);
    expect(await load(url)).toBe(0);
    expect(ejectedLines(aggregator.log.text)).toHaveLength(1);
    await expect.poll(() => cli.log.text, { timeout: 10_000 }).toContain('is ejected by the router');
    expect(ejectedLines(cli.log.text)).toEqual([expect.stringMatching(/^Worker w-0 \(127/)]);
  });

  it('does so with --threads, too', async () => {
    requireBuild();
    const { workers, urls, engines } = await makeWorkers(3, [0]);
    const bad = engines[1];
    if (bad === undefined) throw new Error('no engine');
    const program = new Program([
      'frontend',
      '--threads',
      '2',
      ...workers,
      ...PLACES,
      '--http-port',
      '0',
      ...urls,
    ]);
    open.add(() => program.end('SIGKILL'));
    const lines = (): readonly Record<string, unknown>[] =>
      program.lines as unknown as Record<string, unknown>[];
    await program.untilText(() => lines().some((line) => line['openai'] !== undefined));
    const url = `http://${lines().find((line) => line['openai'] !== undefined)?.['openai']}`;
    await untilReady(url);
    bad.answer = (_, response) => response.writeHead(500).end('{}');
    expect(await load(url)).toBeLessThanOrEqual(REQUESTS / 100);
    const ejected = lines().filter((line) => String(line['msg']).includes('is ejected'));
    expect(new Set(ejected.map((line) => line['worker_id']))).toEqual(new Set(['w-0', 'w-1']));
  });
});
