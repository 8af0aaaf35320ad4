import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type HitGroup, hitRules, longestHit } from '../../../../src/core/blocks/longest-hit.js';
import type { Tier } from '../../../../src/core/blocks/tier.js';
import type { CacheGroup } from '../../../../src/core/contract/evidence/cache-groups.js';
import type { BlockChange, RankStatus, RelayMessage } from '../../../../src/core/relay/relay.js';
import { FleetIndex } from '../../../../src/fleet/indexer/index/fleet-index.js';
import { IndexTally } from '../../../../src/fleet/indexer/index/index-tally.js';
import { type ReportedHits, reportedHits } from '../../../../src/fleet/indexer/index/rank-rules.js';
import { PromptHashes } from '../../../../src/fleet/indexer/prompt-hashes.js';
import { HashUnit } from '../../../../src/gen/kvaccord/v1/capabilities.js';

const WIDTH = 32;

const full = (index: number, tokensPerBlock = WIDTH): CacheGroup => ({
  index,
  kind: 'full_attention',
  tokensPerBlock,
  engineKind: 'full_attention',
});
const sliding = (index: number, windowTokens: number, tokensPerBlock = WIDTH): CacheGroup => ({
  index,
  kind: 'sliding_window',
  tokensPerBlock,
  windowTokens,
  engineKind: 'sliding_window',
});
const state = (index: number, tokensPerBlock = WIDTH): CacheGroup => ({
  index,
  kind: 'state',
  tokensPerBlock,
  engineKind: 'mamba',
});
const other = (index: number): CacheGroup => ({
  index,
  kind: 'other',
  tokensPerBlock: WIDTH,
  engineKind: 'hologram',
});

const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, at) => from + at);

/** Tokens that no other prompt has. */
const tokensOf = (prompt: number, count: number): number[] =>
  range(0, count).map((at) => 100_000 * prompt + at);

/** An index of one fleet, with the changes of its workers in words. */
class Fleet {
  readonly index = new FleetIndex(
    { tokensPerBlock: WIDTH },
    {
      tally: new IndexTally(),
      onOtherWidth: () => undefined,
      onRefused: () => undefined,
      onSweepDue: () => undefined,
    },
  );
  readonly #hashes = new PromptHashes();
  readonly #sequences = new Map<string, number>();

  /** A worker whose events have shown these groups; none stands for full attention alone. */
  add(target: string, cacheGroups: readonly CacheGroup[], reported?: ReportedHits): void {
    this.index.setReported(target, reported);
    const ranks = [statusOf(cacheGroups)];
    this.apply(target, { type: 'start', instanceId: 'i', streamId: 's', resumed: false, reason: '', ranks });
    this.apply(target, { type: 'snapshot_end', sequence: 0 });
    this.#sequences.set(target, 0);
  }

  apply(target: string, message: RelayMessage): void {
    expect(this.index.apply(target, message)).toBeUndefined();
  }

  /** Blocks by number of a prompt of `tokens`; `group` is undefined for the main one. */
  store(
    target: string,
    tokens: readonly number[],
    blocks: readonly number[],
    group?: CacheGroup,
    tier: Tier = 'device',
  ) {
    const tokensPerBlock = group?.tokensPerBlock ?? WIDTH;
    const sequenceHashes = this.#blocksOf(tokens, tokensPerBlock, blocks);
    this.#change(target, { type: 'stored', tier, tokensPerBlock, sequenceHashes, ...groupOf(group) });
  }

  remove(target: string, tokens: readonly number[], blocks: readonly number[], group?: CacheGroup) {
    const sequenceHashes = this.#blocksOf(tokens, group?.tokensPerBlock ?? WIDTH, blocks);
    this.#change(target, { type: 'removed', tier: 'device', sequenceHashes, ...groupOf(group) });
  }

  clear(target: string) {
    this.#change(target, { type: 'cleared' });
  }

  /** `target blocks by tier` of everybody who has something of the prompt. */
  find(tokens: readonly number[]): string[] {
    const contract = {
      tokensPerBlock: WIDTH,
      hashUnit: 'token',
      otherWidths: this.index.otherWidths,
    } as const;
    const prompt = this.#hashes.hash({ tokens, loraName: '', cacheSalt: '' }, contract);
    return this.index.find(prompt).map(({ target, blocks }) => `${target} ${blocks.join()}`);
  }

  #blocksOf(tokens: readonly number[], tokensPerBlock: number, blocks: readonly number[]): Uint8Array {
    const { sequenceHashes } = this.#hashes.hash(
      { tokens, loraName: '', cacheSalt: '' },
      { tokensPerBlock, hashUnit: 'token' },
    );
    return Buffer.concat(blocks.map((block) => sequenceHashes.slice(8 * block, 8 * block + 8)));
  }

  #change(target: string, change: BlockChange): void {
    const sequence = (this.#sequences.get(target) ?? 0) + 1;
    this.#sequences.set(target, sequence);
    this.apply(target, { type: 'changes', sequence, rank: 0, changes: [change] });
  }
}

