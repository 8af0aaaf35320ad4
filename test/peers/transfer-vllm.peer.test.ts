import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { grpcurl } from './support/grpcurl.js';
import { type Served, startSidecar } from './support/kv-accord.js';
import { lacks } from './support/peers.js';
import { type PrintedReport, reportThat } from './support/report.js';
import { tinyModel } from './support/tiny-model.js';
import { completeOverPair, type PairEngine, receivedTokens, startPairEngine } from './support/vllm-pair.js';

describe.skipIf(lacks('vllm', 'nixl', 'grpcurl'))(
  'sidecars beside a real pair of vLLM engines over NIXL',
  () => {
    let prefill: PairEngine;
    let decode: PairEngine;
    let other: PairEngine;
    const sidecars: Served[] = [];
    let ofPrefill: PrintedReport;
    let ofDecode: PrintedReport;
    let ofOther: PrintedReport;

    /** The report of a sidecar beside the engine, once its side channel has been asked. */
    async function reportBeside(
      engine: PairEngine,
      name: string,
      ...flags: string[]
    ): Promise<PrintedReport> {
      const sidecar = await startSidecar(name, '--engine', engine.url, ...flags);
      sidecars.push(sidecar);
      return reportThat(
        sidecar,
        'whose side channel has answered',
        ({ transfer }) => transfer?.sideChannels?.[0]?.['state'] === 'STATE_ANSWERED',
      );
    }

    beforeAll(async () => {
      const model = tinyModel('tiny');
      [prefill, decode, other] = await Promise.all([
        startPairEngine({ model, role: 'prefill', developerMode: true }),
        startPairEngine({ model, role: 'decode' }),
        startPairEngine({ model, role: 'decode', dtype: 'float16', developerMode: true }),
      ]);
      ofPrefill = await reportBeside(prefill, 'prefill-0');
      ofDecode = await reportBeside(decode, 'decode-0', '--side-channel', decode.sideChannel);
      ofOther = await reportBeside(other, 'decode-1');
    });
    afterAll(async () => {
      for (const sidecar of sidecars) await sidecar.program.stop();
      await Promise.all([prefill, decode, other].map((engine) => engine?.program.stop()));
    });

    it('report the whole contract of a transfer, with evidence', () => {
      expect(ofPrefill.transfer).toEqual({
        connector: 'nixl',
        role: 'TRANSFER_ROLE_PRODUCER',
        mode: 'TRANSFER_MODE_PULL',
        engineId: expect.stringMatching(/^[0-9a-f-]{36}$/),
        compatibilityHash: expect.stringMatching(/^[0-9a-f]{64}$/),
        tokensPerBlock: 32,
        blockLayout: 'LBHNC',
        dtype: 'bfloat16',
        kvCacheDtype: 'auto',
        attentionBackend: 'CPU_ATTN',
        sideChannels: [{ address: prefill.sideChannel, state: 'STATE_ANSWERED' }],
      });
      const evidence = ofPrefill.evidence?.find(({ field }) => field === 'transfer.compatibility_hash');
      expect(evidence).toMatchObject({
        source: 'EVIDENCE_SOURCE_ENGINE_RPC',
        origin: `NIXL side channel tcp://${prefill.sideChannel}`,
      });
      expect(ofPrefill.conflicts ?? []).toEqual([]);
    });

    it('report it of an engine without its development endpoints, where --side-channel names the address', () => {
      expect(ofDecode.transfer).toMatchObject({
        connector: 'nixl',
        blockLayout: 'LBHNC',
        attentionBackend: 'CPU_ATTN',
        sideChannels: [{ address: decode.sideChannel, state: 'STATE_ANSWERED' }],
      });
      expect(ofDecode.transfer?.dtype).toBeUndefined();
    });

    it('show by the hash which engines can pair: equal ones have equal hashes, and float16 another', () => {
      expect(ofDecode.transfer?.compatibilityHash).toBe(ofPrefill.transfer?.compatibilityHash);
      expect(ofOther.transfer).toMatchObject({ role: 'TRANSFER_ROLE_CONSUMER', dtype: 'float16' });
      expect(ofOther.transfer?.compatibilityHash).toMatch(/^[0-9a-f]{64}$/);
      expect(ofOther.transfer?.compatibilityHash).not.toBe(ofPrefill.transfer?.compatibilityHash);
    });

    it("say whether a prefill engine's side channel can be reached from the decode side", async () => {
      const check = (address: string) =>
        grpcurl(
          sidecars[1]?.grpcPort ?? 0,
          `-d=${JSON.stringify({ address })}`,
          'kvaccord.v1.Capabilities/CheckSideChannel',
        );
      expect(JSON.parse((await check(prefill.sideChannel)).stdout)).toEqual({ reachable: true });
      expect((await check('unix:/tmp/x')).stderr).toContain('address must be HOST:PORT');
    });

    it('leave the engines at work: blocks move between them after all this', async () => {
      const prompt = Array.from({ length: 320 }, (_, index) => 20 + ((index * 7) % 400));
      const before = await receivedTokens(decode);
      const { prefill: first, decode: second } = await completeOverPair(prefill, decode, {
        model: 'tiny',
        prompt,
        max_tokens: 4,
      });
      expect(first).toMatchObject({
        status: 200,
        kv_transfer_params: { remote_port: prefill.sideChannelPort },
      });
      expect(second).toMatchObject({ status: 200, usage: { prompt_tokens: prompt.length } });
      expect((await receivedTokens(decode)) - before).toBe(prompt.length);
      for (const engine of [prefill, decode, other])
        expect(engine.program.log).not.toContain('not enough values to unpack');
    });

    it('have what engines refuse each other for before any request', async () => {
      const prompt = Array.from({ length: 320 }, (_, index) => 30 + ((index * 11) % 400));
      const { decode: second } = await completeOverPair(prefill, other, {
        model: 'tiny',
        prompt,
        max_tokens: 4,
      });
      expect(second.status).toBe(500);
      expect(other.program.log).toContain('NIXL compatibility hash mismatch');
      expect(other.program.log).toContain(String(ofPrefill.transfer?.compatibilityHash));
    });
  },
);
