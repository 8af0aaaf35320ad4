import { describe, expect, it } from 'vitest';
import { ActiveRoute, type RouteEnd } from '../../../../src/fleet/router/active-route.js';
import type { Reservation } from '../../../../src/fleet/router/choice/reserved-request.js';
import type { Prediction } from '../../../../src/fleet/router/results/prediction.js';
import type { Decision } from '../../../../src/fleet/router/routing.js';
import { type ReservationLimits, Reservations } from '../../../../src/fleet/router/service/reservations.js';
import { FakeClock } from '../../../support/fake-clock.js';

interface Made {
  readonly clock: FakeClock;
  readonly reservations: Reservations;
  /** Those that count as active. */
  readonly active: Set<ActiveRoute>;
  readonly ends: RouteEnd[];
  /** What was reported of requests, in order. */
  readonly reported: string[];
  route(promptBlocks?: number): ActiveRoute;
}

function make(limits: ReservationLimits = {}): Made {
  const clock = new FakeClock();
  let ids = 0;
  const uniqueId = (): string => {
    ids += 1;
    return `id-${ids}`;
  };
  const random = { fraction: () => 0, uniqueId };
  const reservations = new Reservations(limits, { clock, random });
  const active = new Set<ActiveRoute>();
  const ends: RouteEnd[] = [];
  const reported: string[] = [];
  const route = (promptBlocks = 1): ActiveRoute => {
    const reservation: Reservation = {
      decided: {} as Reservation['decided'],
      flight: undefined,
      find: () => undefined,
      prefillDone: () => reported.push('prefillDone'),
      progress: (tokens) => reported.push(`progress ${tokens}`),
      release: () => reported.push('release'),
    };
    const made = new ActiveRoute({ decision: { promptBlocks } as Decision } as Prediction, reservation, 0, {
      onEnded: (ended) => active.delete(ended),
      onReleased: (end) => ends.push(end),
      onComputed: () => undefined,
      onSettled: () => undefined,
      onAnswered: () => undefined,
      onFailed: () => undefined,
      onTransferred: () => undefined,
    });
    active.add(made);
    return made;
  };
  return { clock, reservations, active, ends, reported, route };
}

describe('a request on its way', () => {
  it('gets its first token once, and released once', () => {
    const { route, reported, ends } = make();
    const made = route();
    made.prefillDone();
    made.prefillDone();
    made.progress(7);
    made.release({ promptTokens: 3, cachedTokens: 2 });
    made.release();
    made.progress(8);
    expect(reported).toEqual(['prefillDone', 'progress 7', 'release']);
    expect(ends).toMatchObject([{ hadFirstToken: true, usage: { cachedTokens: 2 } }]);
  });

  it('counts no more when its worker has gone, and can still say what it came to', () => {
    const { route, reported, ends, active } = make();
    const made = route();
    made.end();
    made.end();
    made.prefillDone();
    made.progress(1);
    expect(active.size).toBe(0);
    expect(reported).toEqual(['release']);
    made.release({ promptTokens: 3, cachedTokens: 0 });
    expect(reported).toEqual(['release']);
    expect(ends).toMatchObject([{ hadFirstToken: true, usage: { promptTokens: 3 } }]);
  });
});

describe('reservations', () => {
  it('end when nothing is heard for the lease, and not before', async () => {
    const { reservations, clock, active, route } = make();
    const id = reservations.add(route(), 10);
    await clock.advanceMs(10_000);
    expect(active.size).toBe(1);
    await clock.advanceMs(1_000);
    expect(active.size).toBe(0);
    expect(reservations.find(id)).toBeUndefined();
    expect(reservations.expired).toBe(1);
    expect(clock.pendingTimers).toBe(0);
  });

  it('live on as long as something is heard', async () => {
    const { reservations, clock, active, route } = make();
    const id = reservations.add(route(), 10);
    for (let round = 0; round < 20; round += 1) {
      await clock.advanceMs(9_000);
      expect(reservations.find(id)).toBeDefined();
    }
    await clock.advanceMs(11_000);
    expect(active.size).toBe(0);
  });

  it('need one timer, however many there are and however long their leases', async () => {
    const { reservations, clock, active, route } = make();
    for (let lease = 1; lease <= 100; lease += 1) reservations.add(route(), lease);
    expect(clock.pendingTimers).toBe(1);
    await clock.advanceMs(50_500);
    expect(active.size).toBe(51);
    await clock.advanceMs(51_000);
    expect([active.size, reservations.size, clock.pendingTimers]).toEqual([0, 0, 0]);
    expect(reservations.expired).toBe(100);
  });

  it('are gone with what they stand for, however it ends', async () => {
    const { reservations, clock, route } = make();
    const routes = [route(), route(), route()];
    const ids = routes.map((its) => reservations.add(its, 600));
    routes[0]?.release();
    routes[1]?.end();
    expect(ids.map((id) => reservations.find(id) !== undefined)).toEqual([false, false, true]);
    expect(reservations.expired).toBe(0);
    reservations.close();
    expect([reservations.size, clock.pendingTimers]).toEqual([0, 0]);
    await clock.advanceMs(1_000_000);
    expect(reservations.expired).toBe(0);
  });

  it('are bounded in number and in blocks, and say so', () => {
    const { reservations, route } = make({ maxReservations: 3, maxBlocks: 100 });
    const large = route(100);
    reservations.add(large, 600);
    expect(reservations.fullMessage).toContain('100 prompt blocks');
    large.release();
    for (let count = 0; count < 3; count += 1) {
      expect(reservations.fullMessage).toBeUndefined();
      reservations.add(route(), 600);
    }
    expect(reservations.fullMessage).toContain('3 reservations');
  });
});
