import { type ServiceError, status } from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import { BlockHasher } from '../../src/core/blocks/block-hasher.js';
import { callUnary } from '../../src/edge/rpc/call-unary.js';
import { readPeerReason } from '../../src/edge/rpc/errors.js';
import { EvidenceSource, HashUnit } from '../../src/gen/kvaccord/v1/capabilities.js';
import type { SubscribeRequest, SubscribeResponse } from '../../src/gen/kvaccord/v1/kv_events.js';
import type { AggregatorHarness } from '../support/aggregator-harness.js';
import type { FakeSidecar, FakeSidecarOptions } from '../support/fake-sidecar.js';
import { call, hashed, indexerOf, matches, tokens } from '../support/indexer-calls.js';
import { pack, say } from '../support/kv-events.js';
import { OpenThings } from '../support/open-things.js';
import { makeWireReport } from '../support/reports.js';

const open = new OpenThings();
afterEach(() => open.close());

/** A sidecar whose engine holds `hashes`; a subscriber that comes back to `s-1` goes on where it was. */
function holding(...hashes: readonly number[]): NonNullable<FakeSidecarOptions['kvEvents']> {
  return ({ resumeStreamId }: SubscribeRequest): SubscribeResponse[] =>
    resumeStreamId === 's-1' ? [say.start({ resumed: true })] : [say.start(), say.part(hashes), say.end()];
}

/** Resolves when so many members have this cache view. */
function untilCacheView(harness: AggregatorHarness, cacheView: string, count = 1): Promise<void> {
  return harness.untilView(
    ({ groups }) =>
      groups.flatMap(({ members }) => members).filter((member) => member.cacheView === cacheView).length ===
      count,
  );
}

function cacheViewReason(harness: AggregatorHarness): string {
  return harness.aggregator.fleet.runner.view.groups[0]?.members[0]?.cacheViewReason ?? '';
}

async function metrics(harness: AggregatorHarness): Promise<string> {
  return (await fetch(`${harness.http}/metrics`)).text();
}

