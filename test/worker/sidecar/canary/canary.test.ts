import { describe, expect, it } from 'vitest';
import { BlockHasher, type HashUnitName } from '../../../../src/core/blocks/block-hasher.js';
import type { ObservedSize } from '../../../../src/core/contract/evidence/observed-size.js';
import type { RankStatus, Relay, RelayMessage } from '../../../../src/core/relay/relay.js';
import type { HttpAnswer } from '../../../../src/edge/platform/net/http-get.js';
import { seededRandom } from '../../../../src/edge/platform/random.js';
import {
  Canary_State,
  type CapabilityReport,
  EngineKind,
  EngineRole,
  EngineState,
  ServingAddress_Protocol,
} from '../../../../src/gen/kvaccord/v1/capabilities.js';
import { Canary } from '../../../../src/worker/sidecar/canary/canary.js';
import { runCanary } from '../../../../src/worker/sidecar/canary/run-canary.js';
import { FakeClock } from '../../../support/fake-clock.js';
import { RecordingLogger } from '../../../support/recording-logger.js';
import { makeWireReport } from '../../../support/reports.js';
import { turns } from '../../../support/turns.js';

const READY = EngineState.READY;
const URL_OF_ENGINE = 'http://127.0.0.1:8000';

/** What an engine's events say, as its sidecar relays it. */
class FakeRelay implements Relay {
  readonly ranks: RankStatus[] = [{ rank: 0, picture: 'exact', reason: '', blockCount: 0 }];
  readonly #readers = new Set<{ messages: RelayMessage[]; onReadable: () => void }>();
  unit: HashUnitName = 'token';

  store(tokens: readonly number[], tokensPerBlock: number, rank = 0): void {
    const hasher = new BlockHasher();
    const { sequenceHashes } = hasher.hashTokens(Uint32Array.from(tokens), {
      tokensPerBlock,
      unit: this.unit,
      seed: hasher.seedOf('', ''),
    });
    const change = {
      type: 'stored',
      tier: 'device',
      tokensPerBlock,
      sequenceHashes: sequenceHashes.slice(),
    } as const;
    for (const reader of this.#readers) {
      reader.messages.push({ type: 'changes', sequence: 1, rank, changes: [change] });
      reader.onReadable();
    }
  }

  get readers(): number {
    return this.#readers.size;
  }

  open(_position: unknown, onReadable: () => void): ReturnType<Relay['open']> {
    const reader = { messages: [] as RelayMessage[], onReadable };
    this.#readers.add(reader);
    return { next: () => reader.messages.shift(), close: () => void this.#readers.delete(reader) };
  }
}

/** A vLLM that caches prompts, and reports its blocks to a relay. */
class FakeEngine {
  readonly asked: { path: string; body: Record<string, unknown> }[] = [];
  readonly #cached = new Set<string>();
  running = 0;
  relay: FakeRelay | undefined;
  width = 32;
  /** Status of `/v1/completions`. */
  status = 200;

  readonly get = async (url: string): Promise<HttpAnswer> => {
    const body = `vllm:num_requests_running{engine="0"} ${this.running}\nvllm:num_requests_waiting{engine="0"} 0\n`;
    return { status: url.endsWith('/metrics') ? 200 : 404, contentType: 'text/plain', body };
  };

  readonly post = async (url: string, body: unknown): Promise<HttpAnswer> => {
    const path = url.slice(URL_OF_ENGINE.length);
    const asked = body as Record<string, unknown>;
    this.asked.push({ path, body: asked });
    const tokens = this.#tokensOf(asked);
    if (path === '/tokenize') return this.#answer(200, { tokens });
    if (path.endsWith('/render')) return this.#answer(404, {});
    if (this.status !== 200) return this.#answer(this.status, { error: 'no' });
    const key = JSON.stringify(tokens);
    const cachedTokens = this.#cached.has(key)
      ? Math.floor((tokens.length - 1) / this.width) * this.width
      : 0;
    if (!this.#cached.has(key)) this.relay?.store(tokens, this.width);
    this.#cached.add(key);
    return this.#answer(200, {
      usage: { prompt_tokens: tokens.length, prompt_tokens_details: { cached_tokens: cachedTokens } },
    });
  };

