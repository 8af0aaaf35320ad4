import type { DiscoveredWorker } from '../../core/contract/evidence/discovered-worker.js';
import { addTo } from '../../core/data/group-by.js';
import { type Clock, sleep } from '../../edge/platform/clock.js';
import { type DatedFile, readDatedFile } from '../../edge/platform/files/dated-file.js';
import { explainSystemError } from '../../edge/platform/files/file.js';
import { listFolder } from '../../edge/platform/files/list-folder.js';
import { ProbeError } from '../../edge/platform/probe-error.js';
import { type CardPlace, readCardFileName } from '../../engines/dynamo/card-place.js';
import { cardsFolder, MAX_CARD_BYTES } from '../../engines/dynamo/cards-folder.js';
import { LEASE_MS, LeaseWatch } from '../../engines/dynamo/lease-watch.js';
import { readRegisteredWorker } from '../../engines/dynamo/registered-worker.js';
import { parseJsonObject } from '../../engines/facts/parse-json-object.js';
import { DiscoveryError } from './discovery-error.js';
import { MAX_ENDPOINTS } from './limits.js';
import type { DiscoverySource, Endpoint } from './source.js';

/** Between two looks: workers renew their files every 3.3 s, and a frontend takes a new card up immediately. */
const DEFAULT_INTERVAL_MS = 1_000;

/** A card that is no JSON is read once more after so long: older versions of Dynamo write it in place. */
const READ_AGAIN_MS = 100;

/** Problems that one look reports: a thousand broken cards are one fault. */
const MAX_PROBLEMS = 16;

/** Cards that are read at a time: each holds one of the few threads that all file reading needs. */
const MAX_READING = 16;

export interface DynamoFileSourceOptions {
  /** What `DYN_FILE_KV` names for the workers. */
  readonly folder: string;
  /** What the operator wrote, for messages. */
  readonly text: string;
  /** Between two looks at the folder. Default 1,000 ms. */
  readonly intervalMs?: number;
}

export interface DynamoFileSourceModules {
  readonly clock: Clock;
  /** Names of the files in a folder. Default `listFolder`. */
  readonly listFiles?: (folder: string) => Promise<readonly string[]>;
  /** Default `readDatedFile`. */
  readonly readFile?: (path: string, maxBytes: number) => Promise<DatedFile | undefined>;
}

/** A file of the cards' folder that is there and held. */
interface HeldCard extends CardPlace {
  readonly name: string;
  readonly text: string;
}

/** A card that was read, kept as long as it says the same. */
interface ReadCard {
  /** The card's text with the adapters beside it. */
  readonly key: string;
  readonly endpoint: Endpoint;
}

/** One look at the folder. */
interface Look {
  readonly endpoints: readonly Endpoint[];
  /** What is wrong in it although it can be read. */
  readonly problems: readonly string[];
}

/**
 * The workers that have registered a model in Dynamo's file discovery, each
 * with what its model card says of it. No sidecar is looked for: what is known
 * of a worker is its card.
 *
 * While the folder cannot be read the last list stays. A card that no worker has
 * renewed for `LEASE_MS` is that of a worker that is gone.
 */
export class DynamoFileSource implements DiscoverySource {
  readonly name: string;
  readonly isStatic = false;
  readonly #options: Required<DynamoFileSourceOptions>;
  readonly #modules: Required<DynamoFileSourceModules>;
  readonly #folder: string;
  readonly #leases: LeaseWatch;
  /** By file name. */
  #cards: ReadonlyMap<string, ReadCard> = new Map();
  /** The list as last given; undefined before the first, and when it is to be given again after an error. */
  #given: readonly Endpoint[] | undefined;
  /** Whether workers have ever been able to register there. */
  #isKnown = false;
  #reportedProblems: readonly string[] = [];

  constructor(options: DynamoFileSourceOptions, modules: DynamoFileSourceModules) {
    this.name = options.text;
    this.#options = { intervalMs: DEFAULT_INTERVAL_MS, ...options };
    this.#modules = { listFiles: listFolder, readFile: readDatedFile, ...modules };
    this.#folder = cardsFolder(options.folder);
    this.#leases = new LeaseWatch(modules);
  }

