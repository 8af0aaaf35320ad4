import { afterEach, describe, expect, it } from 'vitest';
import { BlockHasher } from '../../src/core/blocks/block-hasher.js';
import { type CacheGroup, CacheGroupKind, type Contract } from '../../src/gen/kvaccord/v1/capabilities.js';
import type { DumpResponse } from '../../src/gen/kvaccord/v1/indexer.js';
import { Picture, SubscribeResponse, Tier } from '../../src/gen/kvaccord/v1/kv_events.js';
import type { AggregatorHarness } from '../support/aggregator-harness.js';
import type { FakeSidecar } from '../support/fake-sidecar.js';
import { hashed, indexerOf, matches, tokens } from '../support/indexer-calls.js';
import { say } from '../support/kv-events.js';
import { OpenThings } from '../support/open-things.js';
import { makeWireReport } from '../support/reports.js';

const open = new OpenThings();
afterEach(() => open.close());

const WIDTH = 32;

const group = (index: number, kind: CacheGroupKind, more: Partial<CacheGroup> = {}): CacheGroup => ({
  index,
  kind,
  tokensPerBlock: WIDTH,
  engineKind: '',
  ...more,
});
const full = (index: number, tokensPerBlock = WIDTH): CacheGroup =>
  group(index, CacheGroupKind.FULL_ATTENTION, { tokensPerBlock });
const sliding = (index: number, windowTokens: number): CacheGroup =>
  group(index, CacheGroupKind.SLIDING_WINDOW, { windowTokens });
const state = (index: number, tokensPerBlock: number): CacheGroup =>
  group(index, CacheGroupKind.STATE, { tokensPerBlock });

const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, at) => from + at);
const hasher = new BlockHasher();

/** Hashes of some blocks of a prompt. */
function hashesOf(prompt: readonly number[], blocks: readonly number[], tokensPerBlock = WIDTH): Buffer {
  const seed = hasher.seedOf('', '');
  const options = { tokensPerBlock, unit: 'token', seed } as const;
  const { sequenceHashes } = hasher.hashTokens(Uint32Array.from(prompt), options);
  return Buffer.concat(blocks.map((block) => sequenceHashes.slice(8 * block, 8 * block + 8)));
}

function startOf(cacheGroups: readonly CacheGroup[], stream = 's-1'): SubscribeResponse {
  const rank = { dataParallelRank: 0, picture: Picture.EXACT, cacheGroups: [...cacheGroups] };
  const value = { workerId: 'w-1', instanceId: 'w-1-1', streamId: stream, resumed: false, ranks: [rank] };
  return SubscribeResponse.fromPartial({ payload: { $case: 'start', value } });
}

function partOf(hashes: Buffer, cacheGroup?: number, tokensPerBlock = WIDTH): SubscribeResponse {
  const part = { dataParallelRank: 0, tier: Tier.DEVICE, tokensPerBlock, sequenceHashes: hashes };
  return SubscribeResponse.fromPartial({
    payload:
      cacheGroup === undefined
        ? { $case: 'snapshotPart', value: part }
        : { $case: 'groupSnapshotPart', value: { cacheGroup, part } },
  });
}

function groupChange(
  sequence: number,
  kind: 'stored' | 'removed',
  cacheGroup: number,
  hashes: Buffer,
  tokensPerBlock = WIDTH,
): SubscribeResponse {
  const blocks = { tier: Tier.DEVICE, tokensPerBlock, sequenceHashes: hashes };
  const change =
    kind === 'stored'
      ? { $case: 'groupStored' as const, value: { cacheGroup, stored: blocks } }
      : { $case: 'groupRemoved' as const, value: { cacheGroup, removed: blocks } };
  const value = { sequence: BigInt(sequence), dataParallelRank: 0, changes: [{ change }] };
  return SubscribeResponse.fromPartial({ payload: { $case: 'changes', value } });
}

