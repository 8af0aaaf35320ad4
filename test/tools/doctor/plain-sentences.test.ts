import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../src/tools/doctor/diagnose.js';
import { summaryOf } from './logs/summaries.js';
import { joined } from './support/evidence.js';

const SENTENCES = readFileSync(
  new URL('../../fixtures/doctor-plain-sentences/sentences.jsonl', import.meta.url),
  'utf8',
)
  .trimEnd()
  .split('\n')
  .map(
    (line) => JSON.parse(line) as { readonly cause: string; readonly cure: string; readonly text: string },
  );

describe('an error whose own words have the cure', () => {
  it.each(SENTENCES)('needs no row: $cure', async ({ cause, cure, text }) => {
    const log = await summaryOf(`${text}\n`);
    const { assessments, advice } = diagnose(joined({ logs: [log] }));
    expect(log.knownFaults ?? []).toEqual([]);
    expect(assessments[0]?.cause).toBe(cause);
    expect(advice).toContain(cure);
  });
});
