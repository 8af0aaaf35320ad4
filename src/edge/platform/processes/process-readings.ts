import { performance } from 'node:perf_hooks';

/** CPU time of this process, user and system, in seconds. */
export function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

/** Memory that this process has in the machine's. */
export function residentBytes(): number {
  return process.memoryUsage.rss();
}

/** Time in which this process's event loop had something to do, in seconds. */
export function loopActiveSeconds(): number {
  return performance.eventLoopUtilization().active / 1000;
}
