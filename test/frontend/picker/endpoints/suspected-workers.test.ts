import { describe, expect, it } from 'vitest';
import type { WorkerFault } from '../../../../src/core/health/worker-fault.js';
import type { Decision } from '../../../../src/fleet/router/routing.js';
import { SuspectedWorkers } from '../../../../src/frontend/picker/endpoints/suspected-workers.js';

const FAULT: WorkerFault = { kind: 'server_error', detail: 'status 500' };

/** Workers whose requests succeed and fail, and how often each was blamed. */
class Play {
  readonly blamed: Record<string, number> = {};
  readonly #suspects = new SuspectedWorkers();

  fails(target: string, request: number, more: Partial<Decision> = {}): this {
    const decision = { group: 'tiny', target, ...more } as Decision;
    const failed = (): void => {
      this.blamed[target] = (this.blamed[target] ?? 0) + 1;
    };
    this.#suspects.failed({ decision, failed }, FAULT, request);
    return this;
  }

  answers(target: string, request: number, group = 'tiny'): this {
    this.#suspects.answered({ group, target }, request);
    return this;
  }
}

describe('a worker that failed a request', () => {
  it('is to blame as soon as another worker answers the same request', () => {
    const play = new Play().fails('a', 1).answers('b', 2);
    expect(play.blamed).toEqual({});
    expect(play.answers('b', 1).blamed).toEqual({ a: 1 });
    expect(play.answers('b', 1).blamed).toEqual({ a: 1 });
  });

  it('is to blame for three requests in a row, each another one, while others answer', () => {
    const play = new Play().fails('a', 1).answers('b', 7).fails('a', 2);
    expect(play.blamed).toEqual({});
    expect(play.fails('a', 3).blamed).toEqual({ a: 3 });
  });

  it('is to blame for three as soon as another worker answers', () => {
    const play = new Play().fails('a', 1).fails('a', 2).fails('a', 3).fails('a', 4);
    expect(play.blamed).toEqual({});
    expect(play.answers('b', 7).blamed).toEqual({ a: 3 });
  });

  it('is not to blame for one bad request that is sent again and again', () => {
    const play = new Play();
    for (let at = 0; at < 20; at += 1) play.fails('a', 1).fails('b', 1).fails('c', 1).answers('c', 9);
    expect(play.blamed).toEqual({});
  });

  it('is not to blame where it answers others between', () => {
    const play = new Play();
    for (let at = 0; at < 20; at += 1) play.fails('a', at).answers('b', 100).answers('a', 200);
    expect(play.blamed).toEqual({});
  });

  it('is not to blame where no other worker answers, nor by a worker of another model', () => {
    const play = new Play()
      .fails('a', 1)
      .fails('b', 1)
      .fails('a', 2)
      .fails('b', 2)
      .fails('a', 3)
      .fails('b', 3);
    expect(play.answers('x', 1, 'other').blamed).toEqual({});
  });

  it('that was being tried is to blame immediately', () => {
    expect(new Play().fails('a', 1, { isTrial: true }).blamed).toEqual({ a: 1 });
  });

  it('is forgotten when a thousand others failed one since', () => {
    const play = new Play().fails('a', 1);
    for (let at = 0; at < 1_000; at += 1) play.fails(`other-${at}`, 10 + at);
    expect(play.answers('b', 1).blamed).toEqual({});
  });
});
