import { describe, expect, it } from 'vitest';
import { type ReportSketch, TestFleet } from '../../support/fleet.js';

const place = (port: number): string => `tcp://127.0.0.1:${port}`;

/** A worker whose engine publishes at one port and whose events are read at another. */
function reading(readPort: number, ownPort: number): ReportSketch {
  return {
    eventEndpoints: [place(ownPort)],
    ...(readPort === ownPort
      ? {}
      : {
          misreadEvents: {
            readAt: place(readPort),
            saidAt: place(ownPort),
            origin: 'GET http://127.0.0.1:8000/kv_event_sources',
          },
        }),
  };
}

describe('V6: where events are read', () => {
  it('V6: swapped sources of two workers are a WARN for each, and neither view is exact', () => {
    const fleet = new TestFleet({ isStaticDiscovery: true });
    fleet.list('a', 'b', 'c');
    fleet.report('a', reading(5567, 5557));
    fleet.report('c', reading(5577, 5577));
    fleet.cacheViewChanged('a', 'exact');
    expect(fleet.member('a').reason).toContain('unless a port is mapped');
    fleet.report('b', reading(5557, 5567));
    fleet.cacheViewChanged('a', 'partial', 'nothing came yet');
    for (const target of ['b', 'c']) fleet.cacheViewChanged(target, 'exact');
    expect(['a', 'b', 'c'].map((target) => fleet.member(target).cacheView)).toEqual([
      'doubted',
      'doubted',
      'exact',
    ]);
    expect(fleet.member('a').reason).toBe(
      'its KV events are read at tcp://127.0.0.1:5567, but its engine publishes them at tcp://127.0.0.1:5557 ' +
        '(GET http://127.0.0.1:8000/kv_event_sources): these are the events of another engine, that of worker b. ' +
        'Correct --kv-event-sources, or leave it out',
    );
    expect(fleet.logs('event_sources_differ')).toHaveLength(2);
    expect(fleet.group()).toMatchObject({ gateOpen: true, routingMode: 'mixed' });
  });

  it('V6: the cache view is what it was again once the sources are right, and when nobody else publishes there', () => {
    const fleet = new TestFleet({ isStaticDiscovery: true });
    fleet.list('a', 'b');
    fleet.report('a', reading(5567, 5557));
    fleet.report('b', reading(5567, 5567));
    for (const target of ['a', 'b']) fleet.cacheViewChanged(target, 'exact');
    expect(fleet.group().routingMode).toBe('mixed');
    fleet.list('a');
    // A mapped port looks the same.
    expect(fleet.member('a')).toMatchObject({ cacheView: 'exact', offer: 'full' });
    expect(fleet.group().routingMode).toBe('exact');
    fleet.report('a', { ...reading(5557, 5557), revision: 2 });
    expect(fleet.member('a')).toMatchObject({ cacheView: 'exact', reason: '' });
  });
});
