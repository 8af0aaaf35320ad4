import type { Decision } from '../../src/fleet/router/routing.js';

/** A decision for a prompt of 100 tokens in blocks of 32, of which two are cached, by an exact view. */
export function anyDecision(about: Partial<Decision> = {}): Decision {
  return {
    group: 'tiny',
    target: 'w-1',
    workerId: 'w-1',
    instanceId: 'w-1-1',
    rank: 0,
    rankCount: 1,
    epoch: 1,
    tokensPerBlock: 32,
    promptTokens: 100,
    promptBlocks: 4,
    cachedBlocks: 2,
    isExact: true,
    routingMode: 'exact',
    ...about,
  };
}
