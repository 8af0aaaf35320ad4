import type { ServiceError } from '@grpc/grpc-js';
import { status } from '@grpc/grpc-js';
import type { CapabilityReport } from '../gen/kvaccord/v1/capabilities.js';
import { CapabilitiesClient } from '../gen/kvaccord/v1/capabilities.js';
import type { Agreement, Worker } from '../gen/kvaccord/v1/fleet.js';
import { FleetClient } from '../gen/kvaccord/v1/fleet.js';
import type { Clock } from '../platform/clock.js';
import { callUnary } from '../rpc/call-unary.js';
import type { RpcChannel } from '../rpc/channel.js';

/** What was found at an address. */
export type FleetSnapshot =
  | {
      readonly type: 'aggregator';
      readonly agreements: readonly Agreement[];
      readonly workers: readonly Worker[];
    }
  | { readonly type: 'sidecar'; readonly report: CapabilityReport };

/** Pages of workers that one snapshot reads: about 500 workers each. */
const MAX_PAGES = 200;

export interface SnapshotOptions {
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

function isUnimplemented(error: unknown): boolean {
  return (error as Partial<ServiceError>).code === status.UNIMPLEMENTED;
}

/** Asks whoever listens behind `channel`, an aggregator or a sidecar. */
export async function takeSnapshot(channel: RpcChannel, options: SnapshotOptions): Promise<FleetSnapshot> {
  try {
    const fleet = channel.createClient(FleetClient);
    const workers = await listWorkers(fleet, options);
    const groups = [...new Set(workers.map(({ group }) => group).filter((group) => group !== ''))].sort();
    const agreements: Agreement[] = [];
    for (const group of groups.length === 0 ? [''] : groups) {
      const { agreement } = await callUnary(fleet.getAgreement.bind(fleet), { group }, options);
      if (agreement !== undefined) agreements.push(agreement);
    }
    return { type: 'aggregator', agreements, workers };
  } catch (error) {
    if (!isUnimplemented(error)) throw error;
  }
  const capabilities = channel.createClient(CapabilitiesClient);
  const { report } = await callUnary(capabilities.getCapabilities.bind(capabilities), {}, options);
  if (report === undefined) throw new Error(`${channel.address.text}: the sidecar answered without a report`);
  return { type: 'sidecar', report };
}

async function listWorkers(fleet: FleetClient, options: SnapshotOptions): Promise<Worker[]> {
  const workers: Worker[] = [];
  let pageToken = '';
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const answer = await callUnary(fleet.listWorkers.bind(fleet), { group: '', pageToken }, options);
    workers.push(...answer.workers);
    pageToken = answer.nextPageToken;
    if (pageToken === '') break;
  }
  return workers;
}
