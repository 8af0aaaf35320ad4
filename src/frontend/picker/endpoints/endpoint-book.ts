import type { Catalogue } from '../../../fleet/catalogue/catalogue.js';

/** Where the ranks of workers serve, by target: `IP:PORT` by rank; from discovery. */
export type ServedRanks = ReadonlyMap<string, ReadonlyMap<number, string>>;

/** A place that a gateway can send a request to. */
export interface PickableEndpoint {
  readonly target: string;
  /** The rank that alone serves there; undefined where a header says the rank. */
  readonly rank?: number;
}

/**
 * The endpoints of the workers, `IP:PORT` as gateways write them, in both
 * directions. A worker whose address is no IP address has none: gateways
 * compare endpoints with the addresses that they have.
 */
export class EndpointBook {
  readonly #byTarget = new Map<
    string,
    { readonly all: string | undefined; readonly ranks: ReadonlyMap<number, string> }
  >();
  readonly #byEndpoint = new Map<string, PickableEndpoint>();

  /** `resolved`: IP addresses of host names that are known. */
  constructor({ groups }: Catalogue, served: ServedRanks, resolved: ReadonlyMap<string, string> = new Map()) {
    for (const { workers } of groups) {
      for (const { target, baseUrl } of workers) {
        const ranks = served.get(target) ?? NO_RANKS;
        const all = baseUrl === undefined ? undefined : endpointOf(baseUrl, resolved);
        this.#byTarget.set(target, { all, ranks });
        if (all !== undefined) this.#byEndpoint.set(all, { target });
        if (ranks.size > 1)
          for (const [rank, endpoint] of ranks) this.#byEndpoint.set(endpoint, { target, rank });
      }
    }
  }

  /** Where a rank of a worker serves; undefined where that is not known. */
  find(target: string, rank: number): string | undefined {
    const known = this.#byTarget.get(target);
    return (known?.ranks.size ?? 0) > 1 ? known?.ranks.get(rank) : known?.all;
  }

  /** Whether each rank of a worker has a port of its own: then no header has to say the rank. */
  hasPortOfEachRank(target: string): boolean {
    return (this.#byTarget.get(target)?.ranks.size ?? 0) > 1;
  }

  /** Who serves at an endpoint. */
  at(endpoint: string): PickableEndpoint | undefined {
    return this.#byEndpoint.get(endpoint);
  }

  /** Targets none of whose endpoints is among those. */
  othersThan(endpoints: ReadonlySet<string>): string[] {
    const wanted = new Set<string>();
    for (const endpoint of endpoints) {
      const target = this.#byEndpoint.get(endpoint)?.target;
      if (target !== undefined) wanted.add(target);
    }
    return [...this.#byTarget.keys()].filter((target) => !wanted.has(target));
  }
}

const NO_RANKS: ReadonlyMap<number, string> = new Map();

const IPV4 = /^\d{1,3}(?:\.\d{1,3}){3}$/;

/** The host name of a base URL that has to be looked up; undefined where it is an IP address. */
export function hostToResolve(baseUrl: string): string | undefined {
  if (!URL.canParse(baseUrl)) return undefined;
  const { hostname } = new URL(baseUrl);
  return IPV4.test(hostname) || hostname.startsWith('[') ? undefined : hostname;
}

function endpointOf(baseUrl: string, resolved: ReadonlyMap<string, string>): string | undefined {
  if (!URL.canParse(baseUrl)) return undefined;
  const { hostname, port, protocol } = new URL(baseUrl);
  const host = hostToResolve(baseUrl) === undefined ? hostname : resolved.get(hostname);
  if (host === undefined) return undefined;
  return `${host}:${port === '' ? (protocol === 'https:' ? 443 : 80) : port}`;
}
