import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Stored, StoreGauge } from '../../../../src/fleet/router/results/store-gauge.js';

function add(gauge: StoreGauge, count: number, stored: Stored): void {
  for (let n = 0; n < count; n += 1) gauge.add(stored);
}

describe('the events of a rank', () => {
  it('are doubted when they name the blocks of hardly any prompt that it computed', () => {
    const gauge = new StoreGauge();
    add(gauge, 11, 'nowhere');
    expect(gauge.isDoubted).toBe(false);
    gauge.add('elsewhere');
    expect(gauge.isDoubted).toBe(true);
    expect(gauge.counts).toEqual({ looks: 12, missing: 12, elsewhere: 1 });
  });

  it('are believed again after a row of prompts, each time a longer one', () => {
    const gauge = new StoreGauge();
    for (const row of [16, 32, 64]) {
      add(gauge, 20, 'nowhere');
      expect(gauge.missingRequests).toBe(row);
      add(gauge, row - 1, 'here');
      expect(gauge.isDoubted).toBe(true);
      gauge.add('here');
      expect(gauge.isDoubted).toBe(false);
      add(gauge, 16, 'here');
    }
  });

  it('are not doubted while half of them come', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom<Stored>('nowhere', 'elsewhere'), { maxLength: 200 }),
        (missing) => {
          const gauge = new StoreGauge();
          for (const one of missing) {
            gauge.add('here');
            gauge.add(one);
          }
          expect(gauge.isDoubted).toBe(false);
        },
      ),
    );
  });
});
