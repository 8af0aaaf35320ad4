import { Counter, Gauge, type Registry } from 'prom-client';
import { LeanHistogram } from '../../edge/platform/metrics/histogram.js';
import { ScrapedMetrics } from '../../edge/platform/metrics/scraped-metrics.js';
import type { ProxyOutcome } from '../proxy/proxied-request.js';
import { NO_TOKENS_REASONS, type NoTokensReason } from '../tokens/prompt-tokens.js';

/** What is counted of a request when it is over. */
export interface EndedRequest {
  /** The group that served it; empty where it came to none. */
  readonly group: string;
  /** Its route: `/v1/chat/completions`. */
  readonly path: string;
  /** The status that the client got; 499 when it left before. */
  readonly status: number;
  readonly ended: ProxyOutcome['ended'];
  readonly durationMs: number;
  /** Undefined when no byte of an answer came. */
  readonly firstByteMs: number | undefined;
}

/** Who ended an answer before its end. */
const CUT_BY: Readonly<Partial<Record<ProxyOutcome['ended'], 'client' | 'worker'>>> = {
  client_gone: 'client',
  upstream_broke: 'worker',
};

/** From short completions to the longest generations. */
const DURATION_BUCKETS_SECONDS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

/** From a prompt that is cached to a full engine that queues. */
const FIRST_BYTE_BUCKETS_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** What is read at each scrape. */
export interface GatewayReadings {
  /** Requests that are being answered now. */
  inFlight(): number;
  /** Groups that are there now. */
  groups(): readonly string[];
}

/**
 * The gateway's metrics. Labels are bounded: paths are routes, and groups are
 * those of the fleet; before each scrape the series of those that have left go.
 */
export class GatewayMetrics {
  readonly #readings: GatewayReadings;
  readonly #durations: LeanHistogram;
  readonly #firstBytes: LeanHistogram;
  readonly #cut: Counter<'group' | 'by'>;
  readonly #withoutTokens: Counter<'group' | 'reason'>;
  /** Requests by group, path and status. */
  readonly #requests = new Map<string, Map<string, Map<number, number>>>();

  constructor(registry: Registry, readings: GatewayReadings) {
    this.#readings = readings;
    const registers = [registry];
    const collect = (): void => this.#prune();
    const requests = this.#requests;
    new ScrapedMetrics(registry).counter(
      'kv_accord_frontend_requests_total',
      'Requests by the status that was answered; 499 is a client that left before.',
      ['group', 'path', 'status'],
      (add) => {
        collect();
        for (const [group, paths] of requests)
          for (const [path, statuses] of paths)
            for (const [status, count] of statuses) add({ group, path, status }, count);
      },
    );
    this.#durations = new LeanHistogram(registry, {
      name: 'kv_accord_frontend_request_duration_seconds',
      help: 'From the headers of a request to the end of its answer.',
      label: 'group',
      buckets: DURATION_BUCKETS_SECONDS,
      collect,
    });
    this.#firstBytes = new LeanHistogram(registry, {
      name: 'kv_accord_frontend_time_to_first_byte_seconds',
      help: "From the headers of a request to the first byte of the worker's answer.",
      label: 'group',
      buckets: FIRST_BYTE_BUCKETS_SECONDS,
      collect,
    });
    this.#cut = new Counter({
      name: 'kv_accord_frontend_unfinished_answers_total',
      help: 'Answers that ended before their end, by who left: the client or the worker.',
      labelNames: ['group', 'by'],
      registers,
      collect,
    });
    this.#withoutTokens = new Counter({
      name: 'kv_accord_frontend_requests_without_tokens_total',
      help: 'Requests whose tokens could not be had, so that load alone decided, or not all (media_prefix).',
      labelNames: ['group', 'reason'],
      registers,
      collect,
    });
    new Gauge({
      name: 'kv_accord_frontend_inflight_requests',
      help: 'Requests that are being answered now.',
      registers,
      collect() {
        this.set(readings.inFlight());
      },
    });
  }

  /** Counts a request that is over. */
  count({ group, path, status, ended, durationMs, firstByteMs }: EndedRequest): void {
    const statuses = this.#statusesOf(group, path);
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    if (group === '') return;
    this.#durations.observe(durationMs / 1_000, group);
    if (firstByteMs !== undefined) this.#firstBytes.observe(firstByteMs / 1_000, group);
    const by = CUT_BY[ended];
    if (by !== undefined) this.#cut.inc({ group, by });
  }

  /** Counts a request whose tokens are not known. */
  withoutTokens(group: string, reason: NoTokensReason): void {
    this.#pathsOf(group);
    this.#withoutTokens.inc({ group, reason });
  }

  #pathsOf(group: string): Map<string, Map<number, number>> {
    const known = this.#requests.get(group);
    if (known !== undefined) return known;
    const paths = new Map<string, Map<number, number>>();
    this.#requests.set(group, paths);
    return paths;
  }

  #statusesOf(group: string, path: string): Map<number, number> {
    const paths = this.#pathsOf(group);
    const known = paths.get(path);
    if (known !== undefined) return known;
    const statuses = new Map<number, number>();
    paths.set(path, statuses);
    return statuses;
  }

  /** Takes back the series of groups that have left; requests that came to none stay. */
  #prune(): void {
    const groups = new Set(this.#readings.groups());
    for (const group of this.#requests.keys()) {
      if (group === '' || groups.has(group)) continue;
      this.#requests.delete(group);
      this.#durations.remove(group);
      this.#firstBytes.remove(group);
      for (const by of ['client', 'worker']) this.#cut.remove({ group, by });
      for (const reason of NO_TOKENS_REASONS) this.#withoutTokens.remove({ group, reason });
    }
  }
}