function groupOf(group: CacheGroup | undefined): { readonly group?: number } {
  return group === undefined ? {} : { group: group.index };
}

function statusOf(cacheGroups: readonly CacheGroup[]): RankStatus {
  const status = { rank: 0, picture: 'exact', reason: '', blockCount: 0 } as const;
  return cacheGroups.length === 0 ? status : { ...status, cacheGroups };
}

const prompt = tokensOf(1, 900);

describe('a rank with full attention and a sliding window', () => {
  const window = sliding(1, 128);

  it('has what both groups have', () => {
    const fleet = new Fleet();
    fleet.add('w-1', [full(0), window]);
    fleet.store('w-1', prompt, range(0, 28));
    fleet.store('w-1', prompt, range(24, 28), window);
    expect(fleet.find(prompt)).toEqual(['w-1 28,28,28,28']);
    expect(fleet.find(prompt.slice(0, 700))).toEqual([]);
    fleet.remove('w-1', prompt, [24], window);
    expect(fleet.find(prompt)).toEqual([]);
  });

  it('is found beside one with full attention alone, and never as two', () => {
    const fleet = new Fleet();
    fleet.add('w-1', [full(0), window]);
    fleet.add('w-2', []);
    for (const worker of ['w-1', 'w-2']) fleet.store(worker, prompt, range(0, 28));
    fleet.store('w-1', prompt, range(10, 20), window);
    expect(fleet.find(prompt)).toEqual(['w-2 28,28,28,28', 'w-1 20,20,20,20']);
    expect(
      fleet.index.holdings().map(({ target, cacheGroup, blocks }) => [target, cacheGroup, blocks[0]]),
    ).toEqual([
      ['w-1', undefined, 28],
      ['w-2', undefined, 28],
      ['w-1', 1, 10],
    ]);
  });

  it('has nothing of a prompt whose window group was never stored, where its report names that group', () => {
    const fleet = new Fleet();
    const reported = { cacheGroups: [full(0), window], alignmentTokens: undefined, dropsLastBlock: false };
    fleet.add('w-1', [], reported);
    fleet.store('w-1', prompt, range(0, 28));
    expect(fleet.find(prompt)).toEqual([]);
    fleet.index.setReported('w-1', undefined);
    expect(fleet.find(prompt)).toEqual(['w-1 28,28,28,28']);
  });

  it('counts the memory of the accelerator alone, beside others of which all tiers count', () => {
    const fleet = new Fleet();
    fleet.add('w-1', [full(0), window]);
    fleet.add('w-2', []);
    for (const worker of ['w-1', 'w-2']) {
      fleet.store(worker, prompt, range(0, 20));
      fleet.store(worker, prompt, range(20, 28), undefined, 'host');
    }
    fleet.store('w-1', prompt, range(10, 20), window);
    fleet.store('w-1', prompt, range(20, 28), window, 'host');
    expect(fleet.find(prompt)).toEqual(['w-2 20,28,28,28', 'w-1 20,20,20,20']);
  });

  it('has nothing after all its blocks are gone, and leaves nothing behind', () => {
    const fleet = new Fleet();
    fleet.add('w-1', [full(0), window]);
    fleet.store('w-1', prompt, range(0, 28));
    fleet.store('w-1', prompt, range(24, 28), window);
    fleet.clear('w-1');
    expect(fleet.find(prompt)).toEqual([]);
    expect(fleet.index.holdings()).toEqual([]);
    while (fleet.index.sweep());
    expect(fleet.index.blocks).toBe(0);
    fleet.store('w-1', prompt, range(0, 28));
    expect(fleet.find(prompt)).toEqual([]);
    fleet.store('w-1', prompt, range(24, 28), window);
    expect(fleet.find(prompt)).toEqual(['w-1 28,28,28,28']);
  });
});

