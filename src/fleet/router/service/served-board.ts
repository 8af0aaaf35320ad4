import { readinessChecks } from '../../../core/agreement/view/readiness.js';
import type { FleetView } from '../../../core/agreement/view/snapshot.js';
import type { Clock, Timer } from '../../../edge/platform/clock.js';
import type { ServedFleet } from '../../../gen/kvaccord/v1/router.js';
import { buildCatalogue, type GivenUrls } from '../../catalogue/catalogue.js';
import type { Decision } from '../routing.js';
import { type Served, toParts } from './served-messages.js';

/**
 * Shortest time between two versions. What 1,000 workers serve is 100 kB, and
 * while a fleet starts it changes with each worker.
 */
const UPDATE_EVERY_MS = 100;

/** The base URLs of `--worker-urls` are those of the client, who adds them itself. */
const NO_URLS: GivenUrls = new Map();

export interface ServedBoardModules {
  readonly clock: Clock;
  /** The fleet as last prepared. */
  view(): FleetView;
}

/** What one view of the fleet gives. */
interface Version {
  readonly view: FleetView;
  readonly served: Served;
  /** Base URLs by target, of each group. */
  readonly urls: ReadonlyMap<string, ReadonlyMap<string, string | undefined>>;
}

/** What is served, for the attached clients: made only while there are any, and not too often. */
export class ServedBoard {
  /** Where the status page of this process is: clients get it with what is served next. */
  statusPage = '';
  readonly #modules: ServedBoardModules;
  readonly #listeners = new Set<() => void>();
  /** Of the newest view that was looked at, and the one that the clients have. */
  #latest: Version | undefined;
  #published: Version | undefined;
  #parts: readonly ServedFleet[] = [];
  #timer: Timer | undefined;

  constructor(modules: ServedBoardModules) {
    this.#modules = modules;
  }

  /** The parts of what is served; the same array until it changes. */
  get parts(): readonly ServedFleet[] {
    return this.#parts;
  }

  /** Calls `onChange` whenever `parts` changes; the function that comes back ends it. */
  watch(onChange: () => void): () => void {
    if (this.#listeners.size === 0) this.#publish();
    this.#listeners.add(onChange);
    return () => {
      this.#listeners.delete(onChange);
      if (this.#listeners.size > 0) return;
      this.#timer?.clear();
      this.#timer = undefined;
    };
  }

  /** The fleet has changed. */
  refresh(): void {
    if (this.#listeners.size > 0 && this.#timer === undefined) this.#publish();
  }

  /** Makes sure that the clients know the worker of a decision. */
  prepareFor({ group, target }: Pick<Decision, 'group' | 'target'>): void {
    if (this.#published?.view === this.#modules.view()) return;
    const known = this.#published?.urls.get(group);
    if (known?.has(target) !== true || known.get(target) !== this.#read().urls.get(group)?.get(target))
      this.#publish();
  }

  #publish(): void {
    this.#timer?.clear();
    this.#timer = this.#modules.clock.setTimer(UPDATE_EVERY_MS, () => {
      this.#timer = undefined;
      if (this.#published?.view !== this.#modules.view()) this.refresh();
    });
    const version = this.#read();
    if (version === this.#published) return;
    this.#published = version;
    this.#parts = toParts(version.served);
    for (const listener of [...this.#listeners]) listener();
  }

  #read(): Version {
    const view = this.#modules.view();
    if (this.#latest?.view === view) return this.#latest;
    const catalogue = buildCatalogue(view, NO_URLS);
    this.#latest = {
      view,
      served: { catalogue, checks: readinessChecks(view), statusPage: this.statusPage },
      urls: new Map(
        catalogue.groups.map(({ group, workers }) => [
          group,
          new Map(workers.map(({ target, baseUrl }) => [target, baseUrl])),
        ]),
      ),
    };
    return this.#latest;
  }
}
