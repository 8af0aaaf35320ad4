import { describe, expect, it } from 'vitest';
import { holdsDate, withoutDates } from '../../../../src/worker/sidecar/tokens/token-dates.js';

const NEW_YEAR = Date.UTC(2027, 0, 1, 0, 30);
const NOVEMBER = Date.UTC(2026, 10, 22, 12);

describe('dates in rendered prompts', () => {
  it('are noticed by the year, on both sides of midnight', () => {
    expect(holdsDate('Today Date: 22 Nov 2026', NOVEMBER)).toBe(true);
    expect(holdsDate('Current date: 2026-12-31', NEW_YEAR)).toBe(true);
    expect(holdsDate('Cutting Knowledge Date: December 2023, 26 Jul 2024', NOVEMBER)).toBe(false);
  });

  it('are left out in the forms that templates write', () => {
    const on = (date: string): string => withoutDates(`a ${date} b`, NOVEMBER);
    for (const date of ['2026-11-22', '22 Nov 2026', '22 November 2026', 'November 22, 2026', '22/11/2026'])
      expect(on(date)).toBe('a <date> b');
    expect(on('Sunday, November 22, 2026 at 08:15:30 PM')).toBe(
      on('Monday, November 23, 2026 at 9:01:00 AM'),
    );
    expect(on('26 Jul 2024')).toBe('a 26 Jul 2024 b');
  });

  it('are the same text before and after a day', () => {
    const text = (date: string): string => `<|start|>system\nCurrent date: ${date}\n<|end|>`;
    const [before, after] = ['2026-12-31', '2027-01-01'].map((date) => withoutDates(text(date), NEW_YEAR));
    expect(before).toBe(after);
  });
});
