import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { ProxyOutcome } from './proxy/proxied-request.js';
import type { NoTokensReason } from './tokens/prompt-tokens.js';

/** What is told of a request when it is over. */
export interface EndedRequest {
  /** The group that served it; empty where it came to none. */
  readonly group: string;
  /** Its route: `/v1/chat/completions`. */
  readonly path: string;
  /** What the client was told; 499 when it left before. */
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

/** The gateway's metrics. Labels are bounded: paths are routes, and groups are those of the fleet. */
export class GatewayMetrics {
  readonly #requests: Counter<'group' | 'path' | 'status'>;
  readonly #durations: Histogram<'group'>;
  readonly #firstBytes: Histogram<'group'>;
  readonly #cut: Counter<'group' | 'by'>;
  readonly #withoutTokens: Counter<'group' | 'reason'>;

  /** `inFlight` tells how many requests are being answered now. */
  constructor(registry: Registry, inFlight: () => number) {
    const registers = [registry];
    this.#requests = new Counter({
      name: 'kv_accord_frontend_requests_total',
      help: 'Requests by the status that was answered; 499 is a client that left before.',
      labelNames: ['group', 'path', 'status'],
      registers,
    });
    this.#durations = new Histogram({
      name: 'kv_accord_frontend_request_duration_seconds',
      help: 'From the headers of a request to the end of its answer.',
      labelNames: ['group'],
      buckets: DURATION_BUCKETS_SECONDS,
      registers,
    });
    this.#firstBytes = new Histogram({
      name: 'kv_accord_frontend_time_to_first_byte_seconds',
      help: "From the headers of a request to the first byte of the worker's answer.",
      labelNames: ['group'],
      buckets: FIRST_BYTE_BUCKETS_SECONDS,
      registers,
    });
    this.#cut = new Counter({
      name: 'kv_accord_frontend_unfinished_answers_total',
      help: 'Answers that ended before their end, by who left: the client or the worker.',
      labelNames: ['group', 'by'],
      registers,
    });
    this.#withoutTokens = new Counter({
      name: 'kv_accord_frontend_requests_without_tokens_total',
      help: 'Requests whose tokens could not be had, so that load alone decided.',
      labelNames: ['group', 'reason'],
      registers,
    });
    new Gauge({
      name: 'kv_accord_frontend_inflight_requests',
      help: 'Requests that are being answered now.',
      registers,
      collect() {
        this.set(inFlight());
      },
    });
  }

  /** Counts a request that is over. */
  count({ group, path, status, ended, durationMs, firstByteMs }: EndedRequest): void {
    this.#requests.inc({ group, path, status });
    if (group === '') return;
    this.#durations.observe({ group }, durationMs / 1_000);
    if (firstByteMs !== undefined) this.#firstBytes.observe({ group }, firstByteMs / 1_000);
    const by = CUT_BY[ended];
    if (by !== undefined) this.#cut.inc({ group, by });
  }

  /** Counts a request whose tokens are not known. */
  withoutTokens(group: string, reason: NoTokensReason): void {
    this.#withoutTokens.inc({ group, reason });
  }
}
