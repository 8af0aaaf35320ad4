import { expect, it } from 'vitest';
import { renderResults } from '../../../../src/cli/commands/status/results-table.js';
import { CountReporting, type ResultCounts } from '../../../../src/gen/kvaccord/v1/router.js';

function counts(requests: bigint, predictedTokens: bigint, reportedTokens: bigint): ResultCounts {
  const overTokens = predictedTokens - reportedTokens;
  const contradictions = overTokens > 0n ? requests : 0n;
  return { requests, predictedTokens, reportedTokens, overTokens, underTokens: 0n, contradictions };
}

it('names every rank with its sums, the reason of a doubt, and where hits were lost', () => {
  const rank = { dataParallelRank: 0, instanceId: 'i', missingRequests: 0 };
  const text = renderResults([
    {
      group: 'tiny',
      rankCount: 3,
      hits: {
        bestTokens: 640n,
        chosenTokens: 512n,
        engineTokens: 320n,
        lost: [{ reason: 'load', requests: 2n, tokens: 128n }],
      },
      ranks: [
        {
          ...rank,
          target: '10.0.0.1:50061',
          workerId: 'w-1',
          reporting: CountReporting.REPORTS,
          window: counts(5n, 320n, 0n),
          total: counts(7n, 320n, 0n),
          doubted: true,
          doubtReason: '5 of its last 5 results',
        },
        {
          ...rank,
          target: 'w-2',
          workerId: '',
          reporting: CountReporting.SILENT,
          window: undefined,
          total: undefined,
          doubted: false,
          doubtReason: '',
        },
      ],
    },
  ]);
  expect(text.split('\n')).toEqual([
    'tiny: cached prompt tokens: best worker 640, chosen worker 512, found by the engines 320',
    '  lost to load: 128 tokens of 2 requests',
    expect.stringMatching(
      /^WORKER +RANK +REPORTS +REQUESTS +PREDICTED +REPORTED +OVER +UNDER +WRONG\/LAST +WHY$/,
    ),
    expect.stringMatching(
      /^w-1 \(10\.0\.0\.1:50061\) +0 +yes +7 +320 +0 +320 +0 +5\/5 +doubted: 5 of its last 5 results$/,
    ),
    expect.stringMatching(
      /^w-2 +0 +no +0 .* 0\/0 +reports no cached_tokens \(vLLM: --enable-prompt-tokens-details/,
    ),
    '  and 1 more ranks',
    '',
  ]);
  expect(renderResults([])).toBe('No model was routed here yet.\n');
});
