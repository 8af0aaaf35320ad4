import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ContractValues } from '../../../src/core/contract/contract-values.js';
import { type ReportSketch, TestFleet } from '../../support/fleet.js';

const FULL: ContractValues = {
  'cache_groups[1].kind': 'full_attention',
  'cache_groups[1].tokens_per_block': '32',
};

/** A worker that has shown full attention and a sliding window. */
function sliding(windowTokens: number, more: ReportSketch = {}): ReportSketch {
  return {
    ...more,
    values: {
      ...FULL,
      'cache_groups[0].kind': 'sliding_window',
      'cache_groups[0].tokens_per_block': '32',
      'cache_groups[0].window_tokens': String(windowTokens),
    },
  };
}

function openFleet(...targets: string[]): TestFleet {
  const fleet = new TestFleet({ isStaticDiscovery: true });
  fleet.list(...targets);
  for (const target of targets) fleet.report(target, sliding(128));
  expect(fleet.group().gateOpen).toBe(true);
  return fleet;
}

describe('A14: the KV cache groups of workers', () => {
  it('A14: workers whose groups differ before agreement are in conflict, with the group and the field', () => {
    const fleet = new TestFleet({ isStaticDiscovery: true });
    fleet.list('a', 'b', 'c');
    fleet.report('a', sliding(128));
    fleet.report('b', sliding(128));
    fleet.report('c', sliding(64));
    expect(fleet.group()).toMatchObject({ state: 'conflict', gateOpen: false });
    expect(fleet.logs('conflict').at(-1)).toBe(
      [
        'ERROR Workers of "tiny" disagree on the cache_groups[0].window_tokens; the gate stays shut.',
        '  128: a, b (vLLM, by its KV events)',
        '  64: c (vLLM, by its KV events)',
        'Run all workers of one model with the same cache_groups[0].window_tokens, or give them different served model names.',
      ].join('\n'),
    );
  });

  it('A14: in a running epoch the worker of a minority dissents, and the epoch goes on', () => {
    const fleet = openFleet('a', 'b', 'c');
    const { epoch } = fleet.group();
    fleet.report('c', sliding(64, { instance: 'c-2' }));
    expect(fleet.group()).toMatchObject({ gateOpen: true, epoch });
    expect(fleet.member('c')).toMatchObject({ state: 'dissenting', offer: 'none' });
    expect(fleet.logs('worker_dissents').join()).toContain(
      'cache_groups[0].window_tokens 64, those of most workers 128',
    );
    // The block sizes are the same: the counter of these stays where it is.
    expect(fleet.effects.filter(({ type }) => type === 'mismatch')).toEqual([]);
  });

  it('A14: a group that a worker has not shown yet never conflicts', () => {
    const fleet = openFleet('a', 'b');
    fleet.list('a', 'b', 'new', 'plain');
    fleet.report('new', { values: FULL });
    fleet.report('plain', {});
    for (const target of ['new', 'plain']) {
      expect(fleet.member(target)).toMatchObject({
        state: 'conforming',
        offer: 'full',
        unverifiedFields: [],
      });
    }
  });

  it('A14: what is learned late shuts no gate and begins no epoch, and changes the digest', () => {
    const fleet = new TestFleet({ isStaticDiscovery: true });
    fleet.list('a', 'b');
    fleet.report('a', {});
    fleet.report('b', {});
    const { epoch, digest } = fleet.group();
    fleet.report('a', { values: FULL, revision: 2 });
    fleet.report('b', sliding(128, { revision: 2 }));
    fleet.report('a', sliding(128, { revision: 3 }));
    expect(fleet.group()).toMatchObject({ gateOpen: true, epoch });
    expect(fleet.group().digest).not.toBe(digest);
    expect(fleet.logs('worker_dissents')).toEqual([]);
  });

  it('A14: a group that most show otherwise moves the fleet without a new epoch', () => {
    const fleet = openFleet('a', 'b', 'c');
    const { epoch } = fleet.group();
    fleet.report('b', sliding(64, { instance: 'b-2' }));
    expect(fleet.member('b').state).toBe('dissenting');
    fleet.report('c', sliding(64, { instance: 'c-2' }));
    expect(fleet.group()).toMatchObject({ gateOpen: true, epoch });
    expect(['a', 'b', 'c'].map((target) => fleet.member(target).state)).toEqual([
      'dissenting',
      'conforming',
      'conforming',
    ]);
  });

  it('A14 and A11: who dissents does not depend on the order in which groups are learned', () => {
    const windows = { a: 128, b: 64, c: 128, d: 64, e: 128 } as const;
    const targets = Object.keys(windows) as (keyof typeof windows)[];
    const endOf = (order: readonly (keyof typeof windows)[]): string[] => {
      const fleet = new TestFleet({ isStaticDiscovery: true });
      fleet.list(...targets);
      for (const target of targets) fleet.report(target, {});
      for (const target of order) fleet.report(target, sliding(windows[target], { revision: 2 }));
      expect(fleet.group().gateOpen).toBe(true);
      return targets.map((target) => `${target} ${fleet.member(target).state}`);
    };
    const expected = endOf(targets);
    expect(expected).toContain('b dissenting');
    fc.assert(
      fc.property(fc.shuffledSubarray(targets, { minLength: targets.length }), (order) => {
        expect(endOf(order)).toEqual(expected);
      }),
    );
  });
});
