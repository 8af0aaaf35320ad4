import { describe, expect, it } from 'vitest';
import { Canary_State } from '../../../../src/gen/kvaccord/v1/capabilities.js';
import {
  type CanaryTrial,
  judgeCanary,
  predictCached,
} from '../../../../src/worker/sidecar/canary/judge-canary.js';

const COMPLETIONS = { path: '/v1/completions', takes: 'tokens' } as const;
const CHAT = { path: '/v1/chat/completions', takes: 'chat' } as const;

/** A prompt of 80 tokens in blocks of 32, all as it should be. */
function judge(sketch: Partial<CanaryTrial> = {}): {
  state: number;
  reason: string;
  fault: string | undefined;
} {
  const { result, fault } = judgeCanary({
    promptPath: COMPLETIONS,
    rank: 0,
    promptTokens: 80,
    counts: { promptTokens: 80, cachedTokens: 64 },
    eventsReason: '',
    tokensPerBlock: 32,
    ownBlocks: 2,
    otherBlocks: 0,
    strayRank: undefined,
    isCachingOff: false,
    hitAlignmentTokens: undefined,
    dropsLastHitBlock: undefined,
    eventSource: 'KV events of tcp://127.0.0.1:5557',
    ...sketch,
  });
  return { state: result.state, reason: result.reason, fault };
}

describe('what a canary shows', () => {
  it('passes when blocks and cached tokens are as predicted', () => {
    expect(judge()).toEqual({
      state: Canary_State.PASSED,
      reason: 'all 2 blocks arrived as hashed; 64 of 80 tokens cached as predicted',
      fault: undefined,
    });
  });

  it('fails when the events are those of another engine', () => {
    const foreign = judge({ ownBlocks: 0, otherBlocks: 3 });
    expect(foreign).toMatchObject({ state: Canary_State.FAILED, fault: 'source' });
    expect(foreign.reason).toContain("KV events of tcp://127.0.0.1:5557 is not this engine's");
    const silent = judge({ ownBlocks: 0 });
    expect(silent).toMatchObject({ state: Canary_State.FAILED, fault: 'source' });
    expect(silent.reason).toContain('found 64 tokens of it in its cache');
    expect(judge({ ownBlocks: 0, strayRank: 1 })).toMatchObject({
      state: Canary_State.FAILED,
      fault: 'source',
    });
  });

  it('does not blame the events of an engine that kept nothing, or does not say so', () => {
    for (const cachedTokens of [0, undefined]) {
      const seen = judge({ ownBlocks: 0, counts: { promptTokens: 80, cachedTokens } });
      expect(seen).toMatchObject({ state: Canary_State.INCONCLUSIVE, fault: undefined });
    }
  });

  it('fails when the tokens are not those that were sent or rendered', () => {
    expect(judge({ counts: { promptTokens: 81, cachedTokens: 64 } })).toMatchObject({ fault: 'tokens' });
    expect(judge({ ownBlocks: 1 })).toMatchObject({ fault: 'tokens' });
    // Of a chat message only the rendering says which tokens it has: other hashes are other tokens.
    expect(judge({ promptPath: CHAT, ownBlocks: 0, otherBlocks: 2 })).toMatchObject({ fault: 'tokens' });
  });

  it('distinguishes too little in the cache from too much', () => {
    expect(judge({ counts: { promptTokens: 80, cachedTokens: 0 } })).toMatchObject({
      state: Canary_State.FAILED,
      fault: 'cached_less',
      reason: '64 of 80 tokens were predicted to be cached, and the engine found 0',
    });
    expect(judge({ counts: { promptTokens: 80, cachedTokens: 79 } })).toMatchObject({
      state: Canary_State.INCONCLUSIVE,
      fault: undefined,
    });
  });

  it('knows the exceptions: no cache at all, no count of it, no events, no rendering', () => {
    expect(judge({ isCachingOff: true, ownBlocks: 0 })).toMatchObject({
      state: Canary_State.INCONCLUSIVE,
      reason: expect.stringContaining('switched off'),
    });
    expect(judge({ counts: { promptTokens: 80, cachedTokens: undefined } }).state).toBe(Canary_State.PASSED);
    expect(judge({ eventsReason: 'the engine names no source of KV events', ownBlocks: 0 })).toMatchObject({
      state: Canary_State.PASSED,
      reason: expect.stringContaining('blocks not checked'),
    });
    expect(judge({ promptTokens: undefined, ownBlocks: 0 })).toMatchObject({
      state: Canary_State.PASSED,
      reason: expect.stringContaining('does not say which tokens a chat message becomes'),
    });
    const unsized = { tokensPerBlock: undefined, ownBlocks: 0 };
    expect(judge({ ...unsized, counts: { promptTokens: 80, cachedTokens: 0 } }).state).toBe(
      Canary_State.INCONCLUSIVE,
    );
    // It kept some of the prompt, so its events should have shown the size.
    expect(judge(unsized)).toMatchObject({ fault: 'source' });
  });

  it('predicts all but the last token, in units in which a hit can end, less the block that EAGLE drops', () => {
    const plain = { hitAlignmentTokens: undefined, dropsLastHitBlock: undefined };
    expect(predictCached(80, 32, plain)).toBe(64);
    expect(predictCached(64, 32, plain)).toBe(32);
    expect(predictCached(49, 1, plain)).toBe(48);
    expect(predictCached(80, 32, { ...plain, dropsLastHitBlock: true })).toBe(32);
    expect(predictCached(2_640, 32, { ...plain, hitAlignmentTokens: 1_056 })).toBe(2_112);
    // The last block may be published with the next token only.
    expect(
      judge({ promptTokens: 64, counts: { promptTokens: 64, cachedTokens: 32 }, ownBlocks: 1 }).state,
    ).toBe(Canary_State.PASSED);
  });
});
