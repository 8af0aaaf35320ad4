import { describe, expect, it } from 'vitest';
import { SubscribeResponse } from '../../src/gen/kvaccord/v1/kv_events.js';
import type { RelayMessage } from '../../src/kv-events/relay.js';
import { KvEventsEncoder } from '../../src/sidecar/kv-events-wire.js';
import { stored } from './support/fake-feed.js';

const encoder = new KvEventsEncoder({ workerId: 'w-1' });

describe('the wire form of what a relay says', () => {
  it('is written once for a change that many are told', () => {
    const changes: RelayMessage = { type: 'changes', sequence: 1, rank: 0, changes: [stored(1)] };
    expect(encoder.encode(changes)).toBe(encoder.encode(changes));
    expect(encoder.encode({ ...changes })).toEqual(encoder.encode(changes));
  });

  it.each([Number.NaN, -1, Number.POSITIVE_INFINITY, 253_402_300_800_000])(
    'leaves out the time %s that no calendar has',
    (publishedAtMs) => {
      const bytes = encoder.encode({ type: 'changes', sequence: 1, rank: 0, changes: [], publishedAtMs });
      const { payload } = SubscribeResponse.decode(bytes);
      expect(payload?.$case === 'changes' && payload.value.enginePublishedAt).toBeUndefined();
    },
  );
});
