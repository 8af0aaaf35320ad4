/** A real aggregator with its index; it keeps how old each change was when it was in the index. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { type Histogram, Registry } from 'prom-client';
import { createAggregator } from '../../src/app/create-aggregator.js';
import { DEFAULT_AGREEMENT_OPTIONS } from '../../src/core/agreement/state/options.js';
import { type Address, parseAddress } from '../../src/edge/platform/address.js';
import { systemClock } from '../../src/edge/platform/clock.js';
import { createLogger } from '../../src/edge/platform/logger.js';
import { systemRandom } from '../../src/edge/platform/random.js';
import { createPlaintextSecurity } from '../../src/edge/security/security.js';
import { StaticSource } from '../../src/fleet/discovery/static.js';
import { servePart } from '../support/part.js';

const anyPort = parseAddress('127.0.0.1:0') as Address;
const registry = new Registry();
const delays = monitorEventLoopDelay({ resolution: 1 });
/** Milliseconds, of every change since the last `measure`. */
let lagsMs: number[] = [];

/** Every lag as it is observed: the metric itself keeps only buckets. */
function tapLag(): void {
  const metric = registry.getSingleMetric('kv_accord_kv_event_lag_seconds') as Histogram;
  const observe = metric.observe.bind(metric);
  metric.observe = (seconds: never) => {
    lagsMs.push(seconds * 1_000);
    observe(seconds);
  };
}

const at = (sorted: readonly number[], part: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;

/** The value of a gauge without its labels, summed up. */
async function sumOf(name: string): Promise<number> {
  const metric = await registry.getSingleMetric(name)?.get();
  return (metric?.values ?? []).reduce((sum, { value }) => sum + value, 0);
}

servePart({
  /** Starts it, and waits until every worker's cache is known. */
  async start({ ports }: { ports: readonly number[] }) {
    const logger = await createLogger({ isTerminal: false, level: 'error' });
    const modules = { clock: systemClock, random: systemRandom, logger };
    const { aggregator } = createAggregator(
      {
        agreement: {
          ...DEFAULT_AGREEMENT_OPTIONS,
          kvEvents: 'exact',
          isStaticDiscovery: true,
          settleMs: 0,
          minWorkers: ports.length,
        },
        listen: anyPort,
        httpListen: anyPort,
        version: '0.0.0',
        indexing: {},
      },
      {
        ...modules,
        source: new StaticSource({
          addresses: ports.map((port) => parseAddress(`127.0.0.1:${port}`) as Address),
        }),
        security: createPlaintextSecurity(),
        registry,
      },
    );
    tapLag();
    const { runner } = aggregator.fleet;
    const known = new Promise<void>((resolve) => {
      runner.listen({
        onView: ({ groups }) => {
          const members = groups[0]?.members ?? [];
          if (
            members.filter(({ cacheView }) => cacheView !== undefined && cacheView !== 'none').length ===
            ports.length
          )
            resolve();
        },
      });
    });
    await aggregator.start();
    await known;
  },
  /** Forgets what was measured so far. */
  reset() {
    lagsMs = [];
    delays.reset();
    delays.enable();
  },
  /** What was measured since `reset`. */
  measure() {
    const sorted = lagsMs.sort((a, b) => a - b);
    return {
      changes: sorted.length,
      lagP50Ms: at(sorted, 0.5),
      lagP99Ms: at(sorted, 0.99),
      lagMaxMs: sorted.at(-1) ?? Number.NaN,
      delayP50Ms: delays.percentile(50) / 1e6,
      delayP99Ms: delays.percentile(99) / 1e6,
      delayMaxMs: delays.max / 1e6,
    };
  },
  /** What the index holds now. */
  async held() {
    return {
      blocks: await sumOf('kv_accord_index_blocks'),
      memoryBytes: await sumOf('kv_accord_index_memory_bytes'),
    };
  },
});
