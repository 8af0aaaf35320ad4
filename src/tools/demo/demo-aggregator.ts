import { Registry } from 'prom-client';
import { type CreatedAggregator, createAggregator } from '../../app/create-aggregator.js';
import type { FollowedFleet } from '../../app/follow-fleet.js';
import { DEFAULT_AGREEMENT_OPTIONS } from '../../core/agreement/state/options.js';
import type { FleetView } from '../../core/agreement/view/snapshot.js';
import type { Clock } from '../../edge/platform/clock.js';
import type { Logger } from '../../edge/platform/logger.js';
import type { Random } from '../../edge/platform/random.js';
import { callUnary } from '../../edge/rpc/call-unary.js';
import { RpcDialer } from '../../edge/rpc/channel.js';
import type { Security } from '../../edge/security/security.js';
import type { AggregatorAddresses } from '../../fleet/aggregator/aggregator.js';
import type { Endpoint } from '../../fleet/discovery/source.js';
import type { RouterMode, Routing } from '../../fleet/router/routing.js';
import { type FindMatchesResponse, IndexerClient, type Prompt } from '../../gen/kvaccord/v1/indexer.js';
import { StageSource } from './stage-source.js';
import { FREE_PORT } from './worker.js';

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
  readonly #made: CreatedAggregator;
  #addresses: AggregatorAddresses | undefined;

  constructor(options: DemoAggregatorOptions, modules: DemoAggregatorModules) {
    this.#modules = modules;
    const { overrideTokensPerBlock: override, routerMode: mode = 'kv', routerSeed: seed } = options;
    this.routerMode = mode;
    this.logger = modules.logger;
    this.#made = createAggregator(
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
        indexing: {},
        routing: { mode, seed },
      },
      { ...modules, source: this.#source, registry: this.registry },
    );
  }

  /** Its answers as last prepared. */
  get view(): FleetView {
    return this.#made.aggregator.fleet.runner.view;
  }

  /** Who decides where requests go. */
  get routing(): Routing {
    return this.#made.routing();
  }

  /** Where it serves; undefined until `open`. */
  get addresses(): AggregatorAddresses | undefined {
    return this.#addresses;
  }

  /** Where its views are followed. */
  get fleet(): FollowedFleet {
    return this.#made.aggregator.fleet.runner;
  }

  /** Brings it up. */
  async open(): Promise<void> {
    this.#addresses = await this.#made.aggregator.start();
  }

  /** Gives discovery a new list. */
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
    await this.#made.aggregator.stop();
  }
}