/** A worker whose report has this contract, and whose stream begins with these messages. */
async function worker(
  messages: readonly SubscribeResponse[],
  contract: Partial<Contract> = {},
  size = WIDTH,
): Promise<FakeSidecar> {
  const made = await open.sidecar('w-1', { size }, { kvEvents: () => [...messages] });
  const report = makeWireReport('w-1', { size });
  made.setReportSilently({ ...report, contract: { ...(report.contract as Contract), ...contract } });
  return made;
}

function untilCacheView(harness: AggregatorHarness, cacheView: string): Promise<void> {
  return harness.untilView(
    ({ groups }) => groups[0]?.members.every((member) => member.cacheView === cacheView) === true,
  );
}

describe('FindMatches over a hybrid model', () => {
  it('of full attention and a sliding window has what both hold, as the groups change', async () => {
    const prompt = range(0, 900);
    const gptOss = await worker([
      startOf([full(0), sliding(1, 128)]),
      partOf(hashesOf(prompt, range(0, 28))),
      partOf(hashesOf(prompt, range(24, 28)), 1),
      say.end(),
    ]);
    const harness = await open.aggregator([gptOss]);
    await untilCacheView(harness, 'exact');
    const indexer = indexerOf(open, harness);
    expect(await matches(indexer, tokens(prompt))).toEqual([`${gptOss.address}/0 28,28,28,28 1`]);
    expect(await matches(indexer, tokens(prompt.slice(0, 700)))).toEqual([]);
    expect(
      await matches(indexer, {
        ...hashed([]),
        form: { $case: 'sequenceHashes', value: hashesOf(prompt, range(0, 28)) },
      }),
    ).toEqual([`${gptOss.address}/0 28,28,28,28 1`]);
    gptOss.sendEvents(groupChange(1, 'stored', 1, hashesOf(prompt, range(17, 21))));
    await expect
      .poll(() => matches(indexer, tokens(prompt.slice(0, 700))))
      .toEqual([`${gptOss.address}/0 21,21,21,21 1`]);
    gptOss.sendEvents(groupChange(2, 'removed', 1, hashesOf(prompt, [17, 24])));
    await expect.poll(() => matches(indexer, tokens(prompt))).toEqual([]);
    gptOss.sendEvents(say.cleared(3), groupChange(4, 'stored', 1, hashesOf(prompt, range(24, 28))));
    await expect.poll(async () => (await dumped(indexer)).length).toBe(4);
    expect(await matches(indexer, tokens(prompt))).toEqual([]);
  });

  it('of linear attention ends where a state is, in blocks of 1,056 tokens', async () => {
    const prompt = range(0, 3_500);
    const groups = [state(0, 1_056), state(1, 1_056), full(2, 1_056)];
    const qwen3next = await worker(
      [
        startOf(groups),
        partOf(hashesOf(prompt, range(0, 3), 1_056), undefined, 1_056),
        partOf(hashesOf(prompt, [0, 2], 1_056), 0, 1_056),
        partOf(hashesOf(prompt, [0, 1, 2], 1_056), 1, 1_056),
        say.end(),
      ],
      { cacheGroups: groups },
      1_056,
    );
    const harness = await open.aggregator([qwen3next]);
    await untilCacheView(harness, 'exact');
    const indexer = indexerOf(open, harness);
    expect(await matches(indexer, tokens(prompt))).toEqual([`${qwen3next.address}/0 3,3,3,3 1`]);
    // The state after 2,112 tokens is missing in one group, and the third block has the prompt's last token.
    expect(await matches(indexer, tokens(prompt.slice(0, 3_168)))).toEqual([
      `${qwen3next.address}/0 1,1,1,1 1`,
    ]);
  });

  it('of sliding windows alone needs nothing before the window', async () => {
    const prompt = range(0, 900);
    const mistral = await worker([
      startOf([sliding(0, 128)]),
      partOf(hashesOf(prompt, range(24, 28))),
      say.end(),
    ]);
    const harness = await open.aggregator([mistral]);
    await untilCacheView(harness, 'exact');
    const indexer = indexerOf(open, harness);
    expect(await matches(indexer, tokens(prompt))).toEqual([`${mistral.address}/0 28,28,28,28 1`]);
    expect(await matches(indexer, tokens(prompt.slice(0, 860)))).toEqual([]);
  });

  it('at several block widths ends on a multiple of all of them', async () => {
    const prompt = range(0, 1_000);
    const states = state(1, 96);
    const mixed = await worker([
      startOf([full(0), states]),
      partOf(hashesOf(prompt, range(0, 31))),
      partOf(hashesOf(prompt, [1, 9], 96), 1, 96),
      say.end(),
    ]);
    const harness = await open.aggregator([mixed]);
    await untilCacheView(harness, 'exact');
    const indexer = indexerOf(open, harness);
    expect(await matches(indexer, tokens(prompt))).toEqual([`${mixed.address}/0 30,30,30,30 1`]);
    expect(await matches(indexer, tokens(prompt.slice(0, 900)))).toEqual([`${mixed.address}/0 6,6,6,6 1`]);
  });

  it('with a draft model has one block less, in the report as soon as it says so', async () => {
    const prompt = range(0, 900);
    const eagle = await worker([startOf([]), partOf(hashesOf(prompt, range(0, 28))), say.end()], {
      dropsLastHitBlock: true,
    });
    const harness = await open.aggregator([eagle]);
    await untilCacheView(harness, 'exact');
    const indexer = indexerOf(open, harness);
    expect(await matches(indexer, tokens(prompt))).toEqual([`${eagle.address}/0 27,27,27,27 1`]);
    const { report } = eagle;
    const contract = { ...(report.contract as Contract), dropsLastHitBlock: false };
    eagle.setReport({ ...report, revision: report.revision + 1n, contract });
    await expect.poll(() => matches(indexer, tokens(prompt))).toEqual([`${eagle.address}/0 28,28,28,28 1`]);
  });

  it('of a kind that is not known is approximate, with the reason, and never exact', async () => {
    const prompt = range(0, 900);
    const odd = group(1, 9 as CacheGroupKind, { engineKind: 'hologram' });
    const strange = await worker([
      startOf([full(0), odd]),
      partOf(hashesOf(prompt, range(0, 28))),
      say.end(),
    ]);
    const harness = await open.aggregator([strange]);
    await untilCacheView(harness, 'approximate');
    const [view] = harness.aggregator.fleet.runner.view.groups;
    expect(view?.routingMode).toBe('mixed');
    expect(view?.members[0]?.cacheViewReason).toContain('its KV cache group 1 (hologram) is of a kind');
    expect(await matches(indexerOf(open, harness), tokens(prompt))).toEqual([
      `${strange.address}/0 28,28,28,28 ${Picture.APPROXIMATE}`,
    ]);
  });

  it('begins again where it names more groups than there can be', async () => {
    const prompt = range(0, 900);
    const engine = await worker([
      startOf([sliding(0, 128)]),
      partOf(hashesOf(prompt, range(24, 28))),
      say.end(),
    ]);
    const harness = await open.aggregator([engine]);
    await untilCacheView(harness, 'exact');
    const cacheGroups = range(0, 33).map((index) => sliding(index, 128));
    const value = { picture: Picture.EXACT, cacheGroups };
    engine.sendEvents(SubscribeResponse.fromPartial({ payload: { $case: 'rankState', value } }));
    await engine.until(() => engine.subscriptionRequests.length === 2);
    expect(engine.subscriptionRequests[1]).toEqual({
      resumeStreamId: '',
      resumeSequence: 0n,
      tokensPerBlock: 0,
    });
  });
});

/** Every entry of the index, as its holders. */
function dumped(indexer: ReturnType<typeof indexerOf>): Promise<readonly number[][]> {
  return new Promise((resolve, reject) => {
    const entries: number[][] = [];
    const stream = indexer.dump({ group: '' });
    stream.on('data', ({ payload }: DumpResponse) => {
      if (payload?.$case === 'part') entries.push(...payload.value.entries.map(({ holders }) => holders));
    });
    stream.on('error', reject);
    stream.on('end', () => resolve(entries));
  });
}
