/** The floor of the fan-out: a plain grpc-js server that writes the same message to every stream. */
import { Client, credentials, Server, ServerCredentials, type ServerWritableStream } from '@grpc/grpc-js';
import { CapabilitiesService, WatchCapabilitiesResponse } from '../../src/gen/kvaccord/v1/capabilities.js';
import {
  Agreement,
  FleetService,
  type WatchAgreementRequest,
  type WatchAgreementResponse,
} from '../../src/gen/kvaccord/v1/fleet.js';
import { servePart } from '../support/part.js';

type Watch = ServerWritableStream<WatchAgreementRequest, WatchAgreementResponse>;

const watches = new Set<Watch>();

servePart({
  /** Follows one sidecar, and sends `sample` with its engine start to every watcher. */
  start({ port, sample }: { port: number; sample: string }) {
    const message = Agreement.decode(Buffer.from(sample, 'base64'));
    let current: WatchAgreementResponse | undefined;
    const { path, requestSerialize } = CapabilitiesService.watchCapabilities;
    const source = new Client(`127.0.0.1:${port}`, credentials.createInsecure()).makeServerStreamRequest(
      path,
      requestSerialize,
      WatchCapabilitiesResponse.decode,
      { lastInstanceId: '', lastRevision: 0n, frontendId: '' },
    );
    source.on('data', ({ payload }: WatchCapabilitiesResponse) => {
      const [member] = message.members;
      if (payload?.$case !== 'report' || member === undefined) return;
      const value = { ...message, members: [{ ...member, instanceId: payload.value.instanceId }] };
      current = { payload: { $case: 'agreement', value } };
      for (const watch of watches) watch.write(current);
    });
    const server = new Server({ 'grpc.enable_channelz': 0 });
    server.addService(FleetService, {
      getAgreement: () => {},
      listWorkers: () => {},
      watchAgreement: (call: Watch) => {
        watches.add(call);
        call.on('error', () => {});
        if (current !== undefined) call.write(current);
      },
    });
    return new Promise((resolve, reject) => {
      server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
        error === null ? resolve(`127.0.0.1:${bound}`) : reject(error),
      );
    });
  },
});
