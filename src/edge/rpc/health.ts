import {
  type HealthCheckRequest,
  type HealthCheckResponse,
  type HealthListResponse,
  type HealthServer,
  HealthCheckResponse_ServingStatus as ServingStatus,
} from '../../gen/grpc/health/v1/health.js';
import { onAbort } from '../platform/time/on-abort.js';
import { RpcError } from './errors.js';
import { type RpcEdge, wrapServerStream, wrapUnary } from './handlers.js';
import type { ServerStream } from './server-stream.js';

/** What a service can be said to be. */
export type ServiceHealth = 'SERVING' | 'NOT_SERVING';

/** Watches of one server at a time; a kubelet needs none, a frontend one. */
const MAX_WATCHERS = 1_000;

/** Longest service name that is looked up or watched. */
const MAX_SERVICE_NAME_LENGTH = 256;

/** Services that `List` and the table hold at most; ours are a handful, groups of models may add some. */
const MAX_SERVICES = 100;

/**
 * grpc.health.v1: `Check`, `Watch` and `List`. The name `""` stands for the
 * whole process and is SERVING from the start. Open to callers without token,
 * for kubelets carry none: it reports no more than which service is up.
 */
export class Health {
  readonly #statuses = new Map<string, ServiceHealth>([['', 'SERVING']]);
  readonly #watchers = new Map<string, Set<ServerStream<HealthCheckResponse>>>();
  #watcherCount = 0;
  #isShutDown = false;

  /** Sets what is reported of `service`; after `shutDown` nothing changes any more. */
  setStatus(service: string, status: ServiceHealth): void {
    if (this.#isShutDown || this.#statuses.get(service) === status) return;
    if (!this.#statuses.has(service) && this.#statuses.size >= MAX_SERVICES) {
      throw new RangeError(`more than ${MAX_SERVICES} health services, the last is ${service}`);
    }
    this.#statuses.set(service, status);
    this.#report(service);
  }

  /** Says NOT_SERVING of everything, for good. */
  shutDown(): void {
    for (const service of this.#statuses.keys()) this.setStatus(service, 'NOT_SERVING');
    this.#isShutDown = true;
  }

  /** The handlers of the gRPC service. */
  createHandlers(edge: RpcEdge): HealthServer {
    return {
      check: wrapUnary(edge, (request: HealthCheckRequest) => this.#check(request.service)),
      list: wrapUnary(edge, () => this.#list()),
      watch: wrapServerStream(edge, { mode: 'latest-value' }, (request: HealthCheckRequest, stream) =>
        this.#watch(request.service, stream),
      ),
    };
  }

  #check(service: string): HealthCheckResponse {
    const status = this.#statuses.get(service);
    if (status === undefined) {
      const known = [...this.#statuses.keys()].map((name) => `"${name}"`).join(', ');
      const asked = JSON.stringify(service.slice(0, MAX_SERVICE_NAME_LENGTH));
      throw new RpcError('not_found', `no health service ${asked}; there are ${known}`);
    }
    return { status: ServingStatus[status] };
  }

  #list(): HealthListResponse {
    const statuses: HealthListResponse['statuses'] = {};
    for (const [service, status] of this.#statuses) statuses[service] = { status: ServingStatus[status] };
    return { statuses };
  }

  /** The status now, then each change; a service may appear later, so an unknown one is watched too. */
  #watch(service: string, stream: ServerStream<HealthCheckResponse>): void {
    if (service.length > MAX_SERVICE_NAME_LENGTH) {
      throw new RpcError(
        'invalid_argument',
        `service has ${service.length} characters, at most ${MAX_SERVICE_NAME_LENGTH} are taken`,
      );
    }
    if (this.#watcherCount >= MAX_WATCHERS) {
      throw new RpcError('too_many_watchers', `${MAX_WATCHERS} health watches are open already`);
    }
    const watchers = this.#watchers.get(service) ?? new Set();
    this.#watchers.set(service, watchers.add(stream));
    this.#watcherCount += 1;
    onAbort(stream.signal, () => {
      watchers.delete(stream);
      if (watchers.size === 0 && this.#watchers.get(service) === watchers) this.#watchers.delete(service);
      this.#watcherCount -= 1;
    });
    stream.send(this.#describe(service));
  }

  #describe(service: string): HealthCheckResponse {
    const status = this.#statuses.get(service);
    return { status: status === undefined ? ServingStatus.SERVICE_UNKNOWN : ServingStatus[status] };
  }

  #report(service: string): void {
    for (const stream of this.#watchers.get(service) ?? []) stream.send(this.#describe(service));
  }
}
