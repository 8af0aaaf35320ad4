import type { IncomingHttpHeaders } from 'node:http';
import type { TransferProtocol } from '../../core/contract/transfer/connector-rules.js';
import { type Pairing, type RouteRequest, type Routing, RoutingError } from '../../fleet/router/routing.js';
import { type Api, RESPONSES } from '../apis/api.js';
import { notRoutedError } from '../errors/openai-error.js';
import type { Picked } from '../proxy/proxied-request.js';
import type { Prompt, TokenSource } from '../tokens/prompt-tokens.js';
import { cacheUseOf } from './cache-use.js';
import { type Continued, continuedFrom } from './continued.js';
import type { EngineModels } from './engine-models.js';
import type { GatewayMetrics } from './gateway-metrics.js';
import type { FoundModel, Models } from './models.js';
import { type AskedBody, parseBody, type ReadBody } from './request-body.js';
import type { Home, ResponseHomes } from './response-homes.js';
import { type SessionAffinity, sessionHashOf } from './session-hash.js';
import { splitProtocols } from './split-request.js';

export interface RequestReaderOptions {
  /** Whether prompts' tokens are asked for, because workers are chosen by them. */
  readonly wantsTokens: boolean;
  /** Where the name of a request's session is read. Default `off`. */
  readonly sessionAffinity?: SessionAffinity;
}

export interface RequestReaderModules {
  readonly metrics: Pick<GatewayMetrics, 'withoutTokens'>;
  /** What is served now. */
  readonly models: () => Models;
  readonly tokens: TokenSource;
  readonly routing: Routing;
  readonly homes: ResponseHomes;
  readonly engineModels: EngineModels;
}

/** A request that is being read. */
export interface AskedRequest {
  readonly api: Api;
  /** The group that serves its model; written here as soon as it is known. */
  group: string;
  /** Aborts when the client leaves, until `end` is called. */
  watchClient(): ClientWatch;
}

/** Whether a client is still there. */
export interface ClientWatch {
  readonly gone: AbortSignal;
  end(): void;
}

/** What is known of a request when a worker is to be chosen for it. */
export interface ReadRequest {
  readonly found: FoundModel;
  readonly route: Omit<RouteRequest, 'excluded'>;
  /** In which ways it can be split between two workers. Absent: it goes to one. */
  readonly protocols?: readonly TransferProtocol[] | undefined;
}

/** What is read of a request before a worker is chosen, for every way to send it there: model, group, tokens. */
export class RequestReader {
  readonly #options: RequestReaderOptions;
  readonly #modules: RequestReaderModules;

  constructor(options: RequestReaderOptions, modules: RequestReaderModules) {
    this.#options = options;
    this.#modules = modules;
  }

  /**
   * Reads a body and finds out who serves its model, and its tokens where they
   * are wanted. What the body becomes takes many times its bytes, which alone
   * are counted: it ends here, and not with the answer, an hour later.
   */
  read(open: AskedRequest, headers: IncomingHttpHeaders, body: ReadBody): ReadRequest | Promise<ReadRequest> {
    const kind = open.api.prompt;
    const asked = parseBody(body, kind);
    const sessionHash = sessionHashOf(this.#options.sessionAffinity ?? 'off', headers, asked.value);
    const models = this.#modules.models();
    if (!models.has(asked.model) && models.groups.length > 0)
      return this.#findAdapter(asked.model).then((found) => this.#readFor(found, open, asked, sessionHash));
    return this.#readFor(models.findFor(asked.model, open.api.path), open, asked, sessionHash);
  }

  /** Finds out who keeps what a request asks for by its id. Rejects with an `OpenAiError`. */
  async readKept(open: AskedRequest, id: string): Promise<ReadRequest> {
    const { homes, models } = this.#modules;
    const home = await homes.find(id, models().groups, RESPONSES.path, 'response_id');
    const found = models().find(home.group);
    open.group = home.group;
    const route = { group: home.group, tokens: undefined, loraName: '', cacheSalt: '' };
    return { found: { ...found, excluded: othersOf(found, home) }, route };
  }

  /** A name in no report: an adapter that was loaded a moment ago, or none. */
  async #findAdapter(name: string): Promise<FoundModel> {
    const { engineModels, models } = this.#modules;
    const found = await engineModels.findAdapter(name, () => models().groups);
    return found === undefined ? models().find(name) : models().asAdapter(name, found);
  }

