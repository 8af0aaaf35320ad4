import { describe, expect, it } from 'vitest';
import { sglangServerInfo } from '../../../src/engines/sglang/server-info.js';
import { SideChannel_State, TransferMode, TransferRole } from '../../../src/gen/kvaccord/v1/capabilities.js';
import { fieldValues, runProbe } from '../probing/probe-run.js';
import { recording, serveRecordings } from '../probing/recorded-engine.js';

const RECORDED = JSON.parse(recording('sglang-0.5.23/server_info.p32.json')) as Record<string, unknown>;

const factsWith = (change: Record<string, unknown>) => factsOf(JSON.stringify({ ...RECORDED, ...change }));

async function factsOf(serverInfo: string) {
  await using engine = await serveRecordings({
    '/v1/models': recording('sglang-0.5.23/models.p32.json'),
    '/server_info': serverInfo,
  });
  return (await runProbe(sglangServerInfo, { httpBaseUrl: engine.url })).facts;
}

describe('the transfer of KV blocks in /server_info of SGLang 0.5.23', () => {
  it('is nothing of the recorded engine, whose settings of it are idle', async () => {
    const facts = await factsWith({});
    expect(facts.filter((fact) => fact.type === 'field' && fact.field.startsWith('transfer.'))).toEqual([]);
  });

  it('is that of a prefill engine, with its bootstrap server', async () => {
    const facts = await factsWith({ disaggregation_mode: 'prefill', prefill_attention_backend: 'fa3' });
    expect(fieldValues(facts, 'transfer.role')).toEqual([TransferRole.PRODUCER]);
    expect(fieldValues(facts, 'transfer.connector')).toEqual(['sglang-mooncake']);
    expect(fieldValues(facts, 'transfer.mode')).toEqual([TransferMode.PUSH]);
    expect(fieldValues(facts, 'transfer.tokens_per_block')).toEqual([32]);
    expect(fieldValues(facts, 'transfer.kv_cache_dtype')).toEqual(['auto']);
    expect(fieldValues(facts, 'transfer.dtype')).toEqual([]);
    expect(fieldValues(facts, 'transfer.attention_backend')).toEqual(['fa3']);
    expect(fieldValues(facts, 'transfer.side_channels')).toMatchObject([
      [{ dataParallelRank: 0, address: '127.0.0.1:8998', state: SideChannel_State.NOT_ASKED }],
    ]);
  });

  it('is that of a decode engine, which serves no bootstrap', async () => {
    const facts = await factsWith({
      disaggregation_mode: 'decode',
      disaggregation_transfer_backend: 'fake',
      dtype: 'float16',
    });
    expect(fieldValues(facts, 'transfer.role')).toEqual([TransferRole.CONSUMER]);
    expect(fieldValues(facts, 'transfer.connector')).toEqual(['sglang-fake']);
    expect(fieldValues(facts, 'transfer.mode')).toEqual([]);
    expect(fieldValues(facts, 'transfer.dtype')).toEqual(['float16']);
    expect(fieldValues(facts, 'transfer.attention_backend')).toEqual(['torch_native']);
    expect(fieldValues(facts, 'transfer.side_channels')).toEqual([]);
  });

  it('is that of two engines which were recorded while they exchanged KV blocks over NIXL', async () => {
    const [prefill, decode] = await Promise.all(
      ['prefill', 'decode'].map((role) => factsOf(recording(`sglang-0.5.23/server_info.${role}-nixl.json`))),
    );
    for (const [facts = [], role, channels] of [
      [prefill, TransferRole.PRODUCER, [['127.0.0.1:28998']]],
      [decode, TransferRole.CONSUMER, []],
    ] as const) {
      expect(fieldValues(facts, 'transfer.role')).toEqual([role]);
      expect(fieldValues(facts, 'transfer.connector')).toEqual(['sglang-nixl']);
      expect(fieldValues(facts, 'transfer.mode')).toEqual([TransferMode.PUSH]);
      expect(fieldValues(facts, 'transfer.tokens_per_block')).toEqual([32]);
      expect(fieldValues(facts, 'transfer.attention_backend')).toEqual(['torch_native']);
      expect(
        fieldValues(facts, 'transfer.side_channels').map((each) =>
          (each as readonly { readonly address: string }[]).map(({ address }) => address),
        ),
      ).toEqual(channels);
    }
  });
});
