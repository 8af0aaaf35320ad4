import type { ServiceDefinition, UntypedServiceImplementation } from '@grpc/grpc-js';
import type { ApiRoute } from '../../edge/http/api.js';
import type { EventStreamRoute } from '../../edge/http/event-stream.js';
import type { RpcEdge } from '../../edge/rpc/handlers.js';
import type { FleetCompanion } from './fleet-companion.js';
import type { FleetListener, FleetRunner } from './fleet-runner.js';

/** A gRPC service on the aggregator's port. */
export interface PartService {
  readonly definition: ServiceDefinition;
  readonly implementation: UntypedServiceImplementation;
}

/** What a part is built on. */
export interface PartHost {
  readonly runner: FleetRunner;
  readonly edge: RpcEdge;
}

/**
 * Something beside the agreement that lives on the same workers, such as the
 * index. The aggregator knows no part by name: its builder does.
 */
export interface FleetPart extends FleetListener, FleetCompanion {
  /** What it serves, beside `kvaccord.v1.Fleet`. */
  readonly services: readonly PartService[];
  /** What it answers below `/api/v1`. Default nothing. */
  readonly routes?: readonly ApiRoute[];
  /** Its streams of events below `/api/v1`. Default none. */
  readonly streams?: readonly EventStreamRoute[];
  /**
   * Called once, after the ports are taken and before discovery gives its first list. `statusPage`: the URL of the status
   * page as the process listens, such as `http://0.0.0.0:9463`; empty where it has none.
   */
  start(statusPage: string): void;
  /** Ends all that it does; called after the servers have ended. */
  close(): Promise<void>;
}

/** Makes a part. */
export type CreateFleetPart = (host: PartHost) => FleetPart;
