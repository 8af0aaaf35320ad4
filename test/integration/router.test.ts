import { type ServiceError, status } from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import { BlockHasher } from '../../src/core/blocks/block-hasher.js';
import { callUnary } from '../../src/edge/rpc/call-unary.js';
import { readPeerReason } from '../../src/edge/rpc/errors.js';
import type { Route, RouteRequest } from '../../src/fleet/router/routing.js';
import type { Prompt } from '../../src/gen/kvaccord/v1/indexer.js';
import { Picture, type SubscribeResponse } from '../../src/gen/kvaccord/v1/kv_events.js';
import {
  CountReporting,
  ListResultsResponse,
  type RouterClient,
  type Selection,
} from '../../src/gen/kvaccord/v1/router.js';
import type { AggregatorHarness } from '../support/aggregator-harness.js';
import type { FakeSidecar } from '../support/fake-sidecar.js';
import { call, hashed, indexerOf, matches, tokens } from '../support/indexer-calls.js';
import { say } from '../support/kv-events.js';
import { OpenThings } from '../support/open-things.js';
import { makeWireReport, type WireSketch } from '../support/reports.js';
import { routerOf } from '../support/router-calls.js';

const open = new OpenThings();
afterEach(() => open.close());

/** A worker that holds `hashes`. */
function holder(name: string, hashes: readonly number[], sketch: WireSketch = {}): Promise<FakeSidecar> {
  const kvEvents = (): SubscribeResponse[] => [
    say.start({ instance: `${name}-1` }),
    say.part(hashes),
    say.end(),
  ];
  return open.sidecar(name, sketch, { kvEvents });
}

/** Resolves when the pictures of so many members are exact. */
function exact(harness: AggregatorHarness, count: number): Promise<void> {
  return harness.untilView(
    ({ groups }) =>
      groups.flatMap(({ members }) => members).filter(({ cacheView }) => cacheView === 'exact').length ===
      count,
  );
}

function select(router: RouterClient, prompt: Prompt | undefined, excludedTargets: string[] = []) {
  return callUnary(router.selectWorker.bind(router), { group: '', prompt, excludedTargets }, call);
}

async function reserve(
  router: RouterClient,
  prompt: Prompt | undefined,
  leaseSeconds?: number,
): Promise<{ id: string; selection: Selection }> {
  const { reservationId: id, selection } = await callUnary(
    router.reserve.bind(router),
    { group: 'tiny', prompt, excludedTargets: [], ...(leaseSeconds === undefined ? {} : { leaseSeconds }) },
    call,
  );
  if (selection === undefined) throw new Error('nothing was selected');
  return { id, selection };
}

function release(
  router: RouterClient,
  reservationId: string,
  cachedTokens?: number,
): Promise<{ wasActive: boolean }> {
  const usage = cachedTokens === undefined ? {} : { promptTokens: 96, cachedTokens };
  return callUnary(router.release.bind(router), { reservationId, ...usage }, call);
}

/** The status and the reason that a call ends with. */
async function refusal(answer: Promise<unknown>): Promise<{ code: status; reason: string; words: string }> {
  const error = await answer.then(
    () => {
      throw new Error('it was answered');
    },
    (thrown: ServiceError) => thrown,
  );
  return { code: error.code, reason: readPeerReason(error)?.reason ?? '', words: error.details };
}

async function active(harness: AggregatorHarness): Promise<string> {
  const text = await (await fetch(`${harness.http}/metrics`)).text();
  const of = (name: string): string =>
    new RegExp(`kv_accord_router_active_${name}\\{group="tiny"\\} (\\S+)`).exec(text)?.[1] ?? '-';
  return `${of('blocks')} blocks, ${of('requests')} requests`;
}

function request(about: Partial<RouteRequest> = {}): RouteRequest {
  return { group: 'tiny', tokens: undefined, loraName: '', cacheSalt: '', excluded: [], ...about };
}

async function route(harness: AggregatorHarness, about: Partial<RouteRequest> = {}): Promise<Route> {
  if (harness.routing === undefined) throw new Error('it does not route');
  return harness.routing.route(request(about));
}

