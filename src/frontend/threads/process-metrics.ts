import { Counter, Gauge, type Registry } from 'prom-client';
import { ScrapedMetrics } from '../../edge/platform/metrics/scraped-metrics.js';
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
  const metrics = new ScrapedMetrics(registry);
  metrics.counter(
    'kv_accord_frontend_thread_cpu_seconds_total',
    'CPU time of a process that serves HTTP, user and system.',
    [THREAD_LABEL],
    (add) => add(labels, cpuSeconds()),
  );
  metrics.counter(
    'kv_accord_frontend_thread_event_loop_active_seconds_total',
    'Time in which the event loop of a process that serves HTTP had something to do.',
    [THREAD_LABEL],
    (add) => add(labels, loopActiveSeconds()),
  );
  metrics.counter(
    'kv_accord_frontend_thread_log_lines_dropped_total',
    'Lines of the log of a process that serves HTTP that were lost, as kv_accord_log_lines_dropped_total.',
    [THREAD_LABEL],
    (add) => add(labels, droppedLogLines()),
  );
  metrics.gauge(
    'kv_accord_frontend_thread_resident_memory_bytes',
    'Resident memory of a process that serves HTTP.',
    [THREAD_LABEL],
    (add) => add(labels, residentBytes()),
  );
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
