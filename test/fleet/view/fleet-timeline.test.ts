import { describe, expect, it } from 'vitest';
import { FleetHistory } from '../../../src/core/view/fleet-history.js';
import { FleetTimeline } from '../../../src/fleet/view/fleet-timeline.js';
import { Canary_State as CanaryState } from '../../../src/gen/kvaccord/v1/capabilities.js';
import { TestFleet } from '../../support/fleet.js';
import { makeWireReport } from '../../support/reports.js';

/** A fleet whose timeline a test reads. */
class Watched {
  readonly fleet = new TestFleet({ isStaticDiscovery: true });
  readonly history = new FleetHistory({ now: () => this.fleet.nowMs });
  readonly timeline = new FleetTimeline({ history: this.history });
  #seen = 0;

  do(change: (fleet: TestFleet) => void): this {
    const before = this.fleet.effects.length;
    change(this.fleet);
    for (const effect of this.fleet.effects.slice(before)) this.timeline.onEffect(effect);
    this.timeline.onView(this.fleet.view());
    return this;
  }

  /** Kind and worker of what is new since the last call. */
  news(): string[] {
    const entries = this.history.timeline.since(this.#seen);
    this.#seen = this.history.timeline.nextId;
    return entries.map(({ kind, worker }) => (worker === '' ? kind : `${kind} ${worker}`));
  }
}

function agreed(...names: string[]): Watched {
  const watched = new Watched().do((fleet) => fleet.list(...names));
  for (const name of names) watched.do((fleet) => fleet.report(name));
  watched.news();
  return watched;
}

describe('the timeline of a fleet', () => {
  it('begins with who is listed, what is agreed, and the gate', () => {
    const watched = new Watched().do((fleet) => fleet.list('a', 'b'));
    for (const name of ['a', 'b']) watched.do((fleet) => fleet.report(name));
    const news = watched.news();
    expect(news.slice(0, 2)).toEqual(['joined a', 'joined b']);
    expect(news).toEqual(expect.arrayContaining(['epoch', 'gate_open']));
  });

  it('has a conflict in the words of the log, with what to do', () => {
    const watched = new Watched().do((fleet) => fleet.list('a', 'b'));
    watched.do((fleet) => fleet.report('a', { size: 16 }));
    watched.do((fleet) => fleet.report('b', { size: 32 }));
    const entry = watched.history.timeline.since(0).find(({ kind }) => kind === 'conflict');
    expect(entry).toMatchObject({
      tone: 'bad',
      group: 'tiny',
      todo: expect.stringContaining('same block size'),
    });
    expect(entry?.text).toContain('disagree on the KV block size');
  });

  it('has the restart of an engine, who differs after it, and who agrees again', () => {
    const watched = agreed('a', 'b', 'c');
    watched.do((fleet) => fleet.report('c', { size: 64, instance: 'c-2' }));
    expect(watched.news()).toEqual(expect.arrayContaining(['restarted c', 'dissent c']));
    watched.do((fleet) => fleet.report('c', { size: 32, instance: 'c-3' }));
    expect(watched.news()).toEqual(expect.arrayContaining(['restarted c', 'conforms c']));
  });

  it('has the end of an engine and its next start, although nothing was reported of it between', () => {
    const watched = agreed('a', 'b', 'c');
    watched.do((fleet) => fleet.report('c', { unusable: 'the engine does not answer', instance: '' }));
    const [lost] = watched.history.timeline.since(watched.history.timeline.nextId - 1);
    expect(lost).toMatchObject({ kind: 'lost', worker: 'c' });
    expect(lost?.text).toContain('the engine does not answer');
    watched.news();
    watched.do((fleet) => fleet.report('c', { instance: 'c-2' }));
    expect(watched.news()).toEqual(expect.arrayContaining(['restarted c', 'back c']));
  });

  it('has who is lost and comes back, who drains, and who leaves', () => {
    const watched = agreed('a', 'b', 'c');
    watched.do((fleet) => fleet.broken('b'));
    expect(watched.news()).toEqual(['lost b']);
    watched.do((fleet) => fleet.alive('b'));
    expect(watched.news()).toContain('back b');
    watched.do((fleet) => fleet.report('c', { draining: true, revision: 2 }));
    expect(watched.news()).toContain('draining c');
    watched.do((fleet) => fleet.list('a', 'b'));
    expect(watched.news()).toContain('left c');
  });

  it('names many that came together in one entry', () => {
    const names = Array.from({ length: 1_000 }, (_, at) => `w-${at}`);
    const watched = new Watched().do((fleet) => fleet.list(...names));
    const [entry, ...rest] = watched.history.timeline.since(0);
    expect(rest).toEqual([]);
    expect(entry).toMatchObject({ kind: 'joined', workerCount: 1_000 });
    expect(entry?.text).toContain('and 990 more');
  });

  it('has a canary that failed once for each start of its engine', () => {
    const watched = agreed('a');
    const report = (instanceId: string, state: CanaryState) => ({
      ...makeWireReport('a'),
      instanceId,
      canary: { state, reason: 'no block came', results: [], askedAt: undefined },
    });
    watched.timeline.onReport('a', report('a-1', CanaryState.FAILED) as never);
    watched.timeline.onReport('a', report('a-1', CanaryState.FAILED) as never);
    watched.timeline.onReport('a', report('a-2', CanaryState.FAILED) as never);
    watched.timeline.onReport('a', report('a-2', CanaryState.PASSED) as never);
    expect(watched.news()).toEqual(['canary_failed a', 'canary_failed a']);
  });
});