describe('a rank with other groups', () => {
  it('has what lies in its windows, where it has no full attention', () => {
    const fleet = new Fleet();
    fleet.add('w-1', [sliding(0, 128)]);
    fleet.store('w-1', prompt, range(24, 28));
    expect(fleet.find(prompt)).toEqual(['w-1 28,28,28,28']);
    expect(fleet.find(prompt.slice(0, 700))).toEqual([]);
  });

  it('has what lies before a state that it kept, at the width of each group', () => {
    const fleet = new Fleet();
    const states = state(1, 96);
    fleet.add('w-1', [full(0), states]);
    fleet.store('w-1', prompt, range(0, 28));
    fleet.store('w-1', prompt, [2, 5], states);
    expect(fleet.index.otherWidths).toEqual([96]);
    expect(fleet.find(prompt)).toEqual(['w-1 18,18,18,18']);
    expect(fleet.find(prompt.slice(0, 576))).toEqual(['w-1 9,9,9,9']);
    fleet.index.forget('w-1');
    expect(fleet.index.otherWidths).toEqual([]);
  });

  it('has one block less where a draft model needs it computed again', () => {
    const fleet = new Fleet();
    fleet.add('w-1', [], { cacheGroups: [], alignmentTokens: undefined, dropsLastBlock: true });
    fleet.store('w-1', prompt, range(0, 28));
    expect(fleet.find(prompt)).toEqual(['w-1 27,27,27,27']);
    expect(fleet.find(prompt.slice(0, 40))).toEqual([]);
  });

  it('has one block less of all tiers together, where full attention is all it has', () => {
    const fleet = new Fleet();
    fleet.add('w-1', [], { cacheGroups: [], alignmentTokens: undefined, dropsLastBlock: true });
    fleet.store('w-1', prompt, range(0, 10));
    fleet.store('w-1', prompt, range(10, 28), undefined, 'host');
    expect(fleet.find(prompt)).toEqual(['w-1 9,27,27,27']);
  });

  it('has whole multiples of the alignment that its report names', () => {
    const fleet = new Fleet();
    fleet.add('w-1', [], { cacheGroups: [], alignmentTokens: 256, dropsLastBlock: false });
    fleet.store('w-1', prompt, range(0, 28));
    expect(fleet.find(prompt)).toEqual(['w-1 24,24,24,24']);
  });
});

describe('how much is known of a rank', () => {
  it('is approximate where a group is not understood, which is left out of the hit', () => {
    const fleet = new Fleet();
    fleet.add('w-1', [full(0), other(1)]);
    fleet.store('w-1', prompt, range(0, 28));
    expect(fleet.find(prompt)).toEqual(['w-1 28,28,28,28']);
    expect(fleet.index.cacheViewOfRank('w-1', 0)).toBe('approximate');
    expect(fleet.index.cacheViewOf('w-1')).toEqual({
      level: 'approximate',
      reason:
        'its KV cache group 1 (hologram) is of a kind that this version does not know: what is predicted may be more or less than the truth',
    });
  });

  it('is approximate where hits end inside blocks, or a window is not named', () => {
    const fleet = new Fleet();
    const groups = [full(0), state(1, 96)];
    fleet.add('w-1', groups, { cacheGroups: [], alignmentTokens: 16, dropsLastBlock: false });
    expect(fleet.index.cacheViewOf('w-1').reason).toContain('multiples of 16 tokens, inside blocks');
    const { windowTokens: _, ...nameless } = sliding(1, 1);
    fleet.add('w-2', [full(0), nameless]);
    expect(fleet.index.cacheViewOf('w-2').reason).toContain(
      'its KV cache group 1 (sliding_window) names no window',
    );
  });

  it('is approximate where it is not said whether a draft model takes the last block off a hit', () => {
    const fleet = new Fleet();
    const unknown = { cacheGroups: [], hashUnit: HashUnit.TOKEN, speculativeDecoding: true };
    fleet.add('w-1', [], reportedHits(unknown));
    fleet.store('w-1', prompt, range(0, 28));
    expect(fleet.find(prompt)).toEqual(['w-1 27,27,27,27']);
    expect(fleet.index.cacheViewOf('w-1').level).toBe('approximate');
    expect(fleet.index.cacheViewOf('w-1').reason).toContain(
      'it decodes speculatively, and only its /server_info',
    );
    for (const dropsLastHitBlock of [true, false])
      expect(reportedHits({ ...unknown, dropsLastHitBlock })?.mayDropLastBlock ?? false).toBe(false);
  });

  it('is approximate while blocks come of a group that nobody named', () => {
    const fleet = new Fleet();
    fleet.add('w-1', []);
    fleet.store('w-1', prompt, range(0, 2), sliding(3, 64));
    expect(fleet.index.cacheViewOf('w-1')).toMatchObject({ level: 'approximate' });
    expect(fleet.index.cacheViewOf('w-1').reason).toContain('KV cache group 3');
    fleet.apply('w-1', { type: 'rank_state', status: statusOf([full(0), sliding(3, 64)]) });
    expect(fleet.index.cacheViewOf('w-1').level).toBe('exact');
  });

  it('is partial where a group came with another width than it was named with', () => {
    const fleet = new Fleet();
    fleet.add('w-1', [full(0), sliding(1, 128, 64)]);
    fleet.store('w-1', prompt, [0], sliding(1, 128));
    expect(fleet.index.cacheViewOf('w-1').level).toBe('partial');
    expect(fleet.index.cacheViewOf('w-1').reason).toContain('blocks of 64 tokens, and some came with 32');
  });

  it('is of nothing where the main group becomes another one, until its blocks come again', () => {
    const fleet = new Fleet();
    fleet.add('w-1', [sliding(0, 128)]);
    fleet.store('w-1', prompt, range(24, 28));
    const status = statusOf([sliding(0, 128), full(1)]);
    fleet.apply('w-1', { type: 'rank_state', status });
    expect(fleet.find(prompt)).toEqual([]);
    fleet.clear('w-1');
    fleet.store('w-1', prompt, range(24, 28), sliding(0, 128));
    expect(fleet.find(prompt)).toEqual([]);
    fleet.store('w-1', prompt, range(0, 28));
    expect(fleet.find(prompt)).toEqual(['w-1 28,28,28,28']);
  });
});

