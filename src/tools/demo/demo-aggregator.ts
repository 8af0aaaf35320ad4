import { Registry } from 'prom-client';
import { DEFAULT_AGREEMENT_OPTIONS } from '../../core/agreement/options.js';
import type { FleetView } from '../../core/agreement/snapshot.js';
import type { Clock } from '../../edge/platform/clock.js';
import type { Logger } from '../../edge/platform/logger.js';
import type { Random } from '../../edge/platform/random.js';
import { systemEventLoop } from '../../edge/platform/time/event-loop.js';
import { callUnary } from '../../edge/rpc/call-unary.js';
import { RpcDialer } from '../../edge/rpc/channel.js';
import type { Security } from '../../edge/security/security.js';
import { Aggregator, type AggregatorAddresses } from '../../fleet/aggregator/aggregator.js';
import type { Endpoint } from '../../fleet/discovery/source.js';
import type { IndexDirectory } from '../../fleet/indexer/asked-index.js';
import { FleetIndexing } from '../../fleet/indexer/fleet-indexing.js';
import { DEFAULT_COST_WEIGHTS } from '../../fleet/router/cost.js';
import { FleetRouting, type FleetRoutingOptions } from '../../fleet/router/fleet-routing.js';
import type { RouterMode, Routing } from '../../fleet/router/routing.js';
import { type FindMatchesResponse, IndexerClient, type Prompt } from '../../gen/kvaccord/v1/indexer.js';
import { StageSource } from './stage-source.js';
import { FREE_PORT } from './worker.js';

/** As the command has it; the story tells of decisions itself. */
const ROUTING: Omit<FleetRoutingOptions, 'mode'> = {
  temperature: 0,
  weights: DEFAULT_COST_WEIGHTS,
  decisionLog: 'none',
};

/** How long it may take to answer the demo's own question. */
const ASK_TIMEOUT_MS = 5_000;

export interface DemoAggregatorOptions {
  readonly version: string;
  /** How long things must have stood still. */
  readonly settleMs: number;
  /** The operator's own value, as `--kv-cache-block-size` gives it. */
  readonly overrideTokensPerBlock?: number | undefined;
  /** How its router chooses, as `--router-mode` gives it. Default `kv`. */
  readonly routerMode?: RouterMode;
  /** Makes the choices of its router repeatable that are drawn, as `--router-seed` does. */
  readonly routerSeed?: number;
}

export interface DemoAggregatorModules {
  readonly clock: Clock;
  readonly random: Random;
  readonly security: Security;
  readonly logger: Logger;
}

/** An aggregator with its index and its router, as it stands beside a frontend. */
export class DemoAggregator {
  readonly routerMode: RouterMode;
  readonly logger: Logger;
  /** All that it and what is built on it counts. */
  readonly registry: Registry = new Registry();
  readonly #modules: DemoAggregatorModules;
  readonly #source = new StageSource();
  readonly #aggregator: Aggregator;
  #indexing: FleetIndexing | undefined;
  #routing: FleetRouting | undefined;
  #addresses: AggregatorAddresses | undefined;

  constructor(options: DemoAggregatorOptions, modules: DemoAggregatorModules) {
    this.#modules = modules;
    const { clock, logger, random, security } = modules;
    const { registry } = this;
    const { overrideTokensPerBlock: override, routerMode: mode = 'kv', routerSeed: seed } = options;
    this.routerMode = mode;
    this.logger = logger;
    this.#aggregator = new Aggregator(
      {
        agreement: {
          ...DEFAULT_AGREEMENT_OPTIONS,
          settleMs: options.settleMs,
          overrideTokensPerBlock: override,
          mismatchedWorkers: override === undefined ? 'quarantine' : 'load-only',
        },
        listen: FREE_PORT,
        httpListen: FREE_PORT,
        version: options.version,
      },
      {
        clock,
        random,
        logger,
        source: this.#source,
        security,
        registry,
        dialer: new RpcDialer({}, { clock, security }),
        parts: [
          ({ runner: fleet, edge }) => {
            this.#indexing = new FleetIndexing(
              {},
              { clock, random, logger, registry, edge, turns: systemEventLoop, fleet },
            );
            return this.#indexing;
          },
          ({ runner: fleet, edge }) => {
            const indexes: IndexDirectory = { of: (group) => this.#indexing?.of(group) };
            this.#routing = new FleetRouting(
              { ...ROUTING, mode, seed },
              { clock, random, logger, registry, edge, indexes, fleet },
            );
            return this.#routing;
          },
        ],
      },
    );
  }

  /** Its answers as last prepared. */
  get view(): FleetView {
    return this.#aggregator.fleet.runner.view;
  }

  /** Who decides where requests go. */
  get routing(): Routing {
    if (this.#routing === undefined) throw new Error('the router is not made yet');
    return this.#routing;
  }

  /** Where it serves; undefined until `open`. */
  get addresses(): AggregatorAddresses | undefined {
    return this.#addresses;
  }

  /** Calls `onView` whenever its answers are new, until what it gives is called. */
  listen(onView: (view: FleetView) => void): () => void {
    return this.#aggregator.fleet.runner.listen({ onView });
  }

  /** Brings it up. */
  async open(): Promise<void> {
    this.#addresses = await this.#aggregator.start();
  }

  /** Discovery's list, anew. */
  list(endpoints: readonly Endpoint[]): void {
    this.#source.list(endpoints);
  }

  /** Asks it over gRPC, as a router does, who holds how much of a prompt. Rejects while its gate is shut. */
  async findMatches(tokenIds: readonly number[], signal: AbortSignal): Promise<FindMatchesResponse> {
    if (this.#addresses === undefined) throw new Error('the aggregator is not up');
    const { clock, security } = this.#modules;
    const channel = new RpcDialer({}, { clock, security }).dial(this.#addresses.grpc);
    try {
      const client = channel.createClient(IndexerClient);
      const form: Prompt['form'] = { $case: 'tokenIds', value: { ids: [...tokenIds] } };
      const prompt: Prompt = { form, loraName: '', cacheSalt: '' };
      return await callUnary(
        client.findMatches.bind(client),
        { group: '', prompt },
        { clock, timeoutMs: ASK_TIMEOUT_MS, signal },
      );
    } finally {
      channel.close();
    }
  }

  /** Ends it. */
  async close(): Promise<void> {
    await this.#aggregator.stop();
  }
}
