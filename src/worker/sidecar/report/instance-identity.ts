import { createHash } from 'node:crypto';
import {
  CONTRACT_FIELDS,
  type ContractValues,
  firstDifference,
  mergeContracts,
} from '../../../core/contract/contract-values.js';
import type { Fact } from '../../../core/contract/evidence/facts.js';
import { evidenceRank } from '../../../core/contract/evidence/tokens-per-block.js';

/** A sign of one engine start, and who gave it. */
interface StartMarker {
  readonly origin: string;
  readonly marker: string;
}

/** Which engine start a report is about. */
export interface InstanceIdentity {
  /** New at every engine start. */
  readonly instanceId: string;
  /** The source whose start marker distinguishes this start from the next; absent while none gives one. */
  readonly follows?: StartMarker;
  /** The contract as far as this instance has reported it. */
  readonly values: ContractValues;
  /** False until the engine was ready for the first time. */
  readonly wasReady: boolean;
}

/** What a round showed of an engine that is ready. */
export interface InstanceSighting {
  /** What was reported in this very round, without anything kept from before. */
  readonly facts: readonly Fact[];
  readonly values: ContractValues;
  /** Whether it counted as down since it was last ready. */
  readonly wasDown: boolean;
}

/** An identity after a sighting, and why it is another one. */
export interface IdentityStep {
  readonly identity: InstanceIdentity;
  /** Why the engine must have been restarted, in words; absent when it goes on or is first seen. */
  readonly restart?: string;
}

/** The identity of a sidecar that has seen no engine yet. */
export function unseenInstance(randomId: string): InstanceIdentity {
  return { instanceId: randomId, values: {}, wasReady: false };
}

function markersIn(facts: readonly Fact[]): (StartMarker & { readonly rank: number })[] {
  return facts.flatMap((fact) =>
    fact.type === 'field' && fact.field === 'engine.start_marker'
      ? [
          {
            origin: fact.evidence.origin,
            marker: fact.value,
            rank: evidenceRank(fact.evidence.source),
          },
        ]
      : [],
  );
}

/** The best source, and of equals the first by name: the same for every sidecar that sees the same. */
function choose(markers: readonly (StartMarker & { readonly rank: number })[]): StartMarker | undefined {
  const [best] = [...markers].sort(
    (a, b) => b.rank - a.rank || (a.origin < b.origin ? -1 : a.origin > b.origin ? 1 : 0),
  );
  return best === undefined ? undefined : { origin: best.origin, marker: best.marker };
}

/** The same for every sidecar of this worker that reads this marker from this source. */
function derivedId(workerId: string, { origin, marker }: StartMarker, salt = ''): string {
  return createHash('sha256')
    .update(JSON.stringify([workerId, origin, marker, salt]))
    .digest('hex')
    .slice(0, 32);
}

/** Whether the followed source shows another start: what was reported before is then of no use. */
export function startMarkerChanged(previous: InstanceIdentity, facts: readonly Fact[]): boolean {
  const { follows } = previous;
  if (follows === undefined) return false;
  return markersIn(facts).some(
    ({ origin, marker }) => origin === follows.origin && marker !== follows.marker,
  );
}

/**
 * Decides whether a ready engine is the same start as before.
 *
 * Where the engine gives a start marker the identity is derived from it, so
 * that a restarted sidecar names the same instance. One source of markers is
 * chosen when the engine is first ready and kept: different sources have
 * different markers for the same start. Without a marker an identity lasts
 * until the engine was down in between or reports another contract, and a
 * restarted sidecar has to begin a new one.
 *
 * `makeRandomId` gives an identity that no other start has.
 */
export function identify(
  previous: InstanceIdentity,
  sighting: InstanceSighting,
  workerId: string,
  makeRandomId: () => string,
): IdentityStep {
  const markers = markersIn(sighting.facts);
  const followed = markers.find(({ origin }) => origin === previous.follows?.origin);
  const marker = followed ?? choose(markers);
  const begin = (instanceId: string): InstanceIdentity => ({
    instanceId,
    values: sighting.values,
    wasReady: true,
    ...(marker === undefined ? {} : { follows: { origin: marker.origin, marker: marker.marker } }),
  });

  if (!previous.wasReady) {
    return { identity: begin(marker === undefined ? previous.instanceId : derivedId(workerId, marker)) };
  }
  if (followed !== undefined && followed.marker !== previous.follows?.marker) {
    return {
      identity: begin(derivedId(workerId, followed)),
      restart: `its start marker changed (${followed.origin})`,
    };
  }
  const difference = firstDifference(previous.values, sighting.values, CONTRACT_FIELDS);
  if (difference !== undefined) {
    const was = previous.values[difference];
    const is = sighting.values[difference];
    const salt = `${difference}=${is}`;
    return {
      identity: begin(marker === undefined ? makeRandomId() : derivedId(workerId, marker, salt)),
      restart: `its ${difference} changed from ${was} to ${is}`,
    };
  }
  if (sighting.wasDown && followed === undefined) {
    return {
      identity: begin(marker === undefined ? makeRandomId() : derivedId(workerId, marker)),
      restart: 'it was down in between',
    };
  }
  // The same start. What it reports more than before belongs to it as well; a
  // marker that appears only now is followed from here on.
  const values = mergeContracts(sighting.values, previous.values);
  const follows = followed ?? previous.follows ?? marker;
  return {
    identity: {
      instanceId: previous.instanceId,
      values,
      wasReady: true,
      ...(follows === undefined ? {} : { follows: { origin: follows.origin, marker: follows.marker } }),
    },
  };
}
