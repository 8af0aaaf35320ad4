import OpenAI from 'openai';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../../../src/edge/platform/clock.js';
import { SimulatedEngine } from '../../../../src/tools/demo/engines/simulated-engine.js';
import { simulatedSglang } from '../../../../src/tools/demo/engines/simulated-sglang.js';
import { simulatedVllm } from '../../../../src/tools/demo/engines/simulated-vllm.js';
import { tokensOfChat, tokensOfText } from '../../../../src/tools/demo/engines/word-tokens.js';
import { FakeClock } from '../../../support/fake-clock.js';
import { OpenThings } from '../../../support/open-things.js';

const open = new OpenThings();
afterEach(() => open.close());

async function simulate(clock = systemClock, surface = simulatedVllm): Promise<SimulatedEngine> {
  const setup = { model: 'tiny', tokensPerBlock: 32, maxModelLen: 1_000 };
  const engine = new SimulatedEngine({ surface, setup }, { clock });
  open.add(() => engine.close());
  await engine.open();
  engine.start();
  return engine;
}

const clientOf = ({ url }: SimulatedEngine): OpenAI =>
  new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 });

function post({ url }: SimulatedEngine, path: string, body: unknown): Promise<Response> {
  return fetch(`${url}${path}`, { method: 'POST', body: JSON.stringify(body) });
}

/** So many words that no other text has. */
const words = (name: string, count: number): string =>
  Array.from({ length: count }, (_, index) => `${name}${index}`).join(' ');

describe("OpenAI's API of a simulated vLLM", () => {
  it('answers a chat and says how much of it was cached, its own answer before included', async () => {
    const client = clientOf(await simulate());
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: words('a', 100) }];
    const first = await client.chat.completions.create({ model: 'tiny', messages, max_tokens: 40 });
    const content = first.choices[0]?.message.content ?? '';
    expect(content.split(' ')).toHaveLength(40);
    expect(first.usage).toMatchObject({
      prompt_tokens: 103,
      completion_tokens: 40,
      total_tokens: 143,
      prompt_tokens_details: { cached_tokens: 0 },
    });
    messages.push({ role: 'assistant', content }, { role: 'user', content: 'Go on' });
    const second = await client.chat.completions.create({ model: 'tiny', messages });
    // 143 tokens fill four blocks of 32.
    expect(second.usage?.prompt_tokens_details?.cached_tokens).toBe(128);
  });

  it('streams, with the usage at the end for who wants it', async () => {
    const client = clientOf(await simulate());
    const stream = await client.completions.create({
      model: 'tiny',
      prompt: words('a', 64),
      max_tokens: 3,
      stream: true,
      stream_options: { include_usage: true },
    });
    const chunks: OpenAI.Completion[] = [];
    for await (const chunk of stream) chunks.push(chunk);
    expect(chunks.map(({ choices }) => choices[0]?.text).join('')).toBe('This answer is');
    expect(chunks.at(-1)?.usage).toMatchObject({ prompt_tokens: 64, completion_tokens: 3 });
  });

  it('computes the last block of a prompt again that is cached to its end', async () => {
    const client = clientOf(await simulate());
    const ask = async (): Promise<number | undefined> => {
      const { usage } = await client.completions.create({ model: 'tiny', prompt: words('a', 64) });
      return usage?.prompt_tokens_details?.cached_tokens;
    };
    expect([await ask(), await ask()]).toEqual([0, 32]);
  });

  it('takes simulated time for each token that is not cached, and for no other', async () => {
    const clock = new FakeClock();
    const engine = await simulate(clock);
    const prompt = words('a', 110);
    for (const prefillMs of [44, 0.4 * (110 - 96)]) {
      const answered = post(engine, '/v1/completions', { model: 'tiny', prompt, max_tokens: 1 });
      await vi.waitFor(() => expect(clock.pendingTimers).toBe(1));
      await clock.advanceMs(prefillMs - 0.1);
      expect(clock.pendingTimers).toBe(1);
      await clock.advanceMs(0.2);
      expect((await answered).status).toBe(200);
      expect(clock.pendingTimers).toBe(0);
    }
  });

  it('stops for a client that leaves', async () => {
    const clock = new FakeClock();
    const engine = await simulate(clock);
    const leaving = new AbortController();
    const body = JSON.stringify({ model: 'tiny', prompt: words('a', 64), stream: true });
    const answered = fetch(`${engine.url}/v1/completions`, { method: 'POST', body, signal: leaving.signal });
    await vi.waitFor(() => expect(clock.pendingTimers).toBe(1));
    leaving.abort(new Error('gone'));
    await expect(answered).rejects.toThrow('gone');
    await vi.waitFor(() => expect(clock.pendingTimers).toBe(0));
  });

  it('breaks off when the engine crashes, and what was on its way changes nothing after the next start', async () => {
    const clock = new FakeClock();
    const engine = await simulate(clock);
    const ask = (): Promise<Response> =>
      post(engine, '/v1/completions', { model: 'tiny', prompt: words('a', 64) });
    const answered = ask();
    await vi.waitFor(() => expect(clock.pendingTimers).toBe(1));
    engine.crash();
    await expect(answered).rejects.toThrow('fetch failed');
    engine.start();
    expect(engine.prompt(tokensOfText(words('a', 64))).reusedBlocks).toBe(0);
  });

  it('returns the tokens that its prompts have', async () => {
    const engine = await simulate();
    const messages = [{ role: 'user', content: 'Hello there' }];
    const chat = await post(engine, '/tokenize', { model: 'tiny', messages });
    expect(await chat.json()).toMatchObject({
      tokens: tokensOfChat(messages),
      count: 5,
      max_model_len: 1_000,
    });
    const text = await post(engine, '/tokenize', { model: 'tiny', prompt: 'Hello there' });
    expect(await text.json()).toMatchObject({ tokens: tokensOfText('Hello there') });
  });

  const refused: readonly (readonly [string, string, unknown, number, string])[] = [
    [
      'another model',
      '/v1/completions',
      { model: 'huge', prompt: 'a' },
      404,
      'The model `huge` does not exist',
    ],
    ['no prompt', '/v1/completions', { model: 'tiny' }, 400, 'messages or a prompt'],
    [
      'a chat where a text is asked',
      '/v1/completions',
      { model: 'tiny', messages: [{ role: 'user', content: 'a' }] },
      400,
      'messages or a prompt',
    ],
    [
      'a prompt that is too long',
      '/v1/completions',
      { model: 'tiny', prompt: words('a', 1_001) },
      400,
      'at most 1000 tokens',
    ],
    ['another path', '/v1/embeddings', { model: 'tiny', input: 'a' }, 404, 'Not Found'],
  ];
  it.each(refused)('refuses %s', async (_name, path, body, status, text) => {
    const answer = await post(await simulate(), path, body);
    expect(answer.status).toBe(status);
    expect(await answer.text()).toContain(text);
  });

  it('refuses what is no JSON, or too long', async () => {
    const { url } = await simulate();
    for (const body of ['{', `"${'a'.repeat(1024 * 1024)}"`]) {
      const answer = await fetch(`${url}/v1/completions`, { method: 'POST', body });
      expect(answer.status).toBe(400);
      await answer.text();
    }
  });
});

it('is not there where the engine is simulated without it', async () => {
  const engine = await simulate(systemClock, simulatedSglang);
  const answer = await post(engine, '/v1/completions', { model: 'tiny', prompt: 'a' });
  expect(answer.status).toBe(404);
  await answer.text();
});
