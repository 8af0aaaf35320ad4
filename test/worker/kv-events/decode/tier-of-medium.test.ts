import { describe, expect, it } from 'vitest';
import { tierOfMedium } from '../../../../src/worker/kv-events/decode/tier-of-medium.js';

describe('the tier of a medium', () => {
  it.each([
    [undefined, 'device'],
    ['GPU', 'device'],
    ['CPU', 'host'],
    ['CPU_PINNED', 'host'],
    ['CPU_TIER2', 'disk'],
    ['STORAGE', 'disk'],
    ['SHARED', 'external'],
    ['FLOPPY', undefined],
    ['', undefined],
    ['constructor', undefined],
  ])('%s is %s', (medium, tier) => {
    expect(tierOfMedium(medium)).toBe(tier);
  });
});
