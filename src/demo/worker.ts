import { Registry } from 'prom-client';
import type { Address } from '../platform/address.js';
import type { Clock } from '../platform/clock.js';
import { readTextFile } from '../platform/file.js';
import { openFilePieces } from '../platform/file-pieces.js';
import { createHttpGet } from '../platform/http-get.js';
import { listFolder } from '../platform/list-folder.js';
import type { Logger } from '../platform/logger.js';
import type { Random } from '../platform/random.js';
import { createEngineRpc } from '../rpc/engine-rpc.js';
import type { Security } from '../rpc/security.js';
import { fixedLocation } from '../sidecar/engine-locator.js';
import { ENGINE_PROBES } from '../sidecar/engines/index.js';
import { Sidecar, type SidecarAddresses } from '../sidecar/sidecar.js';
import type { EngineSetup, EngineSurface } from './engine-surface.js';
import { SimulatedEngine } from './simulated-engine.js';

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
  readonly #sidecar: Sidecar;
  readonly #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();
  #addresses: SidecarAddresses | undefined;

  constructor(options: WorkerOptions, modules: WorkerModules) {
    const { clock, random, security, logger } = modules;
    this.name = options.name;
    this.engine = new SimulatedEngine(options, { clock });
    this.#sidecar = new Sidecar(
      {
        version: options.version,
        workerId: options.name,
        listen: FREE_PORT,
        httpListen: FREE_PORT,
        drainTimeoutMs: DRAIN_TIMEOUT_MS,
        probeIntervalMs: options.probeIntervalMs,
        declaredFacts: [],
      },
      {
        clock,
        logger,
        random,
        security,
        registry: new Registry(),
        openFile: openFilePieces,
        loadProbes: async () => ENGINE_PROBES,
        locate: async () => fixedLocation([{ httpBaseUrl: this.engine.url }]),
        probeModules: {
          clock,
          httpGet: createHttpGet({}, { clock }),
          rpc: createEngineRpc({}, { clock }),
          readFile: readTextFile,
          listFiles: listFolder,
        },
      },
    );
  }

  /** Where the sidecar serves gRPC and HTTP; undefined until `open`. */
  get addresses(): SidecarAddresses | undefined {
    return this.#addresses;
  }

  /** Brings the sidecar up; its engine is down until it is started. */
  async open(): Promise<void> {
    await this.engine.open();
    this.#addresses = await this.#sidecar.start();
    this.#running = this.#sidecar.run(this.#stop.signal);
  }

  /** Ends both. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    await this.engine.close();
  }
}
