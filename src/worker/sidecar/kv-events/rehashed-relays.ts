import { isTokensPerBlock } from '../../../core/contract/evidence/tokens-per-block.js';
import type { RankSource } from '../../../core/relay/rank-source.js';
import type { RelayPosition, RelayReader } from '../../../core/relay/relay.js';
import type { Clock, Timer } from '../../../edge/platform/clock.js';
import { describeError } from '../../../edge/platform/describe-error.js';
import type { Logger } from '../../../edge/platform/logger.js';
import type { EventReader } from './event-reader.js';
import { sourceObstacle } from './rehash-ability.js';
import { type Silence, SwitchedRelay } from './switched-relay.js';

/**
 * Canonical sizes at a time. Each reads the engine's events once more and keeps their tokens; a fleet has one size, and a
 * second one while it changes.
 */
const MAX_SIZES = 4;

/**
 * How long a size is kept that has no subscriber, so that an aggregator which starts again finds what the engine published
 * long before: after that, only what the engine's replay keeps could be had.
 */
const KEPT_MS = 10 * 60_000;

/** What is read, and of which engine start; or why nothing is. */
export type Reading =
  | {
      readonly type: 'read';
      readonly instanceId: string;
      readonly sources: readonly RankSource[];
      readonly capacityBlocks: number | undefined;
    }
  | ({ readonly type: 'nothing' } & Silence);

export interface RehashedRelaysModules {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly makeStreamId: () => string;
  /** Makes a reader of the engine's events that gives canonical blocks of so many tokens. */
  readonly loadReader: (rehashTo: number) => Promise<EventReader>;
}

/** One canonical size. */
interface Sized {
  readonly relay: SwitchedRelay;
  events: EventReader | undefined;
  subscribers: number;
  leaving: Timer | undefined;
}

/** The engine's blocks re-hashed into larger ones: a relay of its own for each size that a client has asked for lately. */
export class RehashedRelays {
  readonly #modules: RehashedRelaysModules;
  readonly #sizes = new Map<number, Sized>();
  readonly #loading = new Set<Promise<void>>();
  #reading: Reading;
  #caveat = '';
  #isClosed = false;

  constructor(reading: Reading, modules: RehashedRelaysModules) {
    this.#reading = reading;
    this.#modules = modules;
  }

  /** Sizes that are kept now. */
  get sizes(): readonly number[] {
    return [...this.#sizes.keys()];
  }

  /**
   * Opens a reader of blocks of so many tokens; undefined while too many other sizes are read. Throws a `RangeError` for
   * what is no size.
   */
  open(
    tokensPerBlock: number,
    position: RelayPosition | undefined,
    onReadable: () => void,
  ): RelayReader | undefined {
    if (!isTokensPerBlock(tokensPerBlock)) throw new RangeError(`${tokensPerBlock} is no tokens_per_block`);
    const sized = this.#sizes.get(tokensPerBlock) ?? this.#make(tokensPerBlock);
    if (sized === undefined) return undefined;
    sized.leaving?.clear();
    sized.leaving = undefined;
    sized.subscribers += 1;
    const reader = sized.relay.open(position, onReadable);
    let isOpen = true;
    return {
      next: () => reader.next(),
      close: () => {
        reader.close();
        if (isOpen) this.#leave(tokensPerBlock, sized);
        isOpen = false;
      },
    };
  }

  /** What is read is something else now. */
  follow(reading: Reading): void {
    this.#reading = reading;
    for (const sized of this.#sizes.values()) this.#apply(sized);
  }

  /** As in `SwitchedRelay`, for all sizes. */
  setCaveat(reason: string): void {
    this.#caveat = reason;
    for (const { relay } of this.#sizes.values()) relay.setCaveat(reason);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#loading);
    for (const { leaving } of this.#sizes.values()) leaving?.clear();
    await Promise.all([...this.#sizes.values()].map(({ events }) => events?.close()));
    this.#sizes.clear();
  }

  #make(tokensPerBlock: number): Sized | undefined {
    if (this.#isClosed) return undefined;
    if (this.#sizes.size >= MAX_SIZES) {
      const unread = [...this.#sizes].find(([, { subscribers }]) => subscribers === 0);
      if (unread === undefined) return undefined;
      this.#end(...unread);
    }
    const { instanceId } = this.#reading;
    const silence = { instanceId, reason: 'blocks of this size were just asked for' };
    const { makeStreamId } = this.#modules;
    const sized: Sized = {
      relay: new SwitchedRelay(silence, { makeStreamId }, tokensPerBlock),
      events: undefined,
      subscribers: 0,
      leaving: undefined,
    };
    sized.relay.setCaveat(this.#caveat);
    this.#sizes.set(tokensPerBlock, sized);
    const loading = this.#load(tokensPerBlock, sized);
    this.#loading.add(loading);
    void loading.finally(() => this.#loading.delete(loading));
    return sized;
  }

  /** Never rejects. */
  async #load(tokensPerBlock: number, sized: Sized): Promise<void> {
    try {
      const events = await this.#modules.loadReader(tokensPerBlock);
      if (this.#sizes.get(tokensPerBlock) !== sized) return await events.close();
      sized.events = events;
      if (!this.#isClosed) this.#apply(sized);
    } catch (error) {
      const reason = `blocks cannot be re-hashed: ${describeError(error)}`;
      this.#modules.logger.error({ error }, `KV events: ${reason}.`);
      sized.relay.fallSilent({ instanceId: this.#reading.instanceId, reason });
    }
  }

  #apply({ events, relay }: Sized): void {
    const reading = this.#reading;
    const obstacle = reading.type === 'read' ? sourceObstacle(reading.sources) : undefined;
    if (reading.type === 'nothing' || obstacle !== undefined) {
      const { instanceId } = reading;
      const reason = reading.type === 'nothing' ? reading.reason : `blocks are not re-hashed: ${obstacle}`;
      relay.fallSilent({ instanceId, reason });
      events?.setSources([]);
      return;
    }
    if (events === undefined) return;
    events.setInstance(reading.instanceId);
    events.setCapacity(reading.capacityBlocks);
    events.setSources(reading.sources);
    relay.follow(events);
  }

  #leave(tokensPerBlock: number, sized: Sized): void {
    sized.subscribers -= 1;
    if (sized.subscribers > 0 || this.#isClosed) return;
    sized.leaving = this.#modules.clock.setTimer(KEPT_MS, () => this.#end(tokensPerBlock, sized));
  }

  #end(tokensPerBlock: number, sized: Sized): void {
    sized.leaving?.clear();
    if (this.#sizes.get(tokensPerBlock) === sized) this.#sizes.delete(tokensPerBlock);
    void sized.events?.close();
  }
}
