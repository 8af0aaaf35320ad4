import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/edge/platform/clock.js';
import {
  DEFAULT_ENGINE_TOKENIZER_OPTIONS,
  EngineTokenizer,
} from '../../../src/frontend/tokens/engine-tokenizer.js';
import { FakeClock } from '../../support/fake-clock.js';
import { OpenThings } from '../../support/open-things.js';
import { RecordingLogger } from '../../support/recording-logger.js';
import { FakeEngine, SGLANG_MODELS, VLLM_MODELS } from './support/fake-engine.js';
import { groupOf, plain, promptOf } from './support/tokenizers.js';

const open = new OpenThings();
afterEach(() => open.close());

const RENDER_CHAT = '/v1/chat/completions/render';
const RENDER_TEXT = '/v1/completions/render';
const HELLO = promptOf({ prompt: 'hello' });
const CHAT = promptOf({ messages: [{ role: 'user', content: 'hello' }] });
const never = new AbortController().signal;

function makeTokenizer(
  options: Partial<typeof DEFAULT_ENGINE_TOKENIZER_OPTIONS> = {},
  clock = new FakeClock(),
): EngineTokenizer {
  const tokenizer = new EngineTokenizer(
    { ...DEFAULT_ENGINE_TOKENIZER_OPTIONS, maxTokens: 1_000, mayHaveKeys: () => true, ...options },
    { clock, logger: new RecordingLogger() },
  );
  open.add(() => tokenizer.close());
  return tokenizer;
}

async function engineWith(answers: FakeEngine['answers']): Promise<FakeEngine> {
  const engine = await FakeEngine.start(answers);
  open.add(() => engine.stop());
  return engine;
}

