import { describe, expect, it } from 'vitest';
import { applyDelta } from '../../../src/core/view/apply-delta.js';
import { FleetHistory } from '../../../src/core/view/fleet-history.js';
import type { ViewDocument } from '../../../src/core/view/view-document.js';
import type { LeftOut } from '../../../src/fleet/router/choice/candidate-list.js';
import { ResultBooks } from '../../../src/fleet/router/results/result-books.js';
import { GroupTraffic } from '../../../src/fleet/router/traffic/worker-traffic.js';
import { ViewBoard, type ViewEvent } from '../../../src/fleet/view/view-board.js';
import { FakeClock } from '../../support/fake-clock.js';
import { TestFleet } from '../../support/fleet.js';

/** A board over a fleet that a test drives. */
class Shown {
  readonly clock = new FakeClock();
  readonly fleet = new TestFleet({ isStaticDiscovery: true });
  readonly history = new FleetHistory({ now: () => this.clock.monotonicMs() });
  readonly traffic = new GroupTraffic();
  readonly leftOut = new Map<string, LeftOut>();
  readonly board: ViewBoard;
  #view = this.fleet.view();

  constructor(...names: string[]) {
    this.fleet.list(...names);
    for (const name of names) this.fleet.report(name);
    this.traffic.setWorkers(names);
    const group = {
      traffic: this.traffic,
      books: new ResultBooks(this),
      list: { leftOut: this.leftOut },
      loads: () => [],
    };
    const shown = this;
    this.board = new ViewBoard(
      { title: 'kv-accord test', version: '1', processId: 'p' },
      {
        clock: this.clock,
        history: this.history,
        fleet: {
          get view() {
            return shown.#view;
          },
          reportDataOf: () => undefined,
        },
        router: { groups: new Map([['tiny', group]]) },
        indexOf: () => undefined,
      },
    );
    this.change();
  }

  /** The fleet is as it was changed now. */
  change(): void {
    this.#view = this.fleet.view();
    this.board.onView();
  }

  decide(target: string): void {
    const worker = this.traffic.of(target);
    if (worker !== undefined) worker.decisions += 1;
  }
}

class Reader {
  isBehind = false;
  readonly events: ViewEvent[] = [];

  send(event: ViewEvent): void {
    this.events.push(event);
  }

  get names(): string[] {
    return this.events.map(({ name }) => name);
  }
}

function last(reader: Reader): Record<string, unknown> {
  return JSON.parse(reader.events.at(-1)?.json ?? '{}') as Record<string, unknown>;
}