describe('the router of an aggregator, over real sockets', () => {
  it('sends each prompt where its beginning is held, and says what every worker would cost', async () => {
    const [a, b] = [await holder('w-1', [1, 2, 3]), await holder('w-2', [1, 8, 9])];
    const harness = await open.aggregator([a, b]);
    await exact(harness, 2);
    const router = routerOf(open, harness);
    const { selection, candidates } = await select(router, hashed([1, 2, 3, 4]));
    expect(selection).toEqual({
      group: 'tiny',
      epoch: 1n,
      tokensPerBlock: 32,
      target: a.address,
      workerId: 'w-1',
      instanceId: 'w-1-1',
      dataParallelRank: 0,
      cachedBlocks: 3,
      promptBlocks: 4,
      promptTokens: 128,
      rankCount: 1,
      isExact: true,
      isTrial: false,
      routingMode: 'exact',
      neighbourTarget: '',
      neighbourRank: 0,
      neighbourCachedBlocks: 0,
    });
    // logit = 1.0 * prefill + active
    expect(candidates).toMatchObject([
      {
        target: a.address,
        logit: 5,
        potentialPrefillBlocks: 1,
        potentialActiveBlocks: 4,
        deviceBlocks: 3,
        probability: 1,
      },
      {
        target: b.address,
        logit: 7,
        potentialPrefillBlocks: 3,
        potentialActiveBlocks: 4,
        deviceBlocks: 1,
        probability: 0,
      },
    ]);
    expect((await select(router, hashed([1, 8, 9]))).selection?.target).toBe(b.address);
    expect((await select(router, hashed([1, 2, 3]), [a.address])).selection?.target).toBe(b.address);
    expect(await active(harness)).toBe('0 blocks, 0 requests');
  });

  it('hashes tokens as the workers do, by LoRA adapter and salt, for callers in the process and over gRPC alike', async () => {
    const prompt = Array.from({ length: 100 }, (_, at) => at);
    const hasher = new BlockHasher();
    const seed = hasher.seedOf('lora', 'salt');
    const its = hasher.hashTokens(Uint32Array.from(prompt), { tokensPerBlock: 32, unit: 'token', seed });
    const part = say.part([]);
    if (part.payload?.$case === 'snapshotPart')
      part.payload.value.sequenceHashes = Buffer.from(its.sequenceHashes);
    const [a, b] = [
      await open.sidecar('w-1', {}, { kvEvents: () => [say.start(), part, say.end()] }),
      await holder('w-2', []),
    ];
    const harness = await open.aggregator([a, b]);
    await exact(harness, 2);
    const names = { loraName: 'lora', cacheSalt: 'salt' };
    const { selection } = await select(routerOf(open, harness), tokens(prompt, names));
    expect(selection).toMatchObject({ target: a.address, cachedBlocks: 3, promptBlocks: 4 });
    const { decision } = await route(harness, { tokens: Uint32Array.from(prompt), ...names });
    expect(decision).toMatchObject({ target: a.address, cachedBlocks: 3, promptBlocks: 4, isExact: true });
    expect((await route(harness, { tokens: Uint32Array.from(prompt) })).decision.cachedBlocks).toBe(0);
  });

  it('counts what is reserved until it is released', async () => {
    const worker = await holder('w-1', [1]);
    const harness = await open.aggregator([worker]);
    await exact(harness, 1);
    const router = routerOf(open, harness);
    const { id, selection } = await reserve(router, hashed([1, 2, 3]), 5);
    expect(selection).toMatchObject({ target: worker.address, cachedBlocks: 1 });
    expect(id).toMatch(/^[0-9a-f]{32}$/);
    expect(await active(harness)).toBe('3 blocks, 1 requests');
    await callUnary(router.prefillDone.bind(router), { reservationId: id }, call);
    await callUnary(router.progress.bind(router), { reservationId: id, outputTokens: 64 }, call);
    expect(await active(harness)).toBe('5 blocks, 1 requests');
    expect(await release(router, id, 32)).toEqual({ wasActive: true });
    expect(await release(router, id)).toEqual({ wasActive: false });
    expect(await active(harness)).toBe('0 blocks, 0 requests');
    expect(
      await refusal(callUnary(router.prefillDone.bind(router), { reservationId: id }, call)),
    ).toMatchObject({
      code: status.NOT_FOUND,
      reason: 'unknown_reservation',
    });
  });

  it('G1: answers UNAVAILABLE with the reason of the gate until there is an agreement', async () => {
    const [a, b] = [await open.sidecar('w-1'), await open.sidecar('w-2', { size: 16 })];
    const harness = await open.aggregator([a, b]);
    await harness.untilView(({ groups }) => groups[0]?.state === 'conflict');
    const router = routerOf(open, harness);
    for (const answer of [select(router, hashed([1])), reserve(router, undefined)]) {
      expect(await refusal(answer)).toMatchObject({ code: status.UNAVAILABLE, reason: 'conflict' });
    }
    b.setReport(makeWireReport('w-2', { size: 32, instance: 'w-2-2' }));
    await harness.untilGate(true);
    expect((await select(router, hashed([1]))).selection?.tokensPerBlock).toBe(32);
  });

  it('has a bound for everything, and says so', async () => {
    const worker = await holder('w-1', [1]);
    const harness = await open.aggregator(
      [worker],
      {},
      { routing: { reservationLimits: { maxReservations: 2 } } },
    );
    await exact(harness, 1);
    const router = routerOf(open, harness);
    const invalid = { code: status.INVALID_ARGUMENT };
    expect(await refusal(select(router, hashed([1]), Array(1_025).fill('x')))).toMatchObject(invalid);
    expect(await refusal(reserve(router, hashed([1]), 0))).toMatchObject(invalid);
    expect(await refusal(reserve(router, hashed([1]), 86_401))).toMatchObject(invalid);
    expect(await refusal(reserve(router, { form: undefined, loraName: '', cacheSalt: '' }))).toMatchObject(
      invalid,
    );
    expect(await refusal(reserve(router, tokens([1], { cacheSalt: 'x'.repeat(5_000) })))).toMatchObject(
      invalid,
    );
    expect(await active(harness)).toBe('0 blocks, 0 requests');
    const { id } = await reserve(router, hashed([1]));
    const progress = { reservationId: id, outputTokens: 4_294_967_295 };
    expect(await refusal(callUnary(router.progress.bind(router), progress, call))).toMatchObject(invalid);
    expect(await refusal(release(router, id, 97))).toMatchObject(invalid);
    await reserve(router, undefined);
    expect(await refusal(reserve(router, undefined))).toMatchObject({
      code: status.RESOURCE_EXHAUSTED,
      reason: 'too_many_reservations',
    });
    expect(await release(router, id, 32)).toEqual({ wasActive: true });
    await reserve(router, undefined);
    const nobody = callUnary(
      router.selectWorker.bind(router),
      { group: 'other', prompt: undefined, excludedTargets: [] },
      call,
    );
    expect(await refusal(nobody)).toMatchObject({ code: status.NOT_FOUND, reason: 'unknown_group' });
    expect(await refusal(select(router, undefined, [worker.address]))).toMatchObject({
      code: status.UNAVAILABLE,
      reason: 'no_worker',
    });
  });

  it('A9: ends what is reserved with its epoch, and decides by the new one alone', async () => {
    let width = 32;
    const events = (name: string) => (): SubscribeResponse[] => [
      say.start({ instance: `${name}-${width}`, stream: `s-${width}` }),
      say.part([1, 2], 0, 'device', width),
      say.end(),
    ];
    const workers = await Promise.all(
      ['w-1', 'w-2'].map((name) =>
        open.sidecar(name, { instance: `${name}-32` }, { kvEvents: events(name) }),
      ),
    );
    const harness = await open.aggregator(workers, { settleMs: 20 });
    await exact(harness, 2);
    const router = routerOf(open, harness);
    const before = await reserve(router, hashed([1, 2, 3]));
    const inside = await route(harness, { tokens: new Uint32Array(100) });
    expect(before.selection).toMatchObject({ epoch: 1n, tokensPerBlock: 32, cachedBlocks: 2 });
    // Asked all through the change: each answer is of one epoch, and whole.
    const seen = new Set<string>();
    let isOver = false;
    const asking = (async () => {
      while (!isOver) {
        const { selection } = await select(router, hashed([1, 2, 3])).catch(() => ({ selection: undefined }));
        if (selection !== undefined)
          seen.add(`${selection.epoch} ${selection.tokensPerBlock} ${selection.instanceId.slice(4)}`);
      }
    })();
    width = 64;
    for (const [at, worker] of workers.entries())
      worker.setReport(makeWireReport(`w-${at + 1}`, { size: 64, instance: `w-${at + 1}-64` }));
    await harness.untilView(({ groups }) => groups[0]?.epoch === 2);
    await exact(harness, 2);
    isOver = true;
    await asking;
    for (const epoch of seen) expect(['1 32 32', '2 64 64']).toContain(epoch);
    expect(await active(harness)).toBe('0 blocks, 0 requests');
    expect(await release(router, before.id)).toEqual({ wasActive: false });
    inside.progress(1_000);
    inside.release();
    expect(await active(harness)).toBe('0 blocks, 0 requests');
    expect((await reserve(router, hashed([1, 2, 3]))).selection).toMatchObject({
      epoch: 2n,
      tokensPerBlock: 64,
      cachedBlocks: 2,
    });
  });

  it('ends what was reserved on a worker that has gone, and sends nothing more there', async () => {
    const [a, b] = [await holder('w-1', [1, 2]), await holder('w-2', [])];
    const harness = await open.aggregator([a, b]);
    await exact(harness, 2);
    const router = routerOf(open, harness);
    const there = await reserve(router, hashed([1, 2]));
    expect(there.selection.target).toBe(a.address);
    harness.aggregator.fleet.runner.listed([{ target: b.address }]);
    await harness.untilView(({ groups }) => groups[0]?.members.length === 1);
    expect(await active(harness)).toBe('0 blocks, 0 requests');
    expect(await release(router, there.id)).toEqual({ wasActive: false });
    expect((await reserve(router, hashed([1, 2]))).selection).toMatchObject({
      target: b.address,
      cachedBlocks: 0,
    });
  });

  it('sends a prompt to a late joiner that holds more of it', async () => {
    const [a, late] = [await holder('w-1', [1]), await holder('w-2', [1, 2, 3])];
    late.mode = 'refuse';
    const harness = await open.aggregator([a, late], { onMissing: 'proceed', collectTimeoutMs: 20 });
    await exact(harness, 1);
    const router = routerOf(open, harness);
    expect((await select(router, hashed([1, 2, 3]))).selection?.target).toBe(a.address);
    late.mode = 'serve';
    await exact(harness, 2);
    expect((await select(router, hashed([1, 2, 3]))).selection?.target).toBe(late.address);
    late.sendEvents(say.removed(1, [2]));
    a.sendEvents(say.stored(1, [2]));
    await expect
      .poll(async () => (await select(router, hashed([1, 2, 3]))).selection?.target)
      .toBe(a.address);
  });

  it('says when engines do not have what the index says they have', { timeout: 30_000 }, async () => {
    const worker = await holder('w-1', [1, 2, 3]);
    const harness = await open.aggregator([worker]);
    await exact(harness, 1);
    const router = routerOf(open, harness);
    const doubts = (): string[] =>
      harness.logger.messages('warn').filter((line) => line.includes(' is doubted: '));
    for (let count = 0; count < 5; count += 1) {
      const { id } = await reserve(router, hashed([1, 2, 3]));
      await release(router, id, 0);
    }
    // Of a prompt of three held blocks an engine computes the last one again.
    // It is concluded once events that were on their way must have come.
    await expect
      .poll(doubts, { timeout: 15_000 })
      .toEqual([
        expect.stringContaining(
          '5 of its last 5 results contradict its cache view: 320 prompt tokens predicted, 0',
        ),
      ]);
    const view = (): string[] =>
      harness.aggregator.fleet.runner.view.groups.flatMap(({ members, routingMode }) => [
        ...members.map(({ cacheView }) => cacheView ?? '-'),
        routingMode,
      ]);
    await expect.poll(view).toEqual(['doubted', 'mixed']);
    const results = await callUnary(router.listResults.bind(router), { group: '' }, call);
    const answer = await (await fetch(`${harness.http}/api/v1/results`)).json();
    expect(answer).toEqual(ListResultsResponse.toJSON(results));
    expect(results.groups).toMatchObject([
      {
        group: 'tiny',
        rankCount: 1,
        ranks: [
          {
            target: worker.address,
            reporting: CountReporting.REPORTS,
            window: { requests: 5n, predictedTokens: 320n, reportedTokens: 0n, overTokens: 320n },
            doubted: true,
            doubtReason: expect.stringContaining('its prefix cache is off'),
            missingRequests: 20,
          },
        ],
      },
    ]);
    expect(await matches(indexerOf(open, harness), hashed([1]))).toEqual([
      `${worker.address}/0 1,1,1,1 ${Picture.DOUBTED}`,
    ]);
    // It comes back by its results.
    for (let count = 0; count < 20; count += 1) {
      const { id } = await reserve(router, hashed([1, 2, 3]));
      await release(router, id, 64);
    }
    await expect.poll(view).toEqual(['exact', 'exact']);
  });

  it('leaves nothing open', async () => {
    const worker = await holder('w-1', [1]);
    const harness = await open.aggregator([worker]);
    await exact(harness, 1);
    await reserve(routerOf(open, harness), hashed([1]));
    await harness.stop();
    await worker.until(() => worker.openSubscriptions === 0 && worker.openConnections === 0);
  });
});
