import { describe, expect, it } from 'vitest';
import type { BlockChange } from '../../../../src/core/relay/relay.js';
import { cutChanges } from '../../../../src/worker/kv-events/relay/cut-changes.js';

const removed = (hashes: number): BlockChange => ({
  type: 'removed',
  tier: 'device',
  sequenceHashes: new Uint8Array(8 * hashes),
});

describe('the changes of one batch', () => {
  it('stay together as long as they fit into a message', () => {
    expect(cutChanges([])).toEqual([]);
    const changes = [removed(1), removed(2)];
    expect(cutChanges(changes)).toEqual([changes]);
  });

  it('are cut, in order, where they have more hashes than a reader takes', () => {
    const changes = [removed(65_536), removed(65_536), removed(1), removed(2)];
    const parts = cutChanges(changes);
    expect(parts.flat()).toEqual(changes);
    expect(parts.map((part) => part.length)).toEqual([1, 1, 2]);
  });

  it('are cut where they are more than a reader takes', () => {
    const changes = Array.from({ length: 10_000 }, () => removed(1));
    const parts = cutChanges(changes);
    expect(parts.flat()).toEqual(changes);
    expect(Math.max(...parts.map((part) => part.length))).toBe(4_096);
  });
});
