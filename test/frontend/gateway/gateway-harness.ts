import type { ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { Registry } from 'prom-client';
import { ProbeBoard } from '../../../src/edge/http/probe-board.js';
import { type Address, parseAddress } from '../../../src/edge/platform/address.js';
import { systemClock } from '../../../src/edge/platform/clock.js';
import type { Catalogue, CatalogueGroup } from '../../../src/fleet/catalogue/catalogue.js';
import type { Route, RouteRequest } from '../../../src/fleet/router/routing.js';
import type { EngineAnswer } from '../../../src/frontend/engine-access/whole-answer.js';
import { Gateway, type GatewayModules, type GatewayOptions } from '../../../src/frontend/gateway/gateway.js';
import type { Picked, ProxiedRequest, ProxyOutcome } from '../../../src/frontend/proxy/proxied-request.js';
import type { Prompt, PromptTokens } from '../../../src/frontend/tokens/prompt-tokens.js';
import { anyDecision } from '../../support/any-decision.js';
import { RecordingLogger } from '../../support/recording-logger.js';

const LOCAL = parseAddress('127.0.0.1:0') as Address;

/** A group with one worker, that takes requests. */
export function makeGroup(group: string, sketch: Partial<CatalogueGroup> = {}): CatalogueGroup {
  return {
    group,
    isReady: true,
    reasons: [],
    epoch: 1,
    tokensPerBlock: 32,
    workers: [
      {
        target: 'w-1:50061',
        workerId: 'w-1',
        instanceId: 'w-1-1',
        baseUrl: 'http://w-1:8000',
        isOffered: true,
        tokenizerFingerprint: undefined,
      },
    ],
    ...sketch,
  };
}

/** A catalogue of `tiny` with a LoRA adapter `tiny-lora`. */
export function makeCatalogue(sketch: Partial<CatalogueGroup> = {}): Catalogue {
  return {
    models: [
      { name: 'tiny', group: 'tiny', loraName: '' },
      { name: 'tiny-lora', group: 'tiny', loraName: 'tiny-lora' },
    ],
    groups: [makeGroup('tiny', sketch)],
    reasons: [],
  };
}

type Serve = (request: ProxiedRequest, response: ServerResponse) => Promise<ProxyOutcome>;

/** A gateway on a free port, whose router, tokenizer and proxy are the test's. */
export class GatewayHarness {
  readonly gateway: Gateway;
  readonly probes: ProbeBoard = new ProbeBoard();
  readonly registry: Registry = new Registry();
  readonly logger: RecordingLogger = new RecordingLogger();
  catalogue: Catalogue = makeCatalogue();
  /** What was asked of each of them. */
  readonly routed: RouteRequest[] = [];
  readonly prompts: Prompt[] = [];
  readonly served: ProxiedRequest[] = [];
  readonly picked: Picked[] = [];
  released = 0;
  /** What single workers were asked for. */
  readonly asked: string[] = [];
  /** What they answer; undefined for nothing. */
  engineAnswers: (target: string, path: string) => EngineAnswer | undefined = () => ({
    status: 404,
    body: Buffer.alloc(0),
  });
  tokens: PromptTokens = { tokens: new Uint32Array([1, 2, 3]) };
  /** The target that the router chooses next; the last one stays. */
  targets: string[] = ['w-1:50061'];
  serve: Serve = answerOk;
  port = 0;
  readonly #sockets: Socket[] = [];

  private constructor(options: Partial<GatewayOptions>, modules: Partial<GatewayModules>) {
    this.gateway = new Gateway(
      {
        listen: LOCAL,
        listenField: '--http-port',
        wantsTokens: true,
        bodyLimitBytes: 64 * 1024,
        maxConnections: 64,
        corsOrigins: [],
        ...options,
      },
      {
        clock: systemClock,
        logger: this.logger,
        registry: this.registry,
        catalogue: () => this.catalogue,
        probes: this.probes,
        routing: { route: (request) => Promise.resolve(this.#route(request)) },
        tokens: {
          tokensOf: (prompt) => {
            this.prompts.push(prompt);
            return Promise.resolve(this.tokens);
          },
          close: () => Promise.resolve(),
        },
        proxy: {
          serve: async (request, response) => {
            this.served.push(request);
            return this.serve(request, response);
          },
          close: () => Promise.resolve(),
        },
        engines: {
          get: (worker, path) => {
            this.asked.push(`${worker.target}${path}`);
            return Promise.resolve(this.engineAnswers(worker.target, path));
          },
        },
        ...modules,
      },
    );
  }

  static async start(
    options: Partial<GatewayOptions> = {},
    modules: Partial<GatewayModules> = {},
  ): Promise<GatewayHarness> {
    const harness = new GatewayHarness(options, modules);
    const address = await harness.gateway.start();
    harness.port = address.type === 'tcp' ? address.port : 0;
    return harness;
  }

  /** Asks over a connection of its own. */
  async ask(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = { connection: 'close', ...(init.headers as Record<string, string>) };
    return fetch(`http://127.0.0.1:${this.port}${path}`, { ...init, headers });
  }

  post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
    return this.ask(path, {
      method: 'POST',
      body: typeof body === 'string' ? body : JSON.stringify(body),
      headers: { 'content-type': 'application/json', ...headers },
    });
  }

  chat(body: object = {}, headers: Record<string, string> = {}): Promise<Response> {
    return this.post('/v1/chat/completions', { model: 'tiny', messages: [], ...body }, headers);
  }

  /** A raw connection. */
  connect(): Socket {
    const socket = connect(this.port, '127.0.0.1');
    socket.setEncoding('latin1');
    socket.on('error', () => {});
    this.#sockets.push(socket);
    return socket;
  }

  /** Sends raw bytes and resolves with all that came until the other side closed. */
  sendRaw(...pieces: readonly (string | Buffer)[]): Promise<string> {
    const socket = this.connect();
    let got = '';
    socket.on('data', (part: string) => {
      got += part;
    });
    for (const piece of pieces) socket.write(piece);
    return new Promise((resolve) => socket.once('close', () => resolve(got)));
  }

  /** A metric's value for the labels that are named, summed over the others. */
  async metric(name: string, labels: Record<string, string> = {}): Promise<number> {
    const metrics = (await this.registry.getMetricsAsJSON()) as unknown as {
      name: string;
      values: { value: number; labels: Record<string, unknown> }[];
    }[];
    const values = metrics.find((metric) => metric.name === name)?.values ?? [];
    return values
      .filter((entry) =>
        Object.entries(labels).every(([label, value]) => String(entry.labels[label]) === value),
      )
      .reduce((sum, { value }) => sum + value, 0);
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await this.gateway.drain(0);
  }

  #route(request: RouteRequest): Route {
    this.routed.push(request);
    const target = (this.targets.length > 1 ? this.targets.shift() : this.targets[0]) ?? '';
    const decision = anyDecision({
      group: request.group,
      target,
      workerId: target,
      instanceId: `${target}-1`,
      promptTokens: request.tokens?.length,
      promptBlocks: 1,
      cachedBlocks: 0,
    });
    return {
      decision,
      prefillDone: () => {},
      progress: () => {},
      failed: () => {},
      release: () => {
        this.released += 1;
      },
    };
  }
}

/** Picks a worker and answers 200 with a small JSON. */
async function answerOk(request: ProxiedRequest, response: ServerResponse): Promise<ProxyOutcome> {
  const { route } = await request.pick([]);
  response.writeHead(200, ['content-type', 'application/json']);
  response.end('{"ok":true}');
  route.release();
  return { status: 200, ended: 'complete', firstByteMs: 1 };
}
