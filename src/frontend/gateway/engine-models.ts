import { LRUCache } from 'lru-cache';
import { addTo } from '../../core/data/group-by.js';
import { type Clock, sleep } from '../../edge/platform/clock.js';
import { DEFAULT_JSON_BOUNDS, type JsonBounds, parseJson } from '../../edge/platform/data/bounded-json.js';
import { isJsonObject, type JsonObject } from '../../edge/platform/data/json-object.js';
import type { CatalogueGroup, CatalogueWorker } from '../../fleet/catalogue/catalogue.js';

/** Fields of a model's card as an engine lists it. */
export type CardFields = JsonObject;

/** Asks a worker; undefined where it does not answer. Never rejects. */
type AskWorker = (
  worker: CatalogueWorker,
  path: string,
) => Promise<{ readonly status: number; readonly body: Buffer } | undefined>;

/** A LoRA adapter that is in no report yet. */
export interface FoundAdapter {
  readonly group: string;
  /** The workers, by target, that have it. */
  readonly targets: readonly string[];
}

/** How long what engines list is taken for true: people and tools ask for it again and again. */
const FRESH_MS = 5_000;
/** How long an adapter that was found is used without a report: sidecars look every few seconds. */
const ADAPTER_MS = 10_000;
/** Between two searches: requests for names that nobody has cost each engine two lists a second at most. */
const SEARCH_EVERY_MS = 500;
/** Workers that one search asks. */
const MAX_SEARCHED = 256;
/** Groups and names that are remembered. */
const MAX_REMEMBERED = 1_024;
/** Cards of one engine that are read: as many adapters as a report may have, and some. */
const MAX_CARDS = 8_192;
/** A list of so many cards; each is shown again, so that none may be nested deeper than the stack. */
const LIST_BOUNDS: JsonBounds = { ...DEFAULT_JSON_BOUNDS, maxBytes: 4 * 1024 * 1024 };
/** Longest card that is passed on; vLLM's have 500 characters. */
const MAX_CARD_CHARS = 16_384;

type Cards = ReadonlyMap<string, CardFields>;

/** What engines list at `/v1/models`, which is more, and newer, than what is in their reports. */
export class EngineModels {
  readonly #ask: AskWorker;
  readonly #clock: Clock;
  readonly #byGroup = new LRUCache<string, { readonly atMs: number; readonly cards: Promise<Cards> }>({
    max: MAX_REMEMBERED,
  });
  readonly #adapters = new LRUCache<string, FoundAdapter & { readonly atMs: number }>({
    max: MAX_REMEMBERED,
  });
  #search: Promise<ReadonlyMap<string, readonly FoundAdapter[]>> | undefined;
  #searchedMs = Number.NEGATIVE_INFINITY;
  #turn = 0;

  constructor(ask: AskWorker, { clock }: { readonly clock: Clock }) {
    this.#ask = ask;
    this.#clock = clock;
  }

  /** The cards of a group by their names, of one of its workers; none where it does not answer. Never rejects. */
  cardsOf({ group, workers }: CatalogueGroup): Promise<Cards> {
    const nowMs = this.#clock.monotonicMs();
    const known = this.#byGroup.get(group);
    if (known !== undefined && nowMs - known.atMs < FRESH_MS) return known.cards;
    const able = workers.filter(isAble);
    this.#turn = (this.#turn + 1) % Number.MAX_SAFE_INTEGER;
    const worker = able[this.#turn % able.length];
    const cards = worker === undefined ? Promise.resolve(new Map()) : this.#listOf(worker);
    this.#byGroup.set(group, { atMs: nowMs, cards });
    return cards;
  }

  /**
   * The workers that list an adapter of this name: asked of all, at most twice a
   * second for all names together. Undefined where none does, or those of several groups.
   */
  async findAdapter(
    name: string,
    groups: () => readonly CatalogueGroup[],
  ): Promise<FoundAdapter | undefined> {
    const known = this.#adapters.get(name);
    if (known !== undefined && this.#clock.monotonicMs() - known.atMs < ADAPTER_MS) return known;
    this.#search ??= this.#startSearch(groups);
    const found = (await this.#search).get(name);
    const [first, ...others] = found ?? [];
    if (first === undefined || others.length > 0) return undefined;
    this.#adapters.set(name, { ...first, atMs: this.#clock.monotonicMs() });
    return first;
  }

  /** One search serves all that wait for it; the next one begins half a second after it at the earliest. */
  async #startSearch(
    groups: () => readonly CatalogueGroup[],
  ): Promise<ReadonlyMap<string, readonly FoundAdapter[]>> {
    await sleep(this.#clock, this.#searchedMs + SEARCH_EVERY_MS - this.#clock.monotonicMs());
    this.#searchedMs = this.#clock.monotonicMs();
    // Who asks from here on may be asking for what is loaded while this search runs.
    this.#search = undefined;
    const workers = groups().flatMap(({ group, workers }) =>
      workers.filter(isAble).map((worker) => ({ group, worker })),
    );
    const from = workers.length > MAX_SEARCHED ? this.#turn++ % workers.length : 0;
    const asked = [...workers.slice(from), ...workers.slice(0, from)].slice(0, MAX_SEARCHED);
    const lists = await Promise.all(asked.map(({ worker }) => this.#listOf(worker)));
    const found = new Map<string, Map<string, string[]>>();
    for (const [at, { group, worker }] of asked.entries())
      for (const [name, { parent }] of lists[at] ?? []) {
        if (typeof parent !== 'string') continue;
        const byGroup = found.get(name) ?? new Map<string, string[]>();
        addTo(byGroup, group, worker.target);
        found.set(name, byGroup);
      }
    return new Map(
      [...found].map(([name, byGroup]) => [
        name,
        [...byGroup].map(([group, targets]) => ({ group, targets })),
      ]),
    );
  }

  async #listOf(worker: CatalogueWorker): Promise<Cards> {
    const answer = await this.#ask(worker, '/v1/models');
    return answer?.status === 200 ? readCards(answer.body) : new Map();
  }
}

function isAble({ isOffered, baseUrl }: CatalogueWorker): boolean {
  return isOffered && baseUrl !== undefined;
}

function readCards(body: Buffer): Cards {
  let data: unknown;
  try {
    const list = parseJson(body, LIST_BOUNDS);
    data = isJsonObject(list) ? list['data'] : undefined;
  } catch {
    // No list, or none that can be shown again, so nothing is listed.
    return new Map();
  }
  const cards = new Map<string, CardFields>();
  for (const card of Array.isArray(data) ? data.slice(0, MAX_CARDS) : []) {
    if (!isJsonObject(card)) continue;
    const { id } = card;
    if (typeof id === 'string' && JSON.stringify(card).length <= MAX_CARD_CHARS) cards.set(id, card);
  }
  return cards;
}