describe('the board of a view', () => {
  it('says who gets no requests here although the agreement offers it, and when that is over', async () => {
    const shown = new Shown('a', 'b');
    const workers = (): ViewDocument['workers'] =>
      (JSON.parse(shown.board.snapshot().json) as ViewDocument).workers;
    expect(workers().map(({ requests }) => requests)).toEqual(['yes', 'yes']);
    shown.leftOut.set('b', 'role');
    await shown.clock.advanceMs(1_000);
    expect(workers()).toMatchObject([
      { target: 'a', requests: 'yes', why: '' },
      { target: 'b', requests: 'none here', why: expect.stringContaining('computes a part of requests') },
    ]);
    shown.leftOut.clear();
    await shown.clock.advanceMs(1_000);
    expect(workers().map(({ requests }) => requests)).toEqual(['yes', 'yes']);
  });

  it('makes and sends nothing while nobody looks, and stops when the last one has gone', async () => {
    const shown = new Shown('a', 'b');
    expect(shown.clock.pendingTimers).toBe(0);
    const leave = shown.board.watch(new Reader());
    expect(shown.clock.pendingTimers).toBe(1);
    leave();
    expect(shown.clock.pendingTimers).toBe(0);
  });

  it('sends the whole, then what changed once a second, and nothing where nothing did', async () => {
    const shown = new Shown('a', 'b');
    const reader = new Reader();
    shown.board.watch(reader);
    await shown.clock.advanceMs(5_000);
    expect(reader.names).toEqual(['snapshot']);
    for (let at = 0; at < 100; at += 1) shown.decide('a');
    await shown.clock.advanceMs(1_000);
    expect(reader.names).toEqual(['snapshot', 'delta']);
    const { loads, workers } = last(reader);
    expect((loads as number[][]).map((row) => row[4])).toEqual([100]);
    expect(workers).toBeUndefined();
    shown.board.close();
  });

  it('sends changes of the fleet at most twice a second', async () => {
    const shown = new Shown('a', 'b', 'c');
    const reader = new Reader();
    shown.board.watch(reader);
    for (let at = 0; at < 40; at += 1) {
      shown.fleet.do({ type: 'ejection', target: 'a', reason: `reason ${at}` });
      shown.change();
      await shown.clock.advanceMs(50);
    }
    expect(reader.names.length).toBeLessThanOrEqual(1 + 2 * 2 + 1);
    expect(reader.names.length).toBeGreaterThan(3);
    shown.board.close();
  });

  it('is the same for who reads deltas and for who reads the whole', async () => {
    const shown = new Shown('a', 'b', 'c');
    const reader = new Reader();
    shown.board.watch(reader);
    shown.fleet.do({ type: 'ejection', target: 'b', reason: '3 failed requests' });
    shown.change();
    await shown.clock.advanceMs(1_000);
    shown.fleet.list('a', 'c', 'd');
    shown.change();
    shown.decide('c');
    shown.history.note({ kind: 'ejected', tone: 'bad', group: 'tiny', worker: 'b', text: 't', todo: '' });
    const bucket = shown.history.bucketOf('tiny');
    if (bucket !== undefined) bucket.decisions += 1;
    await shown.clock.advanceMs(2_000);
    let document: ViewDocument | undefined;
    for (const { name, json } of reader.events)
      document =
        name === 'snapshot' ? JSON.parse(json) : applyDelta(document as ViewDocument, JSON.parse(json));
    const whole = JSON.parse(shown.board.snapshot().json) as ViewDocument;
    expect({ ...document, atMs: 0 }).toEqual({ ...whole, atMs: 0 });
    expect(whole.workers.map(({ target }) => target)).toEqual(['a', 'c', 'd']);
    shown.board.close();
  });

  it('encodes an event once for all readers', async () => {
    const shown = new Shown('a');
    const readers = Array.from({ length: 10 }, () => new Reader());
    for (const reader of readers) shown.board.watch(reader);
    shown.decide('a');
    await shown.clock.advanceMs(1_000);
    expect(new Set(readers.map(({ events }) => events[0])).size).toBe(1);
    expect(new Set(readers.map(({ events }) => events[1])).size).toBe(1);
    shown.board.close();
  });

  it('sends nothing to who does not read, and the whole when that one reads again', async () => {
    const shown = new Shown('a');
    const reader = new Reader();
    shown.board.watch(reader);
    reader.isBehind = true;
    for (let at = 0; at < 20; at += 1) {
      shown.decide('a');
      await shown.clock.advanceMs(1_000);
    }
    expect(reader.names).toEqual(['snapshot']);
    reader.isBehind = false;
    shown.board.drained(reader);
    expect(reader.names).toEqual(['snapshot', 'snapshot']);
    expect((last(reader)['loads'] as number[][])[0]?.[4]).toBe(20);
    shown.decide('a');
    await shown.clock.advanceMs(1_000);
    expect(reader.names.at(-1)).toBe('delta');
    shown.board.close();
  });

  it('is amber, and has the ejected worker as the worst, while one is kept out', () => {
    const shown = new Shown('a', 'b');
    shown.fleet.do({ type: 'ejection', target: 'b', reason: '3 failed requests' });
    shown.change();
    const { headline, models, workers } = JSON.parse(shown.board.snapshot().json) as ViewDocument;
    expect(headline.tone).toBe('warn');
    expect(models[0]).toMatchObject({ tone: 'warn', keptOutCount: 1, counts: { ejected: 1, conforming: 1 } });
    const [worst] = [...workers].sort((one, other) => one.rank - other.rank);
    expect(worst).toMatchObject({
      target: 'b',
      shown: 'ejected',
      requests: 'tries',
      why: '3 failed requests',
    });
  });

  it('keeps the number of a worker while it is listed, and gives another one to who comes again', async () => {
    const shown = new Shown('a', 'b');
    const numbersWith = async (...names: string[]): Promise<(number | undefined)[]> => {
      shown.fleet.list(...names);
      shown.change();
      await shown.clock.advanceMs(1_000);
      shown.board.snapshot();
      return ['a', 'b'].map((target) => shown.board.workers.idOf(target));
    };
    expect(await numbersWith('a', 'b')).toEqual([1, 2]);
    expect(await numbersWith('a')).toEqual([1, undefined]);
    expect(await numbersWith('a', 'b')).toEqual([1, 3]);
  });
});
