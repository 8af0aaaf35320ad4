import type { IncomingHttpHeaders } from 'node:http';
import { JsonScan } from '../../edge/platform/data/json-scan.js';
import { type Decision, type Route, type RouteRequest, RoutingError } from '../../fleet/router/routing.js';
import { KEPT_RESPONSE, OTHER_PATH } from '../apis/api.js';
import { OpenAiError } from '../errors/openai-error.js';
import type { FoundModel, Models } from '../gateway/models.js';
import { parseBody, type ReadBody } from '../gateway/request-body.js';
import {
  type AskedRequest,
  type ReadRequest,
  type RequestReader,
  requireReady,
} from '../gateway/request-reader.js';
import type { SentTo } from '../tracing/request-tracer.js';
import type { DecodeCounters } from './endpoints/decode-counters.js';
import type { EndpointBook } from './endpoints/endpoint-book.js';
import { type LoadBounds, shedError } from './endpoints/load-bounds.js';
import { type ModelRewrites, rewriteModel } from './model-rewrite.js';
import { PickedPair } from './picked-pair.js';
import type { HeaderChanges } from './wire/messages.js';
import { DESTINATION, MODEL_NAME, OBJECTIVE, PREFILLER, RANK, SIDECAR_HEADERS } from './wire/names.js';
import { headerOf } from './wire/read-headers.js';

/** A request as a gateway shows it. */
export interface ShownRequest extends AskedRequest {
  readonly headers: IncomingHttpHeaders;
  /** What is asked for by its id, where its path says one. */
  readonly keptId: string | undefined;
  /** The endpoints that alone may be chosen; undefined: all. */
  readonly subset: ReadonlySet<string> | undefined;
}

/** Where a request is to go. */
export interface Chosen {
  /** The worker, reserved; to be released exactly once. */
  readonly route: Route;
  /** Where another worker computes its prompt; undefined where one worker computes all. */
  readonly pair: PickedPair | undefined;
  /** Endpoints, the first one to be tried first. */
  readonly endpoints: readonly string[];
  readonly changes: HeaderChanges;
  /** What a trace says of it beside the decision. */
  readonly sent: SentTo;
  /** What the body becomes; undefined where it stays as it is. */
  readonly body: Buffer | undefined;
  /** Ends the count of the request at its workers; may be called again. */
  end(): void;
  /** Reserves at the worker of another endpoint in place of this one; undefined where it is of no worker, or takes none. */
  moveTo(endpoint: string): Promise<Chosen | undefined>;
}

export interface PickingOptions {
  /** Endpoints beside the first one, for a gateway that tries the next when one fails. */
  readonly fallbacks: number;
  readonly modelRewrites: ModelRewrites;
}

export interface PickingModules {
  readonly reader: RequestReader;
  readonly models: () => Models;
  /** The endpoints of what is served now. */
  readonly endpoints: () => EndpointBook;
  readonly bounds: LoadBounds;
  /** What decode workers received. */
  readonly received: Pick<DecodeCounters, 'of'>;
  /** The priority of requests of an objective. */
  readonly priorityOf: (objective: string | undefined) => number;
}

/** Seconds after which a gateway may offer other endpoints. */
const RETRY_AFTER_SECONDS = 2;

/** Chooses endpoints for requests that another gateway sends. */
export class Picking {
  readonly #options: PickingOptions;
  readonly #modules: PickingModules;

  constructor(options: PickingOptions, modules: PickingModules) {
    this.#options = options;
    this.#modules = modules;
  }

  /** Chooses; rejects with an `OpenAiError` or a `RoutingError`. Without a body, load alone decides. */
  async pick(shown: ShownRequest, body: ReadBody | undefined): Promise<Chosen> {
    const rewritten = body === undefined ? undefined : rewriteModel(body, this.#options.modelRewrites);
    const read = await this.#read(shown, rewritten === undefined ? body : readAgain(rewritten));
    const priority = this.#modules.priorityOf(headerOf(shown.headers, OBJECTIVE));
    const { excluded, full } = this.#excludedFor(read, shown.subset, priority);
    if (full === undefined) return this.#reserve(shown, read, excluded, rewritten);
    try {
      return await this.#reserve(shown, read, [...excluded, ...full.targets], rewritten);
    } catch (error) {
      // Those that are left compute one part of a request, and all that compute the other one are full.
      if (error instanceof RoutingError && error.code === 'no_worker') throw full.error;
      throw error;
    }
  }

  #read(shown: ShownRequest, body: ReadBody | undefined): ReadRequest | Promise<ReadRequest> {
    const { reader } = this.#modules;
    if (shown.api === KEPT_RESPONSE && shown.keptId !== undefined)
      return reader.readKept(shown, shown.keptId);
    if (shown.api !== OTHER_PATH && body !== undefined) return reader.read(shown, shown.headers, body);
    return this.#readByLoad(shown, body);
  }