  get prompts(): readonly string[] {
    return this.asked
      .map(({ path }) => path)
      .filter((path) => path.startsWith('/v1') && !path.endsWith('render'));
  }

  #tokensOf({ prompt, messages }: Record<string, unknown>): number[] {
    if (Array.isArray(prompt)) return prompt as number[];
    const [message] = messages as { content: string }[];
    return [1, ...(message?.content ?? '').split(' ').map((word) => Number(word.slice(1))), 2];
  }

  #answer(status: number, body: unknown): HttpAnswer {
    return { status, contentType: 'application/json', body: JSON.stringify(body) };
  }
}

function reportOf(sketch: { instance?: string; size?: number | undefined } = {}): CapabilityReport {
  const report = makeWireReport('w', sketch.instance === undefined ? {} : { instance: sketch.instance });
  const engine = report.engine as NonNullable<CapabilityReport['engine']>;
  return {
    ...report,
    engine: {
      ...engine,
      servingAddresses: [{ protocol: ServingAddress_Protocol.OPENAI_HTTP, address: `${URL_OF_ENGINE}/` }],
    },
    contract: { hashUnit: 0, cacheGroups: [], tokensPerBlock: 'size' in sketch ? sketch.size : 32 },
  };
}

function make(): {
  canary: Canary;
  engine: FakeEngine;
  relay: FakeRelay;
  clock: FakeClock;
  faults: string[];
  proved: ObservedSize[];
  events: { relay: Relay; sources: { rank: number; endpoint: string; topic: string }[]; reason: string };
  settled: (rounds?: number) => Promise<void>;
} {
  const engine = new FakeEngine();
  const relay = new FakeRelay();
  engine.relay = relay;
  const clock = new FakeClock();
  const faults: string[] = [];
  const proved: ObservedSize[] = [];
  const events = { relay, sources: [{ rank: 0, endpoint: 'tcp://127.0.0.1:5557', topic: '' }], reason: '' };
  const canary = new Canary({
    clock,
    random: { ...seededRandom(1), uniqueId: () => 'id' },
    logger: new RecordingLogger(),
    load: async () => ({ runCanary }),
    get: engine.get,
    post: engine.post,
    events,
    onReport: () => {},
    onFault: (fault, reason) => faults.push(`${fault}: ${reason}`),
    onProved: (observed) => proved.push(observed),
  });
  const settled = async (rounds = 40): Promise<void> => {
    for (let round = 0; round < rounds; round += 1) {
      await turns();
      // Blocks that do not arrive are waited for.
      if (canary.report === undefined || canary.report.state === Canary_State.WAITING)
        await clock.advanceMs(1_000);
    }
  };
  return { canary, engine, relay, clock, faults, proved, events, settled };
}

