import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { preference, rankHash } from '../../../../src/fleet/router/choice/session-affinity.js';

const sessions = Array.from({ length: 4_000 }, (_, at) => Math.imul(at + 1, 0x9e3779b1) >>> 0);
const workers = ['a', 'b', 'c', 'd'];

function chosen(session: number, among: readonly string[]): string {
  let best = '';
  let most = -1;
  for (const worker of among) {
    const much = preference(session, rankHash(worker, 0));
    if (much > most) [best, most] = [worker, much];
  }
  return best;
}

describe('the worker of a session', () => {
  it('is each of them about as often', () => {
    const counts = new Map(workers.map((worker) => [worker, 0]));
    for (const session of sessions) {
      const worker = chosen(session, workers);
      counts.set(worker, (counts.get(worker) ?? 0) + 1);
    }
    for (const count of counts.values()) expect(Math.abs(count - 1_000)).toBeLessThan(150);
  });

  it('is another one only for the sessions of a worker that leaves', () => {
    const left = workers.filter((worker) => worker !== 'b');
    for (const session of sessions) {
      const before = chosen(session, workers);
      if (before !== 'b') expect(chosen(session, left)).toBe(before);
    }
  });

  it('is a number of 32 bits, whatever the names', () => {
    fc.assert(
      fc.property(
        fc.string(),
        fc.nat(),
        fc.integer({ min: 0, max: 0xffff_ffff }),
        (worker, rank, session) => {
          const much = preference(session, rankHash(worker, rank));
          expect(Number.isInteger(much) && much >= 0 && much <= 0xffff_ffff).toBe(true);
        },
      ),
    );
  });
});
