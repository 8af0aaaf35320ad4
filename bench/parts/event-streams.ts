/**
 * What many sidecars say, without the sidecars: plain grpc-js servers that
 * report a worker each and stream its changes. One process can be two hundred
 * of them, which as real ones would need more cores than the index itself.
 */
import { Server, ServerCredentials, type ServerWritableStream } from '@grpc/grpc-js';
import {
  CapabilitiesService,
  type WatchCapabilitiesRequest,
  type WatchCapabilitiesResponse,
} from '../../src/gen/kvaccord/v1/capabilities.js';
import {
  type Change,
  KvEventsService,
  Picture,
  type SubscribeRequest,
  type SubscribeResponse,
  Tier,
} from '../../src/gen/kvaccord/v1/kv_events.js';
import { servePart } from '../support/part.js';
import { makeBenchReport } from '../support/reports.js';
import { atRate } from '../support/steady-rate.js';
import type { EngineLoad } from './event-engines.js';

type Watch = ServerWritableStream<WatchCapabilitiesRequest, WatchCapabilitiesResponse>;
type Subscription = ServerWritableStream<SubscribeRequest, SubscribeResponse>;

interface Stream {
  readonly call: Subscription;
  /** What each batch stored, oldest first. */
  readonly held: Buffer[];
  sequence: number;
}

/** As a sidecar's. */
const HEARTBEAT_INTERVAL_MS = 5_000;

const streams: Stream[] = [];
let load: EngineLoad;
let stored = 0;
let stop = (): void => {};

/** Hashes that nobody else has; that they are counted up does not matter to a table that mixes them. */
function newHashes(): Buffer {
  const hashes = Buffer.alloc(load.blocksPerBatch * 8);
  for (let at = 0; at < hashes.length; at += 8) {
    stored += 1;
    hashes.writeUInt32LE(stored, at);
    hashes.writeUInt32LE(Math.imul(stored, 0x9e3779b1) >>> 0, at + 4);
  }
  return hashes;
}

function send(stream: Stream): void {
  const sequenceHashes = newHashes();
  stream.held.push(sequenceHashes);
  const tier = Tier.DEVICE;
  const changes: Change[] = [
    {
      change: {
        $case: 'stored',
        value: { tier, tokensPerBlock: load.tokensPerBlock, sequenceHashes },
      },
    },
  ];
  if (stream.held.length * load.blocksPerBatch > load.capacityBlocks) {
    const oldest = stream.held.shift() as Buffer;
    changes.unshift({ change: { $case: 'removed', value: { tier, sequenceHashes: oldest } } });
  }
  stream.sequence += 1;
  stream.call.write({
    payload: {
      $case: 'changes',
      value: {
        sequence: BigInt(stream.sequence),
        dataParallelRank: 0,
        changes,
        enginePublishedAt: new Date(),
      },
    },
  });
}

function subscribe(call: Subscription, workerId: string): void {
  call.on('error', () => {});
  const ranks = [
    { dataParallelRank: 0, picture: Picture.EXACT, reason: '', blockCount: 0n, cacheGroups: [] },
  ];
  const instanceId = `${workerId}-1`;
  call.write({
    payload: {
      $case: 'start',
      value: {
        workerId,
        instanceId,
        streamId: workerId,
        resumed: false,
        reason: '',
        ranks,
        tokensPerBlock: 0,
      },
    },
  });
  call.write({ payload: { $case: 'snapshotEnd', value: { sequence: 0n } } });
  streams.push({ call, held: [], sequence: 0 });
}

function serve(workerId: string): Promise<number> {
  const server = new Server({ 'grpc.enable_channelz': 0 });
  server.addService(CapabilitiesService, {
    getCapabilities: () => {},
    watchCapabilities: (call: Watch) => {
      call.on('error', () => {});
      const value = makeBenchReport(workerId, load.tokensPerBlock, 1);
      call.write({ payload: { $case: 'report', value }, offerAsked: false });
      const { instanceId, revision } = value;
      // Who says nothing for fifteen seconds is given up.
      setInterval(() => {
        call.write({
          payload: { $case: 'heartbeat', value: { sentAt: new Date(), instanceId, revision } },
          offerAsked: false,
        });
      }, HEARTBEAT_INTERVAL_MS);
    },
  });
  server.addService(KvEventsService, { subscribe: (call: Subscription) => subscribe(call, workerId) });
  return new Promise((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) =>
      error === null ? resolve(port) : reject(error),
    );
  });
}

servePart({
  /** Serves as many workers as the load says; their ports. */
  async start(wanted: EngineLoad) {
    load = wanted;
    const ports: number[] = [];
    for (let number = 0; number < wanted.count; number += 1) ports.push(await serve(`worker-${number}`));
    return ports;
  },
  /** Each streams `perSecond` changes, spread evenly over time, until `stop`. */
  run({ perSecond }: { perSecond: number }) {
    stop = atRate(perSecond * streams.length, (turn) => send(streams[turn % streams.length] as Stream));
  },
  stop: () => stop(),
});
