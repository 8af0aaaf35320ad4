import { Counter, Gauge, type Registry } from 'prom-client';
import {
  cpuSeconds,
  loopActiveSeconds,
  residentBytes,
} from '../../edge/platform/processes/process-readings.js';
import { droppedLogLines } from '../../edge/platform/streams/standard-streams.js';
import { THREAD_LABEL } from './metrics-snapshot.js';

/**
 * Metrics of a process that serves HTTP. The standard names
 * (`process_cpu_seconds_total`) are those of the first process: they have no
 * label that would distinguish several processes.
 */
export function registerProcessMetrics(registry: Registry, thread: number): void {
  const labels = { [THREAD_LABEL]: String(thread) };
  const about = { labelNames: [THREAD_LABEL], registers: [registry] };
  new Counter({
    ...about,
    name: 'kv_accord_frontend_thread_cpu_seconds_total',
    help: 'CPU time of a process that serves HTTP, user and system.',
    collect() {
      this.reset();
      this.inc(labels, cpuSeconds());
    },
  });
  new Counter({
    ...about,
    name: 'kv_accord_frontend_thread_event_loop_active_seconds_total',
    help: 'Time in which the event loop of a process that serves HTTP had something to do.',
    collect() {
      this.reset();
      this.inc(labels, loopActiveSeconds());
    },
  });
  new Counter({
    ...about,
    name: 'kv_accord_frontend_thread_log_lines_dropped_total',
    help: 'Lines of the log of a process that serves HTTP that were lost, as kv_accord_log_lines_dropped_total.',
    collect() {
      this.reset();
      this.inc(labels, droppedLogLines());
    },
  });
  new Gauge({
    ...about,
    name: 'kv_accord_frontend_thread_resident_memory_bytes',
    help: 'Resident memory of a process that serves HTTP.',
    collect() {
      this.set(labels, residentBytes());
    },
  });
}

/** Metrics of the first process about all of them. */
export class ProcessCountMetrics {
  readonly #restarts: Counter;

  /** `serving`: how many take requests now. */
  constructor(registry: Registry, serving: () => number) {
    const registers = [registry];
    this.#restarts = new Counter({
      name: 'kv_accord_frontend_thread_restarts_total',
      help: 'Processes that serve HTTP and ended unasked; each is started again.',
      registers,
    });
    new Gauge({
      name: 'kv_accord_frontend_threads',
      help: 'Processes that serve HTTP now.',
      registers,
      collect() {
        this.set(serving());
      },
    });
  }

  countRestart(): void {
    this.#restarts.inc();
  }
}
