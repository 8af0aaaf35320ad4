import { describe, expect, it } from 'vitest';
import { KNOWN_FAULTS } from '../../../../src/tools/doctor/known-faults/known-faults.js';
import { knownFaultsOf } from '../../../../src/tools/doctor/measurements/known-faults.js';
import { summaryOf } from '../logs/summaries.js';

/** Two rows of one cause, without patterns, of which the second has the longer words. */
const PLAIN = KNOWN_FAULTS.filter(
  ({ cause, pattern, atLeast, isSign }) =>
    cause === 'settings_refused' && pattern === undefined && atLeast === undefined && isSign !== true,
);
const byLength = [...PLAIN].sort((a, b) => (a.needles[0] ?? '').length - (b.needles[0] ?? '').length);
const [short, long] = [byLength[0], byLength.at(-1)];

describe('known faults of one line', () => {
  it('are named by the most particular first, wherever its words stand', async () => {
    const words = [short?.needles[0] ?? '', long?.needles[0] ?? ''];
    for (const line of [words.join(' | '), [...words].reverse().join(' | ')]) {
      const [first] = knownFaultsOf([await summaryOf(`${line}\n`)], 'settings_refused');
      expect(first?.fault.id).toBe(long?.id);
    }
  });

  it('stand behind those of lines before', async () => {
    const log = `${short?.needles[0]}\n${long?.needles[0]}\n`;
    const [first] = knownFaultsOf([await summaryOf(log)], 'settings_refused');
    expect(first?.fault.id).toBe(short?.id);
  });
});
