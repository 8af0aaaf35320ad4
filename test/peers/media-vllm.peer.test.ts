import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ExactFleet, startExactFleet } from './support/exact-fleet.js';
import { probe } from './support/kv-accord.js';
import { lacks } from './support/peers.js';
import { pictureOf, tinyVisionModel } from './support/tiny-vision-model.js';
import { until } from './support/until.js';
import { startVllm, type Vllm } from './support/vllm.js';

const WIDTH = 32;
const MODEL = 'tiny-vision';
const RED = pictureOf([200, 10, 10]);
const BLUE = pictureOf([10, 10, 200]);
const GREEN = pictureOf([10, 200, 10]);

const words = (from: number, count: number): object => ({
  type: 'text',
  text: Array.from({ length: count }, (_, at) => `w${from + at}`).join(' '),
});
const picture = (url: string): object => ({ type: 'image_url', image_url: { url } });
const SYSTEM = { role: 'system', content: Array.from({ length: 70 }, (_, at) => `w${at}`).join(' ') };
const chatOf = (...parts: readonly object[]): object => ({
  model: MODEL,
  max_tokens: 1,
  messages: [SYSTEM, { role: 'user', content: parts }],
});

interface Outcome {
  readonly predicted: number;
  readonly cached: number;
}

describe.skipIf(lacks('vllm', 'grpcurl'))('pictures over a real vLLM with a vision model', () => {
  let engine: Vllm;
  let fleet: ExactFleet;

  beforeAll(async () => {
    const flags = ['--enable-scale-out', '--limit-mm-per-prompt', '{"image":4}'];
    engine = await startVllm({ model: tinyVisionModel(MODEL), blockSize: WIDTH, flags });
    fleet = await startExactFleet([engine]);
    await until(
      'the frontend to be ready',
      async () => (await probe(fleet.frontend, '/readyz')).status === 200,
    );
  });
  afterAll(async () => {
    await fleet?.stopOwn();
    await engine?.program.stop();
  });

  async function ask(body: object): Promise<Outcome> {
    const response = await fetch(`${fleet.frontend.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(60_000),
    });
    const answer = (await response.json()) as {
      usage?: { prompt_tokens_details?: { cached_tokens?: number } | null };
    };
    expect(response.status, JSON.stringify(answer)).toBe(200);
    await fleet.settled();
    return {
      predicted: Number(response.headers.get('x-kv-accord-cached-blocks')) * WIDTH,
      cached: answer.usage?.prompt_tokens_details?.cached_tokens ?? 0,
    };
  }

  it('finds in the cache what was predicted: the same picture hits, another of the same size does not', async () => {
    const first = [words(100, 20), picture(RED), words(200, 20), picture(BLUE)];
    const outcomes = {
      first: await ask(chatOf(...first)),
      followUp: await ask(chatOf(...first, words(300, 40))),
      otherSecond: await ask(chatOf(...first.slice(0, 3), picture(GREEN), words(300, 40))),
      otherFirst: await ask(chatOf(words(100, 20), picture(GREEN), ...first.slice(2))),
      otherOrder: await ask(chatOf(words(100, 20), picture(BLUE), words(200, 20), picture(RED))),
      textAlone: await ask(chatOf(words(100, 20), words(500, 100))),
    };
    // The system prompt and 20 words are 94 tokens, each picture is 67.
    expect(outcomes).toEqual({
      first: { predicted: 0, cached: 0 },
      followUp: { predicted: 224, cached: 224 },
      otherSecond: { predicted: 160, cached: 160 },
      otherFirst: { predicted: 64, cached: 64 },
      otherOrder: { predicted: 64, cached: 64 },
      textAlone: { predicted: 64, cached: 64 },
    });
    const { body } = await probe(fleet.frontend, '/metrics');
    expect(body).not.toMatch(/^kv_accord_frontend_requests_without_tokens_total\{.*\} [1-9]/m);
  });
});
