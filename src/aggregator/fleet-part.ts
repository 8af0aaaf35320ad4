import type { ServiceDefinition, UntypedServiceImplementation } from '@grpc/grpc-js';
import type { RpcEdge } from '../rpc/handlers.js';
import type { FleetListener, FleetRunner } from './fleet-runner.js';
import type { ChannelListener } from './session-listener.js';

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
 * index. The aggregator knows no part by name: whoever builds it does.
 */
export interface FleetPart extends FleetListener, ChannelListener {
  /** What it serves, beside `kvaccord.v1.Fleet`. */
  readonly services: readonly PartService[];
  /** Members that it brings itself, which have no sidecar: discovery's list is given with them. */
  readonly targets: readonly string[];
  /** Called once, after the ports are taken and before discovery gives its first list. */
  start(): void;
  /** Ends all that it does; called after the servers have ended. */
  close(): Promise<void>;
}

/** Makes a part. */
export type CreateFleetPart = (host: PartHost) => FleetPart;
