import type { FleetView } from '../../core/agreement/snapshot.js';
import { ProbeBoard } from '../../edge/http/probe-board.js';
import type { Clock } from '../../edge/platform/clock.js';
import { buildCatalogue, type Catalogue } from '../../fleet/catalogue/catalogue.js';
import { Gateway } from '../../frontend/gateway/gateway.js';
import { frontendChecks } from '../../frontend/gateway/readiness.js';
import { WorkerProxy } from '../../frontend/proxy/worker-proxy.js';
import type { TokenSource } from '../../frontend/tokens/prompt-tokens.js';
import { createTokenSource } from '../../frontend/tokens/token-source.js';
import type { DemoAggregator } from './demo-aggregator.js';
import { FREE_PORT } from './worker.js';

/** Far more than the demo asks; the command's are for the world. */
const BODY_LIMIT_BYTES = 1024 * 1024;
const MAX_CONNECTIONS = 64;
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
  #gateway: Gateway | undefined;
  #stopListening: (() => void) | undefined;
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
    const show = (view: FleetView): void => {
      catalogue = buildCatalogue(view, new Map());
      probes.set('readyz', frontendChecks(view, catalogue));
    };
    show(aggregator.view);
    this.#stopListening = aggregator.listen(show);
    const tokens = await createTokenSource(
      { tokenizer: 'engine', engineTimeoutMs: TOKENIZE_TIMEOUT_MS },
      { clock, logger },
    );
    this.#tokens = tokens;
    this.#gateway = new Gateway(
      {
        listen: FREE_PORT,
        listenField: 'the demo',
        wantsTokens: aggregator.routerMode === 'kv',
        bodyLimitBytes: BODY_LIMIT_BYTES,
        maxConnections: MAX_CONNECTIONS,
        corsOrigins: [],
      },
      { clock, logger, registry, routing, tokens, probes, proxy: this.#proxy, catalogue: () => catalogue },
    );
    this.#url = `http://${(await this.#gateway.start()).text}`;
  }

  /** Ends it; the aggregator stays. */
  async close(): Promise<void> {
    this.#stopListening?.();
    await this.#gateway?.drain(0);
    await this.#proxy.close(0);
    await this.#tokens?.close();
  }
}
