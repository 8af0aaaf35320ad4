import OpenAI, {
  APIUserAbortError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
} from 'openai';
import { afterEach, describe, expect, it } from 'vitest';
import { CliProcess } from '../support/cli-process.js';
import { FakeOpenAiEngine } from '../support/fake-openai-engine.js';
import type { FakeSidecar } from '../support/fake-sidecar.js';
import { OpenThings, workersOf } from '../support/open-things.js';

const open = new OpenThings();
afterEach(() => open.close());

const FREE_PORTS = ['--listen', '127.0.0.1:0', '--http-listen', '127.0.0.1:0', '--http-port', '0'];
const MESSAGES = [{ role: 'user' as const, content: 'Hello' }];

interface Started {
  readonly cli: CliProcess;
  readonly engines: readonly FakeOpenAiEngine[];
  readonly sidecars: readonly FakeSidecar[];
  readonly url: string;
  readonly client: OpenAI;
  metrics(): Promise<string>;
}

/** A frontend over as many workers, and OpenAI's own client. */
async function start(workers: number, ...args: readonly string[]): Promise<Started> {
  const engines: FakeOpenAiEngine[] = [];
  const sidecars: FakeSidecar[] = [];
  for (let at = 0; at < workers; at += 1) {
    const engine = await FakeOpenAiEngine.start();
    open.add(() => engine.stop());
    engines.push(engine);
    sidecars.push(await open.sidecar(`w-${at}`));
  }
  const urls = sidecars.map(({ address }, at) => `${address}=${engines[at]?.url}`).join(',');
  const cli = new CliProcess([
    'frontend',
    ...workersOf(...sidecars),
    ...FREE_PORTS,
    '--settle',
    '200ms',
    '--worker-urls',
    urls,
    ...args,
  ]);
  open.add(() => cli.stop());
  await cli.log.until((text) => text.includes("serves OpenAI's API"));
  const line = cli.log.text.split('\n').find((text) => text.includes("serves OpenAI's API")) ?? '{}';
  const { openai } = JSON.parse(line) as { openai: string };
  const url = `http://${openai}`;
  return {
    cli,
    engines,
    sidecars,
    url,
    client: new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 }),
    metrics: async () => (await fetch(`${url}/metrics`)).text(),
  };
}

async function ready({ cli }: Started): Promise<void> {
  await cli.log.until((text) => text.includes('Auto-configured'));
}

const chunk = (content: string): string =>
  `data: ${JSON.stringify({ id: '1', object: 'chat.completion.chunk', choices: [{ index: 0, delta: { content } }] })}\n\n`;

