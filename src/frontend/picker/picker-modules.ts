import type { Clock } from '../../edge/platform/clock.js';
import type { Logger } from '../../edge/platform/logger.js';
import type { OpenAiError } from '../errors/openai-error.js';
import type { GatewayMetrics } from '../gateway/gateway-metrics.js';
import type { BodyReader } from '../gateway/request-body.js';
import type { ResponseHomes } from '../gateway/response-homes.js';
import type { RequestTracer } from '../tracing/request-tracer.js';
import type { SuspectedWorkers } from './endpoints/suspected-workers.js';
import type { PickerMetrics } from './picker-metrics.js';
import type { Picking } from './picking.js';

/** How streams are handled. */
export interface PickerStreamOptions {
  /** Whether requests are only watched: decided and counted, and nothing is changed. */
  readonly isShadow: boolean;
  /** Longest life of a request, its answer included. */
  readonly totalTimeoutMs: number;
}

/** What a stream needs of its process. */
export interface PickerStreamModules {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly picking: Pick<Picking, 'pick'>;
  readonly bodies: BodyReader;
  readonly homes: Pick<ResponseHomes, 'remember'>;
  /** What every frontend counts. */
  readonly metrics: Pick<GatewayMetrics, 'count'>;
  readonly pickerMetrics: PickerMetrics;
  readonly suspects: SuspectedWorkers;
  /** Absent: requests are not traced. */
  readonly tracer: RequestTracer | undefined;
  /** Why no request can be taken now; undefined: it can. */
  findProblem(): OpenAiError | undefined;
}
