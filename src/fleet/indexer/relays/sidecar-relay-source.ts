import { Client, type ClientReadableStream, type ServiceError, status } from '@grpc/grpc-js';
import { HEARTBEAT_DEADLINE_S } from '../../../core/relay/heartbeats.js';
import type { RelayMessage, RelayPosition, RelayReader } from '../../../core/relay/relay.js';
import { excerpt } from '../../../edge/platform/probe-error.js';
import type { SilenceWatch } from '../../../edge/platform/streams/silence-watch.js';
import type { RpcChannel } from '../../../edge/rpc/channel.js';
import { KvEventsService } from '../../../gen/kvaccord/v1/kv_events.js';
import { readResponse } from './read-response.js';
import type { RelayEnd, RelayListener, RelaySource } from './relay-source.js';

/**
 * Largest message that is taken: sixteen times a part of a snapshot. grpc-js
 * reads up to 16 messages ahead of a stream that is not read, so a hostile
 * sidecar can make this process hold 16 MiB, and no more.
 */
const MAX_MESSAGE_BYTES = 1024 * 1024;

/** A worker's KV events as its sidecar relays them, over the connection of its session. */
export class SidecarRelaySource implements RelaySource {
  readonly #channel: RpcChannel;
  readonly #silence: SilenceWatch;

  constructor(modules: { readonly channel: RpcChannel; readonly silence: SilenceWatch }) {
    this.#channel = modules.channel;
    this.#silence = modules.silence;
  }

  open(position: RelayPosition | undefined, listener: RelayListener, rehashTo?: number): RelayReader {
    const { path, requestSerialize } = KvEventsService.subscribe;
    const stream = this.#channel
      .createClient(Client)
      .makeServerStreamRequest(path, requestSerialize, boundedBytes, {
        resumeStreamId: position?.streamId ?? '',
        resumeSequence: BigInt(position?.sequence ?? 0),
        tokensPerBlock: rehashTo ?? 0,
      });
    return new SidecarStream(stream, listener, this.#silence, rehashTo);
  }
}

/**
 * One `KvEvents.Subscribe` stream, read when its reader asks: what is not read
 * stays with the sidecar, by the flow control of HTTP/2.
 */
class SidecarStream implements RelayReader {
  readonly #stream: ClientReadableStream<Buffer>;
  readonly #listener: RelayListener;
  readonly #silence: SilenceWatch;
  readonly #rehashTo: number | undefined;
  #isOpen = true;
  /** Looks of the silence watch since something came. */
  #quietLooks = 0;

  constructor(
    stream: ClientReadableStream<Buffer>,
    listener: RelayListener,
    silence: SilenceWatch,
    rehashTo: number | undefined,
  ) {
    this.#rehashTo = rehashTo;
    this.#stream = stream;
    this.#listener = listener;
    this.#silence = silence;
    silence.add(this);
    stream.on('readable', () => {
      if (this.#isOpen) listener.onReadable();
    });
    // Stays for the stream's whole life: what fails after we left it has no reader. It may be no answer of a
    // sidecar at all: grpc-js says an error of its own when a message comes for a stream that was cancelled.
    stream.on('error', (error: ServiceError) => {
      if (this.#isOpen) this.#break(explain(error));
    });
    stream.on('end', () => this.#break({ reason: 'the sidecar ended it in order', isUnsupported: false }));
  }

  next(): RelayMessage | undefined {
    while (this.#isOpen) {
      const bytes: Buffer | null = this.#stream.read();
      if (bytes === null) return undefined;
      this.#quietLooks = 0;
      const message = readResponse(bytes);
      if (message?.type === 'start' && message.tokensPerBlock !== this.#rehashTo) {
        this.#break({ reason: NOT_REHASHED, isUnsupported: true });
        return undefined;
      }
      if (message !== undefined) return message;
    }
    return undefined;
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#silence.delete(this);
    this.#stream.cancel();
  }

  /** For the silence watch: a second has passed. */
  look(): void {
    // What has come and was not read yet is our own slowness.
    if (this.#stream.readableLength > 0) return;
    this.#quietLooks += 1;
    if (this.#quietLooks <= HEARTBEAT_DEADLINE_S) return;
    const reason = `nothing was heard on it for ${HEARTBEAT_DEADLINE_S} s`;
    this.#break({ reason, isUnsupported: false });
  }

  #break(broken: RelayEnd): void {
    if (!this.#isOpen) return;
    this.close();
    this.#listener.onBroken(broken);
  }
}

/** The reason given for an older sidecar, which does not know the request. */
const NOT_REHASHED = 'its sidecar does not re-hash blocks into the agreed size, although its report says so';

function explain(error: ServiceError): RelayEnd {
  const said = `${status[error.code] ?? `status ${error.code}`} ${excerpt(error.details)}`;
  if (error.code !== status.UNIMPLEMENTED) return { reason: said, isUnsupported: false };
  return {
    reason: `its sidecar serves no KV events (${said}): it is older than this aggregator, or configured not to read them`,
    isUnsupported: true,
  };
}

/** Takes a message as it came, within bounds. What is thrown here ends the call with these words. */
function boundedBytes(bytes: Buffer): Buffer {
  if (bytes.length <= MAX_MESSAGE_BYTES) return bytes;
  throw new RangeError(`a message of ${bytes.length} bytes, at most ${MAX_MESSAGE_BYTES} are taken`);
}
