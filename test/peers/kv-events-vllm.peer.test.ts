import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { EvidenceSource } from '../../src/gen/kvaccord/v1/capabilities.js';
import { MemberOffer, MemberState } from '../../src/gen/kvaccord/v1/fleet.js';
import { Picture } from '../../src/gen/kvaccord/v1/kv_events.js';
import { prefill, words } from './support/completions.js';
import { EngineTruth } from './support/engine-truth.js';
import { forThisTest } from './support/for-this-test.js';
import { addressOf, agreementOf, findMatches, untilExact, untilVerified } from './support/index-client.js';
import {
  logLines,
  probe,
  type Served,
  startAggregator,
  startDirect,
  startFrontend,
  startSidecar,
  startSidecarOn,
} from './support/kv-accord.js';
import { lacks } from './support/peers.js';
import { completeReport, reportThat, sizeEvidence } from './support/report.js';
import { tinyLora } from './support/tiny-lora.js';
import { tinyModel } from './support/tiny-model.js';
import { until } from './support/until.js';
import { startVllm, type Vllm } from './support/vllm.js';

const WIDTH = 32;
/** Within which a cache view has to be exact again, also on a busy machine: what waits for a timeout takes 15 s. */
const SECONDS_MS = 12_000;
/** Five whole blocks and ten tokens more. */
const PROMPT = words(170);

/** Asks all the time after an engine's end whether its blocks are still held to be there, and exactly known. */
class StaleWatch {
  readonly #index: Served;
  readonly #wrong: string[] = [];
  #isOver = false;
  #looking: Promise<void> | undefined;

  constructor(index: Served) {
    this.#index = index;
  }

  /** It ends with the test at the latest, before the program that it asks does. */
  begin(): void {
    this.#looking = this.#look().catch((error) => void this.#wrong.push(`it does not answer: ${error}`));
    onTestFinished(async () => void (await this.end()));
  }

  /** What was wrong, an index that does not answer among it. */
  async end(): Promise<readonly string[]> {
    this.#isOver = true;
    await this.#looking;
    return this.#wrong;
  }

