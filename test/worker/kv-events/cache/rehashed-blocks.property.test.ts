import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BlockHasher } from '../../../../src/core/blocks/block-hasher.js';
import { batchOf, ChangeReader, makeCache, unpack } from '../support/engine-payloads.js';

/** The canonical size of engines whose blocks are of 1, 16 and 32 tokens. */
const CANONICAL = 32;

/** Longest prompt, in the smallest steps in which prompts part. */
const MAX_PIECES = 12;

/** Tokens of one piece of a prompt: prompts part inside blocks of 16 and of 32. */
const PIECE_TOKENS = 8;

/** A prompt by its pieces, so that many share a beginning. */
const anyPrompt = fc.record({
  pieces: fc.array(fc.nat({ max: 1 }), { minLength: 1, maxLength: MAX_PIECES }),
  salt: fc.constantFrom('', '', 's'),
});

const anyStep = fc.oneof(
  { weight: 6, arbitrary: fc.record({ type: fc.constant('ask' as const), prompt: anyPrompt }) },
  // Any block may go, also one that others follow.
  { weight: 6, arbitrary: fc.record({ type: fc.constant('evict' as const), at: fc.nat({ max: 10_000 }) }) },
  {
    weight: 2,
    arbitrary: fc.record({ type: fc.constant('evict last' as const), count: fc.nat({ max: 40 }) }),
  },
  { weight: 1, arbitrary: fc.constant({ type: 'clear' as const }) },
);

type Prompt = typeof anyPrompt extends fc.Arbitrary<infer Made> ? Made : never;

function tokensOf({ pieces }: Prompt): number[] {
  return pieces.flatMap((piece, at) =>
    Array.from({ length: PIECE_TOKENS }, (_, token) => 1_000 * at + 100 * piece + token),
  );
}

/** An engine that keeps the prefixes of prompts in a set, and publishes what a real one would. */
class NaiveEngine {
  readonly #ownTokens: number;
  readonly #names = new Map<string, number>();
  readonly #held = new Set<string>();

  constructor(ownTokens: number) {
    this.#ownTokens = ownTokens;
  }

  /** Computes a prompt: all its whole blocks that are missing are stored, each run of them by one event. */
  ask(prompt: Prompt): object[] {
    const tokens = tokensOf(prompt);
    const events: object[] = [];
    let run: number[] = [];
    let start = 0;
    const publish = (): void => {
      if (run.length > 0)
        events.push({
          type: 'BlockStored',
          block_hashes: run,
          parent_block_hash: start === 0 ? null : this.#name(this.#key(prompt, start)),
          token_ids: tokens.slice(start * this.#ownTokens, (start + run.length) * this.#ownTokens),
          block_size: this.#ownTokens,
          ...(prompt.salt === '' ? {} : { cache_salt: prompt.salt }),
        });
      run = [];
    };
    for (let block = 1; block * this.#ownTokens <= tokens.length; block += 1) {
      const key = this.#key(prompt, block);
      if (this.#held.has(key)) {
        publish();
        start = block;
      } else {
        this.#held.add(key);
        run.push(this.#name(key));
      }
      if (run.length === 1) start = block - 1;
    }
    publish();
    return events;
  }

  evict(at: number): object[] {
    const key = [...this.#held][at % Math.max(1, this.#held.size)];
    return key === undefined ? [] : this.#remove([key]);
  }

  evictLast(count: number): object[] {
    return this.#remove([...this.#held].slice(-count || this.#held.size).reverse());
  }

  clear(): object[] {
    this.#held.clear();
    return [{ type: 'AllBlocksCleared' }];
  }

  /** Tokens of the longest prefix that is held without a gap. */
  truth(prompt: Prompt): number {
    const length = PIECE_TOKENS * prompt.pieces.length;
    let tokens = 0;
    while (
      tokens + this.#ownTokens <= length &&
      this.#held.has(this.#key(prompt, tokens / this.#ownTokens + 1))
    )
      tokens += this.#ownTokens;
    return tokens;
  }

  #remove(keys: readonly string[]): object[] {
    for (const key of keys) this.#held.delete(key);
    return keys.map((key) => ({ type: 'BlockRemoved', block_hashes: [this.#name(key)] }));
  }

  /** Names the prefix of so many blocks: its pieces, the last of them maybe in part. */
  #key({ pieces, salt }: Prompt, blocks: number): string {
    const tokens = blocks * this.#ownTokens;
    return `${salt}:${pieces.slice(0, Math.ceil(tokens / PIECE_TOKENS)).join('')}:${tokens}`;
  }

  /** The engine's own hash of a prefix. */
  #name(key: string): number {
    const name = this.#names.get(key) ?? this.#names.size + 1;
    this.#names.set(key, name);
    return name;
  }
}

const hasher = new BlockHasher();

/** Tokens of the leading canonical blocks of a prompt that a reader knows of. */
function predicted(held: ReadonlySet<string>, prompt: Prompt): number {
  const { sequenceHashes } = hasher.hashTokens(Uint32Array.from(tokensOf(prompt)), {
    tokensPerBlock: CANONICAL,
    unit: 'token',
    seed: hasher.seedOf('', prompt.salt),
  });
  const hashes = unpack(sequenceHashes);
  const missing = hashes.findIndex((hash) => !held.has(`device ${CANONICAL} ${hash}`));
  return CANONICAL * (missing < 0 ? hashes.length : missing);
}

describe('engines with blocks of 1, 16 and 32 tokens in one fleet', () => {
  it('whatever is stored and evicted, the prediction is never above the truth, and is all whole blocks of it', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(1, 16, 32),
        fc.array(anyStep, { minLength: 1, maxLength: 30 }),
        fc.array(anyPrompt, { minLength: 1, maxLength: 5 }),
        (ownTokens, steps, questions) => {
          const engine = new NaiveEngine(ownTokens);
          const { cache, held } = makeCache({ rehashTo: CANONICAL });
          const reader = new ChangeReader();
          const asked: Prompt[] = [...questions];
          for (const step of steps) {
            const events =
              step.type === 'ask'
                ? engine.ask(step.prompt)
                : step.type === 'evict'
                  ? engine.evict(step.at)
                  : step.type === 'evict last'
                    ? engine.evictLast(step.count)
                    : engine.clear();
            if (step.type === 'ask') asked.push(step.prompt);
            reader.apply(cache.apply(batchOf(...events)).changes);
            const known = new Set(reader.held());
            for (const prompt of asked) {
              const truth = engine.truth(prompt);
              expect(predicted(known, prompt)).toBe(Math.floor(truth / CANONICAL) * CANONICAL);
            }
          }
          // Who begins now is given the same as who has read all along.
          expect(held()).toEqual(reader.held());
          expect(cache.flaw).toBeUndefined();
        },
      ),
      { numRuns: 100 },
    );
  });
});
