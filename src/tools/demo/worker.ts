import { basename, dirname } from 'node:path/posix';
import { Registry } from 'prom-client';
import { createSidecar } from '../../app/worker/create-sidecar.js';
import { type Fact, fieldFact } from '../../core/contract/evidence/facts.js';
import { EvidenceSource } from '../../core/contract/wire/enums.js';
import { engineRoleName } from '../../core/contract/wire/names.js';
import type { Address } from '../../edge/platform/address.js';
import type { Clock } from '../../edge/platform/clock.js';
import type { Logger } from '../../edge/platform/logger.js';
import type { Random } from '../../edge/platform/random.js';
import { RpcDialer } from '../../edge/rpc/channel.js';
import type { Security } from '../../edge/security/security.js';
import type { ProbeModules } from '../../engines/probing/probe.js';
import type { EngineRole, Topology } from '../../gen/kvaccord/v1/capabilities.js';
import type { EventSettings } from '../../worker/sidecar/kv-events/kv-events-sources.js';
import { fixedLocation } from '../../worker/sidecar/probing/engine-locator.js';
import type { Sidecar, SidecarAddresses } from '../../worker/sidecar/sidecar.js';
import type { EngineSetup, EngineSurface } from './engines/engine-surface.js';
import { SimulatedEngine } from './engines/simulated-engine.js';
import { readHeldBlocks } from './held-blocks.js';

/** Any free port of this machine. */
export const FREE_PORT: Address = { type: 'tcp', host: '127.0.0.1', port: 0, text: '127.0.0.1:0' };

/** Nothing in the demo holds a sidecar up for long. */
const DRAIN_TIMEOUT_MS = 2_000;

export interface WorkerOptions {
  /** As people see it: `worker-a`. */
  readonly name: string;
  readonly surface: EngineSurface;
  readonly setup: EngineSetup;
  /** Milliseconds between the sidecar's questions to a ready engine. */
  readonly probeIntervalMs: number;
  readonly version: string;
  /** What its sidecar finds of its host; undefined: nothing is looked for. */
  readonly topology?: Topology | undefined;
  /** As `--role` of the sidecar declares it; undefined: it does not. */
  readonly role?: EngineRole | undefined;
}

export interface WorkerModules {
  readonly clock: Clock;
  readonly random: Random;
  readonly security: Security;
  readonly logger: Logger;
}

/** A simulated engine with a real sidecar beside it, as they stand in a worker's pod. */
export class DemoWorker {
  readonly name: string;
  readonly engine: SimulatedEngine;
  readonly #options: WorkerOptions;
  readonly #modules: WorkerModules;
  readonly #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();
  #addresses: SidecarAddresses | undefined;

  constructor(options: WorkerOptions, modules: WorkerModules) {
    this.name = options.name;
    this.#options = options;
    this.#modules = modules;
    this.engine = new SimulatedEngine(options, modules);
  }

  /** Where the sidecar serves gRPC and HTTP; undefined until `open`. */
  get addresses(): SidecarAddresses | undefined {
    return this.#addresses;
  }

  /** Brings the sidecar up beside its engine, which has its ports by then and is down until it is started. */
  async open(): Promise<void> {
    const sidecar = this.#createSidecar();
    this.#addresses = await sidecar.start();
    this.#running = sidecar.run(this.#stop.signal);
  }

  /** What it holds, as its sidecar says over gRPC. */
  async heldBlocks(signal: AbortSignal): Promise<ReadonlySet<bigint>> {
    if (this.#addresses === undefined) throw new Error('the sidecar is not up');
    const { clock, security } = this.#modules;
    const channel = new RpcDialer({}, { clock, security }).dial(this.#addresses.grpc);
    try {
      return await readHeldBlocks(channel, signal);
    } finally {
      channel.close();
    }
  }

  /** Ends both. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    await this.engine.close();
  }

  #createSidecar(): Sidecar {
    const { clock, random, security, logger } = this.#modules;
    const { version, probeIntervalMs, topology } = this.#options;
    const { url: httpBaseUrl, discoveryFolder } = this.engine;
    const target = {
      httpBaseUrl,
      ...(discoveryFolder === undefined ? {} : { dynamoFileKv: discoveryFolder }),
    };
    return createSidecar(
      {
        version,
        workerId: this.name,
        listen: FREE_PORT,
        httpListen: FREE_PORT,
        drainTimeoutMs: DRAIN_TIMEOUT_MS,
        probeIntervalMs,
        declaredFacts: this.#declaredFacts(),
        events: this.#eventSettings(),
      },
      {
        clock,
        logger,
        random,
        security,
        registry: new Registry(),
        signal: this.#stop.signal,
        ...(topology === undefined ? {} : { readTopology: async () => topology }),
        locate: () => async () => fixedLocation([target]),
        ...(discoveryFolder === undefined ? {} : { files: this.#simulatedFiles() }),
      },
    );
  }

  #declaredFacts(): readonly Fact[] {
    const { role } = this.#options;
    if (role === undefined) return [];
    const observedAtMs = this.#modules.clock.wallMs();
    const evidence = {
      source: EvidenceSource.DECLARED,
      origin: '--role',
      raw: engineRoleName(role),
      observedAtMs,
    };
    return [fieldFact('engine.role', role, evidence)];
  }

  /** A Dynamo worker does not say where its engine publishes: the operator does (`--kv-event-sources`). */
  #eventSettings(): EventSettings {
    const { discoveryFolder, kvEventPorts } = this.engine;
    if (discoveryFolder === undefined || kvEventPorts === undefined) return { from: 'engine' };
    const { live, replay } = kvEventPorts;
    const source = {
      kind: 'zmq',
      rank: 0,
      endpoint: `tcp://127.0.0.1:${live}`,
      topic: '',
      replayEndpoint: `tcp://127.0.0.1:${replay}`,
    } as const;
    return { from: 'operator', sources: [source] };
  }

  /** The files of the simulated engine, and no others. */
  #simulatedFiles(): Pick<ProbeModules, 'readFile' | 'listFiles'> {
    return {
      readFile: async (path) => {
        const text = this.engine.files[path];
        if (text === undefined) throw Object.assign(new Error('no such file'), { code: 'ENOENT' });
        return text;
      },
      listFiles: async (folder) =>
        Object.keys(this.engine.files)
          .filter((path) => dirname(path) === folder)
          .map((path) => basename(path)),
    };
  }
}
