import { describe, expect, it } from 'vitest';
import type { MemberView } from '../../../../src/core/agreement/view/snapshot.js';
import { CandidateList } from '../../../../src/fleet/router/choice/candidate-list.js';
import { TestFleet } from '../../../support/fleet.js';

/** The members of a fleet of workers that report as given. */
function members(fleet: TestFleet): readonly MemberView[] {
  return fleet.group().members;
}

function fleetOf(...targets: readonly string[]): TestFleet {
  const fleet = new TestFleet({ isStaticDiscovery: true });
  fleet.list(...targets);
  for (const target of targets) fleet.report(target);
  return fleet;
}

const named = (list: CandidateList): string[] =>
  list.candidates.map(({ target, rank, instanceId, offer }) => `${target}/${rank} ${instanceId} ${offer}`);

describe('who may be chosen', () => {
  it('is each rank of each worker that is offered', () => {
    const fleet = new TestFleet({ isStaticDiscovery: true });
    fleet.list('w-1', 'w-2');
    fleet.report('w-1', { serving: { ranks: [0, 1] } });
    fleet.report('w-2');
    const list = new CandidateList({});
    expect(list.update(members(fleet))).toBe(true);
    expect(named(list)).toEqual(['w-1/0 w-1-1 full', 'w-1/1 w-1-1 full', 'w-2/0 w-2-1 full']);
    expect(list.candidates.map(({ rankCount }) => rankCount)).toEqual([2, 2, 1]);
  });

  it('is not computed again while no member changes, however often it is shown', () => {
    const fleet = fleetOf('w-1', 'w-2');
    const list = new CandidateList({});
    list.update(members(fleet));
    const before = list.candidates;
    expect(list.update(members(fleet))).toBe(false);
    fleet.cacheViewChanged('w-1', 'exact');
    expect(list.update(members(fleet))).toBe(false);
    expect(list.candidates).toBe(before);
  });

  it('follows a new start of an engine, and leaves out who is draining, who dissents and who has gone', () => {
    const fleet = fleetOf('w-1', 'w-2', 'w-3');
    const list = new CandidateList({});
    list.update(members(fleet));
    fleet.report('w-1', { instance: 'w-1-2' });
    expect(list.update(members(fleet))).toBe(true);
    expect(named(list)[0]).toBe('w-1/0 w-1-2 full');
    fleet.report('w-2', { draining: true, revision: 2 });
    expect(list.update(members(fleet))).toBe(true);
    expect(named(list)).toEqual(['w-1/0 w-1-2 full', 'w-3/0 w-3-1 full']);
    fleet.report('w-3', { size: 16, revision: 2 });
    expect(list.update(members(fleet))).toBe(true);
    expect(named(list)).toEqual(['w-1/0 w-1-2 full']);
    fleet.list('w-2');
    expect(list.update(members(fleet))).toBe(true);
    expect(named(list)).toEqual([]);
    expect(list.leftOut.size).toBe(0);
  });

  it('keeps a worker without cache knowledge, as what it is', () => {
    const fleet = new TestFleet({ isStaticDiscovery: true, mismatchedWorkers: 'load-only' });
    fleet.list('w-1', 'w-2', 'w-3');
    for (const target of ['w-1', 'w-2', 'w-3']) fleet.report(target);
    fleet.report('w-3', { size: 16, revision: 2 });
    const list = new CandidateList({});
    list.update(members(fleet));
    expect(named(list)[2]).toBe('w-3/0 w-3-1 load_only');
  });

  it('leaves out who computes only a part of a request, and who cannot be reached, and says which', () => {
    const fleet = new TestFleet({ isStaticDiscovery: true });
    fleet.list('w-1', 'w-2', 'w-3', 'w-4');
    fleet.report('w-1', { serving: { role: 'prefill' } });
    fleet.report('w-2', { serving: { role: 'decode' } });
    fleet.report('w-3', { serving: { httpUrls: [] } });
    fleet.report('w-4');
    const list = new CandidateList({ isReachable: ({ serving }) => serving?.httpUrls.length !== 0 });
    list.update(members(fleet));
    expect(named(list)).toEqual(['w-4/0 w-4-1 full']);
    expect([...list.leftOut]).toEqual([
      ['w-1', 'role'],
      ['w-2', 'role'],
      ['w-3', 'unreachable'],
    ]);
  });
});
