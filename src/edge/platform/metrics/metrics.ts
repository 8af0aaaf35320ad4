import { readdirSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { Counter, Gauge, Registry } from 'prom-client';
import { cpuSeconds, loopActiveSeconds, residentBytes } from '../processes/process-readings.js';
import { maxDescriptors } from '../streams/descriptor-watch.js';
import { droppedLogLines } from '../streams/standard-streams.js';

/** A gauge that is read when it is asked for; without a series while there is no value. */
export function registerReading(
  registry: Registry,
  name: string,
  help: string,
  read: () => number | undefined,
): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      const value = read();
      if (value === undefined) this.remove();
      else this.set(value);
    },
  });
}

/**
 * The process's registry, with what every process reports of itself under the
 * names that Prometheus' own libraries use.
 *
 * prom-client could collect these itself, but its histogram of the event loop
 * wakes an idle process a hundred times a second, which is most of what an
 * idle sidecar would cost; the share of time that the loop was busy is free.
 */
export function createRegistry(about: { readonly version: string }): Registry {
  const registry = new Registry();
  const registers = [registry];
  gauge(
    'process_start_time_seconds',
    'When the process started, in seconds since 1970.',
    () => Math.round(performance.timeOrigin) / 1000,
  );
  gauge('process_resident_memory_bytes', 'Resident memory.', residentBytes);
  gauge('nodejs_heap_size_used_bytes', 'Heap in use.', () => process.memoryUsage().heapUsed);
  gauge(
    'process_open_fds',
    'Open file descriptors; no series where the system does not report it.',
    countOpenFiles,
  );
  gauge(
    'process_max_fds',
    'Most open file descriptors; no series where the system does not say.',
    maxDescriptors,
  );
  counter('process_cpu_seconds_total', 'CPU time of the process, user and system.', cpuSeconds);
  counter(
    'kv_accord_event_loop_active_seconds_total',
    'Time in which the event loop had something to do.',
    loopActiveSeconds,
  );
  counter(
    'kv_accord_log_lines_dropped_total',
    'Lines of the log that were lost because nobody read them in time or they could not be written.',
    droppedLogLines,
  );
  new Gauge({
    name: 'kv_accord_build_info',
    help: 'Always 1; the labels say what is running.',
    labelNames: ['version', 'node_version'],
    registers,
  }).set({ version: about.version, node_version: process.version }, 1);
  return registry;

  function gauge(name: string, help: string, read: () => number | undefined): void {
    registerReading(registry, name, help, read);
  }

  function counter(name: string, help: string, readTotal: () => number): void {
    new Counter({
      name,
      help,
      registers,
      collect() {
        // The system keeps the total; the counter is only its mirror.
        this.reset();
        this.inc(readTotal());
      },
    });
  }
}

function countOpenFiles(): number | undefined {
  try {
    // Less the one that the reading of the folder itself opens.
    return readdirSync('/proc/self/fd').length - 1;
  } catch {
    // Not Linux: nothing is reported rather than something wrong.
    return undefined;
  }
}