describe('the index of an aggregator, over real sockets', () => {
  it('is exact for a frontend that starts late, and follows each change', async () => {
    const worker = await open.sidecar('w-1', {}, { kvEvents: holding(1, 2, 3) });
    const harness = await open.aggregator([worker]);
    await untilCacheView(harness, 'exact');
    const indexer = indexerOf(open, harness);
    expect(await matches(indexer, hashed([1, 2, 3, 4]))).toEqual([`${worker.address}/0 3,3,3,3 1`]);
    worker.sendEvents(say.stored(1, [4]), say.removed(2, [2]));
    await expect
      .poll(() => matches(indexer, hashed([1, 2, 3, 4])))
      .toEqual([`${worker.address}/0 1,1,1,1 1`]);
    expect(harness.aggregator.fleet.runner.view.groups[0]?.routingMode).toBe('exact');
    worker.sendEvents(say.cleared(3));
    await expect.poll(() => matches(indexer, hashed([1]))).toEqual([]);
  });

  it('puts the longest match first, by rank and tier', async () => {
    const kvEvents = () => [
      say.start({ ranks: [1, 1] }),
      say.part([1], 0),
      say.part([1, 2], 1),
      say.part([2, 3], 0, 'host'),
      say.end(),
    ];
    const worker = await open.sidecar('w-1', {}, { kvEvents });
    const harness = await open.aggregator([worker]);
    await untilCacheView(harness, 'exact');
    expect(await matches(indexerOf(open, harness), hashed([1, 2, 3]))).toEqual([
      `${worker.address}/0 1,3,3,3 1`,
      `${worker.address}/1 2,2,2,2 1`,
    ]);
  });

  it('costs no snapshot when the connection breaks for a moment, and holds all the while', async () => {
    const worker = await open.sidecar('w-1', {}, { kvEvents: holding(1, 2) });
    const harness = await open.aggregator([worker]);
    await untilCacheView(harness, 'exact');
    worker.sendEvents(say.stored(1, [3]));
    const indexer = indexerOf(open, harness);
    await expect.poll(() => matches(indexer, hashed([1, 2, 3]))).toHaveLength(1);
    worker.cutConnections();
    await worker.until(() => worker.subscriptionRequests.length === 2);
    expect(worker.subscriptionRequests[1]).toEqual({
      resumeStreamId: 's-1',
      resumeSequence: 1n,
      tokensPerBlock: 0,
    });
    await untilCacheView(harness, 'exact');
    worker.sendEvents(say.stored(2, [4]));
    await expect
      .poll(() => matches(indexer, hashed([1, 2, 3, 4])))
      .toEqual([`${worker.address}/0 4,4,4,4 1`]);
    expect(await metrics(harness)).toContain('kv_accord_kv_gaps_total{group="tiny",outcome="resumed"} 1');
  });

  it('takes what the sidecar says again when it cannot go on, and nothing of before', async () => {
    const worker = await open.sidecar('w-1', {}, { kvEvents: holding(1, 2) });
    const harness = await open.aggregator([worker]);
    await untilCacheView(harness, 'exact');
    worker.sendEvents(say.start({ stream: 's-2' }), say.part([2]), say.end());
    const indexer = indexerOf(open, harness);
    await expect.poll(() => matches(indexer, hashed([1]))).toEqual([]);
    expect(await matches(indexer, hashed([2]))).toHaveLength(1);
  });

  it('knows nothing of a worker whose sidecar is older, says so, and offers it all the same', async () => {
    const [old, worker] = [
      await open.sidecar('w-0'),
      await open.sidecar('w-1', {}, { kvEvents: holding(1) }),
    ];
    const harness = await open.aggregator([old, worker]);
    await untilCacheView(harness, 'exact');
    await untilCacheView(harness, 'none');
    expect(cacheViewReason(harness)).toContain('serves no KV events');
    expect(harness.aggregator.fleet.runner.view.groups[0]).toMatchObject({
      ready: true,
      routingMode: 'mixed',
    });
  });

  it('A8: drops what the old engine held when it is restarted, and takes what the new one publishes', async () => {
    const worker = await open.sidecar('w-1', {}, { kvEvents: holding(1) });
    const harness = await open.aggregator([worker]);
    await untilCacheView(harness, 'exact');
    const indexer = indexerOf(open, harness);
    worker.setReport(makeWireReport('w-1', { instance: 'w-1-2' }));
    await expect.poll(() => matches(indexer, hashed([1]))).toEqual([]);
    worker.sendEvents(say.start({ instance: 'w-1-2', stream: 's-2' }), say.part([7]), say.end());
    await expect.poll(() => matches(indexer, hashed([7]))).toHaveLength(1);
  });

  it('V3: names both numbers at the first event that is cut in another width, counts all and applies none', async () => {
    let asked = 0;
    const kvEvents = (): SubscribeResponse[] => {
      asked += 1;
      return [say.start(), say.end()];
    };
    const worker = await open.sidecar('w-1', {}, { kvEvents });
    const harness = await open.aggregator([worker]);
    await untilCacheView(harness, 'exact');
    let counted = 0;
    const allCounted = new Promise<void>((resolve) => {
      harness.aggregator.fleet.runner.listen({
        onEffect: (effect) => {
          if (effect.type === 'mismatch') counted += effect.count;
          if (counted === 3) resolve();
        },
      });
    });
    worker.sendEvents(say.stored(1, [1], 0, 'device', 16));
    await harness.untilView(({ groups }) => groups[0]?.members[0]?.state === 'dissenting');
    // It is asked again: no more for what it holds, but for what it goes on doing wrong.
    await worker.until(() => asked === 2 && worker.openSubscriptions === 1);
    // Of the right width, and from a worker that dissents all the same.
    worker.sendEvents(say.stored(1, [2], 0, 'device', 32));
    worker.sendEvents(say.stored(2, [3], 0, 'device', 16));
    worker.sendEvents(say.stored(3, [4], 0, 'device', 16));
    await allCounted;
    const scraped = await metrics(harness);
    expect(scraped).toContain('source="observed_event"} 3');
    expect(scraped).toContain('kv_accord_kv_events_total{group="tiny",type="stored",result="dissenting"} 1');
    expect(scraped).toContain('kv_accord_index_blocks{group="tiny"} 0');
    const errors = harness.logger.lines.filter(({ level }) => level === 'error');
    expect(errors.map(({ message }) => message)).toEqual([
      expect.stringContaining('Frontend KV block size (32) does not match worker block size (16).'),
    ]);
  });

  it('A9: begins with nothing in a new epoch, and asks every worker again', async () => {
    let width = 32;
    const kvEvents = (): SubscribeResponse[] => [
      say.start({ instance: width === 32 ? 'w-1-1' : 'w-1-2', stream: `s-${width}` }),
      say.part([1], 0, 'device', width),
      say.end(),
    ];
    const worker = await open.sidecar('w-1', {}, { kvEvents });
    const harness = await open.aggregator([worker], { settleMs: 20 });
    await untilCacheView(harness, 'exact');
    width = 64;
    worker.setReport(makeWireReport('w-1', { size: 64, instance: 'w-1-2' }));
    await harness.untilView(
      ({ groups }) => groups[0]?.epoch === 2 && groups[0].members[0]?.cacheView === 'exact',
    );
    const indexer = indexerOf(open, harness);
    await expect
      .poll(() => callUnary(indexer.findMatches.bind(indexer), { group: 'tiny', prompt: hashed([1]) }, call))
      .toMatchObject({
        epoch: 2n,
        tokensPerBlock: 64,
        blockCount: 1,
        routingMode: 'exact',
        matches: [{ workerId: 'w-1', deviceBlocks: 1 }],
      });
  });

  it('takes a worker that discovery lists no more out of every answer, and gives its memory back', async () => {
    const [a, b] = [
      await open.sidecar('w-1', {}, { kvEvents: holding(1, 2) }),
      await open.sidecar('w-1', {}, { kvEvents: holding(1, 2, 3) }),
    ];
    const harness = await open.aggregator([a, b]);
    await untilCacheView(harness, 'exact', 2);
    expect(await metrics(harness)).toContain('kv_accord_index_blocks{group="tiny"} 3');
    harness.aggregator.fleet.runner.listed([{ target: a.address }]);
    await expect.poll(() => metrics(harness)).toContain('kv_accord_index_blocks{group="tiny"} 2');
    expect(await matches(indexerOf(open, harness), hashed([1, 2, 3]))).toEqual([`${a.address}/0 2,2,2,2 1`]);
    await b.until(() => b.openSubscriptions === 0);
  });

  it('leaves nothing open', async () => {
    const worker = await open.sidecar('w-1', {}, { kvEvents: holding(1) });
    const harness = await open.aggregator([worker]);
    await untilCacheView(harness, 'exact');
    expect(worker.openConnections).toBe(1);
    await harness.stop();
    await worker.until(() => worker.openSubscriptions === 0 && worker.openConnections === 0);
  });
});

