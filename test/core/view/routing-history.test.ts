import { describe, expect, it } from 'vitest';
import { hasUnprintable } from '../../../src/core/text/printable.js';
import { Durations } from '../../../src/core/view/durations.js';
import { type NewDecision, RecentDecisions } from '../../../src/core/view/recent-decisions.js';
import { RoutingHistory } from '../../../src/core/view/routing-history.js';
import { Timeline } from '../../../src/core/view/timeline.js';

describe('the routing of the last minutes', () => {
  it('counts in buckets of ten seconds, and shows those of a quarter of an hour', () => {
    const history = new RoutingHistory('m');
    history.at(1_000).decisions += 1;
    history.at(9_999).decisions += 1;
    history.at(10_000).decisions += 1;
    expect(history.read(10_000).buckets.map(({ atMs, decisions }) => [atMs, decisions])).toEqual([
      [0, 2],
      [10_000, 1],
    ]);
    expect(history.read(901_000).buckets.map(({ atMs }) => atMs)).toEqual([10_000]);
    expect(history.read(2_000_000).buckets).toEqual([]);
  });

  it('uses ninety buckets again and again, and keeps nothing of what they held', () => {
    const history = new RoutingHistory('m');
    for (let at = 0; at < 500; at += 1) {
      const bucket = history.at(at * 10_000);
      bucket.decisions += 1;
      bucket.lose('load', 3);
      bucket.fail('cut');
      bucket.answer('first', 20);
    }
    const { buckets } = history.read(4_999_999);
    expect(buckets.length).toBe(90);
    expect(buckets.every(({ decisions }) => decisions === 1)).toBe(true);
    expect(buckets.at(-1)).toMatchObject({ lost: { load: [1, 3] }, failures: { cut: 1 } });
    expect(buckets.at(-1)?.firstTurn?.count).toBe(1);
  });

  it('hands out what changed since it was asked last', () => {
    const history = new RoutingHistory('m');
    history.at(1_000).decisions += 1;
    history.at(11_000).decisions += 1;
    expect(history.takeChanged(11_000)?.buckets.length).toBe(2);
    expect(history.takeChanged(11_000)).toBeUndefined();
    history.at(12_000).lose('draining', 7);
    expect(history.takeChanged(12_000)?.buckets.map(({ atMs, lost }) => [atMs, lost])).toEqual([
      [10_000, { draining: [1, 7] }],
    ]);
  });

  it('counts what comes with a time before that of the newest bucket there', () => {
    const history = new RoutingHistory('m');
    history.at(50_000).decisions += 1;
    history.at(20_000).decisions += 1;
    expect(history.read(50_000).buckets.map(({ decisions }) => decisions)).toEqual([2]);
  });
});

describe('durations of many requests', () => {
  it('knows quantiles within a tenth', () => {
    const durations = new Durations();
    for (let ms = 1; ms <= 1_000; ms += 1) durations.add(ms);
    const read = durations.read();
    expect(read).toMatchObject({ count: 1_000, meanMs: 501 });
    expect(Math.abs((read?.p50Ms ?? 0) - 500)).toBeLessThan(50);
    expect(Math.abs((read?.p90Ms ?? 0) - 900)).toBeLessThan(90);
    expect(Math.abs((read?.p99Ms ?? 0) - 990)).toBeLessThan(99);
  });

  it('takes what is shorter or longer than all bounds, and nothing that is no duration', () => {
    const durations = new Durations();
    for (const ms of [0, 1e-9, 1e12, Number.NaN, -1]) durations.add(ms);
    expect(durations.read()?.count).toBe(3);
    durations.clear();
    expect(durations.read()).toBeUndefined();
  });
});

describe('the last decisions', () => {
  it('keeps fifty, and of a second fifty', () => {
    const decisions = new RecentDecisions();
    const made = { target: 't', atMs: 0 } as NewDecision;
    for (let at = 0; at < 60; at += 1) decisions.add(made);
    expect(decisions.all.map(({ id }) => id)).toEqual(Array.from({ length: 50 }, (_, at) => at + 11));
    const wanted = Array.from({ length: 80 }, () => decisions.wants(5_000)).filter(Boolean);
    expect(wanted.length).toBe(50);
    expect(decisions.wants(6_000)).toBe(true);
  });

  it('hands out a decision again when its outcome is known', () => {
    const decisions = new RecentDecisions();
    const note = decisions.add({ target: 't', atMs: 0, candidates: [] } as unknown as NewDecision);
    expect(decisions.takeChanged()).toEqual([note]);
    expect(decisions.takeChanged()).toEqual([]);
    note.learn({ failure: 'cut', isOver: true });
    expect(decisions.takeChanged()).toEqual([note]);
    expect(note.read(() => 7)).toMatchObject({ workerNumber: 7, failure: 'cut', isOver: true });
  });
});

describe('the timeline', () => {
  const entry = { kind: 'notice', tone: 'plain', group: 'm', worker: 'w', todo: '' } as const;

  it('keeps the last thousand entries, by numbers that grow', () => {
    const timeline = new Timeline();
    for (let at = 0; at < 5_500; at += 1) timeline.add({ ...entry, text: String(at) }, at);
    const all = timeline.since(0);
    expect(all.length).toBe(1_000);
    expect([all[0]?.text, all.at(-1)?.text]).toEqual(['4500', '5499']);
    expect(timeline.since(timeline.nextId - 2).map(({ text }) => text)).toEqual(['5498', '5499']);
    expect(timeline.since(timeline.nextId)).toEqual([]);
  });

  it('bounds hostile texts, and shows what would steer a terminal or turn the writing', () => {
    const timeline = new Timeline();
    timeline.add(
      { ...entry, worker: '\u001b[31mw\u202e\nx'.repeat(1_000), text: 'a\u0007b'.repeat(9_999) },
      0,
    );
    const [kept] = timeline.since(0);
    expect(kept?.worker.length).toBeLessThanOrEqual(256);
    expect(kept?.text.length).toBeLessThanOrEqual(2_000);
    expect(hasUnprintable(`${kept?.worker}${kept?.text}`)).toBe(false);
    expect(kept?.worker).not.toContain('\n');
  });
});
