import { describe, expect, it } from 'vitest';
import {
  groupOf,
  plain,
  type TokenizerName,
  tokenizerFolder,
} from '../frontend/tokens/support/tokenizers.js';
import { RecordingLogger } from '../support/recording-logger.js';
import { borrowVllm } from './support/borrow-engine.js';
import { derenderedAnswer, differences, ownAnswer } from './support/derendered.js';
import { forThisTest } from './support/for-this-test.js';
import { lacks } from './support/peers.js';
import { tokenRequests } from './support/token-requests.js';
import { compareTokens, tokenSource, truthsOf } from './support/token-truth.js';
import { modelWithTokenizer, TOOL_FLAGS } from './support/tokenizer-model.js';
import { startVllm } from './support/vllm.js';

/** Of the tokenizer `llama3`: `<|eot_id|>`, and ` weather`. */
const END_OF_TURN = 610;
const WORD = 337;

describe.skipIf(lacks('vllm'))('the tokens of a real vLLM', () => {
  const cases: readonly [TokenizerName, readonly string[]][] = [
    ['chatml', TOOL_FLAGS],
    ['llama3', ['--enable-scale-out', ...TOOL_FLAGS]],
    ['pieces', TOOL_FLAGS],
  ];
  it.each(cases)('with the tokenizer %s are had of it, and made here, exactly', async (name, flags) => {
    const engine = forThisTest(await borrowVllm({ tokenizer: name, blockSize: 32, flags }));
    const model = `tiny-${name}`;
    const truths = await truthsOf(engine.url, model, tokenRequests(name));
    const answered = [...truths.values()].filter((truth) => truth !== 'refused');
    expect(answered.length).toBeGreaterThan(truths.size * 0.6);
    const group = groupOf(engine.url);

    expect(await compareTokens(await tokenSource('engine'), group, model, truths)).toEqual([]);

    const logger = new RecordingLogger();
    const local = await tokenSource({ folder: tokenizerFolder(name) }, logger);
    const hello = { kind: 'completion', body: { prompt: 'hello' } } as const;
    await local.tokensOf(hello, model, group, AbortSignal.timeout(9_000));
    await expect.poll(() => logger.messages('info').join(), { timeout: 20_000 }).toContain('are the same');
    expect(await compareTokens(local, group, model, truths)).toEqual([]);

    // Where the engine cannot be asked, what is not sure has no tokens, and nothing has wrong ones.
    const unsure = await compareTokens(local, groupOf({}), model, truths);
    console.log(`${name}: ${answered.length} requests, ${unsure.length} of them not made here`);
    expect(unsure.filter(([, reason]) => reason !== 'no_tokenizer')).toEqual([]);
    expect(unsure.length).toBeLessThanOrEqual(4);
  });

  it('do not bring back the answer of the chat endpoint, which is why requests are sent as they came', async () => {
    const flags = ['--enable-scale-out', ...TOOL_FLAGS];
    const { url } = forThisTest(await borrowVllm({ tokenizer: 'llama3', blockSize: 32, flags }));
    const chat = {
      model: 'tiny-llama3',
      messages: [{ role: 'user', content: 'What is the weather?' }],
      temperature: 0,
      max_tokens: 8,
    };
    const compare = async (body: typeof chat): Promise<readonly string[]> =>
      differences(await ownAnswer(url, body), await derenderedAnswer(url, body));
    expect(await compare(chat)).toEqual(['system_fingerprint', 'usage.prompt_tokens_details']);
    // With a parser of tool calls, the token at which the model ended is part of the text.
    const ends = { ...chat, logit_bias: { [END_OF_TURN]: 100 }, min_tokens: 3 };
    expect(await compare(ends)).toContain('choices.0.message.content');
    const stops = { ...chat, logit_bias: { [WORD]: 100 }, stop_token_ids: [WORD], min_tokens: 3 };
    expect(await compare(stops)).toContain('choices.0.message.content');
  });

  it('with the Rust frontend are had of it exactly', async () => {
    const engine = forThisTest(
      await startVllm({ model: modelWithTokenizer('chatml'), blockSize: 32, frontend: 'rust' }),
    );
    const truths = await truthsOf(engine.url, 'tiny-chatml', tokenRequests('chatml'));
    const answered = [...truths.values()].filter((truth) => truth !== 'refused');
    expect(answered.length).toBeGreaterThan(truths.size * 0.6);
    const group = groupOf(engine.url);
    expect(await compareTokens(await tokenSource('engine'), group, 'tiny-chatml', truths)).toEqual([]);
  });

  it('are found to differ from those of another tokenizer, and are used then', async () => {
    const engine = forThisTest(await borrowVllm({ tokenizer: 'chatml', blockSize: 32, flags: TOOL_FLAGS }));
    const logger = new RecordingLogger();
    const source = await tokenSource({ folder: tokenizerFolder('llama3') }, logger);
    const group = groupOf(engine.url);
    const body = { messages: [{ role: 'user', content: 'hello' }] };
    const ask = async (): Promise<unknown> =>
      plain(await source.tokensOf({ kind: 'chat', body }, 'tiny-chatml', group, AbortSignal.timeout(9_000)));
    const truth = (await truthsOf(engine.url, 'tiny-chatml', [body])).get(body);
    expect(await ask()).toEqual(truth);
    await expect.poll(() => logger.messages('warn').join(), { timeout: 20_000 }).toContain('differ');
    expect(logger.lines.find(({ level }) => level === 'warn')?.fields).toMatchObject({
      group: 'tiny',
      probe: expect.any(String),
      position: expect.any(Number),
    });
    expect(await ask()).toEqual(truth);
  });
});
