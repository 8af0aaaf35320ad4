import { Pool } from 'undici';
import { afterEach, expect, it } from 'vitest';
import { systemClock } from '../../../../src/edge/platform/clock.js';
import { askNotComputed } from '../../../../src/frontend/proxy/workers/engine-work.js';
import { ReceivedTokens } from '../../../../src/frontend/proxy/workers/received-tokens.js';
import { FakeClock } from '../../../support/fake-clock.js';
import { OpenThings } from '../../../support/open-things.js';
import { ScriptedWorker } from '../proxy-harness.js';

const open = new OpenThings();
afterEach(() => open.close());

/** An engine with counters, and what asks it. */
async function made(): Promise<{
  readonly counters: { transfer: number; held: number };
  ask(): Promise<void>;
  readonly received: ReceivedTokens;
}> {
  const counters = { transfer: 1_000, held: 50 };
  const worker = await ScriptedWorker.http((request, response) => {
    if (request.url === '/v1/models') {
      response.end('{"data":[{"owned_by":"vllm"}]}');
      return;
    }
    const line = (source: string, value: number): string =>
      `vllm:prompt_tokens_by_source_total{engine="0",source="${source}"} ${value}.0\n`;
    response.end(
      line('local_compute', 9_999) +
        line('external_kv_transfer', counters.transfer) +
        line('local_cache_hit', counters.held),
    );
  });
  open.add(() => worker.stop());
  const pool = new Pool(worker.url);
  open.add(() => pool.destroy());
  const received = new ReceivedTokens();
  const clock = new FakeClock();
  return {
    counters,
    received,
    ask: async () => {
      await clock.advanceMs(10_000);
      const now = { ...systemClock, monotonicMs: () => clock.monotonicMs() };
      const engine = { pool, pathPrefix: '', model: 'm', headers: {} };
      await received.ask(() => askNotComputed(engine, 5_000, { clock: now }), now);
    },
  };
}

it('what an engine should have received and computed is found by its counters, and reported once', async () => {
  const { counters, received, ask } = await made();
  received.answered(700);
  await ask();
  expect(received.isFollowed).toBe(true);
  received.answered(640);
  counters.transfer += 640;
  await ask();
  expect(received.takeMissing()).toBe(0);
  received.answered(640);
  received.answered(320);
  counters.held += 320;
  await ask();
  expect([received.takeMissing(), received.takeMissing()]).toEqual([640, 0]);
  await ask();
  expect(received.takeMissing()).toBe(0);
});

it('another start of the engine counts from its beginning', async () => {
  const { counters, received, ask } = await made();
  await ask();
  received.answered(640);
  Object.assign(counters, { transfer: 0, held: 0 });
  await ask();
  expect(received.takeMissing()).toBe(0);
});
