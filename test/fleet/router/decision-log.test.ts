import { describe, expect, it } from 'vitest';
import type { Candidate, CandidateCost } from '../../../src/fleet/router/choice/candidates.js';
import { DecisionLog, formulaText } from '../../../src/fleet/router/decision-log.js';
import { compare } from '../../../src/fleet/router/results/compare.js';
import type { Decision } from '../../../src/fleet/router/routing.js';
import { RecordingLogger } from '../../support/recording-logger.js';
import { makePrediction } from './support/predictions.js';

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
    expect(formulaText(cost())).toBe(
      'Formula for w-1 (worker_1): 125.5 = 1.0 * 100.5 + 25.0 (cached_blocks: 15)',
    );
  });

  it('names the rank of a worker that has several', () => {
    expect(formulaText(cost({ rank: 3, rankCount: 4 }))).toMatch(/^Formula for w-1\/3 \(worker_1\): /);
  });

  it('says at info who was chosen', () => {
    const logger = new RecordingLogger();
    new DecisionLog({ group: 'tiny', detail: 'chosen' }, { logger }).chosen(
      makePrediction({ decision }),
      cost(),
      'kv',
    );
    expect(logger.lines).toEqual([
      {
        level: 'info',
        fields: { group: 'tiny' },
        message: 'Selected worker: w-1 (worker_1) (cached_blocks: 15 of 116, mode: kv, exact, logit: 125.5)',
      },
    ]);
  });

  it('says what is on its way there, and what was held elsewhere', () => {
    const logger = new RecordingLogger();
    const prediction = makePrediction({ decision, inFlightBlocks: 20, bestBlocks: 40, lostReason: 'load' });
    new DecisionLog({ group: 'tiny', detail: 'chosen' }, { logger }).chosen(prediction, cost(), 'kv');
    expect(logger.messages('info')).toEqual([
      'Selected worker: w-1 (worker_1) (cached_blocks: 15 of 116, on_their_way: 20, best: 40, lost to: load, mode: kv, exact, logit: 125.5)',
    ]);
  });

  it('says at debug what the engine reported', () => {
    const logger = new RecordingLogger();
    const log = new DecisionLog({ group: 'tiny', detail: 'candidates' }, { logger });
    for (const cachedTokens of [64, 32, 96]) {
      const prediction = makePrediction({ decision: { rankCount: cachedTokens === 96 ? 2 : 1 } });
      const reported = { promptTokens: 100, cachedTokens };
      log.result({
        prediction,
        reported,
        comparison: compare(prediction, reported),
        contradicts: cachedTokens !== 64,
        hasTurned: false,
        trust: undefined,
      });
    }
    expect(logger.messages('debug')).toEqual([
      'Result of w-1: 64 of 100 prompt tokens cached, 64 predicted',
      'Result of w-1: 32 of 100 prompt tokens cached, 64 predicted: 32 predicted that it had not',
      'Result of w-1/0: 96 of 100 prompt tokens cached, 64 predicted: 32 beyond what was known',
    ]);
  });

  it('says nothing where nobody would read it', () => {
    const logger = new RecordingLogger();
    new DecisionLog({ group: 'tiny', detail: 'none' }, { logger }).chosen(
      makePrediction({ decision }),
      cost(),
      'kv',
    );
    expect(logger.lines).toEqual([]);
  });
});
