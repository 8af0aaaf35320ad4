import { credentials, type ServiceError, status } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseAddress } from '../../../../src/edge/platform/address.js';
import { systemClock } from '../../../../src/edge/platform/clock.js';
import { systemRandom } from '../../../../src/edge/platform/random.js';
import { readPeerReason } from '../../../../src/edge/rpc/errors.js';
import { RpcServer } from '../../../../src/edge/rpc/server.js';
import { createPlaintextSecurity } from '../../../../src/edge/security/security.js';
import {
  CapabilitiesClient,
  CapabilitiesService,
  EngineState,
  ReportOfferRequest_Offer,
  type WatchCapabilitiesResponse,
} from '../../../../src/gen/kvaccord/v1/capabilities.js';
import {
  CapabilitiesEndpoint,
  type CapabilitiesServiceOptions,
} from '../../../../src/worker/sidecar/report/capabilities-service.js';
import { OfferBoard } from '../../../../src/worker/sidecar/report/offer-board.js';
import { ReportStore } from '../../../../src/worker/sidecar/report/report-store.js';
import { SideChannelChecks } from '../../../../src/worker/sidecar/transfer/side-channel-checks.js';
import { RecordingLogger } from '../../../support/recording-logger.js';
import { until } from '../../../support/turns.js';
import { blockSize, servedModel } from '../support/scripted-probe.js';
import { downView, readyView } from '../support/views.js';

const LOOPBACK = parseAddress('127.0.0.1:0');

interface Served {
  readonly store: ReportStore;
  readonly offers: OfferBoard;
  readonly endpoint: CapabilitiesEndpoint;
  readonly server: RpcServer;
  readonly client: CapabilitiesClient;
}

const open: Served[] = [];

async function serve(options: CapabilitiesServiceOptions = {}): Promise<Served> {
  if (LOOPBACK === undefined) throw new Error('the loopback address is one');
  const store = new ReportStore(
    { workerId: 'w-1', sidecarVersion: '1.2.3' },
    { clock: systemClock, view: readyView() },
  );
  const offers = new OfferBoard({ clock: systemClock });
  const sideChannels = new SideChannelChecks({ clock: systemClock });
  const endpoint = new CapabilitiesEndpoint(options, { store, offers, sideChannels });
  const server = new RpcServer(
    { listen: LOOPBACK },
    {
      clock: systemClock,
      logger: new RecordingLogger(),
      random: systemRandom,
      security: createPlaintextSecurity(),
    },
  );
  server.addService(CapabilitiesService, endpoint.createHandlers(server.edge));
  const { text } = await server.start();
  const served = {
    store,
    offers,
    endpoint,
    server,
    client: new CapabilitiesClient(text, credentials.createInsecure()),
  };
  open.push(served);
  return served;
}

/** A watch whose messages a test takes one by one; ends with the call's error or nothing. */
class Watch {
  readonly #messages: AsyncIterator<WatchCapabilitiesResponse>;
  readonly cancel: () => void;

  constructor(client: CapabilitiesClient, lastInstanceId = '', lastRevision = 0n) {
    const call = client.watchCapabilities({ lastInstanceId, lastRevision, frontendId: '' });
    this.#messages = call[Symbol.asyncIterator]();
    this.cancel = () => call.cancel();
  }

  async next(): Promise<NonNullable<WatchCapabilitiesResponse['payload']>> {
    const { value, done } = await this.#messages.next();
    if (done === true || value?.payload === undefined) throw new Error('the stream is over');
    return value.payload;
  }

  async nextSize(): Promise<number | undefined> {
    const payload = await this.next();
    return payload.$case === 'report' ? payload.value.contract?.tokensPerBlock : undefined;
  }

