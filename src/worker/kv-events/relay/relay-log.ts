import type {
  BlockChange,
  RankStatus,
  RelayMessage,
  RelayPosition,
  RelayReader,
} from '../../../core/relay/relay.js';
import type { Random } from '../../../edge/platform/random.js';

/** A piece of what a rank holds, as its cache view gives it. */
export interface CachePiece {
  readonly tier: (RelayMessage & { type: 'snapshot_part' })['tier'];
  readonly tokensPerBlock: number;
  readonly sequenceHashes: Uint8Array;
  /** `CacheGroup.index`; absent for the main group. */
  readonly group?: number;
}

/** Gives what a rank holds piece by piece, while it goes on changing. */
export interface CacheSnapshot {
  /** The next piece; undefined after the last. */
  next(): CachePiece | undefined;
}

/** What the log asks about the ranks. */
export interface RelayLogSource {
  /** Where each rank stands now. */
  ranks(): readonly RankStatus[];
  /** All that `rank` holds now; undefined when it is not followed any more. */
  snapshot(rank: number): CacheSnapshot | undefined;
}

export interface RelayLogOptions {
  /** Default 8 MiB. */
  readonly maxHistoryBytes?: number;
  /** Messages in the history. Default 65,536. */
  readonly maxHistoryMessages?: number;
}

const MAX_HISTORY_BYTES = 8 * 1024 * 1024;
const MAX_HISTORY_MESSAGES = 65_536;

/** Bytes of a message beside its hashes: what the objects take in the heap. */
const MESSAGE_BYTES = 200;

/** A message of the history. */
type Kept = RelayMessage & { readonly type: 'changes' | 'rank_state' | 'start' };

/**
 * What happened lately, once for all readers: a bounded history in which each
 * reader has a place of its own. A reader that is behind the history starts
 * again with a snapshot; so nothing is buffered for any reader, however slow.
 */
export class RelayLog {
  readonly #options: Required<RelayLogOptions>;
  readonly #source: RelayLogSource;
  readonly #random: Random;
  /** Readers that have read everything. */
  readonly #waiting = new Set<LogReader>();
  #streamId: string;
  #instanceId = '';
  #resetReason = '';
  /** The last `changes`. */
  #sequence = 0;
  /** The history, from `#from` on; what is before it in the array is gone. */
  #history: (Kept | undefined)[] = [];
  #from = 0;
  /** Messages that were dropped from the history, so that places stay what they are. */
  #dropped = 0;
  #bytes = 0;

  constructor(options: RelayLogOptions, source: RelayLogSource, modules: { readonly random: Random }) {
    this.#options = {
      maxHistoryBytes: options.maxHistoryBytes ?? MAX_HISTORY_BYTES,
      maxHistoryMessages: options.maxHistoryMessages ?? MAX_HISTORY_MESSAGES,
    };
    this.#source = source;
    this.#random = modules.random;
    this.#streamId = modules.random.uniqueId();
  }

  get streamId(): string {
    return this.#streamId;
  }

  get resetReason(): string {
    return this.#resetReason;
  }

  /** The sequence of the last `changes`. */
  get sequence(): number {
    return this.#sequence;
  }

  /** The place after the newest message. */
  get end(): number {
    return this.#dropped + this.#history.length - this.#from;
  }

  /** The place of the oldest message that is kept. */
  get begin(): number {
    return this.#dropped;
  }

  /** Appends one batch. */
  changes(rank: number, changes: readonly BlockChange[], publishedAtMs: number | undefined): void {
    this.#sequence += 1;
    this.#append({
      type: 'changes',
      sequence: this.#sequence,
      rank,
      changes,
      ...(publishedAtMs === undefined ? {} : { publishedAtMs }),
    });
  }

  /** Appends where a rank stands now. */
  rankState(status: RankStatus): void {
    this.#append({ type: 'rank_state', status });
  }

  /** Cache views were dropped: every reader restarts. */
  reset(reason: string): void {
    this.#resetReason = reason;
    this.#streamId = this.#random.uniqueId();
    this.#sequence = 0;
    this.#dropped = this.end;
    this.#history = [];
    this.#from = 0;
    this.#bytes = 0;
    this.#wake();
  }

  /** The engine start that every `start` names from now on. */
  name(instanceId: string): void {
    this.#instanceId = instanceId;
  }

  /** Gives every reader the name of the engine start; what it holds stays. */
  sendName(): void {
    this.#append(this.start(true, ''));
  }

  open(position: RelayPosition | undefined, onReadable: () => void): RelayReader {
    return new LogReader(this, position, onReadable);
  }

  /** Wakes the reader once, with the next message. */
  awaitNext(reader: LogReader): void {
    this.#waiting.add(reader);
  }

  /** Undoes `awaitNext`. */
  leave(reader: LogReader): void {
    this.#waiting.delete(reader);
  }

  /** The message at a place of the history. */
  at(place: number): Kept | undefined {
    return this.#history[this.#from + place - this.#dropped];
  }

  /** The place after the `changes` with this sequence; undefined when it is not in the history any more. */
  placeAfter(position: RelayPosition): number | undefined {
    if (position.streamId !== this.#streamId || position.sequence > this.#sequence) return undefined;
    if (position.sequence === this.#sequence) return this.end;
    for (let place = this.begin; place < this.end; place += 1) {
      const message = this.at(place);
      if (message?.type !== 'changes') continue;
      if (message.sequence === position.sequence + 1) return place;
      if (message.sequence > position.sequence) return undefined;
    }
    return undefined;
  }

  /** The message that opens a stream or opens it again. */
  start(resumed: boolean, reason: string): RelayMessage & { type: 'start' } {
    return {
      type: 'start',
      instanceId: this.#instanceId,
      streamId: this.#streamId,
      resumed,
      reason,
      ranks: this.#source.ranks(),
    };
  }

  /** What all ranks hold, one after the other. */
  *snapshot(): Generator<RelayMessage & { type: 'snapshot_part' }, void, void> {
    for (const { rank } of this.#source.ranks()) {
      const pieces = this.#source.snapshot(rank);
      for (let piece = pieces?.next(); piece !== undefined; piece = pieces?.next()) {
        yield {
          type: 'snapshot_part',
          rank,
          tier: piece.tier,
          tokensPerBlock: piece.tokensPerBlock,
          sequenceHashes: piece.sequenceHashes,
          ...(piece.group === undefined ? {} : { group: piece.group }),
        };
      }
    }
  }

  #append(message: Kept): void {
    this.#history.push(message);
    this.#bytes += sizeOf(message);
    while (
      this.#bytes > this.#options.maxHistoryBytes ||
      this.#history.length - this.#from > this.#options.maxHistoryMessages
    ) {
      this.#bytes -= sizeOf(this.#history[this.#from] as Kept);
      this.#history[this.#from] = undefined;
      this.#from += 1;
      this.#dropped += 1;
    }
    // The array is cut now and then, not with every message that leaves it.
    if (this.#from > 1_024 && this.#from > this.#history.length / 2) {
      this.#history = this.#history.slice(this.#from);
      this.#from = 0;
    }
    this.#wake();
  }

  #wake(): void {
    if (this.#waiting.size === 0) return;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const reader of waiting) reader.wake();
  }
}