describe('a hostile sidecar', () => {
  /** An aggregator over an honest worker and one that says `nonsense` after its snapshot. */
  async function besides(
    nonsense: (worker: FakeSidecar) => void,
  ): Promise<{ harness: AggregatorHarness; honest: FakeSidecar }> {
    const honest = await open.sidecar('w-1', {}, { kvEvents: holding(1) });
    const hostile = await open.sidecar('w-1', {}, { kvEvents: holding(1) });
    const harness = await open.aggregator([honest, hostile]);
    await untilCacheView(harness, 'exact', 2);
    // What it says when it is asked again is no better.
    hostile.kvEvents = () => [say.end()];
    nonsense(hostile);
    return { harness, honest };
  }

  it.each<readonly [string, (worker: FakeSidecar) => void]>([
    ['bytes that are no message', (worker) => worker.sendEventBytes(Buffer.from([0xff, 0xff, 0xff]))],
    ['half a hash', (worker) => worker.sendEventBytes(halfAHash())],
    ['a message of two megabytes', (worker) => worker.sendEvents(say.stored(1, Array(262_144).fill(1)))],
    ['a gap', (worker) => worker.sendEvents(say.stored(9, [1]))],
    [
      'more ranks than there can be',
      (worker) => worker.sendEvents(say.start({ ranks: Array(1_025).fill(1) })),
    ],
  ])('that sends %s is believed no more, and the others are', async (_, nonsense) => {
    const { harness, honest } = await besides(nonsense);
    await harness.untilView(
      ({ groups }) =>
        groups[0]?.members.find(({ target }) => target !== honest.address)?.cacheView !== 'exact',
    );
    const found = await matches(indexerOf(open, harness), hashed([1]));
    expect(found.filter((match) => match.endsWith(' 1'))).toEqual([`${honest.address}/0 1,1,1,1 1`]);
  });
});

