import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { Metadata, Server, ServerCredentials, type ServerWritableStream, status } from '@grpc/grpc-js';
import {
  CapabilitiesService,
  type CapabilityReport,
  type CheckSideChannelRequest,
  type CheckSideChannelResponse,
  type GetCapabilitiesResponse,
  type WatchCapabilitiesRequest,
  WatchCapabilitiesResponse,
} from '../../src/gen/kvaccord/v1/capabilities.js';
import {
  KvEventsService,
  type SubscribeRequest,
  SubscribeResponse,
} from '../../src/gen/kvaccord/v1/kv_events.js';
import { Changes } from './changes.js';
import { makeWireReport } from './reports.js';

/**
 * How a fake sidecar treats those who connect.
 * - `serve`: as a sidecar does;
 * - `black_hole`: TCP is accepted, then nothing ever comes back; `release` serves what waits;
 * - `hang_up`: TCP is accepted and closed immediately;
 * - `silent`: gRPC is served and calls are taken, but nothing is ever said;
 * - `refuse`: calls end with `refusal`.
 */
export type FakeSidecarMode = 'serve' | 'black_hole' | 'hang_up' | 'silent' | 'refuse';

export interface FakeSidecarOptions {
  /** Default: that of a plain worker `w-1`. */
  readonly report?: CapabilityReport;
  /** Its port; default 0, a free one. */
  readonly port?: number;
  /** An address of the loopback; default 127.0.0.1. */
  readonly host?: string;
  readonly mode?: FakeSidecarMode;
  /**
   * What a subscriber to KV events gets first, in answer to its request;
   * without it the service is not there, as in a sidecar of an older version.
   */
  readonly kvEvents?: (request: SubscribeRequest) => readonly SubscribeResponse[];
  /** Why a side channel at an address cannot be reached, empty where it can; without it the sidecar is older than the question. */
  readonly checkSideChannel?: (address: string) => string;
}

type Subscription = ServerWritableStream<SubscribeRequest, Buffer>;
type Watch = ServerWritableStream<WatchCapabilitiesRequest, Buffer>;

/**
 * A sidecar on a real socket that does what a test wants. It says nothing by
 * itself after the first report: tests send reports and heartbeats.
 */
export class FakeSidecar {
  /** What happened here, for `until`. */
  readonly changes: Changes = new Changes();
  /** Every watch that was asked for, in order. */
  readonly requests: WatchCapabilitiesRequest[] = [];
  /** Every subscription to KV events that was asked for, in order. */
  readonly subscriptionRequests: SubscribeRequest[] = [];
  mode: FakeSidecarMode;
  /** Whether its messages say that a client asks whether the worker is offered. */
  isOfferAsked = false;
  /** What calls end with in the mode `refuse`. */
  refusal: { readonly code: status; readonly details: string } = {
    code: status.UNAUTHENTICATED,
    details: 'no token',
  };
  /** Connections that were ever accepted. */
  connectionsSeen = 0;
  #report: CapabilityReport;
  readonly #grpc = new Server({ 'grpc.enable_channelz': 0 });
  readonly #listener = createServer();
  readonly #sockets = new Set<Socket>();
  /** Connections that a black hole has swallowed, with what they said. */
  readonly #parked = new Map<Socket, Buffer[]>();
  readonly #watches = new Set<Watch>();
  readonly #subscriptions = new Set<Subscription>();
  /** May be changed at any time; see `FakeSidecarOptions`. */
  kvEvents: FakeSidecarOptions['kvEvents'];
  /** May be changed at any time; see `FakeSidecarOptions`. */
  checkSideChannel: FakeSidecarOptions['checkSideChannel'];
  #inject: (socket: Socket) => void = () => undefined;

  private constructor(options: FakeSidecarOptions) {
    this.#report = options.report ?? makeWireReport('w-1');
    this.mode = options.mode ?? 'serve';
    this.kvEvents = options.kvEvents;
    this.checkSideChannel = options.checkSideChannel;
  }

