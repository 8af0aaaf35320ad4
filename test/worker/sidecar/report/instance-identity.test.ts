import { describe, expect, it } from 'vitest';
import type { Fact } from '../../../../src/core/contract/evidence/facts.js';
import { fieldFact } from '../../../../src/core/contract/evidence/facts.js';
import { EvidenceSource } from '../../../../src/gen/kvaccord/v1/capabilities.js';
import {
  type IdentityStep,
  type InstanceSighting,
  identify,
  unseenInstance,
} from '../../../../src/worker/sidecar/report/instance-identity.js';
import { startMarker } from '../support/scripted-probe.js';

const SIZE_32 = { tokens_per_block: 32 };

function sighting(facts: readonly Fact[], changes: Partial<InstanceSighting> = {}): InstanceSighting {
  return { facts, values: SIZE_32, wasDown: false, ...changes };
}

/** The steps of one sidecar that sees this, one after the other. */
function see(...sightings: InstanceSighting[]): IdentityStep[] {
  let drawn = 0;
  const draw = (): string => {
    drawn += 1;
    return `random-${drawn}`;
  };
  let identity = unseenInstance(draw());
  return sightings.map((each) => {
    const step = identify(identity, each, 'w-1', draw);
    identity = step.identity;
    return step;
  });
}

const ids = (steps: readonly IdentityStep[]): string[] => steps.map((step) => step.identity.instanceId);
const restarts = (steps: readonly IdentityStep[]): (string | undefined)[] =>
  steps.map((step) => step.restart);

function rpcMarker(marker: string): Fact {
  return fieldFact('engine.start_marker', marker, {
    source: EvidenceSource.ENGINE_RPC,
    origin: 'gRPC e:2',
    raw: marker,
    observedAtMs: 0,
  });
}

describe('an instance of an engine with a start marker', () => {
  it('has the same id for every sidecar of the worker that sees it', () => {
    const [first] = see(sighting([startMarker('t=1')]));
    const [second] = see(sighting([startMarker('t=1')]));
    expect(first?.identity.instanceId).toBe(second?.identity.instanceId);
    expect(first?.identity.instanceId).toMatch(/^[0-9a-f]{32}$/);
  });

  it('has another id on another worker', () => {
    const here = identify(unseenInstance('r'), sighting([startMarker('t=1')]), 'w-1', () => 'x');
    const there = identify(unseenInstance('r'), sighting([startMarker('t=1')]), 'w-2', () => 'x');
    expect(here.identity.instanceId).not.toBe(there.identity.instanceId);
  });

  it('is another one when the marker changes, also when it was never seen down', () => {
    const steps = see(sighting([startMarker('t=1')]), sighting([startMarker('t=2')]));
    expect(new Set(ids(steps)).size).toBe(2);
    expect(restarts(steps)).toEqual([undefined, 'its start marker changed (GET metrics)']);
  });

  it('is the same after a time in which it could not be reached', () => {
    const steps = see(sighting([startMarker('t=1')]), sighting([startMarker('t=1')], { wasDown: true }));
    expect(new Set(ids(steps)).size).toBe(1);
  });

  it('is the same while its source says nothing for a round', () => {
    const steps = see(sighting([startMarker('t=1')]), sighting([]), sighting([startMarker('t=1')]));
    expect(new Set(ids(steps)).size).toBe(1);
  });

  it('is noticed to be another one although its source was silent in between', () => {
    const steps = see(sighting([startMarker('t=1')]), sighting([]), sighting([startMarker('t=2')]));
    expect(restarts(steps)[2]).toContain('start marker');
  });

  it('follows the best of several sources, in whatever order they come', () => {
    const [a] = see(sighting([startMarker('t=1'), rpcMarker('uuid-1')]));
    const [b] = see(sighting([rpcMarker('uuid-1'), startMarker('t=1')]));
    expect(a?.identity.follows).toEqual({ origin: 'gRPC e:2', marker: 'uuid-1' });
    expect(b?.identity).toEqual(a?.identity);
  });

  it('keeps to the source it chose when a better one appears', () => {
    const steps = see(
      sighting([startMarker('t=1')]),
      sighting([startMarker('t=1'), rpcMarker('uuid-1')]),
      sighting([startMarker('t=1'), rpcMarker('uuid-2')]),
    );
    expect(new Set(ids(steps)).size).toBe(1);
  });

  it('is another one when it comes back from being down with another source of markers', () => {
    const steps = see(sighting([startMarker('t=1')]), sighting([rpcMarker('u')], { wasDown: true }));
    expect(restarts(steps)[1]).toBe('it was down in between');
    expect(steps[1]?.identity.follows?.origin).toBe('gRPC e:2');
  });

  it('is another one when its contract changes under the same marker', () => {
    const steps = see(
      sighting([startMarker('t=1')]),
      sighting([startMarker('t=1')], { values: { tokens_per_block: 64 } }),
    );
    expect(restarts(steps)[1]).toBe('its tokens_per_block changed from 32 to 64');
    expect(new Set(ids(steps)).size).toBe(2);
  });
});

describe('an instance of an engine without a start marker', () => {
  it('keeps the id that was drawn at the start while nothing happens', () => {
    expect(ids(see(sighting([]), sighting([])))).toEqual(['random-1', 'random-1']);
  });

  it('is another one after it was down', () => {
    const steps = see(sighting([]), sighting([], { wasDown: true }));
    expect(ids(steps)).toEqual(['random-1', 'random-2']);
    expect(restarts(steps)).toEqual([undefined, 'it was down in between']);
  });

  it('is no restart when it is ready for the first time', () => {
    expect(restarts(see(sighting([], { wasDown: true })))).toEqual([undefined]);
  });

  it('is another one when its contract changes', () => {
    const steps = see(sighting([]), sighting([], { values: { tokens_per_block: 64 } }));
    expect(ids(steps)).toEqual(['random-1', 'random-2']);
  });

  it('is the same when it only says more, or for a while less, than before', () => {
    const steps = see(
      sighting([], { values: {} }),
      sighting([], { values: { ...SIZE_32, hash_seed: 'x' } }),
      sighting([], { values: { hash_seed: 'x' } }),
    );
    expect(new Set(ids(steps)).size).toBe(1);
  });

  it('is another one when a value comes back different after it was missing for a while', () => {
    const steps = see(
      sighting([]),
      sighting([], { values: {} }),
      sighting([], { values: { tokens_per_block: 16 } }),
    );
    expect(restarts(steps)[2]).toBe('its tokens_per_block changed from 32 to 16');
  });

  it('keeps its id when a marker appears late, and follows that from then on', () => {
    const steps = see(sighting([]), sighting([startMarker('t=1')]), sighting([startMarker('t=2')]));
    expect(ids(steps).slice(0, 2)).toEqual(['random-1', 'random-1']);
    expect(restarts(steps)[2]).toContain('start marker');
  });
});
