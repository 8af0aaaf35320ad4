import { describe, expect, it } from 'vitest';
import { hitRules, longestHit } from '../../src/blocks/longest-hit.js';
import { FleetIndex } from '../../src/indexer/fleet-index.js';
import { IndexTally } from '../../src/indexer/index-tally.js';
import { PromptHashes } from '../../src/indexer/prompt-hashes.js';
import type { RankStatus } from '../../src/kv-events/relay.js';
import { makePicture } from '../kv-events/support/engine-payloads.js';
import { promptsOf, readGroupRecording } from '../kv-events/support/group-recordings.js';

/** Prompts that are asked for; a recording has some hundreds. */
const ASKED = 400;

describe.each(['gptoss', 'qwen3next'] as const)('the recording of %s', (name) => {
  const { batches, hashes } = readGroupRecording(name);

  it('comes to the hits that the blocks of the engine allow, prompt by prompt', () => {
    const { picture } = makePicture();
    const tokensPerBlock = name === 'gptoss' ? 32 : 544;
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
      ...(picture.cacheGroups.length === 0 ? {} : { cacheGroups: picture.cacheGroups }),
    });
    const start = { type: 'start', instanceId: 'i', streamId: 's', resumed: false, reason: '' } as const;
    expect(index.apply('w-1', { ...start, ranks: [status()] })).toBeUndefined();
    expect(index.apply('w-1', { type: 'snapshot_end', sequence: 0 })).toBeUndefined();
    for (const [at, { payload }] of batches.entries()) {
      const { changes, hasNewGroups } = picture.apply(payload);
      // As a relay does: groups before the first block that depends on them.
      if (hasNewGroups) index.apply('w-1', { type: 'rank_state', status: status() });
      expect(index.apply('w-1', { type: 'changes', sequence: at + 1, rank: 0, changes })).toBeUndefined();
    }
    expect(index.pictureOfRank('w-1', 0)).toBe('exact');

    const groups = picture.cacheGroups;
    const prompts = [...promptsOf(batches, Math.max(...Object.keys(hashes).map(Number)))];
    // What the engine's own block pool has in the end, by group and the tokens that a block ends.
    const byHash = new Map(prompts);
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
    const asker = new PromptHashes();
    const contract = { tokensPerBlock, hashUnit: 'token', otherWidths: index.otherWidths } as const;
    let found = 0;
    for (const [, prompt] of prompts.slice(-ASKED)) {
      const tokens = [...prompt, 1];
      const isHeld = (group: number, block: number): boolean =>
        held[group]?.has(JSON.stringify(tokens.slice(0, (block + 1) * tokensPerBlock))) === true;
      const expected = longestHit(rules, isHeld, tokens.length) / tokensPerBlock;
      const [match] = index.find(asker.hash({ tokens, loraName: '', cacheSalt: '' }, contract));
      expect(match?.blocks[0] ?? 0).toBe(expected);
      if (expected > 0) found += 1;
    }
    // Some have a hit and some have none: the cache overflowed.
    expect(found).toBeGreaterThan(0);
    expect(found).toBeLessThan(Math.min(ASKED, prompts.length));
  });
});