  #readFor(
    found: FoundModel,
    open: AskedRequest,
    asked: AskedBody,
    sessionHash: ReturnType<typeof sessionHashOf>,
  ): ReadRequest | Promise<ReadRequest> {
    const kind = open.api.prompt;
    const { group } = found.group;
    open.group = group;
    requireReady(found);
    const route = {
      group,
      tokens: undefined,
      loraName: found.model.loraName,
      cacheSalt: asked.cacheSalt,
      cacheUse: cacheUseOf(asked.value),
      sessionHash,
    };
    const prepared: ReadRequest = {
      found,
      route,
      ...(found.group.hasPairs === true ? { protocols: splitProtocols(open.api, asked) } : {}),
    };
    const continued = open.api === RESPONSES ? continuedFrom(asked.value) : undefined;
    if (continued !== undefined) return this.#atHome(prepared, continued);
    if (kind === undefined || !this.#options.wantsTokens) return prepared;
    if (asked.isCut) {
      this.#modules.metrics.withoutTokens(group, 'too_long');
      return prepared;
    }
    return this.#addTokens(prepared, kind, asked, open);
  }

  /** A request that goes on from what a worker keeps goes to that worker, whatever the load. Its tokens are known to nobody else. */
  async #atHome({ found, route }: ReadRequest, { id, collection, param }: Continued): Promise<ReadRequest> {
    const { homes, metrics } = this.#modules;
    const home = await homes.find(id, [found.group], collection, param);
    if (this.#options.wantsTokens) metrics.withoutTokens(route.group, 'continued');
    // It goes to the worker that keeps what it goes on from, and to no other.
    return { found: { ...found, excluded: othersOf(found, home) }, route };
  }

  async #addTokens(
    { found, route, ...rest }: ReadRequest,
    kind: Prompt['kind'],
    asked: AskedBody,
    open: AskedRequest,
  ): Promise<ReadRequest> {
    const { group } = found;
    const { gone, end } = open.watchClient();
    const made = await this.#modules.tokens.tokensOf(
      { kind, body: asked.value, losesNumbers: asked.losesNumbers(), raw: asked.raw },
      asked.model,
      group,
      gone,
    );
    end();
    const { tokens, reason } = made;
    if (reason !== undefined && !gone.aborted) this.#modules.metrics.withoutTokens(group.group, reason);
    const media = made.reason === undefined ? made.media : undefined;
    const isPrefix = reason === 'media_prefix' ? true : undefined;
    return { found, route: { ...route, tokens, media, isPrefix }, ...rest };
  }

  /** Chooses a worker whose address is known, and counts the request there. Rejects with a `RoutingError`. */
  async pick(request: RouteRequest): Promise<Picked> {
    const route = await this.#modules.routing.route(request);
    const { target, pair } = route.decision;
    const models = this.#modules.models();
    const baseUrl = models.baseUrlOf(request.group, target);
    const prefillBaseUrl =
      pair === undefined ? undefined : models.baseUrlOf(request.group, pair.prefill.target);
    if (baseUrl !== undefined && (pair === undefined || prefillBaseUrl !== undefined))
      return { route, baseUrl, prefillBaseUrl };
    // It has left, or moved, since it was chosen.
    route.release();
    const unknown = baseUrl === undefined || pair === undefined ? target : pair.prefill.target;
    if (request.excluded.includes(unknown))
      throw new RoutingError(
        'no_worker',
        `no worker of "${request.group}" has an address that is known here`,
      );
    return this.pick({ ...request, excluded: [...request.excluded, unknown] });
  }
}

/** What is asked of the router, as one shape of object for all requests: whatever reads it is compiled for that. */
export function routeRequest(
  route: ReadRequest['route'],
  excluded: readonly string[],
  pairing?: Pairing,
): RouteRequest {
  return {
    group: route.group,
    tokens: route.tokens,
    loraName: route.loraName,
    cacheSalt: route.cacheSalt,
    media: route.media,
    isPrefix: route.isPrefix,
    cacheUse: route.cacheUse,
    sessionHash: route.sessionHash,
    excluded,
    pairing,
  };
}

function othersOf({ group, excluded }: FoundModel, home: Home): readonly string[] {
  const others = group.workers.map(({ target }) => target).filter((target) => target !== home.target);
  return [...excluded, ...others];
}

/** Throws an `OpenAiError` while the gate of a model is shut. */
export function requireReady({ group }: FoundModel): void {
  if (!group.isReady) throw notRoutedError({ code: 'gate_shut', reasons: group.reasons });
}
