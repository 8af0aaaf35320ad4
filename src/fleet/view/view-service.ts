import { onAbort } from '../../edge/platform/time/on-abort.js';
import { RpcError } from '../../edge/rpc/errors.js';
import { type RpcEdge, wrapServerStream } from '../../edge/rpc/handlers.js';
import {
  WatchViewResponse_Kind as Kind,
  type ViewServer,
  type WatchViewRequest,
  type WatchViewResponse,
} from '../../gen/kvaccord/v1/view.js';
import type { ViewBoard, ViewEvent, ViewReader } from './view-board.js';

/** How often a quiet stream says that the process lives. */
const HEARTBEAT_MS = 5_000;

/** Terminals at a time. */
const MAX_WATCHERS = 64;

/** Bytes of one message: well below gRPC's 4 MiB. */
const PART_BYTES = 1024 * 1024;

/** The `kvaccord.v1.View` service over one board. */
export function createViewService(modules: {
  readonly board: ViewBoard;
  readonly edge: RpcEdge;
}): ViewServer {
  const { board, edge } = modules;
  let watchers = 0;
  return {
    watchView: wrapServerStream<WatchViewRequest, WatchViewResponse>(
      edge,
      {
        mode: 'every',
        heartbeat: {
          intervalMs: HEARTBEAT_MS,
          make: () => ({ kind: Kind.HEARTBEAT, json: Buffer.alloc(0), hasMore: false }),
        },
      },
      ({ once }, stream) => {
        if (watchers >= MAX_WATCHERS)
          throw new RpcError('too_many_watchers', `this view has ${MAX_WATCHERS} watchers, its limit`);
        if (once) {
          for (const part of partsOf(board.snapshot())) void stream.write(part);
          stream.end();
          return;
        }
        let waiting = 0;
        const reader: ViewReader = {
          get isBehind() {
            return waiting > 0;
          },
          send: (event) => {
            waiting += 1;
            void Promise.all(partsOf(event).map((part) => stream.write(part))).then(() => {
              waiting -= 1;
              if (stream.isOpen) board.drained(reader);
            });
          },
        };
        watchers += 1;
        const leave = board.watch(reader);
        onAbort(stream.signal, () => {
          watchers -= 1;
          leave();
        });
      },
    ),
  };
}

/** The parts that were made last, for all who read the same event. */
const PARTS = new WeakMap<ViewEvent, readonly WatchViewResponse[]>();

function partsOf(event: ViewEvent): readonly WatchViewResponse[] {
  const known = PARTS.get(event);
  if (known !== undefined) return known;
  const bytes = Buffer.from(event.json);
  const kind = event.name === 'snapshot' ? Kind.SNAPSHOT : Kind.DELTA;
  const parts: WatchViewResponse[] = [];
  for (let at = 0; at < bytes.length; at += PART_BYTES) {
    const end = at + PART_BYTES;
    parts.push({ kind, json: bytes.subarray(at, end), hasMore: end < bytes.length });
  }
  PARTS.set(event, parts);
  return parts;
}
