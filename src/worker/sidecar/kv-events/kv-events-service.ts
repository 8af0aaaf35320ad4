import type { handleServerStreamingCall, ServiceDefinition } from '@grpc/grpc-js';
import { MAX_REHASHED_TOKENS } from '../../../core/contract/rehash.js';
import { HEARTBEAT_INTERVAL_MS } from '../../../core/relay/heartbeats.js';
import type { RelayPosition } from '../../../core/relay/relay.js';
import { onAbort } from '../../../edge/platform/time/on-abort.js';
import { RpcError } from '../../../edge/rpc/errors.js';
import { type RpcEdge, wrapServerStream } from '../../../edge/rpc/handlers.js';
import type { ServerStream } from '../../../edge/rpc/server-stream.js';
import { KvEventsService, type SubscribeRequest } from '../../../gen/kvaccord/v1/kv_events.js';
import type { ReportStore } from '../report/report-store.js';
import type { KvEventsController } from './kv-events-controller.js';
import { KvEventsEncoder } from './kv-events-wire.js';

/**
 * Subscribers at a time. Each is sent everything that the engine does, so they
 * cost more than watchers of a report; one aggregator serves many frontends.
 */
const MAX_SUBSCRIBERS = 128;
/** Longest `resume_stream_id` that is read; ours have 32 characters. */
const MAX_STREAM_ID_CHARS = 512;

/** The service with messages that are bytes already, so that what many are sent is written once. */
export const ENCODED_KV_EVENTS_SERVICE: ServiceDefinition = {
  subscribe: { ...KvEventsService.subscribe, responseSerialize: (bytes: Buffer) => bytes },
};

export interface KvEventsServiceOptions {
  readonly workerId: string;
  /** Default 5,000. */
  readonly heartbeatIntervalMs?: number;
  /** Default 128. */
  readonly maxSubscribers?: number;
}

/**
 * `kvaccord.v1.KvEvents`: what the worker holds, then every change. A
 * subscriber is only a place in the relay's history: it is sent the next
 * message when it has taken the last, and one that falls too far behind is sent
 * to restart.
 */
export class KvEventsEndpoint {
  readonly #options: KvEventsServiceOptions;
  readonly #events: Pick<KvEventsController, 'open'>;
  readonly #store: ReportStore;
  readonly #encoder: KvEventsEncoder;
  #subscribers = 0;

  constructor(
    options: KvEventsServiceOptions,
    modules: { readonly events: Pick<KvEventsController, 'open'>; readonly store: ReportStore },
  ) {
    this.#options = options;
    this.#events = modules.events;
    this.#store = modules.store;
    this.#encoder = new KvEventsEncoder(options);
  }

  /** Streams that are open now. */
  get subscribers(): number {
    return this.#subscribers;
  }

  /** The handlers for `ENCODED_KV_EVENTS_SERVICE`. */
  createHandlers(edge: RpcEdge): { readonly subscribe: handleServerStreamingCall<SubscribeRequest, Buffer> } {
    return {
      subscribe: wrapServerStream(
        edge,
        {
          // A change that is left out is a block too many or too few.
          mode: 'every',
          heartbeat: {
            intervalMs: this.#options.heartbeatIntervalMs ?? HEARTBEAT_INTERVAL_MS,
            make: () => {
              const { instanceId, revision } = this.#store.current;
              return this.#encoder.encodeHeartbeat({ sentAtMs: edge.clock.wallMs(), instanceId, revision });
            },
          },
        },
        (request: SubscribeRequest, stream: ServerStream<Buffer>) => this.#subscribe(request, stream),
      ),
    };
  }

  async #subscribe(request: SubscribeRequest, stream: ServerStream<Buffer>): Promise<void> {
    const position = positionOf(request);
    const maxSubscribers = this.#options.maxSubscribers ?? MAX_SUBSCRIBERS;
    if (this.#subscribers >= maxSubscribers) {
      throw new RpcError(
        'too_many_watchers',
        `${maxSubscribers} subscriptions are open already at this sidecar; let frontends share an aggregator`,
      );
    }
    const rehashTo = rehashOf(request);
    let hasMore = true;
    let wake: (() => void) | undefined;
    const reader = this.#events.open(rehashTo, position, () => {
      hasMore = true;
      wake?.();
    });
    if (reader === undefined) {
      throw new RpcError(
        'too_many_watchers',
        `blocks of ${rehashTo} tokens are not re-hashed here: too many other sizes are read; let frontends share an aggregator`,
      );
    }
    this.#subscribers += 1;
    onAbort(stream.signal, () => {
      this.#subscribers -= 1;
      reader.close();
      wake?.();
    });
    while (stream.isOpen) {
      hasMore = false;
      const message = reader.next();
      // The next is only asked for when the reader has taken this one: what it has not taken yet waits in the relay.
      if (message !== undefined) await stream.write(this.#encoder.encode(message));
      else if (!hasMore) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
  }
}

/** The size of the blocks that the caller asks for; undefined for the engine's own. */
function rehashOf({ tokensPerBlock }: SubscribeRequest): number | undefined {
  if (tokensPerBlock === 0) return undefined;
  if (tokensPerBlock <= MAX_REHASHED_TOKENS) return tokensPerBlock;
  throw new RpcError(
    'invalid_argument',
    `tokens_per_block is ${tokensPerBlock}, at most ${MAX_REHASHED_TOKENS} are re-hashed into one block`,
  );
}

/** Where the caller left off; undefined when it holds nothing. */
function positionOf({ resumeStreamId, resumeSequence }: SubscribeRequest): RelayPosition | undefined {
  if (resumeStreamId.length > MAX_STREAM_ID_CHARS) {
    throw new RpcError(
      'invalid_argument',
      `resume_stream_id has ${resumeStreamId.length} characters, at most ${MAX_STREAM_ID_CHARS} are taken`,
    );
  }
  if (resumeSequence > BigInt(Number.MAX_SAFE_INTEGER)) {
    throw new RpcError('invalid_argument', `resume_sequence is ${resumeSequence}, at most 2^53-1 is taken`);
  }
  return resumeStreamId === '' ? undefined : { streamId: resumeStreamId, sequence: Number(resumeSequence) };
}
