import { status } from '@grpc/grpc-js';
import type { Clock } from '../edge/platform/clock.js';
import { callUnary, type UnaryMethod } from '../edge/rpc/call-unary.js';
import type { RpcChannel } from '../edge/rpc/channel.js';
import { isServiceError } from '../edge/rpc/errors.js';
import { explainStatus } from '../fleet/aggregator/sessions/explain-break.js';
import type { CapabilityReport } from '../gen/kvaccord/v1/capabilities.js';
import { CapabilitiesClient } from '../gen/kvaccord/v1/capabilities.js';
import type { Agreement, ListPairsResponse, Worker } from '../gen/kvaccord/v1/fleet.js';
import { FleetClient } from '../gen/kvaccord/v1/fleet.js';
import { type ListResultsResponse, RouterClient } from '../gen/kvaccord/v1/router.js';

/** What was found at an address. */
export type FleetSnapshot =
  | {
      readonly type: 'aggregator';
      readonly agreements: readonly Agreement[];
      readonly workers: readonly Worker[];
    }
  | { readonly type: 'sidecar'; readonly report: CapabilityReport };

/** Pages of workers that one snapshot reads: 1 MB each, together more than any fleet's reports. */
const MAX_PAGES = 200;

export interface SnapshotOptions {
  readonly clock: Clock;
  /** For the whole snapshot, with the connection and however many calls it takes. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** A snapshot that could not be taken, in words for a person. */
export class SnapshotError extends Error {
  constructor(address: string, why: string, options?: ErrorOptions) {
    super(`${address}: ${why}`, options);
    this.name = 'SnapshotError';
  }
}

/**
 * Asks the process behind `channel`, an aggregator or a sidecar. Rejects
 * with a `ConnectError`, a `SnapshotError`, or `signal.reason`.
 */
export async function takeSnapshot(channel: RpcChannel, options: SnapshotOptions): Promise<FleetSnapshot> {
  const { clock, signal } = options;
  const { text } = channel.address;
  const deadlineMs = clock.monotonicMs() + options.timeoutMs;
  const ask: Ask = (method, request) =>
    callUnary(method, request, { clock, signal, timeoutMs: Math.max(deadlineMs - clock.monotonicMs(), 1) });
  await channel.waitForReady(signal);
  try {
    const snapshot = (await askAggregator(channel, ask)) ?? (await askSidecar(channel, ask));
    if (hasBadTime(snapshot))
      throw new SnapshotError(
        text,
        'answers times outside every calendar: is it kv-accord that listens there?',
      );
    return snapshot;
  } catch (error) {
    if (!isServiceError(error)) throw error;
    if (error.code === status.DEADLINE_EXCEEDED) {
      const why = `did not answer within ${options.timeoutMs / 1_000} s (--timeout)`;
      throw new SnapshotError(text, why, { cause: error });
    }
    if (error.code === status.UNIMPLEMENTED) {
      const why = 'answers gRPC, but is neither a kv-accord aggregator nor a sidecar';
      throw new SnapshotError(text, why, { cause: error });
    }
    throw new SnapshotError(text, explainStatus(error, 'aggregator'), { cause: error });
  }
}

/** Asks an aggregator how its predictions came true, of one group or of all. Rejects as `takeSnapshot` does. */
export async function takeResults(
  channel: RpcChannel,
  group: string,
  { clock, signal, timeoutMs }: SnapshotOptions,
): Promise<ListResultsResponse> {
  const router = channel.createClient(RouterClient);
  await channel.waitForReady(signal);
  try {
    return await callUnary(router.listResults.bind(router), { group }, { clock, signal, timeoutMs });
  } catch (error) {
    if (!isServiceError(error)) throw error;
    const { text } = channel.address;
    if (error.code === status.UNIMPLEMENTED) {
      const why = 'keeps no results: it is no aggregator, or one of an earlier version';
      throw new SnapshotError(text, why, { cause: error });
    }
    if (error.code === status.NOT_FOUND) throw new SnapshotError(text, error.details, { cause: error });
    throw new SnapshotError(text, explainStatus(error, 'aggregator'), { cause: error });
  }
}

/** Pages of pairs that one look reads: 1,000 workers of each role. */
const MAX_PAIR_PAGES = 1_000;

/** Asks an aggregator for its pairs, of one group or of all. Rejects as `takeSnapshot` does. */
export async function takePairs(
  channel: RpcChannel,
  group: string,
  { clock, signal, timeoutMs }: SnapshotOptions,
): Promise<ListPairsResponse> {
  const fleet = channel.createClient(FleetClient);
  const deadlineMs = clock.monotonicMs() + timeoutMs;
  const { text } = channel.address;
  await channel.waitForReady(signal);
  const all: ListPairsResponse = { pairs: [], nextPageToken: '', counts: undefined };
  try {
    for (let page = 0; page < MAX_PAIR_PAGES; page += 1) {
      const answer = await callUnary(
        fleet.listPairs.bind(fleet),
        { group, prefillTarget: '', decodeTarget: '', pageToken: all.nextPageToken },
        { clock, signal, timeoutMs: Math.max(deadlineMs - clock.monotonicMs(), 1) },
      );
      all.pairs.push(...answer.pairs);
      all.counts = answer.counts;
      all.nextPageToken = answer.nextPageToken;
      if (answer.nextPageToken === '') return all;
    }
  } catch (error) {
    if (!isServiceError(error)) throw error;
    if (error.code === status.UNIMPLEMENTED) {
      const why = 'judges no pairs: it is no aggregator, or one of an earlier version';
      throw new SnapshotError(text, why, { cause: error });
    }
    throw new SnapshotError(text, explainStatus(error, 'aggregator'), { cause: error });
  }
  throw new SnapshotError(text, `has more than ${MAX_PAIR_PAGES} pages of pairs`);
}

type Ask = <Request, Response>(method: UnaryMethod<Request, Response>, request: Request) => Promise<Response>;

/** Undefined when it is none. */
async function askAggregator(channel: RpcChannel, ask: Ask): Promise<FleetSnapshot | undefined> {
  const fleet = channel.createClient(FleetClient);
  const workers = await listWorkers(channel, fleet, ask).catch(unless(status.UNIMPLEMENTED));
  if (workers === undefined) return undefined;
  const groups = [...new Set(workers.map(({ group }) => group).filter((group) => group !== ''))].sort();
  const agreements: Agreement[] = [];
  for (const group of groups.length === 0 ? [''] : groups) {
    // A model whose last worker has left is soon not there any more, and has no name here.
    const gone = unless(status.NOT_FOUND, status.INVALID_ARGUMENT);
    const answer = await ask(fleet.getAgreement.bind(fleet), { group }).catch(gone);
    if (answer?.agreement !== undefined) agreements.push(answer.agreement);
  }
  return { type: 'aggregator', agreements, workers };
}

async function askSidecar(channel: RpcChannel, ask: Ask): Promise<FleetSnapshot> {
  const capabilities = channel.createClient(CapabilitiesClient);
  const { report } = await ask(capabilities.getCapabilities.bind(capabilities), {});
  if (report === undefined) {
    throw new SnapshotError(channel.address.text, 'the sidecar answered without a report');
  }
  return { type: 'sidecar', report };
}

async function listWorkers(channel: RpcChannel, fleet: FleetClient, ask: Ask): Promise<Worker[]> {
  const workers: Worker[] = [];
  let pageToken = '';
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const answer = await ask(fleet.listWorkers.bind(fleet), { group: '', pageToken });
    workers.push(...answer.workers);
    pageToken = answer.nextPageToken;
    if (pageToken === '') return workers;
  }
  throw new SnapshotError(channel.address.text, `has more than ${MAX_PAGES} pages of workers`);
}

/** Takes a failure with one of these statuses for an answer: there is nothing. */
function unless(...codes: readonly status[]): (error: unknown) => undefined {
  return (error) => {
    if (isServiceError(error) && codes.includes(error.code)) return undefined;
    throw error;
  };
}

/** Whether a time in an answer is none that can be written again: the wire carries more than there are dates. */
function hasBadTime(snapshot: FleetSnapshot): boolean {
  const isBad = (time: Date | undefined): boolean => Number.isNaN(time?.getTime());
  const isBadReport = (report: CapabilityReport | undefined): boolean =>
    report !== undefined &&
    (isBad(report.observedAt) || report.evidence.some(({ observedAt }) => isBad(observedAt)));
  if (snapshot.type === 'sidecar') return isBadReport(snapshot.report);
  return (
    snapshot.agreements.some(({ changedAt }) => isBad(changedAt)) ||
    snapshot.workers.some(({ report }) => isBadReport(report))
  );
}
