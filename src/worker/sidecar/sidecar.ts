import type { Registry } from 'prom-client';
import {
  type ObservedSize,
  observedFacts,
  withObserved,
} from '../../core/contract/evidence/observed-size.js';
import { HttpServer, type HttpServerModules } from '../../edge/http/http-server.js';
import { ProbeBoard } from '../../edge/http/probe-board.js';
import type { Address } from '../../edge/platform/address.js';
import type { Clock } from '../../edge/platform/clock.js';
import { describeError } from '../../edge/platform/describe-error.js';
import type { Logger } from '../../edge/platform/logger.js';
import type { Random } from '../../edge/platform/random.js';
import { onAbort } from '../../edge/platform/time/on-abort.js';
import { RpcServer } from '../../edge/rpc/server.js';
import type { Security } from '../../edge/security/security.js';
import {
  CapabilitiesService,
  Completeness_State,
  EngineState,
  type Topology,
} from '../../gen/kvaccord/v1/capabilities.js';
import { Canary, type CanaryHttp } from './canary/canary.js';
import { SidecarMetrics } from './http/sidecar-metrics.js';
import { setProbes, sidecarApi, sidecarStatus } from './http/sidecar-pages.js';
import { type EventReading, KvEventsController } from './kv-events/kv-events-controller.js';
import { ENCODED_KV_EVENTS_SERVICE, KvEventsEndpoint } from './kv-events/kv-events-service.js';
import { rehashAbility } from './kv-events/rehash-ability.js';
import {
  type EngineView,
  EngineWatch,
  type EngineWatchModules,
  type EngineWatchOptions,
} from './probing/engine-watch.js';
import { CapabilitiesEndpoint } from './report/capabilities-service.js';
import { OfferBoard } from './report/offer-board.js';
import { ReportLog } from './report/report-log.js';
import { ReportStore } from './report/report-store.js';
import { type FingerprintModules, fingerprintTokenizer } from './tokens/tokenizer-fingerprint.js';
import { SideChannelChecks } from './transfer/side-channel-checks.js';

/** Milliseconds of the drain that are kept back for closing what is left. */
const DRAIN_MARGIN_MS = 500;

export interface SidecarOptions extends EngineWatchOptions {
  /** The product's version, part of every report. */
  readonly version: string;
  /** Where gRPC is served; port 0 picks a free one. */
  readonly listen: Address;
  /** Where probes, metrics and the status page are served. */
  readonly httpListen: Address;
  /** Milliseconds from the request to end until everything has ended; default 10,000. */
  readonly drainTimeoutMs?: number;
}

export interface SidecarModules
  extends Pick<EngineWatchModules, 'locate' | 'loadProbes' | 'probeModules' | 'learnFacts'> {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly security: Security;
  readonly registry: Registry;
  /** Reads what the worker runs on, after the first look at the engine and at each engine start; absent when that is switched off. */
  readonly readTopology?: (signal: AbortSignal) => Promise<Topology>;
  readonly openFile: FingerprintModules['openFile'];
  /** How the engine's KV events are read; absent when that is switched off. */
  readonly eventReading?: EventReading;
  /** How a new engine is asked the canary's prompt; absent when none is sent. */
  readonly canary?: CanaryHttp;
  /** How the HTTP port is protected; absent: plain, and open to everybody who reaches it. */
  readonly httpSecurity?: Pick<HttpServerModules, 'access' | 'tls'>;
}

/** Where a sidecar serves. */
export interface SidecarAddresses {
  readonly grpc: Address;
  readonly http: Address;
}

/** Name under which gRPC health reports the engine itself. */
const ENGINE_HEALTH = 'engine';
/** Name under which gRPC health reports the reports. */
const CAPABILITIES_HEALTH = 'kvaccord.v1.Capabilities';
/** Name under which gRPC health reports whether KV events are read. */
const KV_EVENTS_HEALTH = 'kvaccord.v1.KvEvents';

/**
 * The process beside a worker. It serves from the first moment, whether or
 * not the engine is up: a pod whose sidecar waits for the engine, and whose
 * engine waits for the sidecar, never starts.
 */
export class Sidecar {
  readonly #options: SidecarOptions;
  readonly #modules: SidecarModules;
  readonly #watch: EngineWatch;
  readonly #store: ReportStore;
  readonly #server: RpcServer;
  readonly #http: HttpServer;
  readonly #probes = new ProbeBoard();
  readonly #offers: OfferBoard;
  readonly #log: ReportLog;
  readonly #events: KvEventsController;
  readonly #canary: Canary | undefined;
  /** What the events of the current instance showed. */
  #observed: readonly ObservedSize[] = [];
  /** Of these, what was shown after a publisher restarted: it may be of an instance that no round has seen yet. */
  #observedSinceRestart: readonly ObservedSize[] | undefined;
  /** Ranks whose publishers restarted with the current instance: each does once for one engine start. */
  #restartedRanks = new Set<number>();
  #hasLooked = false;
  #wasReady = false;
  #model: string | undefined;
  #fingerprintWarning: string | undefined;
  #stop = new AbortController();

