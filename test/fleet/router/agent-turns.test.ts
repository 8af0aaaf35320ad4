import { describe, expect, it } from 'vitest';
import { type AgentFleetFigures, type AgentFleetOptions, playAgents } from './support/agent-fleet.js';

const SEEDS = Array.from({ length: 4 }, (_, at) => at + 1);

/** Means over several orders of the same turns. */
function play(options: Partial<AgentFleetOptions>): AgentFleetFigures {
  const all = SEEDS.map((seed) =>
    playAgents({ seed, atATime: 3, workers: 2, answerTokens: 1, overlapScoreWeight: 1, ...options }),
  );
  const mean = (figure: keyof AgentFleetFigures): number =>
    all.reduce((sum, one) => sum + one[figure], 0) / all.length;
  return {
    cachedTokens: mean('cachedTokens'),
    lostTokens: mean('lostTokens'),
    needlesslyLostTokens: mean('needlesslyLostTokens'),
    meanFirstTokenMs: mean('meanFirstTokenMs'),
  };
}

describe('500 turns of nine agents over two workers', () => {
  const alone = play({ atATime: 1 });

  it('lose nothing one at a time', () => {
    expect(alone.lostTokens).toBe(0);
  });

  it.each([1, 20, 200])('three at a time, with answers of %i tokens', (answerTokens) => {
    const light = play({ answerTokens });
    const heavy = play({ answerTokens, overlapScoreWeight: 4 });
    // With the default weight a running request outweighs what a follow-up would save: that is the formula, and it loses a little.
    expect(light.needlesslyLostTokens).toBe(0);
    expect(light.cachedTokens / alone.cachedTokens).toBeGreaterThan(0.94);
    // More weight loses next to nothing, and the first tokens come no later.
    expect(heavy.cachedTokens / alone.cachedTokens).toBeGreaterThan(0.999);
    expect(heavy.meanFirstTokenMs).toBeLessThanOrEqual(light.meanFirstTokenMs);
  });

  it('find no more by the affinity of their sessions, which chooses among equals', () => {
    const without = play({});
    const having = play({ hasAffinity: true });
    expect(having.needlesslyLostTokens).toBe(0);
    expect(having.cachedTokens / without.cachedTokens).toBeLessThan(1.01);
  });
});