/** A `changes` whose `sequence_hashes` have four bytes. */
function halfAHash(): Buffer {
  const stored = Buffer.from([0x08, 1, 0x10, 32, 0x1a, 4, 1, 2, 3, 4]);
  const change = Buffer.concat([Buffer.from([0x0a, stored.length]), stored]);
  const changes = Buffer.concat([Buffer.from([0x08, 1, 0x1a, change.length]), change]);
  return Buffer.concat([Buffer.from([0x22, changes.length]), changes]);
}

describe('FindMatches', () => {
  /** Sequence hashes of tokens, as the published scheme has them. */
  function hashesOf(ids: readonly number[], lora = '', salt = ''): Buffer {
    const hasher = new BlockHasher();
    const options = { tokensPerBlock: 32, unit: 'token' as const, seed: hasher.seedOf(lora, salt) };
    return Buffer.from(hasher.hashTokens(Uint32Array.from(ids), options).sequenceHashes);
  }

  const prompt = Array.from({ length: 100 }, (_, id) => id);

  it('finds the same by tokens, by block hashes and by sequence hashes, apart by LoRA and salt', async () => {
    const part = say.part([]);
    if (part.payload?.$case === 'snapshotPart')
      part.payload.value.sequenceHashes = hashesOf(prompt, 'lora', 'salt');
    const worker = await open.sidecar('w-1', {}, { kvEvents: () => [say.start(), part, say.end()] });
    const harness = await open.aggregator([worker]);
    await untilCacheView(harness, 'exact');
    const indexer = indexerOf(open, harness);
    const expected = [`${worker.address}/0 3,3,3,3 1`];
    expect(await matches(indexer, tokens(prompt, { loraName: 'lora', cacheSalt: 'salt' }))).toEqual(expected);
    expect(await matches(indexer, tokens(prompt, { loraName: 'lora' }))).toEqual([]);
    expect(await matches(indexer, tokens(prompt))).toEqual([]);
    const hasher = new BlockHasher();
    const seed = hasher.seedOf('lora', 'salt');
    const { blockHashes } = hasher.hashTokens(Uint32Array.from(prompt), {
      tokensPerBlock: 32,
      unit: 'token',
      seed,
    });
    const form = { $case: 'blockHashes' as const, value: Buffer.from(blockHashes) };
    expect(await matches(indexer, { form, loraName: '', cacheSalt: '' })).toEqual(expected);
  });

  it('hashes pairs of tokens where the engines tell by their events that they do', async () => {
    const hasher = new BlockHasher();
    const seed = hasher.seedOf('', '');
    const { sequenceHashes } = hasher.hashTokens(Uint32Array.from(prompt), {
      tokensPerBlock: 32,
      unit: 'bigram',
      seed,
    });
    const part = say.part([]);
    if (part.payload?.$case === 'snapshotPart')
      part.payload.value.sequenceHashes = Buffer.from(sequenceHashes);
    const worker = await open.sidecar('w-1', {}, { kvEvents: () => [say.start(), part, say.end()] });
    const harness = await open.aggregator([worker]);
    await untilCacheView(harness, 'exact');
    const indexer = indexerOf(open, harness);
    expect(await matches(indexer, tokens(prompt))).toEqual([]);
    const report = makeWireReport('w-1', { revision: 2n });
    const evidence = report.evidence.map((one) => ({
      ...one,
      source: EvidenceSource.OBSERVED_EVENT,
    }));
    const contract = { tokensPerBlock: 32, hashUnit: HashUnit.BIGRAM, cacheGroups: [] };
    worker.setReport({ ...report, contract, evidence });
    await expect.poll(() => matches(indexer, tokens(prompt))).toEqual([`${worker.address}/0 3,3,3,3 1`]);
  });

  it('answers with the reason of the gate while nothing is agreed, and never with a guess', async () => {
    const [a, b] = [await open.sidecar('a'), await open.sidecar('b', { size: 64 })];
    const harness = await open.aggregator([a, b]);
    await harness.untilView(({ groups }) => groups[0]?.state === 'conflict');
    const error = (await matches(indexerOf(open, harness), hashed([1])).catch(
      (e: unknown) => e,
    )) as ServiceError;
    expect(error.code).toBe(status.UNAVAILABLE);
    expect(error.details).toContain('disagree on the KV block size');
    expect(readPeerReason(error)?.reason).toBe('conflict');
  });

  it.each([
    ['no prompt', undefined, /must have/],
    [
      'half a hash',
      { form: { $case: 'sequenceHashes' as const, value: Buffer.alloc(12) }, loraName: '', cacheSalt: '' },
      /12 bytes/,
    ],
    [
      'half a block hash',
      { form: { $case: 'blockHashes' as const, value: Buffer.alloc(1) }, loraName: '', cacheSalt: '' },
      /1 bytes/,
    ],
    ['an endless name', tokens([1], { loraName: 'x'.repeat(5_000) }), /lora_name/],
  ])('refuses %s', async (_, wrong, words) => {
    const worker = await open.sidecar('w-1', {}, { kvEvents: holding(1) });
    const harness = await open.aggregator([worker]);
    await harness.untilGate(true);
    const indexer = indexerOf(open, harness);
    const error: unknown = await callUnary(
      indexer.findMatches.bind(indexer),
      { group: '', prompt: wrong },
      call,
    ).catch((e: unknown) => e);
    expect(error).toMatchObject({ code: status.INVALID_ARGUMENT, details: expect.stringMatching(words) });
  });

  it('refuses a model that nobody serves, and asks for a name where there are several', async () => {
    const [a, b] = [await open.sidecar('a', { model: 'llama' }), await open.sidecar('b', { model: 'qwen' })];
    const harness = await open.aggregator([a, b]);
    await harness.untilView(({ groups }) => groups.length === 2 && groups.every(({ gateOpen }) => gateOpen));
    const indexer = indexerOf(open, harness);
    const ask = (group: string): Promise<unknown> =>
      callUnary(indexer.findMatches.bind(indexer), { group, prompt: hashed([1]) }, call).catch(
        (e: unknown) => e,
      );
    expect(await ask('mistral')).toMatchObject({ code: status.NOT_FOUND });
    expect(await ask('')).toMatchObject({ code: status.INVALID_ARGUMENT });
    expect(await ask('qwen')).toMatchObject({ group: 'qwen', matches: [] });
  });
});

