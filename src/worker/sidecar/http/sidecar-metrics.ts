import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { registerReading } from '../../../edge/platform/metrics/metrics.js';
import { ScrapedMetrics } from '../../../edge/platform/metrics/scraped-metrics.js';
import { Canary_State, Completeness_State, EngineState } from '../../../gen/kvaccord/v1/capabilities.js';
import type { Canary } from '../canary/canary.js';
import type { KvEventsController } from '../kv-events/kv-events-controller.js';
import { registerEventMetrics } from '../kv-events/kv-events-metrics.js';
import type { KvEventsEndpoint } from '../kv-events/kv-events-service.js';
import type { ProbeRound } from '../probing/probe-round.js';
import type { CapabilitiesEndpoint } from '../report/capabilities-service.js';
import type { ReportStore } from '../report/report-store.js';

/** A local engine answers within milliseconds; a source is given up after five seconds. */
const PROBE_BUCKETS_SECONDS = [0.005, 0.025, 0.1, 0.5, 1, 2.5, 5];

export interface SidecarMetricsModules {
  readonly registry: Registry;
  readonly store: ReportStore;
  readonly endpoint: CapabilitiesEndpoint;
  readonly events: KvEventsEndpoint;
  readonly kvEvents: KvEventsController;
  /** Absent where none is sent; then it has no series. */
  readonly canary?: Canary;
}

/**
 * The sidecar's metrics, all beginning with `kv_accord_`:
 *
 * | name | meaning |
 * |---|---|
 * | `engine_up` | 1 while the engine is ready |
 * | `report_complete` | 1 while the report can be used by a frontend |
 * | `tokens_per_block` | the value that is reported; no series while there is none |
 * | `report_revision` | revision of the current report |
 * | `report_conflicts` | values that differ between sources now |
 * | `watchers` | open `WatchCapabilities` streams |
 * | `kv_event_subscribers` | open `KvEvents.Subscribe` streams |
 * | `probe_rounds_total` | rounds of questions to the engine |
 * | `engine_requests_total` | requests that the engine saw from this sidecar |
 * | `probe_requests_total{probe,result}` | results by source: `answered` or the code of the failure |
 * | `probe_duration_seconds{probe}` | time until a source answered |
 * | `canary_state{state}` | 1 for where the canary of this engine start is, 0 for the other states |
 * | `canary_requests_total{path}` | prompts of the canary that the engine was sent |
 *
 * Labels come from closed lists: the names of the probes and of their failures.
 * What the KV events give is in `kv-events-metrics.ts`.
 */
export class SidecarMetrics {
  readonly #rounds: Counter;
  readonly #engineRequests: Counter;
  readonly #results: Counter<'probe' | 'result'>;
  readonly #durations: Histogram<'probe'>;

  constructor({ registry, store, endpoint, events, kvEvents, canary }: SidecarMetricsModules) {
    const registers = [registry];
    this.#rounds = new Counter({
      name: 'kv_accord_probe_rounds_total',
      help: 'Rounds of questions to the engine.',
      registers,
    });
    this.#engineRequests = new Counter({
      name: 'kv_accord_engine_requests_total',
      help: 'Requests that the engine saw from this sidecar.',
      registers,
    });
    this.#results = new Counter({
      name: 'kv_accord_probe_requests_total',
      help: 'Results of each source: answered, or the code of its failure.',
      labelNames: ['probe', 'result'],
      registers,
    });
    this.#durations = new Histogram({
      name: 'kv_accord_probe_duration_seconds',
      help: 'Time until a source answered.',
      labelNames: ['probe'],
      buckets: PROBE_BUCKETS_SECONDS,
      registers,
    });
    const gauge = (name: string, help: string, read: () => number | undefined): void => {
      registerReading(registry, `kv_accord_${name}`, help, read);
    };
    const report = (): ReportStore['current'] => store.current;
    gauge('engine_up', 'Whether the engine is ready.', () =>
      Number(report().engine?.state === EngineState.READY),
    );
    gauge('report_complete', 'Whether a frontend can use the report.', () =>
      Number(report().completeness?.state === Completeness_State.COMPLETE),
    );
    gauge(
      'tokens_per_block',
      'The KV block size that is reported; no series while there is none.',
      () => report().contract?.tokensPerBlock,
    );
    gauge('report_revision', 'Revision of the current report.', () => Number(report().revision));
    gauge('report_conflicts', 'Values that differ between sources.', () => report().conflicts.length);
    gauge('watchers', 'Open WatchCapabilities streams.', () => endpoint.watchers);
    gauge('kv_event_subscribers', 'Open KvEvents streams.', () => events.subscribers);
    registerEventMetrics(registry, kvEvents);
    if (canary !== undefined) registerCanaryMetrics(registry, canary);
  }

  /** Counts one round. */
  countRound({ results, requestsSent }: ProbeRound): void {
    this.#rounds.inc();
    this.#engineRequests.inc(requestsSent);
    for (const { probe, durationMs, outcome } of results) {
      const result = outcome.type === 'answered' ? 'answered' : outcome.code;
      this.#results.inc({ probe, result });
      if (outcome.type === 'answered') this.#durations.observe({ probe }, durationMs / 1_000);
    }
  }
}

/** Every state has a series, so that an alert sees a change and not a gap. */
const CANARY_STATES: Readonly<Record<string, Canary_State>> = {
  waiting: Canary_State.WAITING,
  skipped: Canary_State.SKIPPED,
  passed: Canary_State.PASSED,
  inconclusive: Canary_State.INCONCLUSIVE,
  failed: Canary_State.FAILED,
};

function registerCanaryMetrics(registry: Registry, canary: Canary): void {
  const registers = [registry];
  new Gauge({
    name: 'kv_accord_canary_state',
    help: 'Where the canary of this engine start is: 1 for its state, 0 for the others.',
    labelNames: ['state'],
    registers,
    collect() {
      const state = canary.report?.state ?? Canary_State.WAITING;
      for (const [name, value] of Object.entries(CANARY_STATES))
        this.set({ state: name }, Number(value === state));
    },
  });
  new ScrapedMetrics(registry).counter(
    'kv_accord_canary_requests_total',
    'Prompts of the canary that the engine was sent.',
    ['path'],
    (add) => {
      for (const [path, count] of canary.requests) add({ path }, count);
    },
  );
}