describe('the canary', () => {
  it('asks each path of a new, idle engine twice, once for each of its starts, and marks its requests', async () => {
    const { canary, engine, relay, settled, proved } = make();
    canary.follow(reportOf(), READY);
    await settled();
    expect(canary.report?.state).toBe(Canary_State.PASSED);
    expect(canary.report?.results.map(({ path, storedBlocks }) => [path, storedBlocks])).toEqual([
      ['/v1/completions', 2],
      ['/v1/chat/completions', 2],
    ]);
    const twice = ['/v1/completions', '/v1/completions', '/v1/chat/completions', '/v1/chat/completions'];
    expect(engine.prompts).toEqual(twice);
    for (const { path, body } of engine.asked.filter(
      ({ path }) => path.startsWith('/v1') && !path.endsWith('render'),
    ))
      expect([path, body['user'], body['max_tokens']]).toEqual([path, 'kv-accord-canary', 1]);
    expect(proved[0]).toMatchObject({ tokensPerBlock: 32, rank: 0 });

    canary.follow(reportOf(), READY);
    await settled();
    expect(engine.prompts).toEqual(twice);
    canary.follow(reportOf({ instance: 'w-2' }), READY);
    await settled();
    expect(engine.prompts).toHaveLength(8);
    expect(relay.readers).toBe(0);
  });

  it('finds out whether hashes cover the token behind a block, where nothing has said so', async () => {
    const { canary, relay, settled, proved, faults } = make();
    relay.unit = 'bigram';
    canary.follow(reportOf(), READY);
    await settled();
    expect([canary.report?.state, faults]).toEqual([Canary_State.PASSED, []]);
    expect(proved.map(({ unit }) => unit)).toEqual(['bigram', 'bigram']);
  });

  it('never asks a busy engine, and asks it once it is idle', async () => {
    const { canary, engine, settled } = make();
    engine.running = 1;
    canary.follow(reportOf(), READY);
    await settled();
    expect(engine.asked).toEqual([]);
    expect(canary.report).toMatchObject({
      state: Canary_State.WAITING,
      reason: expect.stringContaining('others'),
    });
    engine.running = 0;
    canary.follow(reportOf(), READY);
    await settled();
    expect(canary.report?.state).toBe(Canary_State.PASSED);
  });

  it('leaves an engine in peace that is always busy, or does not say', async () => {
    const { canary, engine, settled } = make();
    engine.running = 1;
    for (let round = 0; round < 40; round += 1) {
      canary.follow(reportOf(), READY);
      await settled(4);
    }
    expect(canary.report?.state).toBe(Canary_State.SKIPPED);
    engine.running = 0;
    canary.follow(reportOf(), READY);
    await settled();
    expect(engine.asked).toEqual([]);
  });

  it('ends the wait for a block size that only an event reports, with prompts of several lengths', async () => {
    const { canary, engine, settled } = make();
    engine.width = 1_056;
    canary.follow(reportOf({ size: undefined }), READY);
    await settled(200);
    expect(canary.report?.results[0]).toMatchObject({
      promptTokens: 2_640,
      promptBlocks: 2,
      storedBlocks: 2,
    });
  });

  it('finds that the events are those of another engine, with a second prompt to be sure', async () => {
    const { canary, engine, relay, faults, settled } = make();
    engine.relay = undefined;
    canary.follow(reportOf(), READY);
    for (let round = 0; round < 10; round += 1) {
      await settled(4);
      relay.store([1_000 + round, ...Array.from({ length: 31 }, () => 7)], 32);
    }
    await settled(60);
    expect(canary.report?.state).toBe(Canary_State.FAILED);
    expect(faults).toEqual([
      expect.stringContaining('source: /v1/completions: KV events of tcp://127.0.0.1:5557 is not'),
    ]);
  });

  it('takes a path that is not served for skipped, and one that refuses for inconclusive', async () => {
    for (const [status, state] of [
      [404, Canary_State.SKIPPED],
      [400, Canary_State.INCONCLUSIVE],
    ] as const) {
      const { canary, engine, settled } = make();
      engine.status = status;
      canary.follow(reportOf(), READY);
      await settled();
      expect(canary.report?.state).toBe(state);
    }
  });

  it('sends nothing to an engine that is not ready, computes a part only, or is of a kind that it cannot ask', async () => {
    const { canary, engine, settled } = make();
    canary.follow(reportOf(), EngineState.STARTING);
    const report = reportOf();
    const engineOf = report.engine as NonNullable<CapabilityReport['engine']>;
    canary.follow({ ...report, instanceId: 'a', engine: { ...engineOf, role: EngineRole.PREFILL } }, READY);
    expect(canary.report?.state).toBe(Canary_State.SKIPPED);
    canary.follow({ ...report, instanceId: 'b', engine: { ...engineOf, kind: EngineKind.DYNAMO } }, READY);
    await settled();
    expect(engine.asked).toEqual([]);
  });

  it('waits a while for the events to be connected, and is given up when it is closed', async () => {
    const { canary, engine, relay, clock, settled } = make();
    relay.ranks[0] = { rank: 0, picture: 'none', reason: 'no connection yet', blockCount: 0 };
    canary.follow(reportOf(), READY);
    await settled(2);
    expect(engine.asked).toEqual([]);
    expect(canary.report?.reason).toContain('no connection yet');
    await clock.advanceMs(15_000);
    canary.follow(reportOf(), READY);
    await settled();
    expect(canary.report?.results[0]?.reason).toContain('blocks not checked: no connection yet');
    await canary.close();
    canary.follow(reportOf({ instance: 'w-3' }), READY);
    await settled();
    expect(relay.readers).toBe(0);
  });
});
