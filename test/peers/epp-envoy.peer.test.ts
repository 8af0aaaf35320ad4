import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EnvoyOptions } from '../support/envoy-config.js';
import { isListening } from '../support/ports.js';
import { prefill, words } from './support/completions.js';
import { type Envoy, startEnvoy } from './support/envoy.js';
import { gateway, playTranscript } from './support/ext-proc.js';
import { forThisTest } from './support/for-this-test.js';
import { probe, type Served, startEpp, startSidecar } from './support/kv-accord.js';
import { lacks } from './support/peers.js';
import { startReferencePicker } from './support/reference-picker.js';
import { completeReport } from './support/report.js';
import { tinyModel } from './support/tiny-model.js';
import { until } from './support/until.js';
import { startVllm, type Vllm } from './support/vllm.js';

const WIDTH = 32;
const MODEL = 'tiny';
/** So many requests must leave nothing reserved. */
const REQUESTS = Number(process.env['KV_ACCORD_EPP_REQUESTS'] ?? 200);

describe.skipIf(lacks('vllm', 'envoy'))('an Endpoint Picker for a real Envoy over two real vLLMs', () => {
  const engines: Vllm[] = [];
  const sidecars: Served[] = [];
  let epp: Served & { readonly pickerPort: number };
  let envoy: Envoy;
  let client: OpenAI;

  const envoyOf = (name: string, options: Partial<EnvoyOptions> = {}): Promise<Envoy> =>
    startEnvoy(name, {
      pickerPort: epp.pickerPort,
      engines: engines.map(({ ports }) => ports.http),
      ...options,
    });
  const metric = async (pattern: RegExp, of: Served = epp): Promise<number> => {
    const { body } = await probe(of, '/metrics');
    return [...body.matchAll(new RegExp(pattern, 'gm'))].reduce((sum, [, value]) => sum + Number(value), 0);
  };
  const untilIdle = (of: Served = epp): Promise<unknown> =>
    until('nothing to be reserved', async () => {
      const reserved = await metric(/^kv_accord_epp_reserved_requests (\S+)$/, of);
      const active = await metric(/^kv_accord_router_active_requests\{[^}]*\} (\S+)$/, of);
      const open = await metric(/^kv_accord_frontend_inflight_requests (\S+)$/, of);
      return reserved === 0 && active === 0 && open === 0;
    });

  beforeAll(async () => {
    const model = tinyModel(MODEL);
    const starts = [0, 1].map(() => startVllm({ model, blockSize: WIDTH, developerMode: true }));
    for (const start of await Promise.allSettled(starts))
      if (start.status === 'fulfilled') engines.push(start.value);
    await Promise.all(starts);
    for (const [at, engine] of engines.entries()) {
      const sidecar = await startSidecar(`worker-${at}`, '--engine', engine.url);
      sidecars.push(sidecar);
      await completeReport(sidecar);
    }
    epp = await startEpp('epp', sidecars, '--tokenize-timeout', '30s');
    envoy = await envoyOf('envoy');
    client = clientOf(envoy.url);
    await until('the gate to open', async () => (await probe(epp, '/readyz')).status === 200, {
      needs: [epp.program],
    });
    for (const engine of engines) await prefill(engine, { tokens: words(2 * WIDTH, 0, 3) });
    await until('caches to be known exactly', async () =>
      /^kv_accord_routing_mode\{[^}]*mode="exact"[^}]*\} 1$/m.test((await probe(epp, '/metrics')).body),
    );
  });
  afterAll(async () => {
    for (const served of [envoy, epp, ...sidecars, ...engines]) await served?.program.stop();
  });

  it("answers OpenAI's client as the engine does, whole and streamed", async () => {
    const request = {
      model: MODEL,
      messages: [{ role: 'user' as const, content: text(150) }],
      max_tokens: 12,
      temperature: 0,
    };
    const direct = await clientOf(engines[0]?.url ?? '').chat.completions.create(request);
    const whole = await client.chat.completions.create(request);
    expect(whole.choices).toEqual(direct.choices);
    const chunks: string[] = [];
    const stream = await client.chat.completions.create({ ...request, stream: true });
    for await (const chunk of stream) chunks.push(chunk.choices[0]?.delta.content ?? '');
    expect(chunks.join('')).toBe(direct.choices[0]?.message.content);
    expect(await metric(/^kv_accord_epp_answers_total\{by="first"\} (\S+)$/)).toBe(2);
    await untilIdle();
  });

  it('sends each follow-up where its cache is, and predicts what the engine counts', async () => {
    const conversations = 8;
    const ask = async (first: number, turns: number): Promise<number> => {
      const answer = await client.completions.create({
        model: MODEL,
        prompt: words(4 * WIDTH * turns + 5, 100 * first, 7),
        max_tokens: 1,
      });
      return answer.usage?.prompt_tokens_details?.cached_tokens ?? 0;
    };
    for (let first = 0; first < conversations; first += 1) expect(await ask(first, 1)).toBe(0);
    await untilIdle();
    for (let first = 0; first < conversations; first += 1) expect(await ask(first, 2)).toBe(4 * WIDTH);
    await untilIdle();
    const { groups } = JSON.parse((await probe(epp, '/api/v1/results')).body) as {
      groups: { ranks: { total: Record<string, string | undefined> }[] }[];
    };
    const ranks = groups.flatMap((group) => group.ranks);
    const sum = (name: string): number => ranks.reduce((all, { total }) => all + Number(total[name] ?? 0), 0);
    expect(sum('predictedTokens')).toBeGreaterThanOrEqual(conversations * 4 * WIDTH);
    expect(sum('overTokens')).toBe(0);
  });

  it("has more of each prompt found in the engines' caches than round-robin through the same Envoy", async () => {
    const ports = engines.map(({ ports: { http } }) => http);
    const sides: Record<string, Envoy> = {
      'round-robin': forThisTest(await startEnvoy('envoy-round-robin', { engines: ports })),
      'kv-accord epp': envoy,
    };
    if (!lacks('reference-pickers')) {
      const isReady = async (port: number): Promise<boolean> =>
        (
          await playTranscript(port, [gateway.requestHeaders({}, { endOfStream: true })], String)
        ).answers.some((line) => line.includes(' to '));
      const port = await startReferencePicker('epp', { addresses: ['127.0.0.1'], ports }, isReady);
      sides['reference epp'] = forThisTest(
        await startEnvoy('envoy-reference', { engines: ports, pickerPort: port, isSecure: false }),
      );
    }
    const shares: Record<string, number> = {};
    let side = 0;
    for (const [name, { url }] of Object.entries(sides)) {
      side += 1;
      const before = await cacheCounters(engines);
      const asked = clientOf(url);
      for (const [conversation, turn] of turnsInTurn(16, 4))
        await asked.completions.create({
          model: MODEL,
          // As a text: the reference picker takes no prompt of token ids.
          prompt: words(4 * WIDTH * turn + 5, 600 * side + 30 * conversation, 17)
            .map((token) => `w${token % 2_000}`)
            .join(' '),
          max_tokens: 1,
        });
      const after = await cacheCounters(engines);
      const [hits, queries] = [after.hits - before.hits, after.queries - before.queries];
      shares[name] = hits / queries;
      console.log(`${name}: ${hits} of ${queries} tokens found (${Math.round((100 * hits) / queries)} %)`);
    }
    // All of each turn before, 4 of 8, 8 of 12 and 12 of 16 blocks, but for the last tokens.
    expect(shares['kv-accord epp']).toBeGreaterThan(0.55);
    expect(shares['kv-accord epp']).toBeGreaterThan(1.2 * (shares['round-robin'] ?? 1));
    await untilIdle();
  });

  it.each([
    ['BUFFERED', 'BUFFERED', {}],
    ['BUFFERED', 'STREAMED', {}],
    ['STREAMED', 'STREAMED', { send_body_without_waiting_for_header_response: true }],
    ['STREAMED', 'NONE', {}],
    ['NONE', 'NONE', {}],
  ])('serves an Envoy with the body modes %s and %s', async (requestBodyMode, responseBodyMode, filter) => {
    const other = forThisTest(await envoyOf('envoy-other', { requestBodyMode, responseBodyMode, filter }));
    const before = await metric(/^kv_accord_epp_answers_total\{by="first"\} (\S+)$/);
    const answer = await clientOf(other.url).completions.create({
      model: MODEL,
      prompt: words(3 * WIDTH, 5, 11),
      max_tokens: 4,
    });
    expect(answer.usage?.completion_tokens).toBe(4);
    expect(await metric(/^kv_accord_epp_answers_total\{by="first"\} (\S+)$/)).toBe(before + 1);
    await untilIdle();
  });

  it('takes a body of megabytes, and refuses one beyond the limit in the shape of the API', async () => {
    const long = await fetch(`${envoy.url}/v1/completions`, post({ model: MODEL, prompt: 'w '.repeat(1e6) }));
    // Longer than the model takes: the engine itself says so.
    expect(long.status).toBe(400);
    expect(await long.text()).toContain('context length');
    const endless = await fetch(
      `${envoy.url}/v1/completions`,
      post({ model: MODEL, prompt: 'w '.repeat(17e6) }),
    );
    expect(endless.status).toBe(413);
    expect(await endless.json()).toMatchObject({ error: { code: 'request_too_large' } });
    await untilIdle();
  });

  it('keeps to the endpoints that the gateway offers', async () => {
    const only = engines[1] as Vllm;
    const subset = forThisTest(await envoyOf('envoy-subset', { subset: [`127.0.0.1:${only.ports.http}`] }));
    for (let at = 0; at < 3; at += 1) {
      const before = await requestsOf(only);
      const answer = await fetch(
        `${subset.url}/v1/completions`,
        post({ model: MODEL, prompt: 'w1', max_tokens: 1 }),
      );
      expect(answer.status).toBe(200);
      await until('the engine to count it', async () => (await requestsOf(only)) === before + 1);
    }
    const none = forThisTest(await envoyOf('envoy-none', { subset: ['10.9.9.9:1'] }));
    const refused = await fetch(`${none.url}/v1/completions`, post({ model: MODEL, prompt: 'w1' }));
    expect(refused.status).toBe(503);
    expect(await refused.json()).toMatchObject({ error: { code: 'no_endpoint' } });
  });

  it('sends other paths by load, and refuses an unknown model as a frontend does', async () => {
    expect((await fetch(`${envoy.url}/v1/models`)).status).toBe(200);
    const unknown = await fetch(`${envoy.url}/v1/chat/completions`, post({ model: 'nobody', messages: [] }));
    expect(unknown.status).toBe(404);
    expect(await unknown.json()).toMatchObject({ error: { code: 'model_not_found' } });
    await untilIdle();
  });

  it('replaces names of models where that is asked', async () => {
    const rewriting = forThisTest(
      await startEpp('epp-rewrite', sidecars, '--model-rewrite', `chat=${MODEL}`),
    );
    await until('its gate to open', async () => (await probe(rewriting, '/readyz')).status === 200);
    for (const requestBodyMode of ['FULL_DUPLEX_STREAMED', 'BUFFERED']) {
      const other = forThisTest(
        await startEnvoy(`envoy-rewrite-${requestBodyMode}`, {
          pickerPort: rewriting.pickerPort,
          engines: engines.map(({ ports }) => ports.http),
          requestBodyMode,
        }),
      );
      const answer = await clientOf(other.url).completions.create({
        model: 'chat',
        prompt: 'w1 w2',
        max_tokens: 2,
      });
      expect(answer.model).toBe(MODEL);
    }
  });

  it('leaves nothing reserved after many requests, half of them given up', async () => {
    const before = await metric(/^kv_accord_frontend_requests_total\{[^}]*\} (\S+)$/);
    let next = 0;
    const one = async (at: number): Promise<void> => {
      const gone = AbortSignal.timeout(at % 2 === 0 ? 60_000 : 1 + (at % 40));
      const body = {
        model: MODEL,
        prompt: words(40, at),
        max_tokens: at % 2 === 0 ? 1 : 400,
        stream: at % 4 > 1,
      };
      await fetch(`${envoy.url}/v1/completions`, { ...post(body), signal: gone })
        .then(
          (answer) => answer.text(),
          () => undefined,
        )
        .catch(() => undefined);
    };
    const worker = async (): Promise<void> => {
      while (next < REQUESTS) {
        next += 1;
        await one(next);
      }
    };
    await Promise.all(Array.from({ length: 16 }, worker));
    await untilIdle();
    expect(await metric(/^kv_accord_frontend_requests_total\{[^}]*\} (\S+)$/)).toBeGreaterThan(
      before + REQUESTS / 2,
    );
  }, 3_600_000);

  it('shows in the shadow of no other picker where requests would go, and changes nothing', async () => {
    const shadow = forThisTest(await startEpp('epp-shadow', sidecars, '--shadow'));
    await until('its gate to open', async () => (await probe(shadow, '/readyz')).status === 200);
    const other = forThisTest(
      await startEnvoy('envoy-shadow', {
        pickerPort: shadow.pickerPort,
        engines: engines.map(({ ports }) => ports.http),
      }),
    );
    for (let at = 0; at < 4; at += 1)
      await clientOf(other.url).completions.create({ model: MODEL, prompt: words(64, at), max_tokens: 1 });
    await untilIdle(shadow);
    expect(await metric(/^kv_accord_epp_shadow_requests_total\{[^}]*\} (\S+)$/, shadow)).toBe(4);
  });

  it('answers with the reason while the gate is shut', async () => {
    const lonely = forThisTest(await startEpp('epp-shut', sidecars, '--min-workers', '3'));
    const other = forThisTest(
      await startEnvoy('envoy-shut', {
        pickerPort: lonely.pickerPort,
        engines: engines.map(({ ports }) => ports.http),
      }),
    );
    const answer = await fetch(`${other.url}/v1/chat/completions`, post({ model: MODEL, messages: [] }));
    expect(answer.status).toBe(503);
    expect(answer.headers.get('retry-after')).toBe('2');
    const { error } = (await answer.json()) as { error: { code: string; message: string } };
    expect(error.message).toMatch(/3/);
    const messages = await fetch(`${other.url}/v1/messages`, post({ model: MODEL, messages: [] }));
    expect(await messages.json()).toMatchObject({ type: 'error', error: { type: 'overloaded_error' } });
  });

  it('lets the second endpoint serve when the engine of the first is killed', async () => {
    const killed = engines[0] as Vllm;
    const prompt = words(8 * WIDTH, 900, 13);
    const ask = (of: OpenAI): Promise<OpenAI.Completion> =>
      of.completions.create({ model: MODEL, prompt, max_tokens: 1 });
    const subset = forThisTest(await envoyOf('envoy-first', { subset: [`127.0.0.1:${killed.ports.http}`] }));
    await ask(clientOf(subset.url));
    await untilIdle();
    // Its cache draws the request there, until its sidecar notices.
    const before = await requestsOf(killed);
    await ask(client);
    await until('the engine to count it', async () => (await requestsOf(killed)) === before + 1);
    process.kill(killed.program.pid ?? 0, 'SIGKILL');
    await until('its port to be shut', async () => !(await isListening(killed.ports.http)), { pollMs: 5 });
    for (let at = 0; at < 6; at += 1) expect((await ask(client)).usage?.completion_tokens).toBe(1);
    expect(await metric(/^kv_accord_epp_answers_total\{by="fallback"\} (\S+)$/)).toBeGreaterThan(0);
    await untilIdle();
  });
});

