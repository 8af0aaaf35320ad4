import { addTo } from '../../core/data/group-by.js';
import { nameSome } from '../../core/text/lists.js';
import type { Endpoint } from '../discovery/source.js';

/** Discovery's list, shared out. */
export interface DirectWorkerMatches {
  /** What discovery knows of the workers that this process reads, by the name that they are read under. */
  readonly matched: ReadonlyMap<string, Endpoint>;
  /** Members of their own. */
  readonly rest: readonly Endpoint[];
  /** Names that could mean several workers, for an operator. */
  readonly problems: readonly string[];
}

/** Workers that one sentence names. */
const MAX_NAMED = 5;

/**
 * Finds the workers that `names` mean: engines that are read here, of which
 * discovery may know more. A name is a worker's own or, where discovery gives
 * of it, another one of its names. While the one that it meant before (by its
 * instance in `held`) is there, it means that.
 */
export function matchDirectWorkers(
  endpoints: readonly Endpoint[],
  names: ReadonlySet<string>,
  held: ReadonlyMap<string, string>,
): DirectWorkerMatches {
  if (names.size === 0) return { matched: new Map(), rest: endpoints, problems: [] };
  const meant = new Map<string, Endpoint[]>();
  for (const endpoint of endpoints) {
    const own = names.has(endpoint.target)
      ? endpoint.target
      : endpoint.discovered?.aliases?.find((alias) => names.has(alias));
    if (own !== undefined) addTo(meant, own, endpoint);
  }
  const matched = new Map<string, Endpoint>();
  const problems: string[] = [];
  for (const [name, candidates] of meant) {
    const chosen =
      candidates.find(({ target }) => target === name) ??
      candidates.find(({ discovered }) => discovered?.instanceId === held.get(name)) ??
      (candidates.length === 1 ? candidates[0] : undefined);
    if (chosen !== undefined) matched.set(name, chosen);
    else problems.push(ambiguous(name, candidates));
  }
  const taken = new Set(matched.values());
  return { matched, rest: endpoints.filter((endpoint) => !taken.has(endpoint)), problems };
}

function ambiguous(name: string, candidates: readonly Endpoint[]): string {
  const named = nameSome(
    candidates.map(({ target }) => target),
    MAX_NAMED,
  );
  return `${name} is the name of ${candidates.length} workers (${named}); name the one that is meant as it stands here`;
}
