import { describe, expect, it } from 'vitest';
import type { AgreementEffect } from '../../../src/core/agreement/state/events.js';
import type { AgreementOptions } from '../../../src/core/agreement/state/options.js';
import { TestFleet } from '../../support/fleet.js';

/** A frontend that was restarted: it lists workers, of which some report within a second. */
function restarted(
  listed: readonly string[],
  reporting: readonly string[],
  options: Partial<AgreementOptions> = {},
): TestFleet {
  const fleet = new TestFleet(options);
  fleet.list(...listed);
  fleet.nowMs = 1_000;
  for (const target of reporting) fleet.report(target);
  return fleet;
}

/** Discovery lists workers again, of which some have no machine. */
function listUnscheduled(fleet: TestFleet, all: readonly string[], unscheduled: readonly string[]): void {
  fleet.do({
    type: 'listed',
    members: all.map((target) => ({
      target,
      draining: false,
      unscheduled: unscheduled.includes(target),
    })),
  });
}

const warnings = (effects: readonly AgreementEffect[]): string[] =>
  effects.flatMap((effect) =>
    effect.type === 'log' && effect.level !== 'info' ? [`${effect.code}: ${effect.message}`] : [],
  );

describe('A12: the quorum', () => {
  it('opens partial when at least half have reported one contract and none has joined for collect_timeout', () => {
    const fleet = restarted(['a', 'b', 'c'], ['a', 'b']);
    fleet.broken('c', 'nothing listens there');
    fleet.advance(59_999);
    expect(fleet.group()).toMatchObject({ gateOpen: false, partialReason: '' });
    expect(fleet.group().reasons[0]?.text).toBe(
      'waiting for 1 of 3 workers: c (nothing listens there); it opens without them when no other has reported for 60 s',
    );
    const effects = fleet.advance(1);
    expect(warnings(effects)).toEqual([
      'partial: "tiny" is open without 1 worker that had not reported: c (nothing listens there). Who reports later is compared with what is agreed.',
    ]);
    expect(fleet.group()).toMatchObject({
      gateOpen: true,
      ready: true,
      reasons: [],
      partialReason: '"tiny" is open without 1 worker that had not reported: c (nothing listens there)',
    });
    expect(fleet.logs('agreed')).toEqual(['INFO Auto-configured KV block size to 32 (from worker reports)']);
  });

  it('every worker that joins begins the wait again, so that a fleet that starts is waited for', () => {
    const fleet = restarted(['a', 'b', 'c', 'd'], ['a', 'b']);
    fleet.advance(50_000);
    fleet.report('c');
    fleet.advance(59_999);
    expect(fleet.group().gateOpen).toBe(false);
    fleet.report('d');
    expect(fleet.group()).toMatchObject({ gateOpen: true, partialReason: '' });
  });

  it('one that reports, breaks and reports again does not hold the others up for ever', () => {
    const fleet = restarted(['a', 'b', 'flapping', 'silent'], ['a', 'b', 'flapping']);
    for (let revision = 2; revision < 8; revision += 2) {
      fleet.advance(10_000);
      fleet.report('flapping', { revision, unusable: 'the engine is starting' });
      fleet.advance(10_000);
      fleet.report('flapping', { revision: revision + 1 });
    }
    expect(fleet.group().gateOpen).toBe(true);
  });

  it('never opens with fewer than half, and says how many are needed', () => {
    const fleet = restarted(['a', 'b', 'c'], ['a']);
    fleet.advance(24 * 3_600_000);
    expect(fleet.group().gateOpen).toBe(false);
    expect(fleet.group().reasons[0]?.text).toContain(
      'to open without them, at least half of 3 workers must have reported, and 1 has',
    );
    fleet.report('b');
    fleet.advance(60_000);
    expect(fleet.group().gateOpen).toBe(true);
  });

  it('a conflict among those who reported never opens, however long it lasts', () => {
    const fleet = restarted(['a', 'b', 'c', 'd'], ['a', 'b']);
    fleet.report('c', { size: 64 });
    fleet.advance(24 * 3_600_000);
    expect(fleet.group()).toMatchObject({ state: 'conflict', gateOpen: false });
    expect(fleet.group().reasons[0]?.code).toBe('conflict');
  });

  it('neither does a declaration that contradicts its engine, where the frontend goes by declarations', () => {
    const fleet = restarted(['a', 'b', 'c'], ['a'], { frontendUses: 'declared' });
    fleet.report('b', { declares: 16 });
    fleet.advance(24 * 3_600_000);
    expect(fleet.group().state).toBe('conflict');
    fleet.report('b', { revision: 2 });
    expect(fleet.group().gateOpen).toBe(true);
  });

  it('the missing that come later and differ are dissenting, and no majority of them can come (A7, A9)', () => {
    const fleet = restarted(['a', 'b', 'c', 'd'], ['a', 'b']);
    fleet.advance(60_000);
    fleet.report('c', { size: 64 });
    fleet.report('d', { size: 64 });
    fleet.advance(60_000);
    expect(fleet.group()).toMatchObject({ epoch: 1, values: { tokens_per_block: 32 } });
    expect(fleet.member('c')).toMatchObject({ state: 'dissenting', offer: 'none' });
    expect(fleet.member('d')).toMatchObject({ state: 'dissenting', offer: 'none' });
    // One ERROR for both: they differ by the same contract.
    expect(fleet.logs('worker_dissents')).toHaveLength(1);
  });

  it('an epoch is partial until each of the missing has reported, drains or has left, and it is said once', () => {
    const all = ['a', 'b', 'c', 'd', 'e', 'f'];
    const fleet = restarted(all, ['a', 'b', 'c']);
    fleet.advance(60_000);
    expect(fleet.group().partialReason).toContain('without 3 workers that had not reported: d');
    fleet.report('d');
    fleet.report('e', { draining: true });
    expect(fleet.group().partialReason).toContain('without 1 worker that had not reported: f');
    // One that is listed later was not missing.
    fleet.list('a', 'b', 'c', 'd', 'e', 'late');
    expect(fleet.group().partialReason).toBe('');
    expect(fleet.logs('partial_over')).toEqual([
      'INFO Nobody is missing from "tiny" any more: all have reported, drain, or have left.',
    ]);
  });

  it('a worker that the platform has no machine for has no vote, is not waited for then, and is named', () => {
    const all = ['a', 'p1', 'p2', 'p3'];
    const fleet = restarted(all, ['a']);
    listUnscheduled(fleet, all, ['p1', 'p2', 'p3']);
    fleet.advance(59_999);
    expect(fleet.group().gateOpen).toBe(false);
    fleet.advance(1);
    expect(fleet.group().gateOpen).toBe(true);
    expect(fleet.group().partialReason).toContain('without 3 workers');
  });

  it('one that has a machine and is not ready has a vote: it may come with another value', () => {
    const all = ['a', 'p1', 'p2', 'p3'];
    const fleet = restarted(all, ['a']);
    listUnscheduled(fleet, all, ['p1', 'p2', 'p3']);
    listUnscheduled(fleet, all, ['p1']);
    fleet.advance(24 * 3_600_000);
    expect(fleet.group().gateOpen).toBe(false);
  });

  it('a worker that has named no model may be of any: it counts as missing in each', () => {
    const fleet = restarted(['a', 'b', 'c', 'x', 'y'], ['a', 'b']);
    fleet.report('c', { model: 'other' });
    fleet.advance(60_000);
    expect(fleet.group('tiny').gateOpen).toBe(true);
    expect(fleet.group('other').gateOpen).toBe(false);
    fleet.report('x', { unusable: 'the engine is starting' });
    expect(fleet.group('other').gateOpen).toBe(true);
  });

  it('with min_workers auto half of the expected that have a machine are enough then; a number is never lowered', () => {
    const auto = restarted(['a', 'b', 'c', 'p'], ['a', 'b', 'c'], { minWorkers: 'auto' });
    auto.do({
      type: 'listed',
      members: ['a', 'b', 'c', 'p'].map((target) => ({
        target,
        draining: false,
        unscheduled: target === 'p',
      })),
      expected: { count: 7, origin: 'Deployment worker' },
    });
    auto.advance(59_999);
    expect(auto.group().gateOpen).toBe(false);
    auto.advance(1);
    expect(auto.group().gateOpen).toBe(true);
    const tooFew = restarted(['a', 'b', 'c'], ['a', 'b', 'c'], { minWorkers: 'auto' });
    const members = ['a', 'b', 'c'].map((target) => ({ target, draining: false }));
    tooFew.do({ type: 'listed', members, expected: { count: 7, origin: 'Deployment worker' } });
    tooFew.advance(24 * 3_600_000);
    expect(tooFew.group().gateOpen).toBe(false);
    const number = restarted(['a', 'b'], ['a'], { minWorkers: 2 });
    number.advance(24 * 3_600_000);
    expect(number.group().gateOpen).toBe(false);
  });

  it('with wait nobody is left out, however long it takes', () => {
    const fleet = restarted(['a', 'b', 'c'], ['a', 'b'], { onMissing: 'wait' });
    fleet.advance(24 * 3_600_000);
    expect(fleet.group().gateOpen).toBe(false);
    expect(fleet.group().reasons[0]?.text).toContain('--on-missing=wait waits for all of them');
  });

  it('an epoch that proceed opened is partial as well', () => {
    const fleet = restarted(['a', 'b', 'c'], ['a'], { onMissing: 'proceed' });
    fleet.advance(60_000);
    expect(fleet.group()).toMatchObject({
      gateOpen: true,
      partialReason: expect.stringContaining('without 2 workers'),
    });
  });
});
