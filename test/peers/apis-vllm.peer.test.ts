import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AGENT_BODIES, cachedOf } from './support/agent-bodies.js';
import { type ExactFleet, startExactFleet } from './support/exact-fleet.js';
import { probe } from './support/kv-accord.js';
import { lacks, peerPath } from './support/peers.js';
import { modelWithTokenizer, TOOL_FLAGS } from './support/tokenizer-model.js';
import { until } from './support/until.js';
import { startVllm, type Vllm } from './support/vllm.js';

const WIDTH = 32;
const MODEL = 'tiny-chatml';
const CLIENTS = fileURLToPath(new URL('support/agent-clients.py', import.meta.url));
/** `KV_ACCORD_AGENT_TURNS`: turns of agents that are compared; without it nothing is run, for it takes two engines of its own. */
const TURNS = Number(process.env['KV_ACCORD_AGENT_TURNS'] ?? 0);

describe.skipIf(TURNS === 0 || lacks('vllm', 'grpcurl'))('the APIs of agents over two real vLLMs', () => {
  const engines: Vllm[] = [];
  let fleet: ExactFleet;

  beforeAll(async () => {
    const model = modelWithTokenizer('chatml');
    // One renders requests itself, the other one is asked for the chat that it makes of them.
    const starts = [[...TOOL_FLAGS, '--enable-scale-out'], TOOL_FLAGS].map((flags) =>
      startVllm({ model, blockSize: WIDTH, flags, env: { VLLM_ENABLE_RESPONSES_API_STORE: '1' } }),
    );
    for (const start of await Promise.allSettled(starts))
      if (start.status === 'fulfilled') engines.push(start.value);
    await Promise.all(starts);
    fleet = await startExactFleet(engines);
    await until(
      'the frontend to be ready',
      async () => (await probe(fleet.frontend, '/readyz')).status === 200,
    );
  });
  afterAll(async () => {
    await fleet?.stopOwn();
    for (const { program } of engines) await program.stop();
  });

  const post = (path: string, body: object, url: string = fleet.frontend.url): Promise<Response> =>
    fetch(`${url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: MODEL, ...body }),
      signal: AbortSignal.timeout(60_000),
    });

  it(`find of ${TURNS} turns in the caches what was predicted`, async () => {
    // Of an engine that has published nothing it is not known whether its cache is empty.
    for (const { url } of engines)
      await (await post('/v1/completions', { prompt: Array(100).fill(5), max_tokens: 1 }, url)).text();
    await fleet.settled();
    const wrong: object[] = [];
    let cachedTokens = 0;
    for (let at = 0; at < TURNS; at += 1) {
      const makeBody = AGENT_BODIES[at % 3] as (typeof AGENT_BODIES)[number];
      const [path, body] = makeBody(`agent ${Math.floor(at / 18)}`, 1 + (Math.floor(at / 3) % 6));
      const response = await post(path, body);
      const answer = (await response.json()) as { usage: Record<string, never> };
      expect(response.status, JSON.stringify(answer)).toBe(200);
      const predicted = Number(response.headers.get('x-kv-accord-cached-blocks')) * WIDTH;
      const mode = response.headers.get('x-kv-accord-routing-mode');
      const cached = cachedOf(answer.usage);
      if (predicted !== cached || mode !== 'exact') wrong.push({ at, path, predicted, cached, mode });
      cachedTokens += cached;
      await fleet.settled();
    }
    console.log(
      `${TURNS} turns of agents: ${cachedTokens} tokens were cached, ${wrong.length} predictions wrong`,
    );
    expect(wrong).toEqual([]);
    expect(cachedTokens).toBeGreaterThan(0);
    const { body } = await probe(fleet.frontend, '/metrics');
    expect(body).not.toMatch(/^kv_accord_frontend_requests_without_tokens_total\{.*\} [1-9]/m);
  });

  it("serve OpenAI's and Anthropic's own Python clients, with errors that they understand", async () => {
    const python = peerPath('vllm', 'bin', 'python');
    const { stdout } = await promisify(execFile)(python, [CLIENTS, fleet.frontend.url, MODEL], {
      timeout: 200_000,
    });
    expect(JSON.parse(stdout)).toEqual({
      response: ['response', expect.any(Number)],
      kept: true,
      continued: true,
      response_events: ['response.created', expect.stringMatching(/^response\.(completed|incomplete)$/)],
      unknown_response: [404, 'previous_response_not_found'],
      background: [400, 'unsupported_parameter'],
      embeddings: [404, 'api_not_served'],
      messages: ['message', true],
      counted: true,
      unknown_model: 'not_found_error',
    });
  });

  it('answer with the very bytes of the engine, and list its models as it does', async () => {
    const url = engines[0]?.url ?? '';
    for (const [path, body] of [
      ['/tokenize', { prompt: 'one two' }],
      ['/detokenize', { tokens: [5, 6, 7] }],
      ['/v1/messages/count_tokens', { messages: [{ role: 'user', content: 'one two' }] }],
    ] as const)
      expect(await (await post(path, body)).text()).toBe(await (await post(path, body, url)).text());
    const card = async (base: string): Promise<Record<string, unknown>> =>
      ((await (await fetch(`${base}/v1/models`)).json()) as { data: Record<string, unknown>[] }).data[0] ??
      {};
    const { root, max_model_len } = await card(url);
    expect(await card(fleet.frontend.url)).toMatchObject({ id: MODEL, root, max_model_len });
  });
});