describe('an index without KV events', () => {
  const approximate = { ttlMs: 120_000, maxBlocks: 1_000, pruneTargetRatio: 0.8 };

  it('learns where requests were sent, asks no sidecar, and says that it guesses', async () => {
    const worker = await open.sidecar('w-1', {}, { kvEvents: holding(1) });
    const harness = await open.aggregator(
      [worker],
      { kvEvents: 'approximate' },
      { indexing: { approximate } },
    );
    await harness.untilGate(true);
    const indexer = indexerOf(open, harness);
    const record = (target: string): Promise<unknown> =>
      callUnary(
        indexer.recordDecision.bind(indexer),
        { group: '', prompt: hashed([1, 2]), target, dataParallelRank: 0 },
        call,
      ).catch((e: unknown) => e);
    expect(await record(worker.address)).toEqual({ recorded: true });
    expect(await record('nobody:1')).toMatchObject({ code: status.NOT_FOUND });
    expect(await matches(indexer, hashed([1, 2, 3]))).toEqual([`${worker.address}/0 2,2,2,2 3`]);
    expect(harness.aggregator.fleet.runner.view.groups[0]?.routingMode).toBe('approximate');
    expect(worker.subscriptionRequests).toEqual([]);
  });

  it('needs no telling where it reads events', async () => {
    const worker = await open.sidecar('w-1', {}, { kvEvents: holding(1) });
    const harness = await open.aggregator([worker]);
    await harness.untilGate(true);
    const indexer = indexerOf(open, harness);
    const request = {
      group: '',
      prompt: { form: { $case: 'sequenceHashes' as const, value: pack([5]) }, loraName: '', cacheSalt: '' },
      target: worker.address,
      dataParallelRank: 0,
    };
    expect(await callUnary(indexer.recordDecision.bind(indexer), request, call)).toEqual({ recorded: false });
  });
});
