import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ActiveBlocks, type ActiveRequest } from '../../../../src/fleet/router/choice/active-blocks.js';
import { pack } from '../../../support/kv-events.js';
import { chainOf } from '../support/chained.js';

const TOKENS_PER_BLOCK = 4;
const RANKS = 3;

type Step =
  | { readonly do: 'reserve'; readonly rank: number; readonly blocks: number[]; readonly moreTokens: number }
  | { readonly do: 'reserveUnknown'; readonly rank: number }
  | { readonly do: 'progress'; readonly request: number; readonly outputTokens: number }
  | { readonly do: 'prefillDone'; readonly request: number }
  | { readonly do: 'release'; readonly request: number }
  | { readonly do: 'dropRank'; readonly rank: number }
  | { readonly do: 'newEpoch' };

const rank = fc.nat(RANKS - 1);
const request = fc.nat(40);
/** Few different ones, so that prompts share much, end in the middle of each other, and part again. */
const blocks = fc.array(fc.nat(1), { maxLength: 7 });

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({ do: fc.constant('reserve' as const), rank, blocks, moreTokens: fc.nat(3) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('reserveUnknown' as const), rank }) },
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant('progress' as const), request, outputTokens: fc.nat(30) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('prefillDone' as const), request }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('release' as const), request }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('dropRank' as const), rank }) },
  { weight: 1, arbitrary: fc.constant({ do: 'newEpoch' as const }) },
);

/** What the plainest model knows of a request. */
interface Modelled {
  readonly request: ActiveRequest;
  /** Place in the list of ranks. */
  readonly rank: number;
  readonly blocks: readonly number[];
  readonly tokenCount: number;
  outputTokens: number;
  prefilling: number;
  isActive: boolean;
}

/** Each block by all that lies before it. */
function namesOf({ blocks: all }: Modelled): string[] {
  return all.map((_, at) => all.slice(0, at + 1).join());
}

class World {
  readonly #hash: (blocks: readonly number[]) => Uint8Array;
  readonly #maxTrackedBlocks: number | undefined;
  readonly requests: Modelled[] = [];
  active!: ActiveBlocks;
  ranks: number[] = [];

  constructor(hash: (blocks: readonly number[]) => Uint8Array = chainOf, maxTrackedBlocks?: number) {
    this.#hash = hash;
    this.#maxTrackedBlocks = maxTrackedBlocks;
    this.begin();
  }

  begin(): void {
    this.active = new ActiveBlocks(TOKENS_PER_BLOCK, this.#maxTrackedBlocks);
    this.ranks = Array.from({ length: RANKS }, () => this.#addRank());
  }

  #addRank(): number {
    const rank = this.active.addRank();
    if (rank === undefined) throw new Error('there is no number left');
    return rank;
  }

  activeOn(place: number): Modelled[] {
    return this.requests.filter((modelled) => modelled.isActive && modelled.rank === place);
  }

  hashesOf(blocks: readonly number[]): Uint8Array {
    return this.#hash(blocks);
  }

  /** What requests on a rank hold, blocks that they share once. */
  sharedNames(place: number): Set<string> {
    return new Set(this.activeOn(place).flatMap(namesOf));
  }

  blocksOn(place: number): number {
    let own = 0;
    for (const { tokenCount, outputTokens, blocks: whole } of this.activeOn(place))
      own += Math.ceil((tokenCount + outputTokens) / TOKENS_PER_BLOCK) - whole.length;
    return this.sharedNames(place).size + own;
  }

  take(todo: Step): void {
    switch (todo.do) {
      case 'reserve':
        this.#reserve(todo.rank, todo.blocks, todo.blocks.length * TOKENS_PER_BLOCK + todo.moreTokens);
        return;
      case 'reserveUnknown': {
        const added = this.active.add(this.ranks[todo.rank] as number, undefined);
        this.#note(added, todo.rank, [], 0, 0);
        return;
      }
      case 'dropRank':
        this.active.dropRank(this.ranks[todo.rank] as number);
        this.ranks[todo.rank] = this.#addRank();
        for (const modelled of this.activeOn(todo.rank)) modelled.isActive = false;
        return;
      case 'newEpoch':
        this.active.close();
        this.begin();
        for (const modelled of this.requests) modelled.isActive = false;
        return;
      default:
        this.#follow(todo);
    }
  }

  /** Leading blocks that are active, by place in the list of ranks. */
  matches(asked: readonly number[]): number[] {
    const { count, holders, depths } = this.active.match(this.#hash(asked));
    const found = this.ranks.map(() => 0);
    for (let at = 0; at < count; at += 1)
      found[this.ranks.indexOf(holders[at] as number)] = depths[at] as number;
    return found;
  }

  #reserve(place: number, asked: readonly number[], tokenCount: number): void {
    const sharedBlocks = this.matches(asked)[place] as number;
    const prefillTokens = tokenCount - TOKENS_PER_BLOCK * sharedBlocks;
    const prompt = { sequenceHashes: this.#hash(asked), tokenCount, prefillTokens };
    const added = this.active.add(this.ranks[place] as number, prompt);
    this.#note(added, place, asked, tokenCount, prefillTokens);
  }

  #note(
    added: ActiveRequest,
    place: number,
    asked: readonly number[],
    tokenCount: number,
    prefilling: number,
  ) {
    this.requests.push({
      request: added,
      rank: place,
      blocks: asked,
      tokenCount,
      outputTokens: 0,
      prefilling,
      isActive: true,
    });
  }

  /** What is said of requests that have ended is said as well. */
  #follow(todo: Step & { readonly request: number }): void {
    const modelled = this.requests[todo.request % Math.max(1, this.requests.length)];
    if (modelled === undefined) return;
    if (todo.do === 'progress') {
      modelled.request.progress(todo.outputTokens);
      modelled.outputTokens = Math.max(modelled.outputTokens, todo.outputTokens);
    } else {
      modelled.prefilling = 0;
      if (todo.do === 'prefillDone') modelled.request.prefillDone();
      else {
        modelled.request.release();
        modelled.isActive = false;
      }
    }
  }
}

