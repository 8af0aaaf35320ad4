import type { ServerDuplexStream } from '@grpc/grpc-js';
import { Registry } from 'prom-client';
import type { WorkerFault } from '../../../src/core/health/worker-fault.js';
import { createPlaintextSecurity } from '../../../src/edge/security/security.js';
import type { Catalogue, CatalogueWorker } from '../../../src/fleet/catalogue/catalogue.js';
import {
  type Decision,
  type RouteRequest,
  RoutingError,
  type Usage,
} from '../../../src/fleet/router/routing.js';
import { EndpointBook, type ServedRanks } from '../../../src/frontend/picker/endpoints/endpoint-book.js';
import { Picker, type PickerModules, type PickerOptions } from '../../../src/frontend/picker/picker.js';
import { extProcService } from '../../../src/frontend/picker/wire/wire.js';
import type { PromptTokens } from '../../../src/frontend/tokens/prompt-tokens.js';
import type { HeaderMap } from '../../../src/gen/envoy/config/core/v3/base.js';
import { ProcessingMode_BodySendMode as Mode } from '../../../src/gen/envoy/extensions/filters/http/ext_proc/v3/processing_mode.js';
import {
  ExternalProcessorClient,
  type ProcessingRequest,
  type ProcessingResponse,
} from '../../../src/gen/envoy/service/ext_proc/v3/external_processor.js';
import { createTestServer, dial } from '../../edge/rpc/rpc-test-server.js';
import { FakeClock } from '../../support/fake-clock.js';
import { RecordingLogger } from '../../support/recording-logger.js';

export { Mode };

/** A worker that takes requests at `10.0.0.N:8000`. */
export function workerAt(n: number, sketch: Partial<CatalogueWorker> = {}): CatalogueWorker {
  return {
    target: `10.0.0.${n}:50061`,
    workerId: `w-${n}`,
    instanceId: `w-${n}-1`,
    baseUrl: `http://10.0.0.${n}:8000`,
    isOffered: true,
    tokenizerFingerprint: undefined,
    ...sketch,
  };
}

/** What became of one request that was reserved. */
export interface Reserved {
  readonly request: RouteRequest;
  readonly decision: Decision;
  readonly faults: WorkerFault[];
  released: number;
  usage: Usage | undefined;
  isPrefillDone: boolean;
}

/** A picker over gRPC, whose router and tokenizer are the test's. */
export class PickerHarness {
  readonly clock: FakeClock = new FakeClock();
  readonly registry: Registry = new Registry();
  readonly logger: RecordingLogger = new RecordingLogger();
  readonly picker: Picker;
  readonly reserved: Reserved[] = [];
  catalogue: Catalogue;
  served: ServedRanks = new Map();
  tokens: PromptTokens = { tokens: new Uint32Array([1, 2, 3]) };
  /** How many ranks each worker has, and which is chosen. */
  rankCount = 1;
  rank = 0;
  /** Held back while it is set: what the router answers. */
  gate: Promise<void> | undefined;
  #client: ExternalProcessorClient | undefined;

