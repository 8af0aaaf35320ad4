import type { Frames } from '../sockets/zmq-sockets.js';
import { readSequence } from './sequence-watch.js';
import type { RefusedFrames } from './stream-counts.js';

/** One message of a publisher. */
export type BatchMessage =
  | { readonly type: 'batch'; readonly sequence: number; readonly payload: Uint8Array }
  | { readonly type: 'refused'; readonly cause: RefusedFrames; readonly reason: string };

/** Reads `[topic, sequence, payload]`. Anything else is refused; never throws. */
export function readBatchMessage(frames: Frames): BatchMessage {
  const [, number, payload] = frames;
  if (frames.length !== 3 || number === undefined || payload === undefined) {
    return {
      type: 'refused',
      cause: 'frame_count',
      reason: 'A message of a publisher is no batch of KV events.',
    };
  }
  const sequence = readSequence(number);
  if (sequence !== undefined) return { type: 'batch', sequence, payload };
  const reason = 'A batch of KV events has no sequence number that can be counted with.';
  return { type: 'refused', cause: 'sequence', reason };
}
