import type { DiscoveredWorker } from '../../../core/contract/evidence/discovered-worker.js';
import type { Clock } from '../../../edge/platform/clock.js';
import type { Logger } from '../../../edge/platform/logger.js';
import type { Random } from '../../../edge/platform/random.js';
import type { CapabilityReport } from '../../../gen/kvaccord/v1/capabilities.js';
import { type CreateEngineReader, DirectWorker, type DirectWorkerOptions } from './direct-worker.js';

export interface DirectWorkersModules {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly createEngineReader: CreateEngineReader;
  /** A member's report; false when it was not taken, because the member is not listed. */
  reported(target: string, report: CapabilityReport): boolean;
  /** There is a report to give, by `reportOne`. */
  onNews(): void;
}

/** The engines of a fleet that are read in this process, as members that report what their events prove. */
export class DirectWorkers {
  readonly all: readonly DirectWorker[];
  readonly targets: readonly string[];
  readonly #modules: DirectWorkersModules;
  /** Those whose report is another one than the agreement has. */
  readonly #unreported = new Set<DirectWorker>();

  constructor(options: readonly DirectWorkerOptions[], modules: DirectWorkersModules) {
    this.#modules = modules;
    this.all = options.map((each) => this.#create(each));
    this.targets = this.all.map(({ target }) => target);
  }

  /** Whether there is a report to give. A report is taken only of who is listed. */
  get hasNews(): boolean {
    return this.#unreported.size > 0;
  }

  /** Begins to read. */
  start(): void {
    for (const worker of this.all) {
      this.#unreported.add(worker);
      worker.start();
    }
  }

  /** What discovery knows of one; undefined when it does not list it. */
  onDiscovered(target: string, discovered: DiscoveredWorker | undefined): void {
    this.all.find((worker) => worker.target === target)?.setDiscovered(discovered);
  }

  /** Reports for one; those that are not listed yet wait. False when no report was taken. */
  reportOne(): boolean {
    for (const worker of [...this.#unreported]) {
      // Out of the set first: giving a report may lead here again.
      this.#unreported.delete(worker);
      if (this.#modules.reported(worker.target, worker.report)) return true;
      this.#unreported.add(worker);
    }
    return false;
  }

  /** Closes every socket. */
  async close(): Promise<void> {
    await Promise.all(this.all.map((worker) => worker.close()));
  }

  #create(options: DirectWorkerOptions): DirectWorker {
    const { clock, random, logger, createEngineReader, onNews } = this.#modules;
    const worker: DirectWorker = new DirectWorker(options, {
      clock,
      random,
      logger,
      createEngineReader,
      onReport: () => {
        this.#unreported.add(worker);
        onNews();
      },
    });
    return worker;
  }
}