function sizeOf(message: Kept): number {
  let bytes = MESSAGE_BYTES;
  if (message.type !== 'changes') return bytes;
  for (const change of message.changes) {
    bytes += MESSAGE_BYTES + (change.type === 'cleared' ? 0 : change.sequenceHashes.byteLength);
  }
  return bytes;
}

/** One reader: which stream it is in, and its place in the history. */
class LogReader implements RelayReader {
  readonly #log: RelayLog;
  readonly #onReadable: () => void;
  #isClosed = false;
  #streamId = '';
  /** The next message of the history. */
  #place = 0;
  /** Rank states before this place are older than what the last `start` said. */
  #statesFrom = 0;
  #resumeFrom: RelayPosition | undefined;
  #snapshot: Iterator<RelayMessage, void, void> | undefined;
  /** The sequence at which the snapshot was begun. */
  #snapshotSequence = 0;

  constructor(log: RelayLog, position: RelayPosition | undefined, onReadable: () => void) {
    this.#log = log;
    this.#resumeFrom = position;
    this.#onReadable = onReadable;
  }

  next(): RelayMessage | undefined {
    if (this.#isClosed) return undefined;
    if (this.#streamId !== this.#log.streamId) {
      const isFirst = this.#streamId === '';
      return this.#start(isFirst ? '' : this.#log.resetReason);
    }
    if (this.#place < this.#log.begin) {
      return this.#start('the reader was slower than the changes, and those that it missed are gone');
    }
    if (this.#snapshot !== undefined) {
      const { value, done } = this.#snapshot.next();
      if (!done) return value;
      this.#snapshot = undefined;
      return { type: 'snapshot_end', sequence: this.#snapshotSequence };
    }
    while (this.#place < this.#log.end) {
      const message = this.#log.at(this.#place);
      this.#place += 1;
      if (message === undefined) continue;
      if (message.type === 'changes' || this.#place > this.#statesFrom) return message;
    }
    this.#log.awaitNext(this);
    return undefined;
  }

  close(): void {
    this.#isClosed = true;
    this.#snapshot = undefined;
    this.#log.leave(this);
  }

  wake(): void {
    if (!this.#isClosed) this.#onReadable();
  }

  #start(reason: string): RelayMessage {
    const resumePlace = this.#resumeFrom === undefined ? undefined : this.#log.placeAfter(this.#resumeFrom);
    const isAsked = this.#resumeFrom !== undefined;
    this.#resumeFrom = undefined;
    this.#streamId = this.#log.streamId;
    this.#statesFrom = this.#log.end;
    if (resumePlace !== undefined) {
      this.#place = resumePlace;
      this.#snapshot = undefined;
      return this.#log.start(true, '');
    }
    this.#place = this.#log.end;
    this.#snapshotSequence = this.#log.sequence;
    this.#snapshot = this.#log.snapshot();
    const why = reason === '' && isAsked ? 'what the reader missed is not in the history any more' : reason;
    return this.#log.start(false, why);
  }
}
