import type { IncomingHttpHeaders } from 'node:http';
import { JsonScan } from '../../edge/platform/data/json-scan.js';
import type { Route, RouteRequest } from '../../fleet/router/routing.js';
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
import type { EndpointBook } from './endpoint-book.js';
import { type LoadBounds, shedError } from './load-bounds.js';
import type { HeaderChanges } from './messages.js';
import { type ModelRewrites, rewriteModel } from './model-rewrite.js';
import { DESTINATION, MODEL_NAME, OBJECTIVE, RANK } from './names.js';
import { headerOf } from './read-headers.js';

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
  /** Endpoints, the first one to be tried first. */
  readonly endpoints: readonly string[];
  readonly changes: HeaderChanges;
  /** What a trace says of it beside the decision. */
  readonly sent: SentTo;
  /** What the body becomes; undefined where it stays as it is. */
  readonly body: Buffer | undefined;
  /** Ends the count of the request at its worker; may be called again. */
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
    const excluded = this.#excludedFor(read, shown.subset, priority);
    return this.#reserve(shown, read, excluded, rewritten);
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

  /** Targets that must not be chosen. Throws an `OpenAiError` where that leaves none. */
  #excludedFor(
    { found }: ReadRequest,
    subset: ReadonlySet<string> | undefined,
    priority: number,
  ): readonly string[] {
    const { bounds } = this.#modules;
    const outside = subset === undefined ? NOBODY : this.#modules.endpoints().othersThan(subset);
    const excluded = [...found.excluded, ...outside];
    const out = new Set(excluded);
    const left = found.group.workers.flatMap(({ target, isOffered }) =>
      isOffered && !out.has(target) ? [target] : [],
    );
    if (left.length === 0) {
      if (subset !== undefined) throw outsideError(found.group.group, subset.size);
      return excluded;
    }
    bounds.note(priority);
    const full = bounds.full(left, priority);
    if (full.length === left.length)
      throw shedError(found.group.group, left.length, bounds.boundOf(priority), priority);
    return [...excluded, ...full];
  }

  async #reserve(
    shown: Pick<ShownRequest, 'headers' | 'subset'>,
    read: ReadRequest,
    excluded: readonly string[],
    body: Buffer | undefined,
  ): Promise<Chosen> {
    const { reader, endpoints, bounds } = this.#modules;
    const asked: RouteRequest = { ...read.route, excluded, fallbacks: this.#options.fallbacks };
    const { route, baseUrl } = await reader.pick(asked);
    const { target, rank, rankCount, fallbacks = NOBODY } = route.decision;
    const book = endpoints();
    const { subset } = shown;
    const isAllowed = (endpoint: string | undefined): endpoint is string =>
      endpoint !== undefined && (subset === undefined || subset.has(endpoint));
    const first = book.find(target, rank);
    if (!isAllowed(first)) {
      // Its address is none that gateways have, or another rank of it alone is offered.
      route.release();
      if (excluded.includes(target)) throw outsideError(route.decision.group, subset?.size ?? 0);
      return this.#reserve(shown, read, [...excluded, target], body);
    }
    const others = fallbacks.map((other) => book.find(other, rank)).filter(isAllowed);
    const list = [first, ...others];
    const needsRank = rankCount > 1 && !book.hasPortOfEachRank(target);
    const joined = list.join(',');
    return {
      route,
      endpoints: list,
      body,
      sent: { model: read.found.model.name, baseUrl },
      changes: {
        endpoints: joined,
        set: {
          [DESTINATION]: joined,
          ...(needsRank ? { [RANK]: String(rank) } : {}),
          ...(body === undefined ? {} : { 'content-length': String(body.length) }),
        },
        // Ranks are chosen here, not by clients.
        remove: needsRank || shown.headers[RANK] === undefined ? NOBODY : [RANK],
      },
      end: bounds.begin(target),
      moveTo: (endpoint) => this.#reserveAt(endpoint, shown, read),
    };
  }

  async #reserveAt(
    endpoint: string,
    { headers }: Pick<ShownRequest, 'headers'>,
    { found, route }: ReadRequest,
  ): Promise<Chosen | undefined> {
    const target = this.#modules.endpoints().at(endpoint)?.target;
    if (target === undefined) return undefined;
    const others = found.group.workers.map((worker) => worker.target).filter((one) => one !== target);
    try {
      // Its cache may have heard of this very request by now: what it holds proves nothing any more.
      const read = { found, route: { ...route, tokens: undefined, media: undefined } };
      return await this.#reserve({ headers, subset: undefined }, read, others, undefined);
    } catch {
      // It left meanwhile, or is no worker of this model: there is nothing to count it at.
      return undefined;
    }
  }
}

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