  async #look(): Promise<void> {
    // The connection breaks with the process: from the next answer on it is known to be broken.
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    while (!this.#isOver) {
      for (const { picture, deviceBlocks } of (await findMatches(this.#index, { tokens: PROMPT })).matches) {
        if (picture === Picture.EXACT) this.#wrong.push(`exact, with ${deviceBlocks} old blocks`);
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

describe.skipIf(lacks('vllm', 'grpcurl'))(
  'the KV events of a real vLLM with room for 64 blocks of 32',
  () => {
    let model: string;
    let engine: Vllm;
    let truth: EngineTruth;
    let sidecar: Served;
    let target: string;
    let aggregator: Served;

    const startEngine = (ports?: Vllm['ports']): Promise<Vllm> =>
      // One block of the cache is vLLM's own.
      startVllm({
        model,
        blockSize: WIDTH,
        blocks: 65,
        developerMode: true,
        adapters: { style: tinyLora('style') },
        env: { VLLM_ALLOW_RUNTIME_LORA_UPDATING: 'True' },
        ...(ports === undefined ? {} : { ports }),
      });

    beforeAll(async () => {
      model = tinyModel('tiny');
      engine = await startEngine();
      truth = await EngineTruth.of(engine.ports);
      sidecar = await startSidecar('worker-0', '--engine', engine.url);
      target = addressOf(sidecar);
      await completeReport(sidecar);
    });
    afterAll(async () => {
      for (const served of [aggregator, sidecar]) await served?.program.stop();
      await engine?.program.stop();
    });

    it('prove at the first one that a frontend with blocks of 16 is wrong', async () => {
      const wrong = forThisTest(
        await startAggregator('aggregator-16', [sidecar], '--kv-cache-block-size', '16'),
      );
      await until('the gate to open', async () => (await probe(wrong, '/readyz')).status === 200);
      expect((await findMatches(wrong, { tokens: PROMPT })).matches).toEqual([]);

      await prefill(engine, { tokens: PROMPT });
      const sentMs = performance.now();
      const error = await until(
        'the error',
        () => logLines(wrong.program).find(({ level }) => level === 'error'),
        { needs: [wrong.program], pollMs: 20 },
      );
      console.log(
        `the wrong block size was reported ${Math.round(performance.now() - sentMs)} ms after the first prompt`,
      );
      expect(error.msg).toBe(
        [
          'Frontend KV block size (16) does not match worker block size (32).',
          'Set DYN_KV_CACHE_BLOCK_SIZE=32 on the frontend or configure tokens_per_block=16 on workers.',
          'KV-aware routing will not function until block sizes match.',
        ].join('\n'),
      );
      const counted = /^kv_router_block_size_mismatch_total\{[^}]*source="observed_event"[^}]*\} (\d+)$/m;
      const mismatches = await until('it to be counted', async () => {
        return counted.exec((await probe(wrong, '/metrics')).body)?.[1];
      });
      expect(Number(mismatches)).toBe(1);
      expect(await findMatches(wrong, { tokens: PROMPT })).toMatchObject({ tokensPerBlock: 16, matches: [] });
      const { routingMode, members } = await agreementOf(wrong);
      expect(routingMode).toBe('load_only');
      expect(members[0]).toMatchObject({ tokensPerBlock: WIDTH });

      await prefill(engine, { tokens: words(64, 900) });
      await until('the next one to be counted', async () => {
        return counted.exec((await probe(wrong, '/metrics')).body)?.[1] === '2';
      });
      expect((await findMatches(wrong, { tokens: PROMPT })).matches).toEqual([]);
      expect(logLines(wrong.program).filter(({ level }) => level === 'error')).toHaveLength(1);
    });

    it('are the evidence in the report of the sidecar', async () => {
      const report = await reportThat(sidecar, 'that goes by events', (seen) => {
        return sizeEvidence(seen)?.source === 'EVIDENCE_SOURCE_OBSERVED_EVENT';
      });
      expect(report.contract?.tokensPerBlock).toBe(WIDTH);
      expect(report.conflicts ?? []).toEqual([]);
    });

    it('reach an aggregator that starts afterwards, and make it say what vLLM says itself', async () => {
      const startedMs = performance.now();
      aggregator = await startAggregator('aggregator', [sidecar]);
      const tookMs = await untilExact(aggregator, target, await truth.settled(), startedMs);
      console.log(`an aggregator knew what vLLM holds ${tookMs} ms after its start`);

      // Three blocks in common with the prompt that is cached, then others; and one of none.
      for (const tokens of [PROMPT, [...PROMPT.slice(0, 110), ...words(90, 1200)], words(100, 1500)]) {
        const { matches, blockCount, tokensPerBlock } = await findMatches(aggregator, { tokens });
        expect(tokensPerBlock).toBe(WIDTH);
        expect(blockCount).toBe(Math.floor(tokens.length / WIDTH));
        expect((matches[0]?.deviceBlocks ?? 0) * WIDTH).toBe(await prefill(engine, { tokens }));
      }
      // Of a prompt of whole blocks that are all there, vLLM computes the last one again, for it needs the
      // last token's logits. So it says one block less than it holds.
      const whole = { tokens: PROMPT.slice(0, 5 * WIDTH) };
      expect((await findMatches(aggregator, whole)).matches).toMatchObject([
        {
          target,
          workerId: 'worker-0',
          dataParallelRank: 0,
          deviceBlocks: 5,
          hostBlocks: 5,
          picture: Picture.EXACT,
        },
      ]);
      expect(await prefill(engine, whole)).toBe(4 * WIDTH);

      await untilExact(aggregator, target, await truth.settled());
      const { members, routingMode, contract } = await agreementOf(aggregator);
      expect(contract?.tokensPerBlock).toBe(WIDTH);
      expect(routingMode).toBe('exact');
      expect(members).toMatchObject([
        {
          state: MemberState.VERIFIED,
          offer: MemberOffer.FULL,
          source: EvidenceSource.OBSERVED_EVENT,
          picture: Picture.EXACT,
          pictureReason: '',
        },
      ]);
    });

    it('are in the index a moment after they are on the wire', async () => {
      const lags: number[] = [];
      for (let round = 0; round < 10; round += 1) {
        const tokens = words(WIDTH + 1, round * 40, 3);
        const { arrival } = await truth.nextBatch();
        const answered = prefill(engine, { tokens });
        await until(
          'the block to be matched',
          async () => (await findMatches(aggregator, { tokens })).matches.length > 0,
          { pollMs: 1 },
        );
        lags.push(performance.now() - (await arrival));
        await answered;
      }
      lags.sort((a, b) => a - b);
      const shown = lags.map((lag) => lag.toFixed(1)).join(', ');
      console.log(`from the wire of vLLM to the index, asked over gRPC, in ms: ${shown}`);
    });

    it('keep prompts with a salt apart', async () => {
      const salted = { tokens: PROMPT, salt: 'tenant-1' };
      expect((await findMatches(aggregator, salted)).matches).toEqual([]);
      expect(await prefill(engine, salted)).toBe(0);
      await untilExact(aggregator, target, await truth.settled());
      expect((await findMatches(aggregator, salted)).matches).toMatchObject([{ target, deviceBlocks: 5 }]);
      expect(await prefill(engine, salted)).toBe(5 * WIDTH);
      expect((await findMatches(aggregator, { tokens: PROMPT, salt: 'tenant-2' })).matches).toEqual([]);
      expect((await findMatches(aggregator, { tokens: PROMPT })).matches).toMatchObject([
        { deviceBlocks: 5 },
      ]);
      // A prompt of its own, so that nothing of it is there without the salt.
      const alone = { tokens: words(100, 700), salt: 'tenant-1' };
      await prefill(engine, alone);
      await untilExact(aggregator, target, await truth.settled());
      expect((await findMatches(aggregator, alone)).matches).toMatchObject([{ deviceBlocks: 3 }]);
      expect((await findMatches(aggregator, { tokens: alone.tokens })).matches).toEqual([]);
    });

    it('keep prompts for a LoRA adapter apart, with a salt and without', async () => {
      const tokens = words(100, 1700);
      for (const prompt of [
        { tokens, adapter: 'style' },
        { tokens, adapter: 'style', salt: 'tenant-1' },
      ]) {
        expect((await findMatches(aggregator, prompt)).matches).toEqual([]);
        expect(await prefill(engine, prompt)).toBe(0);
        await untilExact(aggregator, target, await truth.settled());
        expect((await findMatches(aggregator, prompt)).matches).toMatchObject([{ target, deviceBlocks: 3 }]);
        expect(await prefill(engine, prompt)).toBe(3 * WIDTH);
      }
      for (const prompt of [{ tokens }, { tokens, salt: 'tenant-1' }, { tokens, adapter: 'other' }]) {
        expect((await findMatches(aggregator, prompt)).matches).toEqual([]);
      }
    });

    it('are used for a LoRA adapter that vLLM loads while it runs, from the first request on', async () => {
      const frontend = forThisTest(
        await startFrontend('frontend', [sidecar], '--decision-headers', '--tokenize-timeout', '30s'),
      );
      await until('the frontend to be ready', async () => (await probe(frontend, '/readyz')).status === 200);
      const post = (url: string, body: object): Promise<Response> =>
        fetch(url, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
          signal: AbortSignal.timeout(60_000),
        });
      const ask = { model: 'late', prompt: PROMPT, max_tokens: 1 };
      const early = await post(`${frontend.url}/v1/completions`, ask);
      expect([early.status, await early.json()]).toMatchObject([404, { error: { code: 'model_not_found' } }]);
      const late = { lora_name: 'late', lora_path: tinyLora('late') };
      const loaded = await post(`${engine.url}/v1/load_lora_adapter`, late);
      expect([loaded.status, await loaded.text()]).toEqual([200, expect.any(String)]);
      const askedMs = performance.now();
      const first = await post(`${frontend.url}/v1/completions`, ask);
      expect([first.status, await first.json()]).toMatchObject([200, { model: 'late' }]);
      console.log(
        `a request for an adapter that was just loaded was answered after ${Math.round(performance.now() - askedMs)} ms`,
      );
      await until('its blocks to be predicted', async () => {
        const next = await post(`${frontend.url}/v1/completions`, ask);
        await next.text();
        return next.headers.get('x-kv-accord-cached-blocks') === '5';
      });
    });

    it('are read by an aggregator itself where there is no sidecar', async () => {
      const startedMs = performance.now();
      const direct = forThisTest(
        await startDirect('aggregator-direct', { worker: 'w0', zmq: engine.ports.zmq }),
      );
      const tookMs = await untilExact(direct, 'w0', await truth.settled(), startedMs);
      console.log(`an aggregator without a sidecar knew what vLLM holds ${tookMs} ms after its start`);
      const { matches } = await findMatches(direct, { tokens: PROMPT });
      expect(matches).toMatchObject([{ target: 'w0', deviceBlocks: 5, picture: Picture.EXACT }]);
      expect(await prefill(engine, { tokens: PROMPT })).toBe(5 * WIDTH);
    });

    it('empty the index as the cache overflows', async () => {
      for (let k = 0; k < 10; k += 1) await prefill(engine, { tokens: words(700, k * 131, 7) });
      const after = await truth.settled();
      expect(after.removed).toBeGreaterThan(100);
      expect(after.blocks.size).toBeLessThanOrEqual(64);
      await untilExact(aggregator, target, after);
      expect((await findMatches(aggregator, { tokens: PROMPT })).matches).toEqual([]);
      expect(await prefill(engine, { tokens: PROMPT })).toBe(0);
    });

    it('empty the index once vLLM says that its cache was reset', async () => {
      const before = await truth.settled();
      const reset = await fetch(`${engine.url}/reset_prefix_cache`, { method: 'POST' });
      expect(reset.status).toBe(200);
      // vLLM reports it with the next request that it schedules; this one is too short for a block of its own.
      expect((await truth.settled()).cleared).toBe(before.cleared);
      await untilExact(aggregator, target, before);
      await prefill(engine, { tokens: words(20) });
      const after = await truth.settled();
      expect(after.blocks.size).toBe(0);
      expect(after.cleared).toBe(before.cleared + 1);
      await untilExact(aggregator, target, after);
      expect((await findMatches(aggregator, { tokens: words(700, 9 * 131, 7) })).matches).toEqual([]);
    });

    it('are whole again after a sidecar was killed', async () => {
      await prefill(engine, { tokens: PROMPT });
      await untilExact(aggregator, target, await truth.settled());
      expect(await sidecar.program.kill()).toBe(137);
      // What nobody read, and what the engine dropped meanwhile.
      for (let k = 0; k < 3; k += 1) await prefill(engine, { tokens: words(700, k * 97, 11) });
      const now = await truth.settled();
      sidecar = await startSidecarOn(sidecar.grpcPort, 'worker-0', '--engine', engine.url);
      const startedMs = performance.now();
      const tookMs = await untilExact(aggregator, target, now, startedMs);
      expect(tookMs).toBeLessThan(SECONDS_MS);
      console.log(`the index was exact ${tookMs} ms after the start of a sidecar in place of a killed one`);
      await untilVerified(aggregator);
    });

    it('are whole again after the aggregator was killed', async () => {
      expect(await aggregator.program.kill()).toBe(137);
      await prefill(engine, { tokens: PROMPT });
      const now = await truth.settled();
      aggregator = await startAggregator('aggregator-again', [sidecar]);
      const startedMs = performance.now();
      const tookMs = await untilExact(aggregator, target, now, startedMs);
      expect(tookMs).toBeLessThan(SECONDS_MS);
      console.log(
        `the index was exact ${tookMs} ms after the start of an aggregator in place of a killed one`,
      );
      await untilVerified(aggregator);
    });

    it('are those of the new engine after the engine was killed, and never exact and old without a replay', async () => {
      // A second reader of the same engine, which is given no replay endpoint; a reset shows it all there is.
      const events = `tcp://127.0.0.1:${engine.ports.zmq}`;
      const blind = forThisTest(
        await startSidecar('worker-blind', '--engine', engine.url, '--kv-event-sources', events),
      );
      await completeReport(blind);
      const blindIndex = forThisTest(await startAggregator('aggregator-blind', [blind]));
      await until('the gate to open', async () => (await probe(blindIndex, '/readyz')).status === 200);
      expect((await fetch(`${engine.url}/reset_prefix_cache`, { method: 'POST' })).status).toBe(200);
      await prefill(engine, { tokens: PROMPT });
      await untilExact(blindIndex, addressOf(blind), await truth.settled());
      const watch = new StaleWatch(blindIndex);

      await untilExact(aggregator, target, await truth.settled());
      expect((await findMatches(aggregator, { tokens: PROMPT })).matches).toMatchObject([
        { deviceBlocks: 5 },
      ]);
      const killedMs = performance.now();
      expect(await engine.program.kill()).toBe(137);
      watch.begin();
      await until(
        'nothing to be expected of it',
        async () => (await findMatches(aggregator, { tokens: PROMPT })).matches.length === 0,
        { pollMs: 20, needs: [aggregator.program] },
      );
      const goneMs = Math.round(performance.now() - killedMs);
      console.log(`nothing was expected of a killed vLLM ${goneMs} ms after its end`);
      engine = await startEngine(engine.ports);
      const servesMs = performance.now();
      const other = words(200, 300);
      await prefill(engine, { tokens: other });
      // A new engine answers its first questions late on a busy machine, so this is no measure of the index alone.
      const tookMs = await untilExact(aggregator, target, await truth.settled(), servesMs);
      console.log(`the index was exact ${tookMs} ms after an engine served in place of a killed one`);
      expect((await findMatches(aggregator, { tokens: PROMPT })).matches).toEqual([]);
      expect((await findMatches(aggregator, { tokens: other })).matches).toMatchObject([{ deviceBlocks: 6 }]);
      await untilVerified(aggregator);
      await until(
        'the reader without a replay to know the new engine',
        async () => (await findMatches(blindIndex, { tokens: other })).matches.length > 0,
        { needs: [blindIndex.program] },
      );
      expect(await watch.end()).toEqual([]);
    });
  },
);