describe('hits of hybrid ranks, whatever is stored and removed', () => {
  const KINDS: readonly (readonly CacheGroup[])[] = [
    [full(0), sliding(1, 128)],
    [sliding(0, 100), full(1), sliding(2, 300)],
    [full(0), state(1, 64)],
    [full(0), sliding(1, 70, 16), state(2, 96)],
    [sliding(0, 90)],
    [full(0)],
  ];
  const PROMPTS = [tokensOf(1, 600), [...tokensOf(1, 320), ...tokensOf(2, 200)], tokensOf(3, 96)];

  const step = fc.record({
    do: fc.constantFrom('store', 'store', 'store', 'remove', 'clear', 'restart'),
    worker: fc.nat(2),
    group: fc.nat(2),
    prompt: fc.nat(PROMPTS.length - 1),
    from: fc.nat(20),
    count: fc.integer({ min: 1, max: 38 }),
  });

  it('are those of the plainest model', () => {
    const kinds = fc.tuple(fc.constantFrom(...KINDS), fc.constantFrom(...KINDS), fc.constantFrom(...KINDS));
    fc.assert(
      fc.property(kinds, fc.boolean(), fc.array(step, { maxLength: 30 }), (workers, drops, steps) => {
        const fleet = new Fleet();
        const reported = { cacheGroups: [], alignmentTokens: undefined, dropsLastBlock: drops };
        /** By worker and group index: texts of whole prefixes whose last block is held. */
        const held = workers.map((groups) => new Map(groups.map(({ index }) => [index, new Set<string>()])));
        const prefix = (tokens: readonly number[], end: number): string =>
          `${tokens[end - 1]} of ${tokens[0]} ${end}`;
        for (const [at, groups] of workers.entries()) fleet.add(`w-${at}`, groups, reported);
        for (const each of steps) {
          const target = `w-${each.worker}`;
          const groups = workers[each.worker] as readonly CacheGroup[];
          const sets = held[each.worker] as Map<number, Set<string>>;
          if (each.do === 'clear' || each.do === 'restart') {
            if (each.do === 'clear') fleet.clear(target);
            else fleet.add(target, groups, reported);
            for (const set of sets.values()) set.clear();
            continue;
          }
          const group = groups[each.group % groups.length] as CacheGroup;
          const main = groups.find(({ kind }) => kind === 'full_attention') ?? groups[0];
          const tokens = PROMPTS[each.prompt] as number[];
          const whole = Math.floor(tokens.length / group.tokensPerBlock);
          const blocks = range(Math.min(each.from, whole), Math.min(each.from + each.count, whole));
          if (each.do === 'store') fleet.store(target, tokens, blocks, group === main ? undefined : group);
          else fleet.remove(target, tokens, blocks, group === main ? undefined : group);
          for (const block of blocks) {
            const text = prefix(tokens, (block + 1) * group.tokensPerBlock);
            if (each.do === 'store') sets.get(group.index)?.add(text);
            else sets.get(group.index)?.delete(text);
          }
        }
        for (const tokens of PROMPTS) {
          const expected = workers.flatMap((groups, at) => {
            const isPlain = groups.length === 1 && groups[0]?.kind === 'full_attention' && !drops;
            const rules = hitRules(
              groups.map((group): HitGroup => ({ ...group, dropsLastBlock: drops }) as HitGroup),
            );
            const hit = longestHit(
              rules,
              (place, block) => {
                const { index, tokensPerBlock } = groups[place] as CacheGroup;
                return held[at]?.get(index)?.has(prefix(tokens, (block + 1) * tokensPerBlock)) === true;
              },
              // Of full attention alone every leading block counts, the last one as well.
              isPlain ? tokens.length + 1 : tokens.length,
            );
            const blocks = Math.floor(hit / WIDTH);
            return blocks === 0 ? [] : [`w-${at} ${blocks},${blocks},${blocks},${blocks}`];
          });
          expect(fleet.find(tokens).sort()).toEqual(expected);
        }
      }),
      { numRuns: 400 },
    );
  });
});