  constructor(options: SidecarOptions, modules: SidecarModules) {
    this.#options = options;
    this.#modules = modules;
    const { clock, random, logger, security, registry } = modules;
    this.#log = new ReportLog({ logger });
    let metrics: SidecarMetrics | undefined;
    this.#watch = new EngineWatch(options, {
      ...modules,
      onView: (view) => this.#onView(view),
      onRound: (round) => metrics?.countRound(round),
    });
    this.#store = new ReportStore(
      {
        workerId: options.workerId,
        sidecarVersion: options.version,
        canRehash: (report) => rehashAbility(modules.eventReading?.settings, report),
      },
      { clock, view: this.#watch.firstView },
    );
    this.#offers = new OfferBoard({ clock });
    const sideChannels = new SideChannelChecks({ clock });
    const endpoint = new CapabilitiesEndpoint({}, { store: this.#store, offers: this.#offers, sideChannels });
    this.#events = new KvEventsController(
      { reading: modules.eventReading, instanceId: this.#store.current.instanceId },
      {
        clock,
        random,
        logger,
        onObserved: (observed) => this.#onObserved(observed),
        onPublisherRestart: (rank) => this.#onPublisherRestart(rank),
        onPublisherDown: () => this.#watch.lookNow(),
      },
    );
    this.#canary = this.#makeCanary();
    const events = new KvEventsEndpoint(options, { events: this.#events, store: this.#store });
    metrics = new SidecarMetrics({
      registry,
      store: this.#store,
      endpoint,
      events,
      kvEvents: this.#events,
      ...(this.#canary === undefined ? {} : { canary: this.#canary }),
    });
    this.#server = new RpcServer({ listen: options.listen }, { clock, logger, random, security });
    this.#server.addService(CapabilitiesService, endpoint.createHandlers(this.#server.edge));
    this.#server.addService(ENCODED_KV_EVENTS_SERVICE, { ...events.createHandlers(this.#server.edge) });
    this.#server.health.setStatus(CAPABILITIES_HEALTH, 'SERVING');
    this.#server.health.setStatus(ENGINE_HEALTH, 'NOT_SERVING');
    this.#server.health.setStatus(KV_EVENTS_HEALTH, 'NOT_SERVING');
    this.#http = new HttpServer(
      { listen: options.httpListen, title: 'kv-accord sidecar', version: options.version },
      {
        clock,
        logger,
        registry,
        probes: this.#probes,
        status: () => sidecarStatus(this.#store, this.#events),
        api: sidecarApi(this.#store, this.#events),
        ...modules.httpSecurity,
      },
    );
    // Every change, also those that no round brings: topology, the drain.
    this.#store.subscribe(() => this.#setProbes());
    this.#probes.setOffered(() => this.#offers.check());
  }

  /** Takes its ports; rejects with a `ListenError`, and then nothing is left open. */
  async start(): Promise<SidecarAddresses> {
    const grpc = await this.#server.start();
    try {
      const http = await this.#http.start();
      this.#setProbes();
      return { grpc, http };
    } catch (error) {
      await this.#server.stop(0);
      throw error;
    }
  }

  /** Asks the engine until `signal` aborts, then drains. Resolves when everything has ended. */
  async run(signal: AbortSignal): Promise<void> {
    const leave = onAbort(signal, () => this.#stop.abort());
    await this.#watch.run(this.#stop.signal);
    leave();
    await this.#drain();
  }

  #setProbes(): void {
    const { instanceId, completeness } = this.#store.current;
    this.#offers.setReport({
      instanceId,
      isComplete: completeness?.state === Completeness_State.COMPLETE,
    });
    setProbes(this.#probes, this.#store);
  }

  async #drain(): Promise<void> {
    const timeoutMs = this.#options.drainTimeoutMs ?? 10_000;
    this.#modules.logger.info(
      { drain_timeout_ms: timeoutMs },
      'Draining: watchers get a last report, then it ends.',
    );
    // Streams that are ended still send what waits, so every reader that keeps up sees this report.
    this.#store.drain();
    const graceMs = Math.max(0, timeoutMs - DRAIN_MARGIN_MS);
    // It may wait a minute for an answer that is not needed any more.
    await this.#canary?.close();
    await this.#server.stop(graceMs);
    // After its readers, so that none is sent that nothing is read any more.
    await this.#events.close();
    // Last, so that a platform can ask until the end why this is not ready any more.
    await this.#http.stop(Math.min(graceMs, DRAIN_MARGIN_MS));
  }

  #onView(view: EngineView): void {
    const isNewInstance = view.instanceId !== this.#store.current.instanceId;
    this.#store.setView(view);
    if (isNewInstance) {
      this.#observed = this.#observedSinceRestart ?? [];
      this.#observedSinceRestart = undefined;
      this.#store.setObservedFacts(observedFacts(this.#observed));
    }
    if (isNewInstance) this.#events.setCaveat('');
    this.#events.follow(this.#store.current, view.state);
    if (!this.#store.isDraining) this.#canary?.follow(this.#store.current, view.state);
    this.#server.health.setStatus(
      KV_EVENTS_HEALTH,
      this.#events.sources.length > 0 ? 'SERVING' : 'NOT_SERVING',
    );
    const isReady = view.state === EngineState.READY;
    this.#server.health.setStatus(ENGINE_HEALTH, isReady ? 'SERVING' : 'NOT_SERVING');
    this.#log.log(this.#store.current, view.restart);
    // Not before the first look at the engine: reading starts other programs, and the gate waits for the engine's answer.
    // Again when the engine is ready for the first time: its container may say only then which GPUs it has.
    const isFirstReady = isReady && !this.#wasReady;
    if (view.restart !== undefined || !this.#hasLooked || isFirstReady) void this.#readTopology();
    this.#hasLooked = true;
    this.#wasReady ||= isReady;
    void this.#fingerprint(view.instanceId);
  }

  /** The first rank that restarts, or one that does so again, shows another engine start; the others follow it. */
  #onPublisherRestart(rank: number): void {
    this.#observedSinceRestart ??= [];
    const isFollowing = this.#restartedRanks.size > 0 && !this.#restartedRanks.has(rank);
    if (isFollowing) this.#watch.lookNow();
    else {
      this.#restartedRanks = new Set();
      this.#watch.restarted();
    }
    this.#restartedRanks.add(rank);
  }

  #onObserved(observed: ObservedSize): void {
    this.#observedSinceRestart &&= withObserved(this.#observedSinceRestart, observed);
    const all = withObserved(this.#observed, observed);
    if (all === this.#observed) return;
    this.#observed = all;
    this.#store.setObservedFacts(observedFacts(all));
    this.#log.log(this.#store.current, undefined);
  }

  #makeCanary(): Canary | undefined {
    const { canary, clock, random, logger } = this.#modules;
    if (canary === undefined) return undefined;
    return new Canary({
      ...canary,
      clock,
      random,
      logger,
      events: this.#events,
      onReport: (report) => {
        this.#store.setCanary(report);
        this.#log.log(this.#store.current, undefined);
      },
      onFault: (fault, reason) => {
        if (fault === 'source') this.#distrustEvents(reason);
        else this.#events.setCaveat(`the canary failed: ${reason}`);
      },
      onProved: (observed) => this.#onObserved(observed),
    });
  }

  /** What was seen in another engine's events says nothing of this one. */
  #distrustEvents(reason: string): void {
    this.#events.distrust(reason);
    this.#observed = [];
    this.#observedSinceRestart = undefined;
    this.#store.setObservedFacts([]);
  }

  async #readTopology(): Promise<void> {
    const { readTopology, logger } = this.#modules;
    const topology = await readTopology?.(this.#stop.signal).catch((error: unknown) => {
      logger.error({ error }, `What the worker runs on cannot be read: ${describeError(error)}.`);
      return undefined;
    });
    if (topology !== undefined && !this.#stop.signal.aborted) this.#store.setTopology(topology);
  }

  /** Once for each engine start and model folder; hashing tens of megabytes at every round would be waste. */
  async #fingerprint(instanceId: string): Promise<void> {
    const root = this.#store.current.model?.root;
    const model = root === undefined ? undefined : JSON.stringify([instanceId, root]);
    if (model === this.#model) return;
    this.#model = model;
    if (root === undefined) return this.#store.setExtraFacts([]);
    const { fact, warning } = await fingerprintTokenizer(root, this.#modules, this.#stop.signal);
    if (model !== this.#model || this.#stop.signal.aborted) return;
    this.#store.setExtraFacts(fact === undefined ? [] : [fact]);
    if (warning !== undefined && warning !== this.#fingerprintWarning) {
      this.#fingerprintWarning = warning;
      this.#modules.logger.warn({ worker_id: this.#options.workerId }, `${warning}.`);
    }
  }
}