  static async start(options: FakeSidecarOptions = {}): Promise<FakeSidecar> {
    const sidecar = new FakeSidecar(options);
    await sidecar.#listen(options.port ?? 0, options.host);
    return sidecar;
  }

  get port(): number {
    return (this.#listener.address() as AddressInfo).port;
  }

  /** `127.0.0.1:PORT`. */
  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  get openConnections(): number {
    return this.#sockets.size;
  }

  /** Connections in the black hole that have said something: to them we look like a peer that accepted. */
  get swallowedConnections(): number {
    return [...this.#parked.values()].filter((said) => said.length > 0).length;
  }

  get openWatches(): number {
    return this.#watches.size;
  }

  get openSubscriptions(): number {
    return this.#subscriptions.size;
  }

  get report(): CapabilityReport {
    return this.#report;
  }

  /** Resolves as soon as `holds` does. */
  until(holds: () => boolean): Promise<void> {
    return this.changes.until(holds);
  }

  /** Takes a report on and sends it to all watchers. */
  setReport(report: CapabilityReport): void {
    this.#report = report;
    this.sendBytes(encode({ payload: { $case: 'report', value: report }, offerAsked: this.isOfferAsked }));
  }

  /** Takes a report on without a word about it. */
  setReportSilently(report: CapabilityReport): void {
    this.#report = report;
  }

  /** Sends all watchers a heartbeat that names the current report. */
  sendHeartbeat(): void {
    this.sendBytes(heartbeatOf(this.#report, this.isOfferAsked));
  }

  /** Sends all watchers any bytes as one message. */
  sendBytes(bytes: Buffer): void {
    for (const watch of this.#watches) watch.write(bytes);
  }

  /** Sends all subscribers to KV events a message. */
  sendEvents(...responses: readonly SubscribeResponse[]): void {
    for (const response of responses) {
      const bytes = Buffer.from(SubscribeResponse.encode(response).finish());
      for (const subscription of this.#subscriptions) subscription.write(bytes);
    }
  }

  /** Sends all subscribers to KV events any bytes as one message. */
  sendEventBytes(bytes: Buffer): void {
    for (const subscription of this.#subscriptions) subscription.write(bytes);
  }

  /** Ends all streams of KV events, in order. */
  endSubscriptions(): void {
    for (const subscription of this.#subscriptions) subscription.end();
  }

  /** Ends all streams, in order. */
  endWatches(): void {
    for (const watch of this.#watches) watch.end();
  }

  /** Serves the connections that a black hole has swallowed. */
  release(): void {
    this.mode = 'serve';
    for (const [socket, said] of this.#parked) {
      socket.removeAllListeners('data').pause();
      socket.unshift(Buffer.concat(said));
      this.#inject(socket);
    }
    this.#parked.clear();
  }

  /** Closes every connection immediately, as a killed process does; it goes on listening. */
  cutConnections(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  /** Stops listening and closes everything; the port is free afterwards. */
  async stop(): Promise<void> {
    const closed = this.#listener.listening ? once(this.#listener, 'close') : undefined;
    this.#listener.close();
    this.#grpc.forceShutdown();
    for (const socket of this.#sockets) socket.destroy();
    // A server that is shut down by force does not end its calls.
    this.#watches.clear();
    this.#subscriptions.clear();
    await closed;
  }

  async #listen(port: number, host = '127.0.0.1'): Promise<void> {
    this.#grpc.addService(watchService, {
      watchCapabilities: (call: Watch) => this.#watch(call),
      getCapabilities: (_: unknown, answer: (error: null, response: GetCapabilitiesResponse) => void) =>
        answer(null, { report: this.#report }),
      checkSideChannel: (
        { request }: { request: CheckSideChannelRequest },
        answer: (error: { code: status } | null, response?: CheckSideChannelResponse) => void,
      ) => {
        const reason = this.checkSideChannel?.(request.address);
        if (reason === undefined) answer({ code: status.UNIMPLEMENTED });
        else answer(null, { reachable: reason === '', reason });
      },
    });
    this.#grpc.addService(subscribeService, {
      subscribe: (call: Subscription) => this.#subscribe(call),
    });
    const injector = this.#grpc.createConnectionInjector(ServerCredentials.createInsecure());
    this.#inject = (socket) => injector.injectConnection(socket);
    this.#listener.on('connection', (socket) => this.#accept(socket));
    this.#listener.listen(port, host);
    await once(this.#listener, 'listening');
  }

  #accept(socket: Socket): void {
    this.connectionsSeen += 1;
    this.#sockets.add(socket);
    // A peer that breaks the connection is part of the tests.
    socket.on('error', () => undefined);
    socket.once('close', () => {
      this.#sockets.delete(socket);
      this.#parked.delete(socket);
      this.changes.notify();
    });
    if (this.mode === 'hang_up') socket.destroy();
    else if (this.mode === 'black_hole') {
      // It is read nevertheless: else the end of the connection would not be seen.
      const said: Buffer[] = [];
      this.#parked.set(socket, said);
      socket.on('data', (bytes) => {
        said.push(bytes);
        this.changes.notify();
      });
    } else this.#inject(socket);
    this.changes.notify();
  }

  #subscribe(call: Subscription): void {
    this.subscriptionRequests.push(call.request);
    const { kvEvents } = this;
    if (kvEvents === undefined) {
      const details = 'The server does not implement the method /kvaccord.v1.KvEvents/Subscribe';
      call.emit('error', { code: status.UNIMPLEMENTED, details, metadata: new Metadata() });
      this.changes.notify();
      return;
    }
    this.#subscriptions.add(call);
    const leave = (): void => {
      this.#subscriptions.delete(call);
      this.changes.notify();
    };
    call.once('cancelled', leave);
    call.once('close', leave);
    for (const response of kvEvents(call.request)) {
      call.write(Buffer.from(SubscribeResponse.encode(response).finish()));
    }
    this.changes.notify();
  }

  #watch(call: Watch): void {
    this.requests.push(call.request);
    if (this.mode === 'refuse') {
      call.emit('error', { ...this.refusal, metadata: new Metadata() });
      this.changes.notify();
      return;
    }
    this.#watches.add(call);
    const leave = (): void => {
      this.#watches.delete(call);
      this.changes.notify();
    };
    call.once('cancelled', leave);
    call.once('close', leave);
    if (this.mode === 'serve') {
      const { lastInstanceId, lastRevision } = call.request;
      const { instanceId, revision } = this.#report;
      const isUpToDate = lastInstanceId === instanceId && lastRevision === revision;
      call.write(
        isUpToDate
          ? heartbeatOf(this.#report, this.isOfferAsked)
          : encode({ payload: { $case: 'report', value: this.#report }, offerAsked: this.isOfferAsked }),
      );
    }
    this.changes.notify();
  }
}

/** The same for KV events. */
const subscribeService = {
  subscribe: {
    ...KvEventsService.subscribe,
    responseSerialize: (bytes: Buffer): Buffer => bytes,
    responseDeserialize: (bytes: Buffer): Buffer => bytes,
  },
};

/** The watch with messages as bytes, so that a test can send what no sidecar would. */
const watchService = {
  getCapabilities: CapabilitiesService.getCapabilities,
  checkSideChannel: CapabilitiesService.checkSideChannel,
  watchCapabilities: {
    ...CapabilitiesService.watchCapabilities,
    responseSerialize: (bytes: Buffer): Buffer => bytes,
    responseDeserialize: (bytes: Buffer): Buffer => bytes,
  },
};

function encode(response: WatchCapabilitiesResponse): Buffer {
  return Buffer.from(WatchCapabilitiesResponse.encode(response).finish());
}

function heartbeatOf({ instanceId, revision }: CapabilityReport, offerAsked: boolean): Buffer {
  const value = { sentAt: new Date(0), instanceId, revision };
  return encode({ payload: { $case: 'heartbeat', value }, offerAsked });
}
