import { isIPv4 } from 'node:net';
import type { Clock, Timer } from '../../../edge/platform/clock.js';
import { describeError } from '../../../edge/platform/describe-error.js';
import type { Logger } from '../../../edge/platform/logger.js';
import type { Resolver } from '../../../edge/platform/net/resolver.js';
import type { Catalogue } from '../../../fleet/catalogue/catalogue.js';
import { EndpointBook, hostToResolve, type ServedRanks } from './endpoint-book.js';

export interface EndpointDirectoryModules {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly resolver: Resolver;
}

/** How often names are looked up again: a Service's address stays, a pod's name may get another. */
const LOOK_UP_EVERY_MS = 30_000;

/** Names of hosts that are looked up: gateways name most workers by their IP addresses. */
const MAX_HOSTS = 1_000;

/** The endpoints of what is served, kept true while workers and the addresses of their hosts change. */
export class EndpointDirectory {
  readonly #modules: EndpointDirectoryModules;
  #catalogue: Catalogue = { models: [], groups: [], reasons: [] };
  #served: ServedRanks = new Map();
  #book = new EndpointBook(this.#catalogue, this.#served);
  /** Addresses by the names of hosts. */
  readonly #addresses = new Map<string, string>();
  /** Hosts whose look-up is under way. */
  readonly #asking = new Set<string>();
  /** Hosts whose last look-up failed, and was logged. */
  readonly #failed = new Set<string>();
  #timer: Timer | undefined;
  #isClosed = false;

  constructor(modules: EndpointDirectoryModules) {
    this.#modules = modules;
  }

  /** The endpoints as they are known now. */
  get book(): EndpointBook {
    return this.#book;
  }

  /** Takes what is served, and the ports of ranks that discovery knows. */
  update(catalogue: Catalogue, served: ServedRanks): void {
    this.#catalogue = catalogue;
    this.#served = served;
    this.#make();
    this.#lookUp((host) => !this.#addresses.has(host));
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.clear();
  }

  #make(): void {
    this.#book = new EndpointBook(this.#catalogue, this.#served, this.#addresses);
  }

  #lookUp(wants: (host: string) => boolean): void {
    const hosts = new Set<string>();
    for (const { workers } of this.#catalogue.groups)
      for (const { baseUrl } of workers) {
        const host = baseUrl === undefined ? undefined : hostToResolve(baseUrl);
        if (host !== undefined && hosts.size < MAX_HOSTS) hosts.add(host);
      }
    for (const known of [this.#addresses, this.#failed])
      for (const host of known.keys()) if (!hosts.has(host)) known.delete(host);
    for (const host of hosts) if (wants(host) && !this.#asking.has(host)) void this.#ask(host);
    if (hosts.size === 0 || this.#isClosed) return;
    this.#timer ??= this.#modules.clock.setTimer(LOOK_UP_EVERY_MS, () => {
      this.#timer = undefined;
      this.#lookUp(() => true);
    });
  }

  async #ask(host: string): Promise<void> {
    const { resolver, logger } = this.#modules;
    this.#asking.add(host);
    try {
      const found = await resolver.lookupAll(host);
      const address = found.find(isIPv4) ?? found[0];
      this.#failed.delete(host);
      if (address === undefined) return;
      const text = isIPv4(address) ? address : `[${address}]`;
      if (this.#addresses.get(host) === text) return;
      this.#addresses.set(host, text);
      this.#make();
    } catch (error) {
      // The address that it had before is kept: a name server that is gone takes no worker away.
      if (!this.#failed.has(host))
        logger.warn(
          { host },
          `The host ${host} of an engine cannot be looked up: ${describeError(error)}. Gateways want IP addresses, so its workers get no requests without one.`,
        );
      this.#failed.add(host);
    } finally {
      this.#asking.delete(host);
    }
  }
}
