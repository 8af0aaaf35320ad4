import type { RelayMessage } from '../../../src/core/relay/relay.js';
import type { EngineEventReader } from '../../../src/worker/kv-events/engine-event-reader.js';
import type { Moment, RankEngine } from './kv-chain-engine.js';

/** Where the cache view of a rank stands in the life of its engine. */
export interface Place {
  /** In the timeline of the rank; undefined while no batch is in the cache view. */
  readonly at: number | undefined;
  /** Places in earlier engine starts whose blocks may still be in it, because nobody could tell yet. */
  readonly unverified: readonly number[];
}

const NOWHERE: Place = { at: undefined, unverified: [] };

/**
 * Reads along with a sidecar, without ever falling behind, and so knows which
 * batches its pictures are made of.
 */
export class Ledger {
  /** What pictures were made of and must not be. */
  readonly problems: string[] = [];
  readonly #engines: readonly RankEngine[];
  readonly #places = new Map<number, Place>();
  /** By stream, then by sequence. */
  readonly #changes = new Map<string, Map<number, Place>>();
  #stream = '';

  constructor(eventReader: EngineEventReader, engines: readonly RankEngine[]) {
    this.#engines = engines;
    const read = (): void => {
      for (let message = reader.next(); message !== undefined; message = reader.next()) {
        this.#take(message, eventReader);
      }
    };
    let isOpen = false;
    const reader = eventReader.open(undefined, () => {
      if (isOpen) read();
    });
    isOpen = true;
    read();
  }

  /** Where the cache view of a rank stands now. */
  placeOf(rank: number): Place {
    return this.#places.get(rank) ?? NOWHERE;
  }

  /** Where a change leads that was sent. */
  placeAfter(streamId: string, sequence: number): Place {
    return this.#changes.get(streamId)?.get(sequence) ?? NOWHERE;
  }

  #take(message: RelayMessage, eventReader: EngineEventReader): void {
    if (message.type === 'start') {
      this.#stream = message.streamId;
      if (message.resumed) return;
      for (const { rank, engineSequence } of message.ranks) {
        if (engineSequence === undefined) this.#places.delete(rank);
      }
    } else if (message.type === 'changes') {
      const place = this.#next(message, eventReader);
      this.#places.set(message.rank, place);
      const sent = this.#changes.get(this.#stream) ?? new Map<number, Place>();
      this.#changes.set(this.#stream, sent);
      sent.set(message.sequence, place);
    }
  }

  #next(
    { rank, changes, publishedAtMs }: RelayMessage & { type: 'changes' },
    eventReader: EngineEventReader,
  ): Place {
    const engine = this.#engines[rank] as RankEngine;
    const at = engine.momentOf(publishedAtMs ?? Number.NaN);
    if (at === undefined) {
      this.problems.push(`rank ${rank}: a change of a batch that nobody published`);
      return this.placeOf(rank);
    }
    const before = this.placeOf(rank);
    if (changes.some(({ type }) => type === 'cleared')) return { at, unverified: [] };
    if (before.at === undefined) return { at, unverified: before.unverified };
    if (at <= before.at) {
      this.problems.push(`rank ${rank}: what led to ${at} was applied after what led to ${before.at}`);
    }
    const startOf = (place: number): number => (engine.timeline[place] as Moment).start;
    if (startOf(at) === startOf(before.at)) return { at, unverified: before.unverified };
    // Batches of two engine starts in one cache view: only as long as it says itself that it is in doubt.
    const cacheView = eventReader.ranks.find((status) => status.rank === rank)?.picture;
    if (cacheView === 'exact' || cacheView === 'partial') {
      this.problems.push(`rank ${rank}: two engine starts in one cache view that is ${cacheView}`);
    }
    return { at, unverified: [...before.unverified, before.at] };
  }
}
