import { describe, expect, it } from 'vitest';
import { groupOf, tokenizerFolder } from '../frontend/tokens/support/tokenizers.js';
import { RecordingLogger } from '../support/recording-logger.js';
import { forThisTest } from './support/for-this-test.js';
import { lacks } from './support/peers.js';
import { startSglang } from './support/sglang.js';
import { tokenRequests } from './support/token-requests.js';
import { compareTokens, tokenSource, truthsOf } from './support/token-truth.js';
import { modelWithTokenizer } from './support/tokenizer-model.js';

describe.skipIf(lacks('sglang'))('the tokens of a real SGLang', () => {
  it.each(['chatml', 'llama3'] as const)('with the tokenizer %s are had of it exactly', async (name) => {
    const engine = forThisTest(await startSglang({ model: modelWithTokenizer(name), pageSize: 32 }));
    const model = `tiny-${name}`;
    const truths = await truthsOf(engine.url, model, tokenRequests(name));
    const answered = [...truths.values()].filter((truth) => truth !== 'refused');
    expect(answered.length).toBeGreaterThan(truths.size * 0.6);
    const group = groupOf(engine.url);
    expect(await compareTokens(await tokenSource('engine'), group, model, truths)).toEqual([]);

    // It joins the parts of a message with a blank and gives templates more of a tool than vLLM, so it differs.
    const logger = new RecordingLogger();
    const local = await tokenSource({ folder: tokenizerFolder(name) }, logger);
    const hello = { kind: 'completion', body: { prompt: 'hello' } } as const;
    await local.tokensOf(hello, model, group, AbortSignal.timeout(9_000));
    await expect.poll(() => logger.messages('warn').join(), { timeout: 20_000 }).toContain('differ');
    expect(await compareTokens(local, group, model, truths)).toEqual([]);
  });
});
