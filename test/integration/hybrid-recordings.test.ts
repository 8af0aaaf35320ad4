import { afterEach, describe, expect, it } from 'vitest';
import { hitRules, longestHit } from '../../src/core/blocks/longest-hit.js';
import type { CacheGroup } from '../../src/core/contract/evidence/cache-groups.js';
import type { RankStatus } from '../../src/core/relay/relay.js';
import { callUnary } from '../../src/edge/rpc/call-unary.js';
import { FleetIndex } from '../../src/fleet/indexer/index/fleet-index.js';
import { IndexTally } from '../../src/fleet/indexer/index/index-tally.js';
import { PromptHashes } from '../../src/fleet/indexer/prompt-hashes.js';
import { call, indexerOf, matches, tokens } from '../support/indexer-calls.js';
import { OpenThings } from '../support/open-things.js';
import { routerOf } from '../support/router-calls.js';
import { makeCache } from '../worker/kv-events/support/engine-payloads.js';
import { FakePublisher } from '../worker/kv-events/support/fake-publisher.js';
import {
  type GroupRecording,
  promptsOf,
  readGroupRecording,
} from '../worker/kv-events/support/group-recordings.js';

const open = new OpenThings();
afterEach(() => open.close());

/** Prompts that are asked for; a recording has some hundreds. */
const ASKED = 400;
/** The same over the wire. */
const ASKED_BY_CALL = 40;

/**
 * The last prompts of a recording with one token more each, and the hit in
 * blocks of the main group that what the engine's own block pool has in the
 * end allows for each.
 */
function expectedHits(
  { batches, hashes }: GroupRecording,
  groups: readonly CacheGroup[],
  tokensPerBlock: number,
): { readonly prompt: readonly number[]; readonly blocks: number }[] {
  const byHash = promptsOf(batches, Math.max(...Object.keys(hashes).map(Number)));
  const held = groups.map(
    (group) => new Set((hashes[group.index] ?? []).map((hash) => JSON.stringify(byHash.get(hash)))),
  );
  const rules = hitRules(
    groups.map(({ kind, windowTokens, ...group }) => ({
      ...group,
      kind: kind === 'other' ? 'full_attention' : kind,
      ...(windowTokens === undefined ? {} : { windowTokens }),
      dropsLastBlock: false,
    })),
  );
  return [...byHash.values()].slice(-ASKED).map((whole) => {
    const prompt = [...whole, 1];
    const isHeld = (group: number, block: number): boolean =>
      held[group]?.has(JSON.stringify(prompt.slice(0, (block + 1) * tokensPerBlock))) === true;
    return { prompt, blocks: longestHit(rules, isHeld, prompt.length) / tokensPerBlock };
  });
}

describe.each([
  { name: 'gptoss', tokensPerBlock: 32 },
  { name: 'qwen3next', tokensPerBlock: 544 },
] as const)('the recording of $name', ({ name, tokensPerBlock }) => {
  const recording = readGroupRecording(name);
  const { batches } = recording;

  it('finds the hits that the blocks of the engine allow, prompt by prompt', () => {
    const { cache } = makeCache();
    const index = new FleetIndex(
      { tokensPerBlock },
      {
        tally: new IndexTally(),
        onOtherWidth: () => undefined,
        onRefused: () => undefined,
        onSweepDue: () => undefined,
      },
    );
    const status = (): RankStatus => ({
      rank: 0,
      picture: 'exact',
      reason: '',
      blockCount: 0,
      ...(cache.cacheGroups.length === 0 ? {} : { cacheGroups: cache.cacheGroups }),
    });
    const start = { type: 'start', instanceId: 'i', streamId: 's', resumed: false, reason: '' } as const;
    expect(index.apply('w-1', { ...start, ranks: [status()] })).toBeUndefined();
    expect(index.apply('w-1', { type: 'snapshot_end', sequence: 0 })).toBeUndefined();
    for (const [at, { payload }] of batches.entries()) {
      const { changes, hasNewGroups } = cache.apply(payload);
      // As a relay does: groups before the first block that depends on them.
      if (hasNewGroups) index.apply('w-1', { type: 'rank_state', status: status() });
      expect(index.apply('w-1', { type: 'changes', sequence: at + 1, rank: 0, changes })).toBeUndefined();
    }
    expect(index.cacheViewOfRank('w-1', 0)).toBe('exact');
    const asker = new PromptHashes();
    const contract = { tokensPerBlock, hashUnit: 'token', otherWidths: index.otherWidths } as const;
    const hits = expectedHits(recording, cache.cacheGroups, tokensPerBlock);
    for (const { prompt, blocks } of hits) {
      const [match] = index.find(asker.hash({ tokens: prompt, loraName: '', cacheSalt: '' }, contract));
      expect(match?.blocks[0] ?? 0).toBe(blocks);
    }
    // Some have a hit and some have none: the cache overflowed.
    const found = hits.filter(({ blocks }) => blocks > 0).length;
    expect(found).toBeGreaterThan(0);
    expect(found).toBeLessThan(hits.length);
  });

  it('is answered and routed by when an aggregator reads it from the engine’s socket', async () => {
    const engine = await FakePublisher.start();
    open.add(() => engine.stop());
    for (const { payload } of batches) await engine.publish(payload);
    const directWorkers = [
      {
        target: 'w-0',
        model: 'tiny',
        sources: [engine.source],
        declaredTokensPerBlock: undefined,
        version: '0.0.0',
      },
    ];
    const harness = await open.aggregator([], {}, { indexing: { directWorkers } });
    await harness.untilView(({ groups }) => groups[0]?.members[0]?.cacheView === 'exact');
    expect(harness.aggregator.fleet.runner.view.groups[0]?.values?.tokens_per_block).toBe(tokensPerBlock);
    const { cache } = makeCache();
    for (const { payload } of batches) cache.apply(payload);
    const indexer = indexerOf(open, harness);
    const router = routerOf(open, harness);
    const hits = expectedHits(recording, cache.cacheGroups, tokensPerBlock);
    for (const { prompt, blocks } of hits.slice(-ASKED_BY_CALL)) {
      const expected = blocks === 0 ? [] : [`w-0/0 ${blocks},${blocks},${blocks},${blocks} 1`];
      expect(await matches(indexer, tokens(prompt))).toEqual(expected);
      const request = { group: '', prompt: tokens(prompt), excludedTargets: [] };
      const { selection } = await callUnary(router.selectWorker.bind(router), request, call);
      expect(selection?.cachedBlocks).toBe(blocks);
    }
  });
});
