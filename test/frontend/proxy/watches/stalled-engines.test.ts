import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { FakeClock } from '../../../support/fake-clock.js';
import { OpenThings } from '../../../support/open-things.js';
import { turns, until } from '../../../support/turns.js';
import { type HarnessOptions, ProxyHarness, ScriptedWorker } from '../proxy-harness.js';

const open = new OpenThings();
afterEach(() => open.close());

/** Each third of it an engine that shows no work is asked. */
const STALL_MS = 6_000;
const proxy = { stallTimeoutMs: STALL_MS, firstByteTimeoutMs: 2_000, headersTimeoutMs: 120_000 };
const CHATS = '/v1/chat/completions';

/** What an engine's HTTP server does while the process behind it that computes may hang. */
interface Behaviour {
  /** Default `vllm`. */
  readonly owner?: string;
  /** The page of its metrics; default: counters that stand still. Empty: it has none. */
  readonly metrics?: () => string;
  /** What becomes of the one token that it is asked for; default: nothing comes. */
  readonly token?: (response: ServerResponse) => void;
  /** What becomes of chats; default: nothing comes. */
  readonly chat?: (response: ServerResponse) => void;
  /** Status of its list of models; default 200. */
  readonly models?: number;
  /** The key that it asks for; default: none. */
  readonly key?: string;
}

/** Each path with how often it was asked. */
type Asked = Map<string, number>;

async function engine(behaviour: Behaviour = {}): Promise<{ url: string; asked: Asked }> {
  const { owner = 'vllm', metrics = () => 'vllm:kv_cache_usage_perc 0.5\n', models = 200 } = behaviour;
  const asked: Asked = new Map();
  const made = await ScriptedWorker.http((request: IncomingMessage, response: ServerResponse) => {
    const { url = '' } = request;
    request.resume();
    if (behaviour.key !== undefined && request.headers.authorization !== `Bearer ${behaviour.key}`) {
      response.writeHead(401).end();
      return;
    }
    asked.set(url, (asked.get(url) ?? 0) + 1);
    if (url === '/v1/models')
      response.writeHead(models).end(JSON.stringify({ data: [{ id: 'model', owned_by: owner }] }));
    else if (url === '/metrics') response.writeHead(metrics() === '' ? 404 : 200).end(metrics());
    else if (url === '/v1/completions' || url === '/health_generate') behaviour.token?.(response);
    else if (url === '/tokenize') response.end('{}');
    else behaviour.chat?.(response);
  });
  open.add(() => made.stop());
  return { url: made.url, asked };
}

const sound = (): Promise<{ url: string }> => engine({ chat: (response) => response.end('{}') });

/** Requests that still run are cut when no time is left to them, by the clock that they know. */
function stopLater(gateway: ProxyHarness, clock: FakeClock): void {
  open.add(async () => {
    const stopped = gateway.stop();
    await clock.advanceMs(1);
    await stopped;
  });
}

/** Sends a chat to the first of the workers and lets so much time pass, or less where it is over before. */
async function chat(
  workers: readonly { readonly url: string }[],
  options: Partial<HarnessOptions> & {
    readonly limitMs?: number;
    readonly headers?: Record<string, string>;
  } = {},
) {
  const clock = new FakeClock();
  const { limitMs = 60_000, headers = {}, proxy: more, ...others } = options;
  const gateway = await ProxyHarness.start({
    workers: workers.map(({ url }) => url),
    clock,
    ...others,
    proxy: { ...proxy, ...more },
  });
  stopLater(gateway, clock);
  const answer = fetch(gateway.url + CHATS, { method: 'POST', body: '{}', headers });
  const text = answer.then((it) => it.text()).catch(() => 'broken');
  await until(() => gateway.responses.length === 1);
  let passedMs = 0;
  for (; passedMs < limitMs && gateway.outcomes.length === 0; passedMs += 250) {
    await clock.advanceMs(250);
    await turns(40);
  }
  const faults = gateway.routes.map((route) => route.faults);
  return { gateway, passedMs, faults, isOver: gateway.outcomes.length > 0, text };
}