  #readByLoad(shown: ShownRequest, body: ReadBody | undefined): ReadRequest {
    const found = this.#anyFor(modelIn(body) ?? headerOf(shown.headers, MODEL_NAME));
    const { group } = found.group;
    shown.group = group;
    requireReady(found);
    return { found, route: { group, tokens: undefined, loraName: found.model.loraName, cacheSalt: '' } };
  }

  /** Who serves a name; where none is given, or only one model is served, who is ready. */
  #anyFor(name: string | undefined): FoundModel {
    const models = this.#modules.models();
    const { groups } = models;
    if (name !== undefined && (models.has(name) || groups.length !== 1)) return models.find(name);
    const group = groups.find(({ isReady }) => isReady) ?? groups[0];
    return models.find(group?.group ?? '');
  }

  /** Targets that must not be chosen, and of the others those that are full. Throws an `OpenAiError` where that leaves none. */
  #excludedFor(
    { found }: ReadRequest,
    subset: ReadonlySet<string> | undefined,
    priority: number,
  ): {
    readonly excluded: readonly string[];
    readonly full?: { readonly targets: readonly string[]; readonly error: OpenAiError };
  } {
    const { bounds } = this.#modules;
    const outside = subset === undefined ? NOBODY : this.#modules.endpoints().othersThan(subset);
    const excluded = [...found.excluded, ...outside];
    const out = new Set(excluded);
    const left = found.group.workers.flatMap(({ target, isOffered }) =>
      isOffered && !out.has(target) ? [target] : [],
    );
    if (left.length === 0) {
      if (subset !== undefined) throw outsideError(found.group.group, subset.size);
      return { excluded };
    }
    bounds.note(priority);
    const targets = bounds.full(left, priority);
    if (targets.length === 0) return { excluded };
    const error = shedError({
      group: found.group.group,
      workers: left.length,
      full: targets.length,
      bound: bounds.boundOf(priority),
      priority,
    });
    if (targets.length === left.length) throw error;
    return { excluded, full: { targets, error } };
  }

  async #reserve(
    shown: Pick<ShownRequest, 'headers' | 'subset'>,
    read: ReadRequest,
    excluded: readonly string[],
    body: Buffer | undefined,
  ): Promise<Chosen> {
    const { reader, endpoints, bounds } = this.#modules;
    const { protocols } = read;
    const asked: RouteRequest = {
      ...read.route,
      excluded,
      fallbacks: this.#options.fallbacks,
      pairing: protocols === undefined ? undefined : { protocols },
    };
    const { route, baseUrl } = await reader.pick(asked);
    const { target, rank, fallbacks = NOBODY, pair } = route.decision;
    const book = endpoints();
    const { subset } = shown;
    const isAllowed = (endpoint: string | undefined): endpoint is string =>
      endpoint !== undefined && (subset === undefined || subset.has(endpoint));
    const first = book.find(target, rank);
    const prefiller = pair === undefined ? undefined : book.find(pair.prefill.target, pair.prefill.rank);
    if (!isAllowed(first) || (pair !== undefined && !isAllowed(prefiller))) {
      // Its address is none that gateways have, or another rank of it alone is offered.
      route.release();
      const without = isAllowed(first) && pair !== undefined ? pair.prefill.target : target;
      if (excluded.includes(without)) throw outsideError(route.decision.group, subset?.size ?? 0);
      return this.#reserve(shown, read, [...excluded, without], body);
    }
    const others = fallbacks.map((other) => book.find(other, rank)).filter(isAllowed);
    const list = [first, ...others];
    const joined = list.join(',');
    const rankHeader = rankToName(route.decision, book);
    const set: Readonly<Record<string, string>> = {
      [DESTINATION]: joined,
      ...(prefiller === undefined ? {} : { [PREFILLER]: prefiller }),
      ...(rankHeader === undefined ? {} : { [RANK]: String(rankHeader) }),
      ...(body === undefined ? {} : { 'content-length': String(body.length) }),
    };
    const endCount = bounds.begin(target);
    const picked = this.#pairOf(route, read, rankHeader);
    return {
      route,
      pair: picked?.pair,
      endpoints: list,
      body,
      sent: { model: read.found.model.name, baseUrl },
      changes: { endpoints: joined, set, remove: foreignHeaders(shown.headers, set) },
      end: () => {
        endCount();
        picked?.endCount();
      },
      moveTo: (endpoint) => this.#reserveAt(endpoint, shown, read, pair?.prefill.target),
    };
  }

  /** What is seen of the worker that computes the prompt, where that is another one. */
  #pairOf(
    route: Route,
    { found }: ReadRequest,
    rankHeader: number | undefined,
  ): { readonly pair: PickedPair; readonly endCount: () => void } | undefined {
    const { bounds, endpoints, received } = this.#modules;
    const { decision, prefill } = route;
    const { pair, target } = decision;
    const worker = found.group.workers.find((one) => one.target === target);
    if (pair === undefined || prefill === undefined || worker === undefined) return undefined;
    const endCount = bounds.begin(pair.prefill.target);
    const isRankSure = ranksAtPort(pair.prefill, endpoints()) <= 1 || rankHeader === pair.prefill.rank;
    const about = { route, prefill, pair, isRankSure, endCount, received: received.of(worker) };
    return { endCount, pair: new PickedPair(about) };
  }

  async #reserveAt(
    endpoint: string,
    { headers }: Pick<ShownRequest, 'headers'>,
    { route, ...rest }: ReadRequest,
    prefillTarget: string | undefined,
  ): Promise<Chosen | undefined> {
    const target = this.#modules.endpoints().at(endpoint)?.target;
    if (target === undefined) return undefined;
    const others = rest.found.group.workers
      .map((worker) => worker.target)
      .filter((one) => one !== target && one !== prefillTarget);
    try {
      // Its cache may have heard of this very request by now: what it holds proves nothing any more.
      const read = { ...rest, route: { ...route, tokens: undefined, media: undefined } };
      return await this.#reserve({ headers, subset: undefined }, read, others, undefined);
    } catch {
      // It left meanwhile, or is no worker of this model: there is nothing to count it at.
      return undefined;
    }
  }
}

