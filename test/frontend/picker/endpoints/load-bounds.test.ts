import { describe, expect, it } from 'vitest';
import { LoadBounds } from '../../../../src/frontend/picker/endpoints/load-bounds.js';

describe('the bound of requests at a worker', () => {
  it('is the whole one while there is one priority', () => {
    const bounds = new LoadBounds({ maxRequestsPerWorker: 10 });
    expect(bounds.boundOf(0)).toBe(10);
    expect(bounds.boundOf(5)).toBe(10);
  });

  it('is lower for lower priorities, in equal steps down to above half', () => {
    const bounds = new LoadBounds({ maxRequestsPerWorker: 100 });
    for (const priority of [10, -5, 10]) bounds.note(priority);
    expect([10, 0, -5, -99].map((priority) => bounds.boundOf(priority))).toEqual([100, 83, 66, 66]);
  });

  it('is at least one request', () => {
    const bounds = new LoadBounds({ maxRequestsPerWorker: 1 });
    bounds.note(7);
    expect(bounds.boundOf(0)).toBe(1);
  });

  it('counts until each request ends, once', () => {
    const bounds = new LoadBounds({ maxRequestsPerWorker: 2 });
    const ends = [bounds.begin('a'), bounds.begin('a'), bounds.begin('b')];
    expect(bounds.full(['a', 'b'], 0)).toEqual(['a']);
    ends[0]?.();
    ends[0]?.();
    expect(bounds.full(['a', 'b'], 0)).toEqual([]);
    for (const end of ends) end();
    expect(bounds.running).toBe(0);
  });
});