describe('a request at an engine whose HTTP server answers and that computes nothing', () => {
  it('goes to another worker once its counters and one token have shown that it stands still', async () => {
    const hung = await engine();
    const { passedMs, faults, text, gateway } = await chat([hung, await sound()]);
    expect(await text).toBe('{}');
    expect(faults).toEqual([['stalled'], []]);
    expect(passedMs).toBeGreaterThanOrEqual(STALL_MS);
    expect(passedMs).toBeLessThanOrEqual(STALL_MS + 2_000);
    expect(hung.asked.get('/v1/completions')).toBeGreaterThanOrEqual(2);
    expect(gateway.logger.lines.map(({ message }) => message)).toContain(
      'A worker computes nothing, and its requests go to others',
    );
  });

  it('stays where the counters move, as those of a long prompt do that is computed in parts', async () => {
    let used = 0;
    const metrics = (): string => {
      used += 0.001;
      return `vllm:kv_cache_usage_perc ${used}\n`;
    };
    const slow = await engine({ metrics });
    const { faults, isOver } = await chat([slow, await sound()]);
    expect(isOver).toBe(false);
    expect(faults).toEqual([[]]);
  });

  it('stays where one token comes, whatever the counters say', async () => {
    const odd = await engine({ token: (response) => response.end('{}') });
    const { faults, isOver } = await chat([odd, await sound()]);
    expect(isOver).toBe(false);
    expect(faults).toEqual([[]]);
  });

  it('stays as long as its own prompt may take in one piece', async () => {
    const decision = { promptTokens: 20_016, cachedBlocks: 1, tokensPerBlock: 16 };
    const { passedMs, faults } = await chat([await engine(), await sound()], { decision });
    expect(faults).toEqual([['stalled'], []]);
    expect(passedMs).toBeGreaterThanOrEqual(20_000 + STALL_MS);
  });

  it('waits four times as long for an engine without counters, whose places may all be taken', async () => {
    const { passedMs, faults } = await chat([await engine({ metrics: () => '' }), await sound()]);
    expect(faults).toEqual([['stalled'], []]);
    expect(passedMs).toBeGreaterThanOrEqual(4 * STALL_MS);
  });

  it.each([
    ['answers 503', (response: ServerResponse) => void response.writeHead(503).end()],
    ['says nothing', () => undefined],
  ])("takes SGLang's own check of a token for it, which %s", async (_, token) => {
    const hung = await engine({ owner: 'sglang', token, metrics: () => 'sglang:num_used_tokens 7\n' });
    const { faults } = await chat([hung, await sound()]);
    expect(faults).toEqual([['stalled'], []]);
    expect(hung.asked.get('/health_generate')).toBeGreaterThanOrEqual(2);
    expect(hung.asked.has('/v1/completions')).toBe(false);
  });

  it('goes by the counters alone where no token is to be had', async () => {
    const refusing = await engine({ token: (response) => response.writeHead(404).end() });
    expect((await chat([refusing, await sound()])).faults).toEqual([['stalled'], []]);
  });

  it.each<[string, Behaviour]>([
    ['has neither counters nor tokens for it', { metrics: () => '', token: (r) => r.writeHead(404).end() }],
    ['breaks off its page', { metrics: () => 'x'.repeat(5 << 20), token: (r) => r.writeHead(401).end() }],
    ['asks for a key', { models: 401, token: (r) => r.writeHead(401).end() }],
  ])('stays where nothing can be known: the engine %s', async (_, behaviour) => {
    const { faults, isOver } = await chat([await engine(behaviour), await sound()]);
    expect(isOver).toBe(false);
    expect(faults).toEqual([[]]);
  });

  it('goes to another worker where its own key, or that of all engines, lets its engine be asked', async () => {
    const headers = { authorization: 'Bearer of-client' };
    const byClient = await chat([await engine({ key: 'of-client' }), await sound()], { headers });
    expect(byClient.faults).toEqual([['stalled'], []]);
    const workers = [await engine({ key: 'of-engines' }), await sound()];
    const byAll = await chat(workers, { proxy: { engineApiKey: 'of-engines' } });
    expect(byAll.faults).toEqual([['stalled'], []]);
  });

  it('stays for ever where that is asked for', async () => {
    const more = { proxy: { stallTimeoutMs: 0 } };
    expect((await chat([await engine(), await sound()], more)).isOver).toBe(false);
  });

  it('waits 10 s where its worker is the try of an ejected one', async () => {
    const more = { proxy: { stallTimeoutMs: 60_000 }, decision: { isTrial: true } };
    const { faults } = await chat([await engine(), await sound()], { ...more, limitMs: 12_000 });
    expect(faults[0]).toEqual(['stalled']);
  });

  it('ends an answer that has begun with an error event, after twice the time', async () => {
    const begun = await engine({
      chat: (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: {"a":1}\n\n');
      },
    });
    const { passedMs, faults, text, gateway } = await chat([begun, await sound()]);
    expect(await text).toBe(
      'data: {"a":1}\n\ndata: {"error":{"message":"The worker ended the answer before its end.","type":"server_error","param":null,"code":"worker_cut"}}\n\n',
    );
    expect(passedMs).toBeGreaterThanOrEqual(2 * STALL_MS);
    expect(faults[0]).toContain('stalled');
    expect(gateway.outcomes[0]?.ended).toBe('upstream_broke');
  });

  it('is not kept there by what the HTTP server answers by itself', async () => {
    const hung = await engine();
    const clock = new FakeClock();
    const gateway = await ProxyHarness.start({
      workers: [hung.url, (await sound()).url],
      clock,
      proxy,
    });
    stopLater(gateway, clock);
    const post = (path: string): Promise<Response> =>
      fetch(gateway.url + path, { method: 'POST', body: '{}' });
    const answer = post(CHATS);
    await until(() => gateway.responses.length === 1);
    let isAnswered = false;
    void answer.then(() => {
      isAnswered = true;
    });
    let passedMs = 0;
    for (; passedMs < 30_000 && !isAnswered; passedMs += 1_000) {
      expect((await post('/tokenize')).status).toBe(200);
      for (let step = 0; step < 4; step += 1) {
        await clock.advanceMs(250);
        await turns(40);
      }
    }
    expect((await answer).status).toBe(200);
    expect(passedMs).toBeLessThanOrEqual(STALL_MS + 3_000);
  });
});
