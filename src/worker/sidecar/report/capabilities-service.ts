import { HEARTBEAT_INTERVAL_MS } from '../../../core/relay/heartbeats.js';
import { onAbort } from '../../../edge/platform/time/on-abort.js';
import { RpcError } from '../../../edge/rpc/errors.js';
import { type RpcEdge, wrapServerStream, wrapUnary } from '../../../edge/rpc/handlers.js';
import type { ServerStream } from '../../../edge/rpc/server-stream.js';
import {
  type CapabilitiesServer,
  type CheckSideChannelRequest,
  type GetCapabilitiesResponse,
  ReportOfferRequest_Offer as Offer,
  type ReportOfferRequest,
  type ReportOfferResponse,
  type WatchCapabilitiesRequest,
  type WatchCapabilitiesResponse,
} from '../../../gen/kvaccord/v1/capabilities.js';
import type { SideChannelChecks } from '../transfer/side-channel-checks.js';
import type { OfferBoard } from './offer-board.js';
import type { ReportStore } from './report-store.js';

/**
 * Watchers at a time. Each frontend holds one, or one aggregator for a whole
 * zone; a thousand cost some tens of megabytes at most.
 */
const MAX_WATCHERS = 1_000;
/** Longest id that is read; ours have 32 characters. */
const MAX_INSTANCE_ID_CHARS = 512;

const OFFERS: readonly Offer[] = [Offer.UNDECIDED, Offer.KEPT_OUT, Offer.OFFERED];

export interface CapabilitiesServiceOptions {
  /** Default 5,000. */
  readonly heartbeatIntervalMs?: number;
  /** Default 1,000. */
  readonly maxWatchers?: number;
}

/** `kvaccord.v1.Capabilities`: the current report, once or for as long as the caller likes. */
export class CapabilitiesEndpoint {
  readonly #options: CapabilitiesServiceOptions;
  readonly #store: ReportStore;
  readonly #offers: OfferBoard;
  readonly #sideChannels: SideChannelChecks;
  #watchers = 0;

  constructor(
    options: CapabilitiesServiceOptions,
    modules: {
      readonly store: ReportStore;
      readonly offers: OfferBoard;
      readonly sideChannels: SideChannelChecks;
    },
  ) {
    this.#options = options;
    this.#store = modules.store;
    this.#offers = modules.offers;
    this.#sideChannels = modules.sideChannels;
  }

  /** Streams that are open now. */
  get watchers(): number {
    return this.#watchers;
  }

  /** The handlers of the gRPC service. */
  createHandlers(edge: RpcEdge): CapabilitiesServer {
    return {
      getCapabilities: wrapUnary(edge, (): GetCapabilitiesResponse => ({ report: this.#store.current })),
      checkSideChannel: wrapUnary(edge, ({ address }: CheckSideChannelRequest) =>
        this.#sideChannels.check(address),
      ),
      reportOffer: wrapUnary(edge, (request: ReportOfferRequest) => this.#reportOffer(request)),
      watchCapabilities: wrapServerStream(
        edge,
        {
          // Every report says everything, so a slow reader only ever needs the newest.
          mode: 'latest-value',
          heartbeat: {
            intervalMs: this.#options.heartbeatIntervalMs ?? HEARTBEAT_INTERVAL_MS,
            make: () => this.#heartbeat(edge),
          },
        },
        (request: WatchCapabilitiesRequest, stream: ServerStream<WatchCapabilitiesResponse>) =>
          this.#watch(request, stream, edge),
      ),
    };
  }

  #reportOffer(request: ReportOfferRequest): ReportOfferResponse {
    const { offer, instanceId } = request;
    if (!OFFERS.includes(offer))
      throw new RpcError('invalid_argument', `offer is ${offer}, it must be from 1 to 3`);
    checkId('instance_id', instanceId);
    if (this.#offers.report(request)) return {};
    throw new RpcError('not_found', 'no watch with this frontend_id is open: WatchCapabilities comes first', {
      reason: 'unknown_frontend',
    });
  }

  #watch(
    { lastInstanceId, lastRevision, frontendId }: WatchCapabilitiesRequest,
    stream: ServerStream<WatchCapabilitiesResponse>,
    edge: RpcEdge,
  ): void {
    checkId('last_instance_id', lastInstanceId);
    checkId('frontend_id', frontendId);
    const maxWatchers = this.#options.maxWatchers ?? MAX_WATCHERS;
    if (this.#watchers >= maxWatchers) {
      throw new RpcError(
        'too_many_watchers',
        `${maxWatchers} watches are open already at this sidecar; let frontends share an aggregator`,
      );
    }
    this.#watchers += 1;
    // The whole report, because it takes the place of one that still waits.
    const sendReport = (): void => stream.send(this.#report());
    const leave = frontendId === '' ? undefined : this.#offers.watch(frontendId, sendReport);
    const unsubscribe = this.#store.subscribe(sendReport);
    onAbort(stream.signal, () => {
      this.#watchers -= 1;
      unsubscribe();
      leave?.();
    });
    const { instanceId, revision } = this.#store.current;
    // A caller that has exactly this report learns at least that the stream stands.
    const isUpToDate = lastInstanceId === instanceId && lastRevision === revision;
    stream.send(isUpToDate ? this.#heartbeat(edge) : this.#report());
  }

  #report(): WatchCapabilitiesResponse {
    return {
      payload: { $case: 'report', value: this.#store.current },
      offerAsked: this.#offers.isAsked,
    };
  }

  #heartbeat({ clock }: RpcEdge): WatchCapabilitiesResponse {
    const { instanceId, revision } = this.#store.current;
    return {
      payload: { $case: 'heartbeat', value: { sentAt: new Date(clock.wallMs()), instanceId, revision } },
      offerAsked: this.#offers.isAsked,
    };
  }
}

function checkId(field: string, id: string): void {
  if (id.length <= MAX_INSTANCE_ID_CHARS) return;
  throw new RpcError(
    'invalid_argument',
    `${field} has ${id.length} characters, at most ${MAX_INSTANCE_ID_CHARS} are taken`,
  );
}
