import { BatchDecoder, type BatchHead } from '../../../../src/worker/kv-events/decode/decode-batch.js';
import type { EngineEvent } from '../../../../src/worker/kv-events/decode/engine-event.js';

/** What an event is when it is given. */
export type Seen = Readonly<Partial<Record<keyof EngineEvent, unknown>>>;

export interface Decoded extends BatchHead {
  readonly events: readonly Seen[];
  readonly unreadable: number;
}

/** All that a payload gives. */
export function decode(payload: Uint8Array): Decoded {
  const events: Seen[] = [];
  let unreadable = 0;
  const head = new BatchDecoder().decode(
    payload,
    ({ hashes, hashCount, tokens, tokenCount, ...event }) =>
      events.push({
        ...event,
        hashes: [...hashes.subarray(0, 2 * hashCount)],
        tokens: [...tokens.subarray(0, tokenCount)],
      }),
    () => {
      unreadable += 1;
    },
  );
  return { ...head, events, unreadable };
}