/** What the engines count of their caches, in tokens. */
async function cacheCounters(engines: readonly Vllm[]): Promise<{ hits: number; queries: number }> {
  const sum = { hits: 0, queries: 0 };
  for (const { url } of engines) {
    const page = await (await fetch(`${url}/metrics`)).text();
    for (const [, name, value] of page.matchAll(/^vllm:prefix_cache_(hits|queries)_total\{[^}]*\} (\S+)$/gm))
      sum[name as 'hits' | 'queries'] += Number(value);
  }
  return sum;
}

/** Turns of conversations, each after the one before it, and the conversations in an order that no rotation follows. */
function turnsInTurn(
  conversations: number,
  turns: number,
): (readonly [conversation: number, turn: number])[] {
  const order: (readonly [number, number])[] = [];
  for (let turn = 1; turn <= turns; turn += 1)
    for (let at = 0; at < conversations; at += 1) {
      // 5 and 7 have no factor in common with 16: each conversation comes once, and each turn has another order.
      order.push([(at * (turn % 2 === 0 ? 5 : 7) + turn * 3) % conversations, turn]);
    }
  return order;
}

function clientOf(url: string): OpenAI {
  return new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 });
}

function post(body: unknown): RequestInit {
  return { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
}

/** So many words, each one token. */
function text(count: number): string {
  return Array.from({ length: count }, (_, at) => `w${at}`).join(' ');
}

async function requestsOf({ url }: Vllm): Promise<number> {
  const page = await (await fetch(`${url}/metrics`)).text();
  return [...page.matchAll(/^vllm:request_success_total\{[^}]*\} (\S+)$/gm)].reduce(
    (sum, [, value]) => sum + Number(value),
    0,
  );
}