  /** The error by which the stream ends; undefined when it ends in order. */
  async end(): Promise<ServiceError | undefined> {
    try {
      for (;;) if ((await this.#messages.next()).done === true) return undefined;
    } catch (error) {
      return error as ServiceError;
    }
  }
}

beforeEach(() => {
  open.length = 0;
});
afterEach(async () => {
  for (const { server, client, endpoint } of open) {
    client.close();
    await server.stop(1_000);
    await until(() => server.openConnections === 0);
    expect(server.openCalls).toBe(0);
    expect(endpoint.watchers).toBe(0);
  }
});

describe('GetCapabilities', () => {
  it('answers the current report', async () => {
    const { client, store } = await serve();
    const report = await new Promise((resolve, reject) => {
      client.getCapabilities({}, (error, response) => (error ? reject(error) : resolve(response.report)));
    });
    expect(report).toEqual(store.current);
  });
});

describe('WatchCapabilities', () => {
  it('sends the full report first, then each change', async () => {
    const { client, store } = await serve();
    const watch = new Watch(client);
    expect(await watch.nextSize()).toBe(32);
    store.setView(readyView([blockSize(64), servedModel()]));
    expect(await watch.nextSize()).toBe(64);
    watch.cancel();
  });

  it('leaves the report out for a caller that has exactly it, and shows by a heartbeat that it stands', async () => {
    const { client, store } = await serve();
    const { instanceId, revision } = store.current;
    const watch = new Watch(client, instanceId, revision);
    expect(await watch.next()).toMatchObject({ $case: 'heartbeat', value: { instanceId, revision } });
    store.setView(readyView([blockSize(64), servedModel()]));
    expect(await watch.nextSize()).toBe(64);
    watch.cancel();
  });

  it.each([
    ['an older revision', 'i-1', 1n],
    ['another instance', 'i-0', undefined],
  ])('sends the report to a caller that has %s', async (_what, instanceId, revision) => {
    const { client, store } = await serve();
    const watch = new Watch(client, instanceId, revision ?? store.current.revision);
    expect(await watch.nextSize()).toBe(32);
    watch.cancel();
  });

  it('sends heartbeats while nothing changes', async () => {
    const { client, store } = await serve({ heartbeatIntervalMs: 10 });
    const watch = new Watch(client);
    await watch.next();
    const { revision } = store.current;
    expect(await watch.next()).toMatchObject({ $case: 'heartbeat', value: { revision } });
    expect(await watch.next()).toMatchObject({ $case: 'heartbeat' });
    watch.cancel();
  });

  it('says nothing when a round found the same', async () => {
    const { client, store } = await serve();
    const watch = new Watch(client);
    await watch.next();
    store.setView(readyView());
    store.setView(downView());
    expect(await watch.next()).toMatchObject({
      $case: 'report',
      value: { engine: { state: EngineState.UNREACHABLE } },
    });
    watch.cancel();
  });

  it('shows DRAINING to every watcher before its stream ends in order', async () => {
    const { client, store, server } = await serve();
    const watches = [new Watch(client), new Watch(client)];
    for (const watch of watches) await watch.next();
    store.drain();
    const stopped = server.stop(1_000);
    for (const watch of watches) {
      expect(await watch.next()).toMatchObject({
        $case: 'report',
        value: { engine: { state: EngineState.DRAINING } },
      });
      expect(await watch.end()).toBeUndefined();
    }
    await stopped;
  });

  it('refuses a watcher past the limit with a reason, and takes it when another has left', async () => {
    const { client, endpoint } = await serve({ maxWatchers: 1 });
    const first = new Watch(client);
    await first.next();
    const refused = await new Watch(client).end();
    expect(refused?.code).toBe(status.RESOURCE_EXHAUSTED);
    expect(refused?.details).toContain('1 watches are open already');
    expect(refused && readPeerReason(refused)?.reason).toBe('too_many_watchers');
    first.cancel();
    await until(() => endpoint.watchers === 0);
    const second = new Watch(client);
    expect(await second.nextSize()).toBe(32);
    second.cancel();
  });

  it('refuses an instance id that nobody can have', async () => {
    const { client } = await serve();
    const refused = await new Watch(client, 'x'.repeat(513)).end();
    expect(refused?.code).toBe(status.INVALID_ARGUMENT);
  });
});

describe('ReportOffer', () => {
  const watchAs = (client: CapabilitiesClient, frontendId: string) => {
    const call = client.watchCapabilities({ lastInstanceId: '', lastRevision: 0n, frontendId });
    const messages = call[Symbol.asyncIterator]() as AsyncIterator<WatchCapabilitiesResponse>;
    return { next: async () => (await messages.next()).value?.offerAsked, cancel: () => call.cancel() };
  };

  it('is asked for on the watch of every frontend from the first question on, and with the first message of later ones', async () => {
    const { client, offers } = await serve();
    const first = [watchAs(client, 'a'), watchAs(client, 'b')];
    for (const watch of first) expect(await watch.next()).toBe(false);
    offers.check();
    for (const watch of first) expect(await watch.next()).toBe(true);
    const late = watchAs(client, 'c');
    expect(await late.next()).toBe(true);
    for (const watch of [...first, late]) watch.cancel();
  });

  it('is taken of a frontend that watches, and shows where it is asked for', async () => {
    const { client, offers, store } = await serve();
    offers.setReport({ instanceId: store.current.instanceId, isComplete: true });
    const watch = watchAs(client, 'a');
    await watch.next();
    expect(offers.check().ok).toBe(false);
    const { instanceId } = store.current;
    const request = {
      frontendId: 'a',
      instanceId,
      offer: ReportOfferRequest_Offer.OFFERED,
      reason: '',
    };
    await new Promise((resolve, reject) => {
      client.reportOffer(request, (error, response) => (error ? reject(error) : resolve(response)));
    });
    expect(offers.check().ok).toBe(true);
    watch.cancel();
  });
});
