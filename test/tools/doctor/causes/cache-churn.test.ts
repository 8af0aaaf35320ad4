import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../../src/tools/doctor/diagnose.js';
import { summaryOf } from '../logs/summaries.js';
import { joined } from '../support/evidence.js';

async function adviceOf(...lines: readonly string[]) {
  const { headline, advice } = diagnose(joined({ logs: [await summaryOf(`${lines.join('\n')}\n`)] }));
  return { headline, advice };
}

const RETRACTION =
  '[2026-11-21 14:57:47 TP0] KV cache pool is full. Retract requests. #retracted_reqs: 2, #new_token_ratio: 0.0980 -> 0.1919';

describe('requests that an engine takes off its GPU', () => {
  it('again and again are a full cache, and the cure has SGLang admit fewer', async () => {
    const { headline, advice } = await adviceOf(RETRACTION, RETRACTION, RETRACTION);
    expect(headline).toContain('The KV cache is full: running requests were taken off the GPU 6 times');
    expect(advice).toContain('--schedule-conservativeness 1.3');
  });

  it('once in a while are a sign alone, with a test that proves it', async () => {
    expect((await adviceOf(RETRACTION)).advice).toContain('Send two equal prompts');
  });
});
