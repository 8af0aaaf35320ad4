import { describe, expect, it } from 'vitest';
import { MAX_GROUPS, MAX_MODEL_CHANGES } from '../../src/agreement/options.js';
import { TestFleet } from '../support/fleet.js';

/** A sidecar that names another model every 50 ms, from now for so long. */
function rename(fleet: TestFleet, target: string, forMs: number, revision = 1): number {
  let next = revision;
  for (let spentMs = 0; spentMs < forMs; spentMs += 50) {
    fleet.report(target, { model: `made-up-${next}`, revision: next });
    next += 1;
    fleet.advance(50);
  }
  return next;
}

describe('models that workers name', () => {
  it('one sidecar that renames its model 20 times a second holds one group at most, and no gate', () => {
    const fleet = new TestFleet({ onMissing: 'wait', isStaticDiscovery: true });
    fleet.list('a', 'b', 'hostile');
    fleet.report('a');
    rename(fleet, 'hostile', 20_000);
    expect(fleet.state.groups.size).toBeLessThanOrEqual(2);
    fleet.report('b');
    expect(fleet.group('tiny').gateOpen).toBe(true);
    expect(fleet.member('hostile').reason).toContain('named another model more than 4 times within 60 s');
    // It is logged once, and its groups are as few as its changes were.
    expect(fleet.logs('model_changes')).toHaveLength(1);
    expect(fleet.logs('group_ended').length).toBeLessThanOrEqual(MAX_MODEL_CHANGES + 1);
  });

  it('one that keeps a model again is taken back after a minute, and not before', () => {
    const fleet = new TestFleet({ isStaticDiscovery: true });
    fleet.list('a', 'b');
    fleet.report('a');
    const revision = rename(fleet, 'b', 5_000);
    fleet.report('b', { revision });
    fleet.advance(59_000);
    expect(fleet.member('b')).toMatchObject({ state: 'incomplete', offer: 'none' });
    fleet.advance(1_000);
    expect(fleet.member('b')).toMatchObject({ state: 'conforming', offer: 'full', reason: '' });
    expect(fleet.state.turnedAway.size).toBe(0);
  });

  it('a change of model now and then is none of this', () => {
    const fleet = new TestFleet({ isStaticDiscovery: true });
    fleet.list('a');
    for (let revision = 1; revision < 20; revision += 1) {
      fleet.report('a', { model: `v${revision}`, revision });
      expect(fleet.group(`v${revision}`).gateOpen).toBe(true);
      fleet.advance(15_000);
    }
  });

  it('a group whose last member serves another model now is dropped; one whose member left keeps its grace', () => {
    const fleet = new TestFleet({ isStaticDiscovery: true });
    fleet.list('a');
    fleet.report('a', { model: 'old' });
    fleet.report('a', { model: 'new', revision: 2 });
    expect([...fleet.state.groups.keys()]).toEqual(['new']);
    fleet.list('b');
    fleet.advance(29_999);
    expect([...fleet.state.groups.keys()]).toEqual(['new']);
    fleet.advance(1);
    expect([...fleet.state.groups.keys()]).toEqual([]);
  });

  it('a worker that found no room is tried again when a group ends, and holds up nobody meanwhile', () => {
    const fleet = new TestFleet({ onMissing: 'wait', isStaticDiscovery: true });
    const many = Array.from({ length: MAX_GROUPS }, (_, index) => `w-${index}`);
    fleet.list(...many, 'legitimate', 'late');
    for (const target of many) fleet.report(target, { model: `m-${target}` });
    fleet.report('legitimate', { model: 'wanted' });
    expect(fleet.member('legitimate').reason).toContain('one of more than 256');
    fleet.report('late', { model: 'm-w-0' });
    // Nobody is missing: who was turned away has spoken.
    expect(fleet.group('m-w-0').gateOpen).toBe(true);
    fleet.report('w-5', { model: 'm-w-0', revision: 2 });
    expect(fleet.group('wanted')).toMatchObject({ gateOpen: true });
    expect(fleet.member('legitimate')).toMatchObject({ state: 'conforming', offer: 'full' });
  });

  it('one that was turned away and leaves, drains or is refused is counted right', () => {
    const fleet = new TestFleet({ onMissing: 'wait', isStaticDiscovery: true });
    fleet.list('a', 'hostile', 'c');
    fleet.report('a');
    const revision = rename(fleet, 'hostile', 2_000);
    fleet.report('hostile', { model: 'x', revision, draining: true });
    fleet.broken('hostile');
    fleet.alive('hostile');
    fleet.do({ type: 'report_refused', target: 'hostile', problems: ['too long'] });
    fleet.list('a', 'c');
    expect(fleet.state).toMatchObject({ unassigned: 1 });
    fleet.report('c');
    expect(fleet.group('tiny').gateOpen).toBe(true);
  });
});
