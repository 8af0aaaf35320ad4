import { followFleet } from '../../app/follow-fleet.js';
import { createGateway, type GatewaySettings } from '../../app/open-gateway.js';
import { ProbeBoard } from '../../edge/http/probe-board.js';
import type { Clock } from '../../edge/platform/clock.js';
import type { Catalogue } from '../../fleet/catalogue/catalogue.js';
import { EngineAsker } from '../../frontend/engine-access/engine-asker.js';
import { isOnSidecarsHost } from '../../frontend/engine-access/key-hosts.js';
import type { Gateway } from '../../frontend/gateway/gateway.js';
import { WorkerProxy } from '../../frontend/proxy/worker-proxy.js';
import type { TokenSource } from '../../frontend/tokens/prompt-tokens.js';
import { createTokenSource } from '../../frontend/tokens/token-source.js';
import type { DemoAggregator } from './demo-aggregator.js';

/** Far more than the demo asks; the command's are for the world. */
const SETTINGS: Omit<GatewaySettings, 'routerMode'> = {
  httpHost: '127.0.0.1',
  httpPort: 0,
  httpBodyLimitBytes: 1024 * 1024,
  maxConnections: 64,
  corsOrigins: [],
  sessionAffinity: 'off',
  neighbourHints: 0,
};
/** A machine that is very busy gets this long. */
const TOKENIZE_TIMEOUT_MS = 5_000;

export interface DemoFrontendModules {
  readonly clock: Clock;
  /** What it stands on. */
  readonly aggregator: DemoAggregator;
}

/** The OpenAI server of `kv-accord frontend`, over an aggregator that is there already. */
export class DemoFrontend {
  readonly #modules: DemoFrontendModules;
  readonly #proxy: WorkerProxy;
  #tokens: TokenSource | undefined;
  #engines: EngineAsker | undefined;
  #gateway: Gateway | undefined;
  #stopFollowing: (() => void) | undefined;
  #url = '';

  constructor(modules: DemoFrontendModules) {
    this.#modules = modules;
    const { clock, aggregator } = modules;
    this.#proxy = new WorkerProxy({ decisionHeaders: true }, { clock, logger: aggregator.logger });
  }

  /** Base URL, such as `http://127.0.0.1:41234`; empty before `open`. */
  get url(): string {
    return this.#url;
  }

  /** Takes its port; what is asked before the gate is open is answered 503. */
  async open(): Promise<void> {
    const { aggregator, clock } = this.#modules;
    const { logger, registry, routing } = aggregator;
    const probes = new ProbeBoard();
    let catalogue: Catalogue = { models: [], groups: [], reasons: [] };
    this.#stopFollowing = followFleet(aggregator.fleet, new Map(), { logger }, (served) => {
      catalogue = served.catalogue;
      probes.set('readyz', served.checks);
    });
    const tokens = await createTokenSource(
      { tokenizer: 'engine', engineTimeoutMs: TOKENIZE_TIMEOUT_MS },
      { clock, logger },
    );
    this.#tokens = tokens;
    const engines = new EngineAsker({ mayHaveKeys: isOnSidecarsHost }, { clock });
    this.#engines = engines;
    this.#gateway = createGateway(
      { ...SETTINGS, routerMode: aggregator.routerMode },
      { clock, logger },
      { keys: undefined, tracer: undefined, tokens, proxy: this.#proxy, engines },
      { registry, routing, probes, tls: undefined, catalogue: () => catalogue },
    );
    this.#url = `http://${(await this.#gateway.start()).text}`;
  }

  /** Ends it; the aggregator stays. */
  async close(): Promise<void> {
    this.#stopFollowing?.();
    await this.#gateway?.drain(0);
    await this.#proxy.close(0);
    await this.#tokens?.close();
    await this.#engines?.close();
  }
}
