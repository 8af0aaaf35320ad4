import { shareSignal } from '../../edge/platform/time/on-abort.js';
import { DiscoveryError } from './discovery-error.js';
import { MAX_ENDPOINTS } from './limits.js';
import type { DiscoverySource, Endpoint, ExpectedWorkers, SourceHealth } from './source.js';

/**
 * Several sources as one. The same address from two of them is one member,
 * named as the earlier source names it and draining when either says so; so is
 * a worker that one source lists and another has a sidecar for. A source
 * that fails keeps its last list and never stops the others.
 *
 * The first list waits until every source has given one or has failed once:
 * else the fast sources' workers might agree before the slow ones are known.
 */
export class CombinedSource implements DiscoverySource {
  readonly name: string;
  readonly isStatic: boolean;
  readonly #sources: readonly DiscoverySource[];
  /** Those whose last round went well. */
  readonly #up = new Set<DiscoverySource>();

  constructor(options: { readonly sources: readonly DiscoverySource[] }) {
    this.#sources = options.sources;
    this.name = options.sources.map(({ name }) => name).join(', ');
    this.isStatic = options.sources.every(({ isStatic }) => isStatic);
  }

  health(): readonly SourceHealth[] {
    return this.#sources.map((source) => ({ name: source.name, isUp: this.#up.has(source) }));
  }

  async run(
    signal: AbortSignal,
    onList: (endpoints: readonly Endpoint[], expected?: ExpectedWorkers) => void,
    onError: (error: Error) => void,
  ): Promise<void> {
    const expectations: (ExpectedWorkers | undefined)[] = this.#sources.map(() => undefined);
    const lists: (readonly Endpoint[])[] = this.#sources.map(() => []);
    const silent = new Set(this.#sources);
    let hasList = false;
    const reported = new Set<string>();

    const update = (): void => {
      if (silent.size > 0 || !hasList) return;
      const { endpoints, problems } = merge(lists);
      // Each problem is reported when it is new, not at every change of something else.
      for (const problem of problems) if (!reported.has(problem.message)) onError(problem);
      reported.clear();
      for (const { message } of problems) reported.add(message);
      if (endpoints !== undefined) onList(endpoints, sumOf(expectations));
    };

    // Every source listens to it, and each may ask a cluster for several kinds of objects.
    shareSignal(signal);
    await Promise.all(
      this.#sources.map(async (source, index) => {
        const listed = (endpoints: readonly Endpoint[], expected?: ExpectedWorkers): void => {
          lists[index] = endpoints;
          expectations[index] = expected;
          hasList = true;
          this.#up.add(source);
          silent.delete(source);
          update();
        };
        const failed = (error: Error): void => {
          this.#up.delete(source);
          onError(error);
          if (silent.delete(source)) update();
        };
        try {
          await source.run(signal, listed, failed);
        } catch (error) {
          failed(error instanceof Error ? error : new Error(String(error)));
        }
      }),
    );
  }
}

/** What all of them expect together; undefined as long as one of them has not said. */
function sumOf(expectations: readonly (ExpectedWorkers | undefined)[]): ExpectedWorkers | undefined {
  const known = expectations.filter((expected) => expected !== undefined);
  if (known.length === 0 || known.length < expectations.length) return undefined;
  return {
    count: known.reduce((sum, { count }) => sum + count, 0),
    origin: known.map(({ origin }) => origin).join(', '),
  };
}

interface Merged {
  /** Undefined when there are too many to be believed: the last list stays. */
  readonly endpoints: readonly Endpoint[] | undefined;
  readonly problems: readonly DiscoveryError[];
}

function merge(lists: readonly (readonly Endpoint[])[]): Merged {
  const byAddress = new Map<string, Endpoint>();
  const addressOfTarget = new Map<string, string>();
  const problems: DiscoveryError[] = [];
  const all = lists.flat();
  // Where a sidecar speaks for a worker, or is to, what others report of it is not needed.
  const isDiscovered = ({ discovered }: Endpoint): boolean => discovered !== undefined;
  for (const endpoint of [...all.filter((each) => !isDiscovered(each)), ...all.filter(isDiscovered)]) {
    const spokenFor = isDiscovered(endpoint) ? addressOfTarget.get(endpoint.target) : undefined;
    const place = endpoint.address ?? spokenFor ?? `${endpoint.target} (no sidecar)`;
    const known = byAddress.get(place);
    if (known !== undefined) {
      if (endpoint.draining === true) byAddress.set(place, { ...known, draining: true });
      continue;
    }
    const namesake = addressOfTarget.get(endpoint.target);
    if (namesake !== undefined) {
      problems.push(
        new DiscoveryError(
          'duplicate_target',
          `the worker ${endpoint.target} is listed at ${namesake} and at ${place}; the second is left out: give it another name`,
        ),
      );
      continue;
    }
    byAddress.set(place, endpoint);
    addressOfTarget.set(endpoint.target, place);
  }
  if (byAddress.size <= MAX_ENDPOINTS) return { endpoints: [...byAddress.values()], problems };
  const problem = new DiscoveryError(
    'too_many_endpoints',
    `${byAddress.size} workers are listed by all sources together, at most ${MAX_ENDPOINTS} are allowed; the last list stays`,
  );
  return { endpoints: undefined, problems: [...problems, problem] };
}
