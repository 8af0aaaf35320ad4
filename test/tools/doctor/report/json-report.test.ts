import fc from 'fast-check';
import { expect, it } from 'vitest';
import { joinEvidence } from '../../../../src/tools/doctor/evidence.js';
import { renderReport } from '../../../../src/tools/doctor/report/render-report.js';
import { healthy, mismatch, mismatchEvidence, reportOptions } from '../support/diagnoses.js';
import { hostileText, speakingOnly } from '../support/hostile.js';

const json = reportOptions({ format: 'json' });

it('gives programs the same, in snake_case', () => {
  const report = JSON.parse(renderReport(mismatch(), mismatchEvidence(), json));
  expect(report).toMatchObject({
    report_version: 1,
    kv_accord_version: '0.1.0',
    generated_at: '2026-02-16T15:00:00.000Z',
    verdict: 'findings',
    assessments: [
      {
        cause: 'block_size_mismatch',
        confidence: 'certain',
        clues_for: [{ origin: { place: 'worker-0.log:1204' } }, {}, {}, { origin: null }],
        fixes: [
          {
            disturbs: 'frontend',
            files: [
              {
                file: 'deploy/graph.yaml',
                diff: expect.stringContaining('+        - name: DYN_KV_CACHE_BLOCK_SIZE'),
              },
            ],
          },
          {},
        ],
      },
      {},
    ],
    routing: {
      decisions_by_worker: { '4467334888485367': 560, '7702713015953616': 644 },
      first_token_seconds: { cold: 0.81, warm: 0.79 },
    },
    memory: [{ who: 'worker-0', bytes_per_token: 81_920, steps: [{ unit: 'bytes' }, {}] }],
    evidence: {
      sizes: [{ side: 'frontend', tokens_per_block: 16, basis: 'default' }, {}, {}],
      settings: [{ name: 'router_mode', is_default: false }, {}],
      manifests: ['deploy/graph.yaml'],
      findings: [{ rule_id: 'block-size-unset', fix: 'Set it' }],
      logs: [
        {
          is_whole: true,
          costs: null,
          signals: { parent_block_not_found: { rate: { bucket_ms: 10_000 } } },
          decisions: { largest_tree_size: 0 },
        },
      ],
    },
  });
});

it('keeps every byte of a report that was recorded', async () => {
  await expect(renderReport(mismatch(), mismatchEvidence(), json)).toMatchFileSnapshot(
    '../../../fixtures/doctor-report/mismatch.json',
  );
  await expect(renderReport(healthy(), joinEvidence([]), json)).toMatchFileSnapshot(
    '../../../fixtures/doctor-report/healthy.json',
  );
});

it('has the same names whatever was seen', () => {
  const full = JSON.parse(renderReport(mismatch(), mismatchEvidence(), json));
  const bare = JSON.parse(renderReport(healthy(), joinEvidence([]), json));
  expect(Object.keys(bare)).toEqual(Object.keys(full));
  expect(Object.keys(bare.evidence)).toEqual(Object.keys(full.evidence));
  expect(bare.routing).toBeNull();
});

it('keeps secrets to itself', () => {
  expect(renderReport(mismatch(), mismatchEvidence(), json)).not.toMatch(
    /hunter2|correct-horse|secret-of-an-edit/,
  );
});

it('stays JSON whatever others say', () => {
  fc.assert(
    fc.property(hostileText, (hostile) => {
      const report = JSON.parse(
        renderReport(speakingOnly(mismatch(), hostile), speakingOnly(mismatchEvidence(), hostile), json),
      );
      expect(Object.keys(report.routing.decisions_by_worker)).toHaveLength(2);
    }),
  );
});
