import type { Launch } from '../launches/launch.js';

/**
 * Programs that serve together, each object that has workers and configures their router by itself: an LLMInferenceService with
 * the configuration of its picker. The router of such an object is none of other workers.
 */
export function withOwnRouters(launches: readonly Launch[]): readonly (readonly Launch[])[] {
  const worked = new Set(
    launches.flatMap(({ role, site }) => (role === 'worker' && site ? [site.object] : [])),
  );
  const owners = new Set(
    launches.flatMap(({ owner }) => (owner !== undefined && worked.has(owner) ? [owner] : [])),
  );
  if (owners.size === 0) return [launches];
  const objectOf = ({ owner, site }: Launch): Launch['owner'] => owner ?? site?.object;
  const isOwned = (launch: Launch): boolean => {
    const object = objectOf(launch);
    return object !== undefined && owners.has(object);
  };
  return [
    ...[...owners].map((owner) => launches.filter((launch) => objectOf(launch) === owner)),
    launches.filter((launch) => !isOwned(launch)),
  ].filter((group) => group.length > 0);
}
