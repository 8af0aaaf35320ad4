/** Many frontends in one process, each with a stream of its own that follows the agreement. */
import { Channel, Client, credentials } from '@grpc/grpc-js';
import { Agreement, FleetService, WatchAgreementResponse } from '../../src/gen/kvaccord/v1/fleet.js';
import { servePart, sharedNowMs } from '../support/part.js';

/** The engine start that each frontend knows of. */
const known: string[] = [];
let newest: Agreement | undefined;
let awaited: { readonly instance: string; readonly resolve: (atMs: number) => void } | undefined;
let seen: Promise<number> | undefined;

function look(): void {
  if (awaited === undefined || known.some((instance) => instance !== awaited?.instance)) return;
  awaited.resolve(sharedNowMs());
  awaited = undefined;
}

servePart({
  /** Watches `address` with `count` streams; resolves when each knows of `instance`. */
  async start({ address, count, instance }: { address: string; count: number; instance: string }) {
    const { path, requestSerialize } = FleetService.watchAgreement;
    const started = new Promise<number>((resolve) => {
      awaited = { instance, resolve };
    });
    for (let n = 0; n < count; n += 1) {
      known.push('');
      const secrets = credentials.createInsecure();
      const channel = new Channel(address, secrets, {
        'grpc.use_local_subchannel_pool': 1,
        'grpc.enable_channelz': 0,
      });
      const stream = new Client(address, secrets, { channelOverride: channel }).makeServerStreamRequest(
        path,
        requestSerialize,
        WatchAgreementResponse.decode,
        { group: '' },
      );
      stream.on('error', () => {});
      stream.on('data', ({ payload }: WatchAgreementResponse) => {
        if (payload?.$case !== 'agreement') return;
        newest = payload.value;
        known[n] = newest.members[0]?.instanceId ?? '';
        if (known[n] === awaited?.instance) look();
      });
    }
    await started;
  },
  /** Prepares to see when every frontend knows of `instance`. */
  arm({ instance }: { instance: string }) {
    seen = new Promise((resolve) => {
      awaited = { instance, resolve };
    });
  },
  /** When every frontend knew it. */
  seen: () => seen,
  /** The newest message, as base64. */
  sample: () => Buffer.from(Agreement.encode(newest ?? Agreement.create()).finish()).toString('base64'),
});
