import { describe, expect, it } from 'vitest';
import { renderPairs } from '../../../../src/cli/commands/status/pairs-table.js';
import { Pair, PairClass, PairState } from '../../../../src/gen/kvaccord/v1/fleet.js';

function pairOf(values: Partial<Pair>): Pair {
  return Pair.fromPartial({
    group: 'm',
    prefill: { target: '10.0.0.1:50061', workerId: 'prefill-0' },
    decode: { target: '10.0.0.2:50061', workerId: 'decode-0' },
    class: PairClass.SAME_RACK,
    ...values,
  });
}

function shown(values: Partial<Pair>): string {
  return renderPairs({ pairs: [pairOf(values)], counts: undefined });
}

const ASIDE = { state: PairState.SET_ASIDE, reason: 'it failed in service: it timed out' };

describe('pairs that are set aside', () => {
  it('say when they are tried again', () => {
    expect(shown({ ...ASIDE, retryAfterSeconds: 40 })).toContain(
      'tried again in 40 s: it failed in service: it timed out',
    );
    expect(shown({ ...ASIDE, retryAfterSeconds: 0 })).toContain('tried again now: it failed in service');
  });

  it('are shown without it as an earlier aggregator lists them', () => {
    expect(shown(ASIDE)).toContain('it failed in service: it timed out');
    expect(shown(ASIDE)).not.toContain('tried again');
  });
});
