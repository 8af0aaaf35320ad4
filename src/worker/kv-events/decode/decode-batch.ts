import { messageOf } from '../../../edge/platform/describe-error.js';
import { EventDecoder, MAX_WORD_BYTES } from './decode-event.js';
import type { EngineEvent } from './engine-event.js';
import { MsgpackReader, UnreadableError } from './msgpack-reader.js';

/** Largest payload that is looked into. vLLM's are some 26 KiB for 512 blocks of 16 tokens. */
const MAX_PAYLOAD_BYTES = 67_108_864;
/**
 * Events of one batch that are read: twice what an engine that evicts a million tokens in one step publishes, each block in
 * an event of its own.
 */
const MAX_EVENTS = 131_072;
/** Work of one step: an event counts one, and one more for each of its blocks. About a quarter of a millisecond. */
const STEP_WORK = 256;
/** Unreadable events after which the rest of a batch is given up. */
const MAX_UNREADABLE_EVENTS = 64;

/** What a batch says besides its events. */
export interface BatchHead {
  readonly publishedAtMs?: number;
  readonly rank?: number;
  /** The first thing that could not be read. */
  readonly problem?: string;
}

/**
 * Decodes the batches of vLLM, SGLang, TensorRT-LLM's stream, Dynamo and their
 * simulators: arrays and maps at both levels, in all layouts since vLLM 0.9.
 * An event that cannot be read is passed over when its end can be found.
 */
export class BatchDecoder {
  /** Stands on the event while `onEvent` runs, which may move it. */
  readonly reader: MsgpackReader = new MsgpackReader();
  readonly #events = new EventDecoder(this.reader);
  readonly #event = this.#events.event;
  #publishedAtMs: number | undefined;
  #rank: number | undefined;
  #problem: string | undefined;
  #unreadable = 0;
  /** Where the events start that were put off, in order. */
  #deferred: number[] = [];
  #eventStart = 0;

  /**
   * Puts the event that is being given off to the end of its batch, where it is given again, after all that were not
   * put off and in order with those that were. For `onEvent` to call.
   */
  defer(): void {
    this.#deferred.push(this.#eventStart);
  }

  /** Gives none of those again that were put off so far. For `onEvent` and `onUnreadable` to call. */
  dropDeferred(): void {
    if (this.#deferred.length > 0) this.#deferred = [];
  }

  /** Calls `onEvent` for each event, and `onUnreadable` for each, and for each rest, that cannot be read. */
  decode(payload: Uint8Array, onEvent: (event: EngineEvent) => void, onUnreadable: () => void): BatchHead {
    return toTheEnd(this.decodeInSteps(payload, onEvent, onUnreadable));
  }

  /**
   * The same in steps of bounded work, a whole number of events each. The payload must not change meanwhile, and no other
   * may be decoded. A caller that stops before the end calls `return`.
   */
  *decodeInSteps(
    payload: Uint8Array,
    onEvent: (event: EngineEvent) => void,
    onUnreadable: () => void,
  ): Generator<undefined, BatchHead, undefined> {
    this.#publishedAtMs = undefined;
    this.#rank = undefined;
    this.#problem = undefined;
    this.#unreadable = 0;
    this.#deferred = [];
    try {
      if (payload.length > MAX_PAYLOAD_BYTES) {
        throw new UnreadableError(`a payload of ${payload.length} bytes`);
      }
      this.reader.open(payload);
      yield* this.#batch(onEvent, onUnreadable);
    } catch (error) {
      this.#problem ??= messageOf(error);
      onUnreadable();
    } finally {
      this.#event.trim();
      this.reader.open(new Uint8Array(0));
    }
    return {
      ...(this.#publishedAtMs === undefined ? {} : { publishedAtMs: this.#publishedAtMs }),
      ...(this.#rank === undefined ? {} : { rank: this.#rank }),
      ...(this.#problem === undefined ? {} : { problem: this.#problem }),
    };
  }

  *#batch(
    onEvent: (event: EngineEvent) => void,
    onUnreadable: () => void,
  ): Generator<undefined, void, undefined> {
    const { reader } = this;
    if (reader.kind === 'map') {
      const keys = reader.readMapHeader();
      let hasEvents = false;
      for (let i = 0; i < keys; i++) {
        const key = reader.readString(MAX_WORD_BYTES);
        hasEvents ||= key === 'events';
        if (key === 'ts') this.#time();
        else if (key === 'events') yield* this.#eachEvent(onEvent, onUnreadable);
        else if (key === 'data_parallel_rank') this.#dataParallelRank();
        else reader.skip();
      }
      if (!hasEvents) throw new UnreadableError('a batch without events');
      return;
    }
    const items = reader.readArrayHeader();
    if (items < 2) throw new UnreadableError('a batch without events');
    for (let i = 0; i < items; i++) {
      if (i === 0) this.#time();
      else if (i === 1) yield* this.#eachEvent(onEvent, onUnreadable);
      else if (i === 2) this.#dataParallelRank();
      else reader.skip();
    }
  }

  #time(): void {
    if (this.reader.readNil()) return;
    const publishedAtMs = Math.round(this.reader.readNumber() * 1_000);
    if (publishedAtMs >= 0 && Number.isSafeInteger(publishedAtMs)) {
      this.#publishedAtMs = publishedAtMs;
    }
  }

  #dataParallelRank(): void {
    if (!this.reader.readNil()) this.#rank = this.reader.readUint32();
  }

  *#eachEvent(
    onEvent: (event: EngineEvent) => void,
    onUnreadable: () => void,
  ): Generator<undefined, void, undefined> {
    const { reader } = this;
    const count = reader.readArrayHeader();
    if (count > MAX_EVENTS)
      throw new UnreadableError(`a batch of ${count} events, at most ${MAX_EVENTS} are read`);
    let work = 0;
    for (let i = 0; i < count; i++) {
      const start = reader.offset;
      this.#eventStart = start;
      if (this.#readable()) {
        const end = reader.offset;
        onEvent(this.#event);
        reader.offset = end;
      } else {
        reader.offset = start;
        reader.skip();
        onUnreadable();
      }
      work += 1 + this.#event.hashCount;
      if (work < STEP_WORK) continue;
      work = 0;
      yield;
    }
    if (this.#deferred.length > 0) yield* this.#deferredEvents(onEvent);
  }

  *#deferredEvents(onEvent: (event: EngineEvent) => void): Generator<undefined, void, undefined> {
    const { reader } = this;
    const end = reader.offset;
    let work = 0;
    for (const start of this.#deferred) {
      reader.offset = start;
      // It was readable before.
      this.#readable();
      this.#event.isDeferred = true;
      onEvent(this.#event);
      work += 1 + this.#event.hashCount;
      if (work < STEP_WORK) continue;
      work = 0;
      yield;
    }
    reader.offset = end;
  }

  /** Decodes the next event; false when its types are not those of an event. */
  #readable(): boolean {
    try {
      this.#events.read();
      return true;
    } catch (error) {
      this.#unreadable += 1;
      if (this.#unreadable > MAX_UNREADABLE_EVENTS) throw error;
      this.#problem ??= messageOf(error);
      return false;
    }
  }
}

/** Runs steps to their end in one turn, and gives their result. */
export function toTheEnd<Result>(steps: Generator<undefined, Result, undefined>): Result {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}
