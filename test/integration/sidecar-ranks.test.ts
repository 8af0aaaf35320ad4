import { Registry } from 'prom-client';
import { afterEach, describe, expect, it } from 'vitest';
import { reportedSource } from '../../src/core/contract/evidence/event-source.js';
import { type Address, parseAddress } from '../../src/edge/platform/address.js';
import { systemClock } from '../../src/edge/platform/clock.js';
import { systemRandom } from '../../src/edge/platform/random.js';
import { callUnary } from '../../src/edge/rpc/call-unary.js';
import { createPlaintextSecurity } from '../../src/edge/security/security.js';
import { loadEngineProbes } from '../../src/engines/catalogue/engines.js';
import { declaredFacts } from '../../src/engines/probing/declared.js';
import type { Prompt } from '../../src/gen/kvaccord/v1/indexer.js';
import type { ReserveResponse } from '../../src/gen/kvaccord/v1/router.js';
import { EngineEventReader } from '../../src/worker/kv-events/engine-event-reader.js';
import { Sidecar } from '../../src/worker/sidecar/sidecar.js';
import { AggregatorHarness } from '../support/aggregator-harness.js';
import { call, indexerOf, matches, tokens } from '../support/indexer-calls.js';
import { OpenThings } from '../support/open-things.js';
import { RecordingLogger } from '../support/recording-logger.js';
import { routerOf } from '../support/router-calls.js';
import { batchOf, FakePublisher, stored } from '../worker/kv-events/support/fake-publisher.js';
import { bareModules } from '../worker/sidecar/support/scripted-probe.js';

const FREE_PORT = parseAddress('127.0.0.1:0') as Address;

const open = new OpenThings();
afterEach(() => open.close());

/** A sidecar with `--engine none` whose engine has a publisher for each rank; the address that it serves at. */
async function besides(ranks: readonly FakePublisher[]): Promise<string> {
  const sources = ranks.map(({ source }, rank) => ({ ...source, rank }));
  const declaration = {
    model: { value: 'tiny', origin: '--model' },
    eventSources: { value: sources.map(reportedSource), origin: '--kv-event-sources' },
  };
  const sidecar = new Sidecar(
    {
      version: '0.0.0',
      workerId: 'w-1',
      listen: FREE_PORT,
      httpListen: FREE_PORT,
      declaredFacts: await declaredFacts(declaration, Date.now()),
      probeIntervalMs: 60_000,
    },
    {
      clock: systemClock,
      random: systemRandom,
      logger: new RecordingLogger(),
      security: createPlaintextSecurity(),
      registry: new Registry(),
      openFile: async () => undefined,
      loadProbes: loadEngineProbes,
      probeModules: bareModules(systemClock),
      locate: async () => ({ type: 'none' }),
      eventReading: {
        settings: { from: 'operator', sources },
        loadReader: async (modules) => new EngineEventReader({}, modules),
      },
    },
  );
  const { grpc } = await sidecar.start();
  const stop = new AbortController();
  const ended = sidecar.run(stop.signal);
  open.add(() => {
    stop.abort();
    return ended;
  });
  return grpc.text;
}

async function publisher(): Promise<FakePublisher> {
  const made = await FakePublisher.start();
  open.add(() => made.stop());
  return made;
}

/** Two publishers whose ranks hold a block of their own each, a sidecar beside them, and an aggregator that has them exact. */
async function twoRanks(): Promise<{
  readonly ranks: readonly [FakePublisher, FakePublisher];
  readonly harness: AggregatorHarness;
  reserve(prompt: Prompt): Promise<ReserveResponse>;
}> {
  const ranks = [await publisher(), await publisher()] as const;
  await ranks[0].publish(batchOf(stored(50)));
  await ranks[1].publish(batchOf(stored(10), stored(20, 10)));
  const harness = await AggregatorHarness.start([await besides(ranks)]);
  open.add(() => harness.stop());
  await isExact(harness);
  const router = routerOf(open, harness);
  return {
    ranks,
    harness,
    reserve: (prompt) =>
      callUnary(router.reserve.bind(router), { group: '', prompt, excludedTargets: [] }, call),
  };
}

/** Resolves when the only worker is exact, as an instance other than `than`; its name. */
async function isExact(harness: AggregatorHarness, than = ''): Promise<string> {
  const present = (): string | undefined => {
    const [member] = harness.aggregator.fleet.runner.view.groups[0]?.members ?? [];
    return member?.cacheView === 'exact' && member.instanceId !== than ? member.instanceId : undefined;
  };
  await expect.poll(present, { timeout: 15_000 }).toBeTruthy();
  return present() ?? '';
}

async function active(harness: AggregatorHarness): Promise<string | undefined> {
  const text = await (await fetch(`${harness.http}/metrics`)).text();
  return /kv_accord_router_active_requests\{group="tiny"\} (\S+)/.exec(text)?.[1];
}

const PROMPT = tokens([10, 11, 12, 13, 20, 21, 22, 23, 30]);

describe('ranks that only the operator names, beside an engine that nobody asks', () => {
  it('are chosen by what their events say that they hold', async () => {
    const { reserve } = await twoRanks();
    expect((await reserve(PROMPT)).selection).toMatchObject({ dataParallelRank: 1, cachedBlocks: 2 });
    expect((await reserve(tokens([50, 51, 52, 53, 54]))).selection).toMatchObject({
      dataParallelRank: 0,
      cachedBlocks: 1,
    });
  });

  it('hold nothing of the engine before, nor what was reserved on it, once their publishers began again', async () => {
    const { ranks, harness, reserve } = await twoRanks();
    const first = await isExact(harness);
    await reserve(PROMPT);
    await reserve(tokens([50, 51, 52, 53, 54]));
    expect(await active(harness)).toBe('2');
    for (const each of ranks) each.stop();
    for (const each of ranks) await each.comeBack({ isNewProcess: true });
    await ranks[0].publish(batchOf(stored(10)));
    await ranks[1].publish(batchOf(stored(70)));
    expect(await isExact(harness, first)).not.toBe(first);
    const indexer = indexerOf(open, harness);
    await expect
      .poll(() => matches(indexer, PROMPT), { timeout: 15_000 })
      .toEqual([expect.stringMatching(/\/0 1,1,1,1 1$/)]);
    expect(await matches(indexer, tokens([50, 51, 52, 53]))).toEqual([]);
    expect(await matches(indexer, tokens([70, 71, 72, 73]))).toHaveLength(1);
    expect(await active(harness)).toBe('0');
  });
});