describe("OpenAI's client", () => {
  it('that comes before the gate is open is answered once it is', async () => {
    const { url, client } = await start(1, '--settle', '500ms');
    await expect(client.chat.completions.create({ model: 'tiny', messages: MESSAGES })).rejects.toThrow(
      InternalServerError,
    );
    const patient = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 2 });
    const answer = await patient.chat.completions.create({ model: 'tiny', messages: MESSAGES });
    expect(answer.object).toBe('chat.completion');
  });

  it('lists models, completes, embeds and streams', async () => {
    const started = await start(2);
    await ready(started);
    const { client, engines } = started;
    const names: string[] = [];
    for await (const { id } of client.models.list()) names.push(id);
    expect(names).toEqual(['tiny']);
    expect((await client.models.retrieve('tiny')).id).toBe('tiny');
    await client.completions.create({ model: 'tiny', prompt: [1, 2, 3] });
    await client.embeddings.create({ model: 'tiny', input: 'x', encoding_format: 'float' });
    for (const engine of engines) {
      engine.answer = (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        for (const word of ['Hel', 'lo']) response.write(chunk(word));
        response.end('data: [DONE]\n\n');
      };
    }
    let text = '';
    const stream = await client.chat.completions.create({ model: 'tiny', messages: MESSAGES, stream: true });
    for await (const { choices } of stream) text += choices[0]?.delta.content ?? '';
    expect(text).toBe('Hello');
    expect(engines.flatMap(({ requests }) => requests.map((request) => request.url)).sort()).toEqual([
      '/v1/chat/completions',
      '/v1/completions',
      '/v1/embeddings',
    ]);
  });

  it('gets each error as the kind that it is', async () => {
    const started = await start(1);
    await ready(started);
    const { client, engines } = started;
    const ask = (model: string): Promise<unknown> =>
      client.chat.completions.create({ model, messages: MESSAGES });
    await expect(ask('nope')).rejects.toThrow(NotFoundError);
    await expect(ask('')).rejects.toThrow(BadRequestError);
    const [engine] = engines as [FakeOpenAiEngine];
    engine.answer = (_request, response) =>
      response.writeHead(401, { 'content-type': 'application/json' }).end('{"error":{"message":"no"}}');
    await expect(ask('tiny')).rejects.toThrow(AuthenticationError);
  });

  it('that leaves is followed to the worker', async () => {
    const started = await start(1);
    await ready(started);
    const { client, engines } = started;
    const [engine] = engines as [FakeOpenAiEngine];
    const left = new Promise<void>((resolve) => {
      engine.answer = (_request, response) => {
        response.once('close', () => resolve());
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write(chunk('one'));
      };
    });
    const leave = new AbortController();
    const stream = await client.chat.completions.create(
      { model: 'tiny', messages: MESSAGES, stream: true },
      { signal: leave.signal },
    );
    const reading = (async () => {
      for await (const _ of stream) leave.abort();
    })();
    await left;
    await reading.catch((error: unknown) => expect(error).toBeInstanceOf(APIUserAbortError));
    await expect.poll(started.metrics).toContain('kv_accord_frontend_inflight_requests 0');
    expect(await started.metrics()).toContain('kv_accord_router_active_requests{group="tiny"} 0');
  });

  it('is answered by another worker when one cannot be reached', async () => {
    const started = await start(2, '--router-mode', 'round-robin');
    await ready(started);
    await started.engines[0]?.stop();
    for (let at = 0; at < 4; at += 1) {
      const answer = await started.client.chat.completions.create({ model: 'tiny', messages: MESSAGES });
      expect(answer.object).toBe('chat.completion');
    }
    expect(started.engines[1]?.requests).toHaveLength(4);
  });

  it('reads an error, in the words of its API, where a worker ends a stream before its end', async () => {
    const started = await start(1);
    await ready(started);
    const [engine] = started.engines as [FakeOpenAiEngine];
    // The last event comes in part: what follows it must not be taken for its rest.
    const whole = 'event: one\ndata: {"n":1}\n\n';
    engine.answer = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`${whole}event: two\ndata: {"n":`);
      setImmediate(() => response.socket?.resetAndDestroy());
    };
    const message = 'The worker ended the answer before its end.';
    const ofOpenAi = { error: { message, type: 'server_error', param: null, code: 'worker_cut' } };
    for (const [path, name, data] of [
      ['/v1/chat/completions', undefined, ofOpenAi],
      ['/v1/completions', undefined, ofOpenAi],
      [
        '/v1/responses',
        'error',
        { type: 'error', sequence_number: 0, code: 'worker_cut', message, param: null },
      ],
      ['/v1/messages', 'error', { type: 'error', error: { type: 'api_error', message } }],
    ] as const) {
      const answer = await fetch(`${started.url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'tiny', messages: MESSAGES, prompt: 'x', input: 'x', stream: true }),
      });
      const text = await answer.text();
      expect(text.startsWith(whole), path).toBe(true);
      const events = text.split('\n\n').filter((event) => event !== '');
      const last = /^(?:event: (.*)\n)?data: (.*)$/.exec(events.at(-1) ?? '');
      expect([path, last?.[1], JSON.parse(last?.[2] ?? 'null')]).toEqual([path, name, data]);
    }
    const { responses } = started.client;
    const seen: string[] = [];
    for await (const { type } of await responses.create({ model: 'tiny', input: 'x', stream: true }))
      seen.push(type);
    expect(seen.at(-1)).toBe('error');
    expect(started.cli.log.text).toContain('ended an answer before its end');
  });

  it('loses no request whose answer had not begun when its worker died', async () => {
    const started = await start(2, '--router-mode', 'round-robin');
    await ready(started);
    const { client, engines } = started;
    const [dying, other] = engines as [FakeOpenAiEngine, FakeOpenAiEngine];
    dying.answer = () => {};
    const asked = Array.from({ length: 40 }, () =>
      client.chat.completions.create({ model: 'tiny', messages: MESSAGES }),
    );
    await expect.poll(() => dying.requests.length + other.requests.length).toBe(40);
    await dying.stop();
    expect((await Promise.all(asked)).map(({ object }) => object)).toEqual(Array(40).fill('chat.completion'));
    expect(started.cli.log.text).not.toContain('A request failed');
  });

  it('loses only what the worker that died was answering', async () => {
    const started = await start(2, '--router-mode', 'round-robin');
    await ready(started);
    const { client, engines } = started;
    const ends: (() => void)[] = [];
    for (const engine of engines) {
      engine.answer = (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write(chunk('one'));
        ends.push(() => response.end('data: [DONE]\n\n'));
      };
    }
    const streams = await Promise.all(
      [0, 1].map(() => client.chat.completions.create({ model: 'tiny', messages: MESSAGES, stream: true })),
    );
    await engines[0]?.stop();
    for (const end of ends) end();
    const results = await Promise.allSettled(
      streams.map(async (stream) => {
        for await (const _ of stream);
      }),
    );
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    await expect.poll(started.metrics).toContain('kv_accord_router_active_requests{group="tiny"} 0');
    expect(await started.metrics()).toContain(
      'kv_accord_frontend_unfinished_answers_total{group="tiny",by="worker"} 1',
    );
  });
});
