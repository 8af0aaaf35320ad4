import { describe, expect, it } from 'vitest';
import { type ObservedSize, withObserved } from '../../src/contract/observed-size.js';
import { observedSize } from '../sidecar/support/scripted-probe.js';

describe('what the events of an instance showed', () => {
  it('stays as it is when a rank shows the same again', () => {
    const known = [observedSize(32)];
    expect(withObserved(known, { ...observedSize(32), raw: 'another event' })).toBe(known);
  });

  it('holds every rank, and every size that one of them shows', () => {
    const known = [observedSize(32), observedSize(32, 1)];
    expect(withObserved(known, observedSize(16, 1))).toHaveLength(3);
    expect(withObserved(known, { ...observedSize(32), unit: 'bigram' })).toHaveLength(3);
  });

  it('is bounded, however many sizes a stream shows', () => {
    let known: readonly ObservedSize[] = [];
    for (let size = 1; size <= 1_000; size += 1) known = withObserved(known, observedSize(size));
    expect(known).toHaveLength(4);
  });
});
