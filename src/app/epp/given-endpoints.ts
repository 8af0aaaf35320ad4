import type { GivenUrls } from '../../fleet/catalogue/catalogue.js';
import type { Endpoint } from '../../fleet/discovery/source.js';
import type { ServedRanks } from '../../frontend/picker/endpoints/endpoint-book.js';

/**
 * Where workers serve as an operator or discovery says: base URLs by target,
 * and the ports of ranks. The URLs of the settings win.
 */
export class GivenEndpoints {
  /** The same object always, so that it can be given once. */
  readonly urls: GivenUrls;
  readonly #urls: Map<string, string>;
  readonly #ofSettings: GivenUrls;
  #served: ServedRanks = new Map();

  constructor(ofSettings: GivenUrls) {
    this.#ofSettings = ofSettings;
    this.#urls = new Map(ofSettings);
    this.urls = this.#urls;
  }

  /** `IP:PORT` by rank, by target; another object after each list. */
  get served(): ServedRanks {
    return this.#served;
  }

  /** Takes the list of discovery. */
  setList(endpoints: readonly Endpoint[]): void {
    const served = new Map<string, ReadonlyMap<number, string>>();
    this.#urls.clear();
    for (const [target, url] of this.#ofSettings) this.#urls.set(target, url);
    for (const { target, serves } of endpoints) {
      const first = serves?.[0];
      if (serves === undefined || first === undefined) continue;
      served.set(target, new Map(serves.map(({ rank, address }) => [rank, address])));
      if (!this.#urls.has(target)) this.#urls.set(target, `http://${first.address}`);
    }
    this.#served = served;
  }
}
