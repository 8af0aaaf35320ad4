import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { joinEvidence } from '../../../../src/tools/doctor/evidence.js';
import { metricsPart } from '../../../../src/tools/doctor/gather/metrics.js';
import { computeMemory } from '../../../../src/tools/doctor/memory/compute-memory.js';
import { trafficOf } from '../../../../src/tools/doctor/memory/traffic.js';
import { decisionsOf, logOf } from '../support/evidence.js';

const source = { kind: 'log', name: 'x', status: 'read', detail: '' } as const;

describe('what goes through a fleet', () => {
  it("is read from a frontend's metrics", () => {
    const path = '../../../fixtures/doctor-metrics/dynamo-1.6.1.frontend.agree-32-32.txt';
    const text = readFileSync(new URL(path, import.meta.url), 'utf8');
    const { sequenceTokens, newTokensPerSecond, workers } = trafficOf(
      joinEvidence([metricsPart('page', text)]),
    );
    expect(sequenceTokens?.value).toBeGreaterThan(1_000);
    expect(newTokensPerSecond?.value).toBeGreaterThan(0);
    expect(workers).toBe(2);
  });

  it('is read from decisions, and says how long an idle prefix stays', () => {
    const decisions = decisionsOf({ promptTokens: 1_000_000, engineCachedTokens: 400_000 });
    const log = logOf([], { decisions, firstMs: 0, lastMs: 100_000 });
    const origin = { place: 'x', text: '' };
    const evidence = joinEvidence([
      {
        source,
        logs: [log],
        models: [
          {
            name: 'm',
            layers: 32,
            kvHeads: 8,
            headSize: 128,
            dtypeBytes: 2,
            cacheBits: undefined,
            isQuantised: false,
            isInFloat32: false,
            hasExperts: false,
            latentSize: undefined,
            slidingWindow: undefined,
            hasChunks: false,
            groups: [
              {
                layers: 32,
                kvHeads: 8,
                headSize: 128,
                valueSize: 128,
                latentSize: undefined,
                indexBytes: 0,
                windowTokens: undefined,
              },
            ],
            nextTokenLayers: undefined,
            stateLayers: 0,
            weightBytes: undefined,
            weightOrigin: undefined,
            origin,
          },
        ],
        settings: [
          { side: 'worker', who: '', name: 'kv_cache_tokens', value: '300000', isDefault: false, origin },
        ],
      },
    ]);
    const [memory] = computeMemory(evidence);
    // 600,000 new tokens in 100 s over two workers: 3,000 a second for each.
    expect(memory?.retentionSeconds).toBe(100);
    expect(memory?.steps.at(-1)?.expression).toBe(
      '300000 tokens / ((1000000 - 400000 prompt tokens) / 100 s / 2 workers)',
    );
  });

  it('is not known where nothing reports it', () => {
    const nothing = { sequenceTokens: undefined, newTokensPerSecond: undefined, workers: undefined };
    expect(trafficOf(joinEvidence([{ source }]))).toEqual(nothing);
    const short = logOf([], { decisions: decisionsOf({ promptTokens: 5 }), firstMs: 7, lastMs: 7 });
    expect(trafficOf(joinEvidence([{ source, logs: [short] }])).newTokensPerSecond).toBeUndefined();
  });
});
