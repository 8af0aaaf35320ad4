import type {
  CapabilitiesServer,
  GetCapabilitiesResponse,
  WatchCapabilitiesRequest,
  WatchCapabilitiesResponse,
} from '../gen/kvaccord/v1/capabilities.js';
import { RpcError } from '../rpc/errors.js';
import { type RpcEdge, wrapServerStream, wrapUnary } from '../rpc/handlers.js';
import type { ServerStream } from '../rpc/server-stream.js';
import type { ReportStore } from './report-store.js';

/**
 * Milliseconds without anything else to say after which a watcher gets a
 * heartbeat, so that it can tell a dead sidecar from a quiet one.
 */
const HEARTBEAT_INTERVAL_MS = 5_000;
/**
 * Watchers at a time. Each frontend holds one, or one aggregator for a whole
 * zone; a thousand cost some tens of megabytes at most.
 */
const MAX_WATCHERS = 1_000;
/** Longest `last_instance_id` that is read; ours have 32 characters. */
const MAX_INSTANCE_ID_CHARS = 512;

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
  #watchers = 0;

  constructor(options: CapabilitiesServiceOptions, modules: { readonly store: ReportStore }) {
    this.#options = options;
    this.#store = modules.store;
  }

  /** Streams that are open now. */
  get watchers(): number {
    return this.#watchers;
  }

  /** The handlers of the gRPC service. */
  createHandlers(edge: RpcEdge): CapabilitiesServer {
    return {
      getCapabilities: wrapUnary(edge, (): GetCapabilitiesResponse => ({ report: this.#store.current })),
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

  #watch(
    { lastInstanceId, lastRevision }: WatchCapabilitiesRequest,
    stream: ServerStream<WatchCapabilitiesResponse>,
    edge: RpcEdge,
  ): void {
    if (lastInstanceId.length > MAX_INSTANCE_ID_CHARS) {
      throw new RpcError(
        'invalid_argument',
        `last_instance_id has ${lastInstanceId.length} characters, at most ${MAX_INSTANCE_ID_CHARS} are taken`,
      );
    }
    const maxWatchers = this.#options.maxWatchers ?? MAX_WATCHERS;
    if (this.#watchers >= maxWatchers) {
      throw new RpcError(
        'too_many_watchers',
        `${maxWatchers} watches are open already at this sidecar; let frontends share an aggregator`,
      );
    }
    this.#watchers += 1;
    const unsubscribe = this.#store.subscribe(() => stream.send(this.#report()));
    stream.signal.addEventListener(
      'abort',
      () => {
        this.#watchers -= 1;
        unsubscribe();
      },
      { once: true },
    );
    const { instanceId, revision } = this.#store.current;
    // A caller that has exactly this report is told at least that the stream stands.
    const isUpToDate = lastInstanceId === instanceId && lastRevision === revision;
    stream.send(isUpToDate ? this.#heartbeat(edge) : this.#report());
  }

  #report(): WatchCapabilitiesResponse {
    return { payload: { $case: 'report', value: this.#store.current } };
  }

  #heartbeat({ clock }: RpcEdge): WatchCapabilitiesResponse {
    const { instanceId, revision } = this.#store.current;
    return {
      payload: { $case: 'heartbeat', value: { sentAt: new Date(clock.wallMs()), instanceId, revision } },
    };
  }
}