describe('tokens asked of an engine', () => {
  it('come from /tokenize of a vLLM that does not render, which is tried once', async () => {
    const engine = await engineWith({
      '/v1/models': VLLM_MODELS,
      [RENDER_TEXT]: { status: 403, json: { error: { message: 'Scale-out endpoints are disabled.' } } },
      '/tokenize': { json: { count: 2, max_model_len: 2048, tokens: [1, 17], token_strs: null } },
    });
    const tokenizer = makeTokenizer({ maxRememberedBytes: 0 });
    const group = groupOf(engine.url);
    for (let i = 0; i < 3; i += 1)
      expect(plain(await tokenizer.tokensOf(HELLO, 'tiny', group, never))).toEqual([1, 17]);
    expect([engine.count('/v1/models'), engine.count(RENDER_TEXT), engine.count('/tokenize')]).toEqual([
      1, 1, 3,
    ]);
    expect(await engine.connections).toBeLessThanOrEqual(2);
  });

  it('come from the request itself where vLLM renders it', async () => {
    const engine = await engineWith({
      '/v1/models': VLLM_MODELS,
      [RENDER_CHAT]: { json: { token_ids: [5, 6, 7], sampling_params: {} } },
      [RENDER_TEXT]: { json: [{ token_ids: [1, 2], sampling_params: {} }] },
    });
    const tokenizer = makeTokenizer();
    const group = groupOf(engine.url);
    const chat = promptOf({
      messages: [{ role: 'user', content: 'hello' }],
      model: 'alias',
      stream: true,
      temperature: 9,
      max_tokens: 100,
      reasoning_effort: 'high',
      own_field: 1,
    });
    expect(plain(await tokenizer.tokensOf(chat, 'tiny', group, never))).toEqual([5, 6, 7]);
    expect(engine.asked.at(-1)?.body).toEqual({
      messages: [{ role: 'user', content: 'hello' }],
      model: 'tiny',
      reasoning_effort: 'high',
      own_field: 1,
    });
    const cut = promptOf({ prompt: 'a b c', truncate_prompt_tokens: -1, max_tokens: 9 });
    expect(plain(await tokenizer.tokensOf(cut, 'tiny', group, never))).toEqual([1, 2]);
    expect(engine.asked.at(-1)?.body).toMatchObject({ truncate_prompt_tokens: -1, max_tokens: 9 });
  });

  it('of a chat are asked of vLLM with all that its chat endpoint gives to the template', async () => {
    const engine = await engineWith({ '/v1/models': VLLM_MODELS, '/tokenize': { json: { tokens: [1] } } });
    const tokenizer = makeTokenizer();
    const chat = promptOf({
      model: 'alias',
      messages: [{ role: 'user', content: 'hello' }],
      tools: [{ type: 'function', function: { name: 'f' } }],
      documents: [{ title: 'a', text: 'b' }],
      reasoning_effort: 'none',
      chat_template_kwargs: { style: 'short' },
      add_generation_prompt: false,
      continue_final_message: true,
      max_tokens: 5,
    });
    await tokenizer.tokensOf(chat, 'tiny', groupOf(engine.url), never);
    expect(engine.asked.at(-1)).toEqual({
      path: '/tokenize',
      body: {
        model: 'tiny',
        messages: [{ role: 'user', content: 'hello' }],
        tools: [{ type: 'function', function: { name: 'f' } }],
        add_generation_prompt: false,
        continue_final_message: true,
        chat_template_kwargs: {
          style: 'short',
          documents: [{ title: 'a', text: 'b' }],
          reasoning_effort: 'none',
          enable_thinking: false,
        },
      },
    });
  });

  it('of a chat are asked of SGLang with the whole request', async () => {
    const engine = await engineWith({
      '/v1/models': SGLANG_MODELS,
      '/v1/tokenize': { json: { tokens: [4] } },
    });
    const tokenizer = makeTokenizer();
    const chat = promptOf({
      messages: [{ role: 'user', content: 'hello' }],
      stream: true,
      tool_choice: 'none',
      add_generation_prompt: true,
    });
    expect(plain(await tokenizer.tokensOf(chat, 'tiny', groupOf(engine.url), never))).toEqual([4]);
    expect(engine.asked.map(({ path }) => path)).toEqual(['/v1/models', '/v1/tokenize']);
    expect(engine.asked.at(-1)?.body).toEqual({
      messages: [{ role: 'user', content: 'hello' }],
      tool_choice: 'none',
      model: 'tiny',
    });
  });

  it('cannot be had where nothing answers to it, and that is remembered for this instance', async () => {
    const engine = await engineWith({ '/v1/models': VLLM_MODELS });
    const tokenizer = makeTokenizer();
    expect(plain(await tokenizer.tokensOf(CHAT, 'tiny', groupOf(engine.url), never))).toBe('no_tokenizer');
    const asked = engine.asked.length;
    expect(plain(await tokenizer.tokensOf(CHAT, 'tiny', groupOf(engine.url), never))).toBe('no_tokenizer');
    expect(engine.asked).toHaveLength(asked);
    engine.answers['/tokenize'] = { json: { tokens: [9] } };
    const restarted = groupOf({ baseUrl: engine.url, instanceId: 'worker-0-2' });
    expect(plain(await tokenizer.tokensOf(CHAT, 'tiny', restarted, never))).toEqual([9]);
    expect(plain(await tokenizer.tokensOf(CHAT, 'tiny', groupOf({}), never))).toBe('no_tokenizer');
    const held = groupOf({ baseUrl: engine.url, isOffered: false });
    expect(plain(await tokenizer.tokensOf(CHAT, 'tiny', held, never))).toBe('no_tokenizer');
  });

  it('come from the /tokenize of a vLLM that wants an API key below /v1 alone', async () => {
    const closed = { status: 401, json: { error: 'Unauthorized' } };
    const engine = await engineWith({
      '/v1/models': closed,
      [RENDER_CHAT]: closed,
      '/tokenize': { json: { tokens: [6] } },
    });
    expect(plain(await makeTokenizer().tokensOf(CHAT, 'tiny', groupOf(engine.url), never))).toEqual([6]);
    engine.answers['/tokenize'] = closed;
    const guarded = groupOf({ baseUrl: engine.url, instanceId: 'worker-0-2' });
    expect(plain(await makeTokenizer().tokensOf(CHAT, 'tiny', guarded, never))).toBe('no_tokenizer');
  });

  it('are not had of a prompt that the engine refuses, or a model that it does not serve', async () => {
    const engine = await engineWith({
      '/v1/models': VLLM_MODELS,
      '/tokenize': ({ model }) =>
        model === 'tiny'
          ? { status: 400, json: { error: { message: 'no such role' } } }
          : { status: 404, json: { error: { message: 'The model `x` does not exist.', param: 'model' } } },
    });
    const tokenizer = makeTokenizer();
    const group = groupOf(engine.url);
    expect(plain(await tokenizer.tokensOf(CHAT, 'tiny', group, never))).toBe('bad_prompt');
    expect(plain(await tokenizer.tokensOf(CHAT, 'x', group, never))).toBe('bad_prompt');
    expect(plain(await tokenizer.tokensOf(CHAT, 'tiny', group, never))).toBe('bad_prompt');
  });

  it('are asked of the workers in turn', async () => {
    const answers = { '/v1/models': VLLM_MODELS, '/tokenize': { json: { tokens: [1] } } };
    const engines = await Promise.all([engineWith({ ...answers }), engineWith({ ...answers })]);
    const tokenizer = makeTokenizer({ maxRememberedBytes: 0 });
    const group = groupOf(...engines.map(({ url }) => url), { isOffered: false });
    for (let i = 0; i < 9; i += 1) await tokenizer.tokensOf(HELLO, 'tiny', group, never);
    const counts = engines.map((engine) => engine.count('/tokenize'));
    expect(Math.min(...counts)).toBeGreaterThanOrEqual(3);
  });

  it('come from another worker when one cannot be reached, which is then left alone for a while', async () => {
    const clock = new FakeClock();
    const broken = await engineWith({ '/v1/models': VLLM_MODELS, '/tokenize': 'reset' });
    const good = await engineWith({ '/v1/models': VLLM_MODELS, '/tokenize': { json: { tokens: [3] } } });
    const tokenizer = makeTokenizer({ maxRememberedBytes: 0 }, clock);
    const group = groupOf(broken.url, good.url);
    for (let i = 0; i < 6; i += 1)
      expect(plain(await tokenizer.tokensOf(HELLO, 'tiny', group, never))).toEqual([3]);
    expect(broken.count('/tokenize')).toBe(1);
    await clock.advanceMs(1_001);
    for (let i = 0; i < 4; i += 1) await tokenizer.tokensOf(HELLO, 'tiny', group, never);
    expect(broken.count('/tokenize')).toBe(2);
    expect(plain(await tokenizer.tokensOf(HELLO, 'tiny', groupOf(broken.url), never))).toBe('failed');
  });

  it('are asked of a worker on which a prompt fails, until three have failed in a row', async () => {
    const wrong = { status: 500, json: {} };
    const engine = await engineWith({
      '/v1/models': VLLM_MODELS,
      '/tokenize': ({ prompt }) => (prompt === 'evil' ? wrong : { json: { tokens: [3] } }),
    });
    const tokenizer = makeTokenizer({ maxRememberedBytes: 0 });
    const group = groupOf(engine.url);
    const ask = async (prompt: string): Promise<unknown> =>
      plain(await tokenizer.tokensOf(promptOf({ prompt }), 'tiny', group, never));
    for (let i = 0; i < 3; i += 1) {
      expect(await ask('evil')).toBe('failed');
      expect(await ask('evil')).toBe('failed');
      expect(await ask('good')).toEqual([3]);
    }
    for (let i = 0; i < 3; i += 1) await ask('evil');
    const asked = engine.asked.length;
    expect(await ask('good')).toBe('failed');
    expect(engine.asked).toHaveLength(asked);
  });

  it('are not waited for longer than allowed, nor by more than allowed', async () => {
    const clock = new FakeClock();
    const engine = await engineWith({ '/v1/models': VLLM_MODELS, '/tokenize': 'hang' });
    const tokenizer = makeTokenizer({ maxConcurrent: 1, timeoutMs: 1_000 }, clock);
    const group = groupOf(engine.url);
    for (const count of [1, 2, 3]) {
      const slow = tokenizer.tokensOf(HELLO, 'tiny', group, never);
      expect(plain(await tokenizer.tokensOf(HELLO, 'tiny', group, never))).toBe('timeout');
      await expect.poll(() => engine.count('/tokenize')).toBe(count);
      await clock.advanceMs(1_001);
      expect(plain(await slow)).toBe('timeout');
    }
    expect(plain(await tokenizer.tokensOf(HELLO, 'tiny', group, never))).toBe('failed');
    expect(clock.pendingTimers).toBe(0);
  });

  it('are given up with the request, which says nothing against the worker', async () => {
    const engine = await engineWith({ '/v1/models': VLLM_MODELS, '/tokenize': 'hang' });
    const tokenizer = makeTokenizer();
    const group = groupOf(engine.url);
    const leaving = new AbortController();
    const asked = tokenizer.tokensOf(HELLO, 'tiny', group, leaving.signal);
    await expect.poll(() => engine.count('/tokenize')).toBe(1);
    leaving.abort();
    expect(plain(await asked)).toBe('timeout');
    engine.answers['/tokenize'] = { json: { tokens: [8] } };
    expect(plain(await tokenizer.tokensOf(HELLO, 'tiny', group, never))).toEqual([8]);
  });

  it('are none when the answer is too large, too long, or no tokens at all', async () => {
    const engine = await engineWith({ '/v1/models': VLLM_MODELS });
    const group = (i: number): ReturnType<typeof groupOf> =>
      groupOf({ baseUrl: engine.url, instanceId: `instance-${i}` });
    const tokenizer = makeTokenizer({ maxAnswerBytes: 20_000 }, new FakeClock());
    const wrong = [
      { raw: 'not JSON' },
      { json: { tokens: 'many' } },
      { json: { tokens: [1, -1] } },
      { json: { tokens: [2 ** 32] } },
      { json: { tokens: Array.from({ length: 1_001 }, () => 1) } },
      { raw: `{"tokens": [${'1,'.repeat(50_000)}1]}` },
      'reset' as const,
    ];
    for (const [i, answer] of wrong.entries()) {
      engine.answers['/tokenize'] = answer;
      expect([answer, plain(await tokenizer.tokensOf(HELLO, 'tiny', group(i), never))]).toEqual([
        answer,
        'failed',
      ]);
    }
  });

  it('are none when the answer would become many times its bytes', async () => {
    const engine = await engineWith({ '/v1/models': VLLM_MODELS });
    engine.answers['/tokenize'] = { raw: `{"tokens":[1],"more":[${'[],'.repeat(400_000)}1]}` };
    const tokenizer = makeTokenizer({ maxAnswerBytes: 4 * 1024 * 1024 }, new FakeClock());
    expect(plain(await tokenizer.tokensOf(HELLO, 'tiny', groupOf({ baseUrl: engine.url }), never))).toBe(
      'failed',
    );
  });

  it('of a request that was asked before are remembered, apart for each tokenizer', async () => {
    const engine = await engineWith({ '/v1/models': VLLM_MODELS, '/tokenize': { json: { tokens: [1, 2] } } });
    const tokenizer = makeTokenizer({}, new FakeClock());
    const group = (tokenizerFingerprint: string): ReturnType<typeof groupOf> =>
      groupOf({ baseUrl: engine.url, tokenizerFingerprint });
    const chat = (seed: number): typeof CHAT =>
      promptOf({ messages: [{ role: 'user', content: 'hello' }], seed, stream: seed === 1 });
    for (const seed of [1, 2, 3])
      expect(plain(await tokenizer.tokensOf(chat(seed), 'tiny', group('a'), never))).toEqual([1, 2]);
    expect(engine.count('/tokenize')).toBe(1);
    await tokenizer.tokensOf(chat(1), 'tiny', group('b'), never);
    await tokenizer.tokensOf(HELLO, 'tiny', group('a'), never);
    expect(engine.count('/tokenize')).toBe(3);
  });

  it('leave nothing open behind', async () => {
    const engine = await engineWith({ '/v1/models': VLLM_MODELS, '/tokenize': { json: { tokens: [1] } } });
    const tokenizer = makeTokenizer({}, systemClock as never);
    await tokenizer.tokensOf(HELLO, 'tiny', groupOf(engine.url), never);
    await tokenizer.close();
    await expect.poll(() => engine.connections).toBe(0);
  });
});
