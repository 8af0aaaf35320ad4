import fc from 'fast-check';
import { expect, it } from 'vitest';
import { joinEvidence } from '../../../../src/tools/doctor/evidence.js';
import { renderReport } from '../../../../src/tools/doctor/report/render-report.js';
import { healthy, mismatch, mismatchEvidence, reportOptions } from '../support/diagnoses.js';
import { hostileText, speakingOnly } from '../support/hostile.js';

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there.
const CONTROLS = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/;

it('answers on one screen: what is wrong, what to do, why, and how things stand', () => {
  const text = renderReport(mismatch(), mismatchEvidence(), reportOptions());
  expect(text).toBe(SCREEN);
});

it('says of a further cause that it may be meant', () => {
  const { assessments, ...rest } = mismatch();
  const meant = assessments.map((one) => ({ ...one, mayBeMeant: one.cause === 'cache_churn' }));
  const text = renderReport({ ...rest, assessments: meant }, mismatchEvidence(), reportOptions());
  expect(text).toContain('\nAlso: cache_churn (possible; may be meant); details with --verbose\n');
});

it('says of a healthy fleet that it is', () => {
  expect(renderReport(healthy(), joinEvidence([]), reportOptions())).toBe(
    `HEALTHY: frontend and 2 workers use a block size of 32 tokens, and the router finds what engines
have

Do this  Nothing has to be done

Read     nothing
`,
  );
});

it('says what it could not determine', () => {
  const text = renderReport(
    { ...healthy(), verdict: 'unknown', headline: 'no block size was seen', unknowns: ['It needs a log.'] },
    joinEvidence([]),
    reportOptions(),
  );
  expect(text).toMatch(/^COULD NOT TELL: no block size was seen\n/);
  expect(text).toMatch(/^Unknown {2}It needs a log\.$/m);
});

it('keeps to the width of a terminal, but for tables and what is copied', () => {
  const text = renderReport(mismatch(), mismatchEvidence(), reportOptions({ columns: 60 }));
  const long = text.split('\n').filter((line) => line.length > 60);
  expect(
    long.filter((line) => !/^(?:Blocks| {6}) {3}(?:SIDE|frontend|worker) |frontend:8000/.test(line)),
  ).toEqual([]);
});

it('takes a terminal without a size for one of 100 columns', () => {
  const text = renderReport(mismatch(), mismatchEvidence(), reportOptions({ columns: 0 }));
  expect(text).toBe(SCREEN);
});

it('colours only where that is asked for, and nothing else changes', () => {
  const text = renderReport(mismatch(), mismatchEvidence(), reportOptions({ isColoured: true }));
  expect(text).toContain('\u001b[31mFINDING (certain)');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the colours.
  expect(text.replace(/\u001b\[\d+m/g, '')).toBe(SCREEN);
});

it('shows everything when it is asked to', () => {
  const text = renderReport(mismatch(), mismatchEvidence(), reportOptions({ isVerbose: true }));
  for (const part of [
    '── Cause 1: block_size_mismatch',
    '── Cause 2: cache_churn',
    'Evidence against it',
    'Fix 2: Set --kv-block-size 16 on the workers',
    '  +        - name: DYN_KV_CACHE_BLOCK_SIZE',
    '  $ kubectl apply -f deploy/graph.yaml',
    '2 x 80 layers x 8 KV heads / 4 GPUs x 128 x 2 bytes = 80 KiB (81,920 bytes)',
    'frontend.log, 2026-02-16 14:30:00 UTC to 14:40:00',
    'max_num_seqs  256 (default)  engine.yaml',
    'How many follow-ups there are',
    'kv-accord 0.1.0, 2026-02-16 15:00:00 UTC',
  ])
    expect(text).toContain(part);
});

it('keeps secrets to itself', () => {
  const text = renderReport(mismatch(), mismatchEvidence(), reportOptions({ isVerbose: true }));
  expect(text).not.toMatch(/hunter2|correct-horse|secret-of-an-edit/);
});

it('lets nothing of others reach the terminal but printable text', () => {
  fc.assert(
    fc.property(hostileText, (hostile) => {
      const text = renderReport(
        speakingOnly(mismatch(), hostile),
        speakingOnly(mismatchEvidence(), hostile),
        reportOptions({ isVerbose: true }),
      );
      expect(text).not.toMatch(CONTROLS);
    }),
  );
});

const SCREEN = `FINDING (certain): the frontend uses a block size of 16 tokens, and 2 workers use 32
Also: cache_churn (possible); details with --verbose

Do this  Set DYN_KV_CACHE_BLOCK_SIZE=32 on the frontend
         restarts the frontend, changes 1 file: deploy/graph.yaml
         +        - name: DYN_KV_CACHE_BLOCK_SIZE
         +          value: "32"

Because  Workers dropped blocks: they must have 16 tokens, and have 32. (worker-0.log:1204)
         The router did not find the parent of 3,120 blocks, and had nothing to remove 2,871 times.
         (frontend.log:88)
         None of 1,204 decisions found a cached block, with a tree of size 0. (frontend.log:91)

Blocks   SIDE      WHO                 TOKENS/BLOCK  HOW KNOWN         FROM
         frontend  Frontend            16            default, not set  deploy/graph.yaml:5:7
         worker    worker-0, worker-1  32            seen in events    worker-0.log:1204 and 1 more

Memory   worker-0: 2.5 MiB a block; 24 GiB a GPU for KV blocks; room for 9,830 blocks (314,560
         tokens); running sequences need up to 167% of it; an idle prefix stays 41 s; half is free…
Routing  1,204 decisions over 2 workers (53%, 47%); the router expected 0% to be cached; engines had
         3.4%; first token after 810 ms for first turns, 790 ms for follow-ups
Read     frontend.log, worker-0.log, deploy/, nvidia-smi; not read:
         http://[masked]@frontend:8000/metrics (connection refused)
Unknown  How many tokens engines really had cached: their /metrics was not given (--metrics URL).
         (and 1 more: --verbose)
`;
