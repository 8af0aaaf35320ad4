import { describe, expect, it } from 'vitest';
import type { Candidate, CandidateCost } from '../../src/router/candidates.js';
import { DecisionLog, formulaWords } from '../../src/router/decision-log.js';
import type { Decision } from '../../src/router/routing.js';
import { RecordingLogger } from '../support/recording-logger.js';

function cost(about: Partial<Candidate> = {}): CandidateCost {
  return {
    candidate: {
      target: 'worker_1',
      workerId: 'w-1',
      instanceId: 'w-1-1',
      rank: 0,
      rankCount: 1,
      offer: 'full',
      ...about,
    },
    logit: 125.5,
    overlapScoreWeight: 1,
    potentialPrefillBlocks: 100.5,
    potentialActiveBlocks: 25,
    cachedBlocks: [10, 15, 15, 15],
    probability: 1,
  };
}

const decision = {
  group: 'tiny',
  target: 'worker_1',
  rank: 0,
  cachedBlocks: 15,
  promptBlocks: 116,
  routingMode: 'exact',
} as Decision;

describe('the log of decisions', () => {
  it('has one line for each candidate as it is documented', () => {
    expect(formulaWords(cost())).toBe('Formula for worker_1: 125.5 = 1.0 * 100.5 + 25.0 (cached_blocks: 15)');
  });

  it('names the rank of a worker that has several', () => {
    expect(formulaWords(cost({ rank: 3, rankCount: 4 }))).toMatch(/^Formula for worker_1\/3: /);
  });

  it('tells at info who was chosen', () => {
    const logger = new RecordingLogger();
    new DecisionLog({ group: 'tiny', detail: 'chosen' }, { logger }).tellChosen(decision, cost(), 'kv');
    expect(logger.lines).toEqual([
      {
        level: 'info',
        fields: { group: 'tiny' },
        message: 'Selected worker: worker_1 (cached_blocks: 15 of 116, mode: kv, exact, logit: 125.5)',
      },
    ]);
  });

  it('tells nothing where nobody would read it', () => {
    const logger = new RecordingLogger();
    new DecisionLog({ group: 'tiny', detail: 'none' }, { logger }).tellChosen(decision, cost(), 'kv');
    expect(logger.lines).toEqual([]);
  });
});