function lowWords(hashes: Uint8Array): number[] {
  const view = new DataView(hashes.buffer, hashes.byteOffset, hashes.length);
  return Array.from({ length: hashes.length / 8 }, (_, at) => view.getUint32(8 * at, true));
}

function endAll({ requests, active, ranks }: World): void {
  for (const { request: ended } of requests) ended.release();
  expect(active.trackedBlocks).toBe(0);
  for (const number of ranks) {
    expect(active.blocksOn(number)).toBe(0);
    expect(active.requestsOn(number)).toBe(0);
    expect(active.prefillingTokensOn(number)).toBe(0);
  }
}

describe('active blocks, whatever happens in whatever order', () => {
  it('are those that a count of everything finds', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), blocks, fc.boolean(), (steps, asked, isChained) => {
        // Clients may name blocks by hashes that say nothing of those before them.
        const world = new World(isChained ? chainOf : pack);
        for (const todo of steps) {
          world.take(todo);
          const { active, ranks } = world;
          let tracked = 0;
          for (const [place, number] of ranks.entries()) {
            const requests = world.activeOn(place);
            expect(active.blocksOn(number)).toBe(world.blocksOn(place));
            expect(active.requestsOn(number)).toBe(requests.length);
            expect(active.prefillingTokensOn(number)).toBe(
              requests.reduce((sum, { prefilling }) => sum + prefilling, 0),
            );
            tracked += world.sharedNames(place).size;
            for (const { blocks: held } of requests)
              for (const low of lowWords(world.hashesOf(held)))
                expect(active.mayHave(number, low)).toBe(true);
          }
          expect(active.trackedBlocks).toBe(tracked);
        }
        const expected = world.ranks.map((_, place) => {
          const names = world.sharedNames(place);
          const first = asked.findIndex((_block, at) => !names.has(asked.slice(0, at + 1).join()));
          return first === -1 ? asked.length : first;
        });
        expect(world.matches(asked)).toEqual(expected);
        endAll(world);
      }),
      { numRuns: 200 },
    );
  });

  it('are never fewer than these when there is no room to know each, and all come back', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), fc.nat(8), (steps, room) => {
        const world = new World(chainOf, room);
        for (const todo of steps) {
          world.take(todo);
          expect(world.active.trackedBlocks).toBeLessThanOrEqual(room);
          for (const [place, number] of world.ranks.entries())
            expect(world.active.blocksOn(number)).toBeGreaterThanOrEqual(world.blocksOn(place));
        }
        endAll(world);
      }),
      { numRuns: 100 },
    );
  });
});
