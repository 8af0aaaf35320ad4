import { type ServiceError, status } from '@grpc/grpc-js';
import { applyDelta } from '../core/view/apply-delta.js';
import type { ViewDelta, ViewDocument } from '../core/view/view-document.js';
import type { Clock, Timer } from '../edge/platform/clock.js';
import { isJsonObject } from '../edge/platform/data/json-object.js';
import { messageOf } from '../edge/platform/describe-error.js';
import { onAbort } from '../edge/platform/time/on-abort.js';
import type { RpcChannel } from '../edge/rpc/channel.js';
import { explainStatus } from '../fleet/aggregator/sessions/explain-break.js';
import {
  WatchViewResponse_Kind as Kind,
  ViewClient,
  type WatchViewResponse,
} from '../gen/kvaccord/v1/view.js';
import { SnapshotError } from './fleet-snapshot.js';

/** Longest silence of a stream whose heartbeats come every 5 s. */
const SILENCE_MS = 20_000;

/** Bytes of one document: 10,000 workers are 10 MB. */
const MAX_BYTES = 64 * 1024 * 1024;

export interface WatchViewOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Longest wait for the first document. */
  readonly timeoutMs: number;
  /** One document, and then the end. */
  readonly once: boolean;
  onDocument(document: ViewDocument): void;
}

/**
 * Reads the view of the process behind `channel`, whole and then in changes. Resolves when the process ends the stream.
 * Rejects with a `ConnectError`, a `SnapshotError`, or `signal.reason`.
 */
export async function watchView(channel: RpcChannel, options: WatchViewOptions): Promise<void> {
  const { clock, signal, timeoutMs, once } = options;
  const { text } = channel.address;
  await channel.waitForReady(signal);
  const stream = channel.createClient(ViewClient).watchView({ once });
  const cancel = (): void => stream.cancel();
  const leave = onAbort(signal, cancel);
  let waitMs = timeoutMs;
  let isSilent = false;
  let timer: Timer | undefined;
  const wait = (): void => {
    timer?.clear();
    timer = clock.setTimer(waitMs, () => {
      isSilent = true;
      cancel();
    });
  };
  const reader = new DocumentReader();
  wait();
  try {
    for await (const message of stream as AsyncIterable<WatchViewResponse>) {
      const document = reader.take(message);
      if (document !== undefined) {
        waitMs = Math.max(timeoutMs, SILENCE_MS);
        options.onDocument(document);
      }
      wait();
    }
  } catch (error) {
    signal.throwIfAborted();
    if (isSilent)
      throw new SnapshotError(text, `said nothing for ${waitMs / 1_000} s (--timeout)`, { cause: error });
    throw explain(text, error);
  } finally {
    timer?.clear();
    leave();
    stream.cancel();
  }
}

/** Puts messages together. */
class DocumentReader {
  #parts: Buffer[] = [];
  #bytes = 0;
  #document: ViewDocument | undefined;

  /** The document after a message; undefined where it has not changed. Throws where a message cannot be of a view. */
  take({ kind, json, hasMore }: WatchViewResponse): ViewDocument | undefined {
    if (kind !== Kind.SNAPSHOT && kind !== Kind.DELTA) return undefined;
    this.#bytes += json.length;
    if (this.#bytes > MAX_BYTES) throw new Error(`a view of more than ${MAX_BYTES} bytes is not read`);
    this.#parts.push(json);
    if (hasMore) return undefined;
    const value: unknown = JSON.parse(Buffer.concat(this.#parts.splice(0)).toString());
    this.#bytes = 0;
    if (!isJsonObject(value)) throw new Error('the view is no object');
    if (kind === Kind.SNAPSHOT) this.#document = value as unknown as ViewDocument;
    else {
      const next =
        this.#document === undefined ? undefined : applyDelta(this.#document, value as unknown as ViewDelta);
      if (next === undefined) throw new Error('a change of the view does not follow the one before');
      this.#document = next;
    }
    if (this.#document.version !== 1) throw new Error('the view is of another version of kv-accord');
    return this.#document;
  }
}

function explain(address: string, error: unknown): unknown {
  const { code } = error as Partial<ServiceError>;
  if (typeof code !== 'number')
    return new SnapshotError(address, messageOf(error), {
      cause: error,
    });
  if (code === status.UNIMPLEMENTED)
    return new SnapshotError(
      address,
      'answers gRPC, but shows no view: it is a sidecar, no kv-accord aggregator or frontend, or an older one',
      { cause: error },
    );
  return new SnapshotError(address, explainStatus(error as ServiceError, 'aggregator'), { cause: error });
}
