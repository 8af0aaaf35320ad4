import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { batchOf, ChangeReader, makeCache } from '../support/engine-payloads.js';
import { sequenceHashOf } from '../support/group-recordings.js';

const WIDTH = 2;
const BLOCKS = 4;
const KINDS = ['sliding_window', 'full_attention', 'mamba'] as const;
const MAIN = 1;

/** Prompts share their first block with others, so that blocks have copies. */
const promptOf = (prompt: number): number[] =>
  Array.from({ length: WIDTH * BLOCKS }, (_, at) => (at < WIDTH ? prompt % 2 : 100 * prompt + at));

/** The engine's hash of a block: that of the prompt up to its end, the same in every group. */
const engineHash = (prompt: number, block: number): number =>
  block === 0 ? 1 + (prompt % 2) : 1_000 + 10 * prompt + block;

/** What an engine does in one step, for one prompt: it stores its blocks in every group, or a block of a group goes. */
type Step =
  | { readonly type: 'store'; readonly prompt: number; readonly kept: readonly (readonly number[])[] }
  | { readonly type: 'remove'; readonly pick: number }
  | { readonly type: 'clear' };

const kept = fc.subarray([0, 1, 2, 3]);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    arbitrary: fc.record({
      type: fc.constant('store' as const),
      prompt: fc.integer({ min: 0, max: 4 }),
      kept: fc.tuple(kept, fc.constant([0, 1, 2, 3]), kept),
    }),
    weight: 6,
  },
  { arbitrary: fc.record({ type: fc.constant('remove' as const), pick: fc.nat() }), weight: 8 },
  { arbitrary: fc.constant({ type: 'clear' as const }), weight: 1 },
);

/** The plainest engine: a list of its physical blocks. */
class Engine {
  blocks: { readonly group: number; readonly prompt: number; readonly block: number }[] = [];

  take(action: Step): object[] {
    if (action.type === 'clear') {
      this.blocks = [];
      return [{ type: 'AllBlocksCleared' }];
    }
    if (action.type === 'remove') {
      const [gone] = this.blocks.splice(action.pick % Math.max(1, this.blocks.length), 1);
      if (gone === undefined) return [];
      const block_hashes = [engineHash(gone.prompt, gone.block)];
      return [{ type: 'BlockRemoved', block_hashes, group_idx: gone.group, medium: 'GPU' }];
    }
    return KINDS.map((kind, group) => {
      const blocks = action.kept[group] ?? [];
      this.blocks.push(...blocks.map((block) => ({ group, prompt: action.prompt, block })));
      return {
        type: 'BlockStored',
        block_hashes: blocks.map((block) => engineHash(action.prompt, block)),
        parent_block_hash: null,
        token_ids: promptOf(action.prompt),
        block_size: WIDTH,
        medium: 'GPU',
        group_idx: group,
        kv_cache_spec_kind: kind,
        kv_cache_spec_sliding_window: kind === 'sliding_window' ? 4 : null,
      };
    });
  }

  held(hasher: ReturnType<typeof makeCache>['hasher']): string[] {
    const all = this.blocks.map(({ group, prompt, block }) => {
      const hash = sequenceHashOf(hasher, promptOf(prompt).slice(0, WIDTH * (block + 1)), WIDTH);
      return `${group === MAIN ? '' : `group ${group} `}device ${WIDTH} ${hash}`;
    });
    return [...new Set(all)].sort();
  }
}

describe('groups and copies, in whatever order they come and go', () => {
  it('come to what the plainest engine holds, after every batch, for who follows and who comes late', () => {
    fc.assert(
      fc.property(fc.array(fc.array(step, { minLength: 1, maxLength: 6 }), { maxLength: 20 }), (batches) => {
        const { cache, hasher, held } = makeCache();
        const engine = new Engine();
        const reader = new ChangeReader();
        // A first prompt shows every group, as it does with a real engine.
        const first: Step = { type: 'store', prompt: 0, kept: [[0], [0, 1, 2, 3], [0]] };
        for (const batch of [[first], ...batches]) {
          const { changes, orphans } = cache.apply(
            batchOf(...batch.flatMap((action) => engine.take(action))),
          );
          reader.apply(changes);
          expect(orphans).toBe(0);
          expect(held()).toEqual(engine.held(hasher));
          expect(reader.held()).toEqual(held());
          expect(cache.flaw).toBeUndefined();
        }
      }),
    );
  });
});
