import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { prefill, words } from './support/completions.js';
import { EngineTruth } from './support/engine-truth.js';
import { forThisTest } from './support/for-this-test.js';
import { addressOf, findMatches, untilExact, untilVerified } from './support/index-client.js';
import {
  type Served,
  startAggregator,
  startDirect,
  startSidecar,
  startSidecarOn,
} from './support/kv-accord.js';
import { lacks } from './support/peers.js';
import { completeReport, reportThat, sizeEvidence } from './support/report.js';
import { type Sglang, startSglang } from './support/sglang.js';
import { tinyModel } from './support/tiny-model.js';
import { until } from './support/until.js';

const WIDTH = 32;
/** Within which a cache view has to be exact again, also on a busy machine: what waits for a timeout takes 15 s. */
const SECONDS_MS = 12_000;
/** Five whole pages and ten tokens more. */
const PROMPT = words(170);

describe.skipIf(lacks('sglang', 'grpcurl'))(
  'the KV events of a real SGLang with room for 65 pages of 32',
  () => {
    let engine: Sglang;
    let truth: EngineTruth;
    let sidecar: Served;
    let target: string;
    let aggregator: Served;

    beforeAll(async () => {
      engine = await startSglang({ model: tinyModel('tiny'), pageSize: WIDTH, tokens: 65 * WIDTH });
      truth = await EngineTruth.of(engine.ports);
      sidecar = await startSidecar('worker-0', '--engine', engine.url);
      target = addressOf(sidecar);
      await completeReport(sidecar);
    });
    afterAll(async () => {
      for (const served of [aggregator, sidecar]) await served?.program.stop();
      await engine?.program.stop();
    });

    it('make an aggregator that starts afterwards say what SGLang says itself', async () => {
      await prefill(engine, { tokens: PROMPT });
      const report = await reportThat(sidecar, 'that goes by events', (seen) => {
        return sizeEvidence(seen)?.source === 'EVIDENCE_SOURCE_OBSERVED_EVENT';
      });
      expect(report.contract?.tokensPerBlock).toBe(WIDTH);

      const startedMs = performance.now();
      aggregator = await startAggregator('aggregator', [sidecar]);
      const now = await truth.settled();
      // It says so at its start, before anything was there.
      expect(now.cleared).toBe(1);
      const tookMs = await untilExact(aggregator, target, now, startedMs);
      console.log(`an aggregator knew what SGLang holds ${tookMs} ms after its start`);
      for (const tokens of [PROMPT, [...PROMPT.slice(0, 110), ...words(90, 1200)], words(100, 1500)]) {
        const { matches } = await findMatches(aggregator, { tokens });
        expect((matches[0]?.deviceBlocks ?? 0) * WIDTH).toBe(await prefill(engine, { tokens }));
      }
      // SGLang computes at least the last token of a prompt again, and so the last page of this one.
      const whole = { tokens: PROMPT.slice(0, 5 * WIDTH) };
      expect((await findMatches(aggregator, whole)).matches).toMatchObject([{ target, deviceBlocks: 5 }]);
      expect(await prefill(engine, whole)).toBe(4 * WIDTH);
      await untilExact(aggregator, target, await truth.settled());
      await untilVerified(aggregator);
    });

    it('keep prompts with a salt apart', async () => {
      const salted = { tokens: PROMPT, salt: 'tenant-1' };
      expect((await findMatches(aggregator, salted)).matches).toEqual([]);
      expect(await prefill(engine, salted)).toBe(0);
      await untilExact(aggregator, target, await truth.settled());
      expect((await findMatches(aggregator, salted)).matches).toMatchObject([{ target, deviceBlocks: 5 }]);
      expect(await prefill(engine, salted)).toBe(5 * WIDTH);
    });

    it('are read by an aggregator itself where there is no sidecar', async () => {
      const direct = forThisTest(
        await startDirect('aggregator-direct', { worker: 'w0', zmq: engine.ports.zmq }),
      );
      await untilExact(direct, 'w0', await truth.settled());
      expect((await findMatches(direct, { tokens: PROMPT })).matches).toMatchObject([
        { target: 'w0', deviceBlocks: 5 },
      ]);
    });

    it('empty the index as the cache overflows', async () => {
      for (let k = 0; k < 10; k += 1) await prefill(engine, { tokens: words(700, k * 131, 7) });
      const after = await truth.settled();
      expect(after.removed).toBeGreaterThan(100);
      await untilExact(aggregator, target, after);
      expect((await findMatches(aggregator, { tokens: PROMPT })).matches).toEqual([]);
      expect(await prefill(engine, { tokens: PROMPT })).toBe(0);
    });

    it('empty the index when the cache is flushed', async () => {
      const before = await truth.settled();
      const flush = await fetch(`${engine.url}/flush_cache`, { method: 'POST' });
      expect(flush.status).toBe(200);
      const after = await truth.settled();
      expect(after.cleared).toBe(before.cleared + 1);
      expect(after.blocks.size).toBe(0);
      await untilExact(aggregator, target, after);
      expect((await findMatches(aggregator, { tokens: PROMPT })).matches).toEqual([]);
      expect(await prefill(engine, { tokens: PROMPT })).toBe(0);
    });

    it('are whole again after a sidecar was killed', async () => {
      expect(await sidecar.program.kill()).toBe(137);
      for (let k = 0; k < 3; k += 1) await prefill(engine, { tokens: words(700, k * 97, 11) });
      const now = await truth.settled();
      sidecar = await startSidecarOn(sidecar.grpcPort, 'worker-0', '--engine', engine.url);
      const startedMs = performance.now();
      const tookMs = await untilExact(aggregator, target, now, startedMs);
      expect(tookMs).toBeLessThan(SECONDS_MS);
      console.log(`the index was exact ${tookMs} ms after the start of a sidecar in place of a killed one`);
      await untilVerified(aggregator);
    });

    it('are those of the new engine after the engine was killed', async () => {
      await prefill(engine, { tokens: PROMPT });
      await untilExact(aggregator, target, await truth.settled());
      const killedMs = performance.now();
      expect(await engine.program.kill()).toBe(137);
      await until(
        'nothing to be expected of it',
        async () => (await findMatches(aggregator, { tokens: PROMPT })).matches.length === 0,
        { pollMs: 20, needs: [aggregator.program] },
      );
      const goneMs = Math.round(performance.now() - killedMs);
      console.log(`nothing was expected of a killed SGLang ${goneMs} ms after its end`);
      engine = await startSglang({
        model: tinyModel('tiny'),
        pageSize: WIDTH,
        tokens: 65 * WIDTH,
        ports: engine.ports,
      });
      const servesMs = performance.now();
      await prefill(engine, { tokens: PROMPT });
      const tookMs = await untilExact(aggregator, target, await truth.settled(), servesMs);
      expect(tookMs).toBeLessThan(SECONDS_MS);
      console.log(`the index was exact ${tookMs} ms after an engine served in place of a killed one`);
      await untilVerified(aggregator);
    });
  },
);
