import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { lacks } from './support/peers.js';
import { tinyModel } from './support/tiny-model.js';
import { completeOverPair, type PairEngine, receivedTokens, startPairEngine } from './support/vllm-pair.js';

describe.skipIf(lacks('vllm', 'nixl'))('a real pair of vLLM engines over NIXL', () => {
  const prompt = Array.from({ length: 320 }, (_, index) => 20 + ((index * 7) % 400));
  let prefill: PairEngine;
  let decode: PairEngine;

  beforeAll(async () => {
    const model = tinyModel('tiny');
    prefill = await startPairEngine({ model, role: 'prefill', developerMode: true });
    decode = await startPairEngine({ model, role: 'decode', developerMode: true });
  });
  afterAll(async () => {
    await prefill?.program.stop();
    await decode?.program.stop();
  });

  it('moves the KV blocks of a prompt from one to the other', async () => {
    const { prefill: first, decode: second } = await completeOverPair(prefill, decode, {
      model: 'tiny',
      prompt,
      max_tokens: 4,
    });
    expect(first).toMatchObject({
      status: 200,
      kv_transfer_params: { remote_port: prefill.sideChannelPort },
    });
    expect(second).toMatchObject({ status: 200, usage: { prompt_tokens: prompt.length } });
    expect(await receivedTokens(decode)).toBe(prompt.length);
  });
});