/** How many ranks one port of a worker leads to. */
function ranksAtPort({ target, rankCount }: Decision, book: EndpointBook): number {
  return book.hasPortOfEachRank(target) ? 1 : rankCount;
}

/**
 * The rank that a header has to say; undefined where none has to. Both workers of a request are shown the same headers, so a rank
 * that the prefill worker's port does not have is left out: engines refuse it.
 */
function rankToName(decision: Decision, book: EndpointBook): number | undefined {
  const { rank, pair } = decision;
  if (ranksAtPort(decision, book) <= 1) return undefined;
  return pair === undefined || rank < ranksAtPort(pair.prefill, book) ? rank : undefined;
}

/** Headers that say where a request goes, which are chosen here and not by clients: those that came, and are not replaced. */
function foreignHeaders(
  headers: IncomingHttpHeaders,
  set: Readonly<Record<string, string>>,
): readonly string[] {
  const foreign = CHOSEN_HERE.filter((name) => headers[name] !== undefined && set[name] === undefined);
  return foreign.length === 0 ? NOBODY : foreign;
}

const CHOSEN_HERE: readonly string[] = [RANK, ...SIDECAR_HEADERS];

const NOBODY: readonly string[] = [];

function readAgain(bytes: Buffer): ReadBody {
  const scan = new JsonScan();
  scan.add(bytes);
  return { bytes, scan };
}

/** The model that a body of any kind names; undefined where it names none. */
function modelIn(body: ReadBody | undefined): string | undefined {
  if (body === undefined || body.bytes.length === 0) return undefined;
  try {
    return parseBody(body).model;
  } catch {
    // Whatever it is, the engine understands it or says why not.
    return undefined;
  }
}

function outsideError(group: string, offered: number): OpenAiError {
  const what =
    offered === 0
      ? 'The gateway offers no endpoint for this request.'
      : `No worker of ${group} that takes requests is among the ${offered} endpoints that the gateway offers for this request.`;
  return new OpenAiError(503, what, { code: 'no_endpoint', retryAfterSeconds: RETRY_AFTER_SECONDS });
}
