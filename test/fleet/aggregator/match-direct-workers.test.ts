import { describe, expect, it } from 'vitest';
import { matchDirectWorkers } from '../../../src/fleet/aggregator/match-direct-workers.js';
import type { Endpoint } from '../../../src/fleet/discovery/source.js';

const discovered = (target: string, instanceId: string, ...aliases: string[]): Endpoint => ({
  target,
  discovered: { instanceId, facts: [], warnings: [], aliases: [instanceId, ...aliases] },
});

/** Who is claimed under which name, and who stays. */
function claims(
  endpoints: readonly Endpoint[],
  names: readonly string[],
  held: Readonly<Record<string, string>> = {},
): { matched: Record<string, string>; rest: string[]; problems: readonly string[] } {
  const { matched, rest, problems } = matchDirectWorkers(
    endpoints,
    new Set(names),
    new Map(Object.entries(held)),
  );
  return {
    matched: Object.fromEntries([...matched].map(([name, { target }]) => [name, target])),
    rest: rest.map(({ target }) => target),
    problems,
  };
}

describe('a name of a worker that is read here', () => {
  const [a, b] = [discovered('ns/a', '1a', 'host:1'), discovered('ns/b', '2b', 'host:2')];

  it('is its own, its instance id or another one of its names', () => {
    expect(claims([a, b], ['ns/a'])).toEqual({ matched: { 'ns/a': 'ns/a' }, rest: ['ns/b'], problems: [] });
    expect(claims([a, b], ['2b'])).toEqual({ matched: { '2b': 'ns/b' }, rest: ['ns/a'], problems: [] });
    expect(claims([a, b], ['host:1', 'host:2']).matched).toEqual({ 'host:1': 'ns/a', 'host:2': 'ns/b' });
    expect(claims([a, b], ['x'])).toEqual({ matched: {}, rest: ['ns/a', 'ns/b'], problems: [] });
  });

  it('that has a sidecar is still read here', () => {
    const beside = { target: 'w', address: 'w:1' };
    expect(claims([beside, a], ['w'])).toEqual({ matched: { w: 'w' }, rest: ['ns/a'], problems: [] });
  });

  it('means nobody while it could mean several', () => {
    const twin = discovered('ns/c', '3c', 'host:1');
    expect(claims([a, twin], ['host:1'])).toEqual({
      matched: {},
      rest: ['ns/a', 'ns/c'],
      problems: [
        'host:1 is the name of 2 workers (ns/a, ns/c); name the one that is meant as it stands here',
      ],
    });
  });

  it('means the one that it meant until that is gone, so that a restart that leaves its old card is no riddle', () => {
    const next = discovered('ns/c', '3c', 'host:1');
    expect(claims([a, next], ['host:1'], { 'host:1': '1a' }).matched).toEqual({ 'host:1': 'ns/a' });
    expect(claims([next], ['host:1'], { 'host:1': '1a' }).matched).toEqual({ 'host:1': 'ns/c' });
  });
});