  constructor(options: Partial<PickerOptions> = {}, modules: Partial<PickerModules> = {}) {
    this.catalogue = {
      models: [{ name: 'tiny', group: 'tiny', loraName: '' }],
      groups: [
        {
          group: 'tiny',
          isReady: true,
          reasons: [],
          epoch: 1,
          tokensPerBlock: 32,
          workers: [workerAt(1), workerAt(2), workerAt(3)],
        },
      ],
      reasons: [],
    };
    this.picker = new Picker(
      {
        isShadow: false,
        totalTimeoutMs: 3_600_000,
        fallbacks: 2,
        modelRewrites: new Map(),
        wantsTokens: true,
        maxRequestsPerWorker: 1_000,
        maxRequests: 5_000,
        bodyLimitBytes: 64 * 1024,
        ...options,
      },
      {
        clock: this.clock,
        logger: this.logger,
        registry: this.registry,
        catalogue: () => this.catalogue,
        endpoints: () => new EndpointBook(this.catalogue, this.served),
        routing: { route: (request) => this.#route(request) },
        tokens: { tokensOf: () => Promise.resolve(this.tokens), close: () => Promise.resolve() },
        engines: { get: () => Promise.resolve({ status: 404, body: Buffer.alloc(0) }) },
        ...modules,
      },
    );
  }

  /** Serves it on a free port. */
  async start(): Promise<this> {
    const { server } = createTestServer(
      {
        limits: {
          maxOpenCalls: 20_000,
          maxOpenCallsPerConnection: 20_000,
          maxCallsPerSecondPerConnection: 1e9,
          takesResets: true,
        },
      },
      createPlaintextSecurity(),
    );
    server.addService(extProcService, this.picker.createHandlers(server.edge));
    const at = await server.start();
    this.#client = dial(at).createClient(ExternalProcessorClient);
    return this;
  }

  /** Opens a stream as a gateway does. */
  open(): Gateway {
    if (this.#client === undefined) throw new Error('it is not started');
    return new Gateway(this.#client.process());
  }

  /** Requests that count at a worker, and were not released. */
  get unreleased(): number {
    return this.reserved.filter(({ released }) => released === 0).length;
  }

  metric(name: string): Promise<number> {
    return this.registry
      .getSingleMetricAsString(name)
      .then((text) =>
        [...text.matchAll(/^[^#].* (\S+)$/gm)].reduce((sum, [, value]) => sum + Number(value), 0),
      );
  }

  async #route(request: RouteRequest) {
    await this.gate;
    const left = (this.catalogue.groups[0]?.workers ?? []).filter(
      ({ target }) => !request.excluded.includes(target),
    );
    const [worker, ...others] = left;
    if (worker === undefined) throw new RoutingError('no_worker', 'none is left');
    const one: Reserved = {
      request,
      decision: {
        group: request.group,
        target: worker.target,
        workerId: worker.workerId,
        instanceId: worker.instanceId,
        rank: this.rank,
        rankCount: this.rankCount,
        epoch: 1,
        tokensPerBlock: 32,
        promptTokens: request.tokens?.length,
        promptBlocks: 1,
        cachedBlocks: 0,
        isExact: true,
        routingMode: 'exact',
        fallbacks: others.slice(0, request.fallbacks ?? 0).map(({ target }) => target),
      },
      faults: [],
      released: 0,
      usage: undefined,
      isPrefillDone: false,
    };
    this.reserved.push(one);
    return {
      decision: one.decision,
      prefillDone: () => {
        one.isPrefillDone = true;
      },
      progress: () => undefined,
      release: (usage?: Usage) => {
        one.released += 1;
        one.usage = usage;
      },
      failed: (fault: WorkerFault) => void one.faults.push(fault),
    };
  }
}

type Call = Pick<
  ServerDuplexStream<ProcessingResponse, ProcessingRequest>,
  'on' | 'write' | 'end' | 'pause' | 'resume'
> & { cancel(): void };

/** One stream of a gateway. */
export class Gateway {
  readonly answers: ProcessingResponse[] = [];
  /** The status that the stream ended with; undefined while it is open. */
  status: number | undefined;
  readonly call: Call;
  #waiting: (() => void)[] = [];

  constructor(call: unknown) {
    this.call = call as Call;
    const wake = (): void => {
      for (const resolve of this.#waiting.splice(0)) resolve();
    };
    this.call.on('data', (answer: ProcessingResponse) => {
      this.answers.push(answer);
      wake();
    });
    this.call.on('error', () => undefined);
    this.call.on('status', ({ code }: { code: number }) => {
      this.status = code;
      wake();
    });
  }

  /** Sends one message. */
  send(request: ProcessingRequest['request'], more: Partial<ProcessingRequest> = {}): this {
    this.call.write({
      request,
      metadataContext: undefined,
      observabilityMode: false,
      protocolConfig: undefined,
      ...more,
    });
    return this;
  }

  /** Sends the head of a request. */
  head(
    headers: Readonly<Record<string, string>> = {},
    { endOfStream = false, ...more }: Partial<ProcessingRequest> & { readonly endOfStream?: boolean } = {},
  ): this {
    const all = {
      ':method': 'POST',
      ':path': '/v1/completions',
      'content-type': 'application/json',
      ...headers,
    };
    return this.send({ $case: 'requestHeaders', value: { headers: mapOf(all), endOfStream } }, more);
  }

  /** Sends the body of a request, in so many pieces. */
  body(value: unknown, pieces = 1): this {
    const bytes = Buffer.from(typeof value === 'string' ? value : JSON.stringify(value));
    const size = Math.ceil(bytes.length / pieces);
    for (let at = 0; at < pieces; at += 1)
      this.send({
        $case: 'requestBody',
        value: { body: bytes.subarray(at * size, (at + 1) * size), endOfStream: at === pieces - 1 },
      });
    return this;
  }

  /** Sends the head of an answer. */
  answerHead(headers: Readonly<Record<string, string>> = {}, served?: string): this {
    return this.send(
      {
        $case: 'responseHeaders',
        value: { headers: mapOf({ ':status': '200', ...headers }), endOfStream: false },
      },
      served === undefined
        ? {}
        : {
            metadataContext: {
              filterMetadata: { 'envoy.lb': { 'x-gateway-destination-endpoint-served': served } },
            },
          },
    );
  }

  answerBody(text: string, endOfStream = true): this {
    return this.send({ $case: 'responseBody', value: { body: Buffer.from(text), endOfStream } });
  }

  /** Waits for so many answers, or the end of the stream. */
  async until(count: number): Promise<readonly ProcessingResponse[]> {
    while (this.answers.length < count && this.status === undefined)
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return this.answers;
  }

  /** Waits for the end of the stream; comes back with its status. */
  async ended(): Promise<number> {
    while (this.status === undefined) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return this.status;
  }

  /** The headers that the answers so far set. */
  get set(): Readonly<Record<string, string>> {
    const set: Record<string, string> = {};
    for (const { response } of this.answers) {
      const value = response?.value;
      if (value === undefined || !('response' in value)) continue;
      for (const { header } of value.response?.headerMutation?.setHeaders ?? [])
        if (header !== undefined) set[header.key] = header.rawValue.toString();
    }
    return set;
  }

  /** The names of the headers that the answers so far remove. */
  get removed(): readonly string[] {
    return this.answers.flatMap(({ response }) => {
      const value = response?.value;
      if (value === undefined || !('response' in value)) return [];
      return value.response?.headerMutation?.removeHeaders ?? [];
    });
  }

  /** The refusal that came; undefined for none. */
  get refusal():
    | { readonly status: number; readonly headers: Readonly<Record<string, string>>; readonly body: unknown }
    | undefined {
    for (const { response } of this.answers) {
      if (response?.$case !== 'immediateResponse') continue;
      const { status, headers, body } = response.value;
      return {
        status: status?.code ?? 0,
        headers: Object.fromEntries(
          (headers?.setHeaders ?? []).map(({ header }) => [
            header?.key ?? '',
            header?.rawValue.toString() ?? '',
          ]),
        ),
        body: JSON.parse(body.toString()),
      };
    }
    return undefined;
  }

  /** The body that was sent back. */
  get returned(): string {
    return this.answers
      .flatMap(({ response }) => {
        if (response?.$case !== 'requestBody') return [];
        const mutation = response.value.response?.bodyMutation?.mutation;
        return mutation?.$case === 'streamedResponse' ? [mutation.value.body.toString()] : [];
      })
      .join('');
  }
}

/** What a gateway says of itself. */
export function modes(request: Mode, response: Mode = request, early = false): Partial<ProcessingRequest> {
  return {
    protocolConfig: {
      requestBodyMode: request,
      responseBodyMode: response,
      sendBodyWithoutWaitingForHeaderResponse: early,
    },
  };
}

export function mapOf(headers: Readonly<Record<string, string>>): HeaderMap {
  return {
    headers: Object.entries(headers).map(([key, value]) => ({
      key,
      value: '',
      rawValue: Buffer.from(value),
    })),
  };
}
