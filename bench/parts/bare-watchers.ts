/** The floor of the fleet: plain grpc-js streams, a channel each, that decode what comes and keep nothing. */
import { Channel, Client, credentials } from '@grpc/grpc-js';
import { CapabilitiesService, WatchCapabilitiesResponse } from '../../src/gen/kvaccord/v1/capabilities.js';
import { servePart, sharedNowMs } from '../support/part.js';

let reports = 0;
const waiting: { readonly count: number; readonly resolve: (atMs: number) => void }[] = [];
const whenReported = (count: number): Promise<number> =>
  new Promise((resolve) => waiting.push({ count, resolve }));
let reported: Promise<number> | undefined;
let opened: Promise<number> | undefined;

servePart({
  start({ ports, count }: { ports: readonly number[]; count: number }) {
    reported = whenReported(count - 1);
    opened = whenReported(count);
    const { path, requestSerialize } = CapabilitiesService.watchCapabilities;
    for (let n = 0; n < count; n += 1) {
      const address = `127.0.0.1:${ports[n % ports.length]}`;
      const secrets = credentials.createInsecure();
      const channel = new Channel(address, secrets, {
        'grpc.use_local_subchannel_pool': 1,
        'grpc.enable_channelz': 0,
        'grpc.enable_retries': 0,
      });
      const stream = new Client(address, secrets, { channelOverride: channel }).makeServerStreamRequest(
        path,
        requestSerialize,
        WatchCapabilitiesResponse.decode,
        { lastInstanceId: '', lastRevision: 0n, frontendId: '' },
      );
      stream.on('error', () => {});
      stream.on('data', ({ payload }: WatchCapabilitiesResponse) => {
        if (payload?.$case !== 'report') return;
        reports += 1;
        for (const each of waiting) if (reports >= each.count) each.resolve(sharedNowMs());
      });
    }
  },
  reported: () => reported,
  opened: () => opened,
});