  async run(
    signal: AbortSignal,
    onList: (endpoints: readonly Endpoint[]) => void,
    onError: (error: Error) => void,
  ): Promise<void> {
    while (!signal.aborted) {
      try {
        const { endpoints, problems } = await this.#look(signal);
        if (signal.aborted) return;
        // Each problem is reported when it is new, not at every look.
        for (const problem of problems) {
          if (!this.#reportedProblems.includes(problem)) onError(new DiscoveryError('invalid_file', problem));
        }
        this.#reportedProblems = problems;
        if (!isSame(endpoints, this.#given)) onList(endpoints);
        this.#given = endpoints;
      } catch (error) {
        if (!(error instanceof DiscoveryError)) throw error;
        if (signal.aborted) return;
        this.#given = undefined;
        onError(error);
      }
      await sleep(this.#modules.clock, this.#options.intervalMs, signal);
    }
  }

  /** Rejects with a `DiscoveryError` when the folder cannot be read. */
  async #look(signal: AbortSignal): Promise<Look> {
    const problems: string[] = [];
    const names = await this.#list();
    const found = await this.#read(names, problems);
    const adapters = adaptersOf(found);
    const cards = new Map<string, ReadCard>();
    const broken: string[] = [];
    for (const held of found) {
      if (held.adapter !== undefined) continue;
      const card = this.#take(held, adapters.get(held.worker) ?? []);
      if (typeof card === 'string') broken.push(held.name);
      else cards.set(held.name, card);
    }
    if (broken.length > 0) {
      await sleep(this.#modules.clock, READ_AGAIN_MS, signal);
      for (const held of await this.#read(broken, problems)) {
        const card = this.#take(held, adapters.get(held.worker) ?? []);
        if (typeof card !== 'string') cards.set(held.name, card);
        else cards.set(held.name, this.#standIn(held, card, problems));
      }
    }
    this.#cards = cards;
    this.#leases.keepOnly(names);
    if (cards.size === 0 && found.length === 0 && names.length > 0) {
      problems.push(
        `${this.name}: nobody has renewed the model cards there (${names.length}) for ${LEASE_MS / 1_000} s: their workers are gone`,
      );
    }
    const endpoints = new Map<string, Endpoint>();
    for (const { endpoint } of cards.values()) {
      if (!endpoints.has(endpoint.target)) endpoints.set(endpoint.target, endpoint);
    }
    return { endpoints: [...endpoints.values()].sort(byTarget), problems: problems.slice(0, MAX_PROBLEMS) };
  }

  /** Names of the cards' files. */
  async #list(): Promise<readonly string[]> {
    const { listFiles } = this.#modules;
    let names: readonly string[];
    try {
      names = (await listFiles(this.#folder)).filter((name) => readCardFileName(name) !== undefined);
    } catch (cause) {
      if (isMissing(cause)) return this.#missing(cause);
      throw new DiscoveryError(
        'unreadable_file',
        `${this.name}: ${this.#folder} ${explainSystemError(cause)}`,
        { cause },
      );
    }
    this.#isKnown = true;
    if (names.length <= MAX_ENDPOINTS) return names;
    throw new DiscoveryError(
      'too_many_endpoints',
      `${this.name}: has ${names.length} model cards, at most ${MAX_ENDPOINTS} are allowed`,
    );
  }

  /** There is no folder of cards: no worker has registered yet, it was cleared, or the path is wrong. */
  async #missing(cause: unknown): Promise<readonly string[]> {
    const { folder } = this.#options;
    try {
      await this.#modules.listFiles(folder);
    } catch (fault) {
      throw new DiscoveryError(
        'unreadable_file',
        `${this.name}: the folder ${folder} ${explainSystemError(fault)}; it must be the one that DYN_FILE_KV names for the workers`,
        { cause: fault },
      );
    }
    if (this.#isKnown) return [];
    throw new DiscoveryError(
      'unreadable_file',
      `${this.name}: no worker has registered a model there yet; if one should have, it must run with DYN_DISCOVERY_BACKEND=file and DYN_FILE_KV=${folder}`,
      { cause },
    );
  }

  /** Those among the files that are there and locked by a process, in their order. */
  async #read(names: readonly string[], problems: string[]): Promise<readonly HeldCard[]> {
    const found: HeldCard[] = [];
    for (let at = 0; at < names.length; at += MAX_READING) {
      const some = await Promise.all(
        names.slice(at, at + MAX_READING).map((name) => this.#readOne(name, problems)),
      );
      for (const held of some) if (held !== undefined) found.push(held);
    }
    return found;
  }

  async #readOne(name: string, problems: string[]): Promise<HeldCard | undefined> {
    const path = `${this.#folder}/${name}`;
    const place = readCardFileName(name);
    if (place === undefined) return undefined;
    try {
      const file = await this.#modules.readFile(path, MAX_CARD_BYTES);
      if (file === undefined || !this.#leases.isHeld(name, file.modifiedAtMs)) return undefined;
      return { ...place, name, text: file.content.toString('utf8') };
    } catch (cause) {
      problems.push(`${this.name}: the model card ${path} ${explainSystemError(cause)}; it is left out`);
      return undefined;
    }
  }

  /** What a card says, or in words why it says nothing. */
  #take(held: HeldCard, adapters: readonly string[]): ReadCard | string {
    const { name, text, worker, instanceId } = held;
    const key = JSON.stringify([adapters, text]);
    const known = this.#cards.get(name);
    if (known?.key === key) return known;
    const origin = `file ${this.#folder}/${name}`;
    const observedAtMs = this.#modules.clock.wallMs();
    try {
      const discovered = readRegisteredWorker(parseJsonObject(text, origin), {
        origin,
        observedAtMs,
        instanceId,
        adapters,
      });
      return { key, endpoint: { target: worker, discovered } };
    } catch (cause) {
      if (!(cause instanceof ProbeError)) throw cause;
      return cause.message;
    }
  }

  /** A card that says nothing stands for what it said before; a new one for a worker of which nothing is known. */
  #standIn({ name, worker, instanceId }: HeldCard, problem: string, problems: string[]): ReadCard {
    problems.push(`${this.name}: the model card of ${worker} cannot be read (${problem})`);
    const known = this.#cards.get(name);
    if (known !== undefined) return known;
    const discovered: DiscoveredWorker = { instanceId, facts: [], warnings: [], problem };
    return { key: '', endpoint: { target: worker, discovered } };
  }
}

/** The adapters that each worker has a card of, by the worker. */
function adaptersOf(found: readonly HeldCard[]): ReadonlyMap<string, readonly string[]> {
  const adapters = new Map<string, string[]>();
  for (const { worker, adapter } of found) {
    if (adapter !== undefined) addTo(adapters, worker, adapter);
  }
  return adapters;
}

/** A card that says the same is the same object. */
function isSame(one: readonly Endpoint[], other: readonly Endpoint[] | undefined): boolean {
  return one.length === other?.length && one.every((endpoint, at) => endpoint === other[at]);
}

function byTarget(one: Endpoint, other: Endpoint): number {
  return one.target < other.target ? -1 : 1;
}

function isMissing(cause: unknown): boolean {
  return cause instanceof Error && 'code' in cause && cause.code === 'ENOENT';
}
