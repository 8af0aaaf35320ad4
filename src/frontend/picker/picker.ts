import type { Registry } from 'prom-client';
import { type Clock, sleep, type Timer } from '../../edge/platform/clock.js';
import { UnorderedSet } from '../../edge/platform/data/unordered-set.js';
import type { Logger } from '../../edge/platform/logger.js';
import { type EventLoop, systemEventLoop } from '../../edge/platform/time/event-loop.js';
import { toRpcError, toStatus } from '../../edge/rpc/errors.js';
import type { RpcEdge } from '../../edge/rpc/handlers.js';
import type { Catalogue } from '../../fleet/catalogue/catalogue.js';
import type { Routing } from '../../fleet/router/routing.js';
import type { EngineAsker } from '../engine-access/engine-asker.js';
import { drainingError, overloadedError } from '../errors/gateway-errors.js';
import type { OpenAiError } from '../errors/openai-error.js';
import { currentModels } from '../gateway/current-models.js';
import { EngineModels } from '../gateway/engine-models.js';
import { GatewayMetrics } from '../gateway/gateway-metrics.js';
import { BodyReader } from '../gateway/request-body.js';
import { RequestReader, type RequestReaderOptions } from '../gateway/request-reader.js';
import { ResponseHomes } from '../gateway/response-homes.js';
import type { TokenSource } from '../tokens/prompt-tokens.js';
import type { RequestTracer } from '../tracing/request-tracer.js';
import { DecodeCounters } from './endpoints/decode-counters.js';
import type { EndpointBook } from './endpoints/endpoint-book.js';
import { LoadBounds, type LoadBoundsOptions } from './endpoints/load-bounds.js';
import { SuspectedWorkers } from './endpoints/suspected-workers.js';
import { PickerMetrics } from './picker-metrics.js';
import type { PickerStreamModules, PickerStreamOptions } from './picker-modules.js';
import { PickerStream } from './picker-stream.js';
import { Picking, type PickingOptions } from './picking.js';
import { GatewayCall, type GrpcCall } from './wire/gateway-call.js';
import type { GatewayMessage } from './wire/wire.js';

export interface PickerOptions
  extends PickerStreamOptions,
    PickingOptions,
    RequestReaderOptions,
    LoadBoundsOptions {
  /** Longest body, in bytes. */
  readonly bodyLimitBytes: number;
  /** Requests at a time, from the headers to the end of the answer; further ones are refused. */
  readonly maxRequests: number;
}

export interface PickerModules {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Registry;
  /** What is served; the same object until it changes. */
  readonly catalogue: () => Catalogue;
  /** The endpoints of what is served. */
  readonly endpoints: () => EndpointBook;
  readonly routing: Routing;
  readonly tokens: TokenSource;
  /** Asks single workers for what is not in their reports. */
  readonly engines: Pick<EngineAsker, 'get'>;
  /** The priority of requests of an objective. Default: 0 for all. */
  readonly priorityOf?: (objective: string | undefined) => number;
  /** Absent: requests are not traced. */
  readonly tracer?: RequestTracer | undefined;
  /** Default the system's. */
  readonly eventLoop?: EventLoop;
}

/** How often it is looked after requests that take too long; time-outs are late by this at most. */
const CHECK_EVERY_MS = 1_000;

/** Chooses endpoints for a gateway, over `envoy.service.ext_proc.v3.ExternalProcessor/Process`. */
export class Picker {
  readonly #options: PickerOptions;
  readonly #clock: Clock;
  readonly #eventLoop: EventLoop;
  readonly #open = new UnorderedSet<PickerStream>();
  readonly #modules: PickerStreamModules;
  #timer: Timer | undefined;
  #isDraining = false;
  #onIdle: (() => void) | undefined;

  constructor(options: PickerOptions, modules: PickerModules) {
    const { clock, logger, registry, catalogue, endpoints, priorityOf = () => 0 } = modules;
    this.#options = options;
    this.#clock = clock;
    this.#eventLoop = modules.eventLoop ?? systemEventLoop;
    const bounds = new LoadBounds(options);
    const metrics = new GatewayMetrics(registry, {
      inFlight: () => this.#open.size,
      groups: () => catalogue().groups.map(({ group }) => group),
    });
    const homes = new ResponseHomes((worker, path) => modules.engines.get(worker, path));
    const models = currentModels(catalogue);
    const engineModels = new EngineModels((worker, path) => modules.engines.get(worker, path), { clock });
    const reader = new RequestReader(options, { ...modules, metrics, models, homes, engineModels });
    this.#modules = {
      clock,
      logger,
      homes,
      metrics,
      pickerMetrics: new PickerMetrics(registry, { reserved: () => bounds.running }),
      bodies: new BodyReader({ limitBytes: options.bodyLimitBytes }),
      picking: new Picking(options, {
        reader,
        models,
        endpoints,
        bounds,
        received: new DecodeCounters(modules),
        priorityOf,
      }),
      suspects: new SuspectedWorkers(),
      tracer: modules.tracer,
      findProblem: () => this.#findProblem(),
    };
  }

  /** Requests that are open now. @internal */
  get openRequests(): number {
    return this.#open.size;
  }

  /** The handlers of `extProcService`. */
  createHandlers(edge: RpcEdge): { process(call: GrpcCall): void } {
    return { process: (call) => this.#serve(call, edge) };
  }

  /** Refuses new requests, and lets those that are open end; what is left after `graceMs` is cut. */
  async drain(graceMs: number): Promise<void> {
    this.#isDraining = true;
    if (this.#open.size > 0) {
      const idle = new AbortController();
      this.#onIdle = () => idle.abort();
      await sleep(this.#clock, graceMs, idle.signal);
    }
    for (const stream of this.#open.snapshot()) stream.cut();
    this.#timer?.clear();
  }

  #serve(call: GrpcCall, edge: RpcEdge): void {
    const answers = new GatewayCall(call, { eventLoop: this.#eventLoop });
    const stream = new PickerStream(answers, this.#options, this.#modules, () => this.#onOver(stream));
    this.#open.add(stream);
    this.#timer ??= this.#clock.setTimer(CHECK_EVERY_MS, this.#check);
    const guard = (run: () => void): void => {
      try {
        run();
      } catch (error) {
        answers.flush();
        call.emit('error', toStatus(toRpcError(error, call.getPath(), edge)));
        stream.close();
      }
    };
    call.on('data', (message: GatewayMessage) => guard(() => stream.take(message)));
    call.once('end', () => guard(() => stream.halfClose()));
    for (const event of ['cancelled', 'close', 'error']) call.once(event, () => stream.close());
    // One that was given up before it came here gives no sign any more.
    if (call.cancelled) stream.close();
  }

  readonly #check = (): void => {
    this.#timer = undefined;
    const nowMs = this.#clock.monotonicMs();
    for (const stream of this.#open.snapshot()) stream.check(nowMs);
    if (this.#open.size > 0) this.#timer ??= this.#clock.setTimer(CHECK_EVERY_MS, this.#check);
  };

  #onOver(stream: PickerStream): void {
    this.#open.delete(stream);
    if (this.#open.size === 0) this.#onIdle?.();
  }

  #findProblem(): OpenAiError | undefined {
    if (this.#isDraining) return drainingError();
    return this.#open.size > this.#options.maxRequests ? overloadedError() : undefined;
  }
}
