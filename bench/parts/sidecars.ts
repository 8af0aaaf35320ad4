/**
 * Many sidecars in one process: a plain grpc-js server on which every stream
 * is another worker. It sends each its report and then heartbeats, as sidecars
 * do, and holds the last worker's report back until `release`.
 */
import { Server, ServerCredentials, type ServerWritableStream } from '@grpc/grpc-js';
import {
  CapabilitiesService,
  type CapabilityReport,
  type WatchCapabilitiesRequest,
  type WatchCapabilitiesResponse,
} from '../../src/gen/kvaccord/v1/capabilities.js';
import { servePart, sharedNowMs } from '../support/part.js';
import { makeBenchReport } from '../support/reports.js';

type Watch = ServerWritableStream<WatchCapabilitiesRequest, WatchCapabilitiesResponse>;

/** As `HEARTBEAT_INTERVAL_MS` of a sidecar, spread evenly over the workers. */
const HEARTBEAT_INTERVAL_MS = 5_000;
const HEARTBEAT_TICK_MS = 50;

const watches: { readonly call: Watch; report: CapabilityReport }[] = [];
let held: (() => void) | undefined;
let beat = 0;
/** Heartbeats that are due, with the fraction that the next tick completes. */
let due = 0;

const sendReport = (call: Watch, report: CapabilityReport): void => {
  call.write({ payload: { $case: 'report', value: report }, offerAsked: false });
};

servePart({
  /** Serves until `count` workers are there; the last one's report waits for `release` when `holdsLast`. */
  listen({ count, holdsLast }: { count: number; holdsLast: boolean }) {
    const server = new Server({ 'grpc.enable_channelz': 0 });
    server.addService(CapabilitiesService, {
      getCapabilities: () => {},
      watchCapabilities: (call: Watch) => {
        const report = makeBenchReport(`worker-${watches.length}`, 16, 1);
        watches.push({ call, report });
        call.on('error', () => {});
        if (holdsLast && watches.length === count) held = () => sendReport(call, report);
        else sendReport(call, report);
      },
    });
    setInterval(() => {
      due += (count * HEARTBEAT_TICK_MS) / HEARTBEAT_INTERVAL_MS;
      for (; due >= 1; due -= 1) {
        // From the first one on: on a busy machine the last of thousands comes after the deadline of those before.
        const watch = watches[beat % Math.max(1, watches.length)];
        if (watch === undefined) continue;
        const { call, report } = watch;
        const { instanceId, revision } = report;
        call.write({
          payload: { $case: 'heartbeat', value: { sentAt: new Date(), instanceId, revision } },
          offerAsked: false,
        });
        beat += 1;
      }
    }, HEARTBEAT_TICK_MS);
    return new Promise((resolve, reject) => {
      server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) =>
        error === null ? resolve(port) : reject(error),
      );
    });
  },
  /** Sends the report that was held back; when that was. */
  release() {
    held?.();
    return sharedNowMs();
  },
  /** Every worker's engine is restarted, for the `start`-th time; when that was. */
  restart({ start }: { start: number }) {
    const nowMs = sharedNowMs();
    for (const [index, watch] of watches.entries()) {
      watch.report = makeBenchReport(`worker-${index}`, 16, start);
      sendReport(watch.call, watch.report);
    }
    return nowMs;
  },
});
