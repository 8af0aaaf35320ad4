import { describe, expect, it } from 'vitest';
import type { Fact } from '../../../src/core/contract/evidence/facts.js';
import { vllmMetrics } from '../../../src/engines/vllm/metrics.js';
import { vllmServerInfo } from '../../../src/engines/vllm/server-info.js';
import { vllmSideChannelForm } from '../../../src/engines/vllm/side-channel-form.js';
import {
  EngineRole,
  SideChannel_State,
  TransferMode,
  TransferRole,
} from '../../../src/gen/kvaccord/v1/capabilities.js';
import { fieldRaw, fieldValues, runProbe } from '../probing/probe-run.js';
import { recording, serveRecordings } from '../probing/recorded-engine.js';

const PATH = '/server_info?config_format=json';
const MODELS = { '/v1/models': recording('vllm-0.32.0/models.b32.json') };
const RECORDED = recording('vllm-pd-0.32.0/server_info.prefill.json');

interface Body {
  readonly vllm_config: {
    kv_transfer_config: Record<string, unknown> | null;
    readonly parallel_config: Record<string, unknown>;
  };
  readonly vllm_env: Record<string, unknown>;
}

async function answer(change: (body: Body) => void = () => undefined) {
  const body = JSON.parse(RECORDED) as Body;
  change(body);
  await using engine = await serveRecordings({ ...MODELS, [PATH]: JSON.stringify(body) });
  return await runProbe(vllmServerInfo, { httpBaseUrl: engine.url });
}

const transferFields = (facts: readonly Fact[]): readonly string[] =>
  facts.flatMap((fact) => (fact.type === 'field' && fact.field.startsWith('transfer.') ? [fact.field] : []));

describe('the transfer of KV blocks in /server_info of a recorded prefill vLLM 0.32.0', () => {
  it('is stated with its evidence, and nothing is made up that it does not say', async () => {
    const { facts, warnings } = await answer();
    expect(fieldValues(facts, 'engine.role')).toEqual([EngineRole.PREFILL]);
    expect(fieldValues(facts, 'transfer.connector')).toEqual(['nixl']);
    expect(fieldValues(facts, 'transfer.role')).toEqual([TransferRole.PRODUCER]);
    expect(fieldValues(facts, 'transfer.mode')).toEqual([TransferMode.PULL]);
    expect(fieldValues(facts, 'transfer.dtype')).toEqual(['bfloat16']);
    expect(fieldRaw(facts, 'transfer.dtype')).toEqual(['vllm_config.model_config.dtype: "torch.bfloat16"']);
    expect(fieldValues(facts, 'transfer.kv_cache_dtype')).toEqual(['auto']);
    expect(fieldValues(facts, 'transfer.engine_id')[0]).toMatch(/^[0-9a-f-]{36}$/);
    expect(fieldValues(facts, 'transfer.side_channels')).toEqual([
      [
        {
          dataParallelRank: 0,
          address: '127.0.0.1:15600',
          state: SideChannel_State.NOT_ASKED,
          reason: 'the engine has not been asked yet',
        },
      ],
    ]);
    for (const unsaid of ['attention_backend', 'lease_seconds', 'tokens_per_block', 'compatibility_hash'])
      expect(transferFields(facts)).not.toContain(`transfer.${unsaid}`);
    expect(warnings).toEqual([]);
  });

  it.each([
    ['NixlPushConnector', 'nixl', TransferMode.PUSH],
    ['MooncakeConnector', 'mooncake', TransferMode.PUSH],
    ['LMCacheConnectorV1', 'lmcache', undefined],
    ['SomebodysConnector', 'SomebodysConnector', undefined],
  ])('takes %s for %s', async (word, connector, mode) => {
    const { facts } = await answer(({ vllm_config }) => {
      vllm_config.kv_transfer_config = { kv_connector: word, kv_role: 'kv_both' };
    });
    expect(fieldValues(facts, 'transfer.connector')).toEqual([connector]);
    expect(fieldValues(facts, 'transfer.mode')).toEqual(mode === undefined ? [] : [mode]);
    expect(fieldValues(facts, 'transfer.role')).toEqual([TransferRole.BOTH]);
  });

  it('finds the one connector among several that exchanges blocks with other engines', async () => {
    const { facts } = await answer(({ vllm_config }) => {
      vllm_config.kv_transfer_config = {
        kv_connector: 'MultiConnector',
        kv_role: 'kv_producer',
        kv_connector_extra_config: {
          connectors: [
            { kv_connector: 'OffloadingConnector', kv_role: 'kv_both' },
            {
              kv_connector: 'NixlConnector',
              kv_role: 'kv_both',
              kv_connector_extra_config: { kv_lease_duration: 45 },
            },
          ],
        },
      };
    });
    expect(fieldValues(facts, 'transfer.connector')).toEqual(['nixl']);
    expect(fieldValues(facts, 'transfer.role')).toEqual([TransferRole.PRODUCER]);
    expect(fieldValues(facts, 'transfer.lease_seconds')).toEqual([45]);
  });

  it.each([
    ['has no transfer', null],
    ['offloads to its own memory alone', { kv_connector: 'OffloadingConnector', kv_role: 'kv_both' }],
  ])('is nothing of an engine that %s', async (_, config) => {
    const { facts } = await answer(({ vllm_config }) => {
      vllm_config.kv_transfer_config = config;
    });
    expect(transferFields(facts)).toEqual([]);
  });

  it('has a side channel for each local rank, at the port plus its number', async () => {
    const { facts } = await answer(({ vllm_config, vllm_env }) => {
      Object.assign(vllm_config.parallel_config, { data_parallel_rank: 2, data_parallel_size_local: 2 });
      vllm_env['VLLM_NIXL_SIDE_CHANNEL_HOST'] = 'fd00::1';
    });
    expect(fieldValues(facts, 'transfer.side_channels')[0]).toMatchObject([
      { dataParallelRank: 2, address: '[fd00::1]:15602' },
      { dataParallelRank: 3, address: '[fd00::1]:15603' },
    ]);
  });

  it.each([
    ['a port that ends before the ranks do', 65_535, '127.0.0.1'],
    ['a host that is none', 5_600, 'a b\u001b[2J'],
  ])('warns of %s', async (_, port, host) => {
    const { facts, warnings } = await answer(({ vllm_config, vllm_env }) => {
      vllm_config.parallel_config['data_parallel_size_local'] = 1_000_000;
      Object.assign(vllm_env, { VLLM_NIXL_SIDE_CHANNEL_PORT: port, VLLM_NIXL_SIDE_CHANNEL_HOST: host });
    });
    expect(fieldValues(facts, 'transfer.side_channels').flat().length).toBeLessThan(2);
    expect(warnings).toEqual([expect.stringContaining('has no address by it')]);
  });

  it('goes on without what has the wrong type', async () => {
    const { facts, warnings } = await answer(({ vllm_config, vllm_env }) => {
      vllm_config.kv_transfer_config = { kv_connector: 'NixlConnector', kv_role: 7, engine_id: ['x'] };
      vllm_env['VLLM_NIXL_SIDE_CHANNEL_PORT'] = '5600; rm';
    });
    expect(fieldValues(facts, 'transfer.connector')).toEqual(['nixl']);
    expect(transferFields(facts)).not.toContain('transfer.side_channels');
    expect(warnings).toHaveLength(3);
  });
});

describe('NIXL in the metrics of vLLM', () => {
  it('is there from the start of the recorded engine, and not in that of one without', async () => {
    const metricsOf = async (file: string) => {
      await using engine = await serveRecordings({ ...MODELS, '/metrics': recording(file) });
      return (await runProbe(vllmMetrics, { httpBaseUrl: engine.url })).facts;
    };
    expect(fieldValues(await metricsOf('vllm-pd-0.32.0/metrics.prefill.txt'), 'transfer.connector')).toEqual([
      'nixl',
    ]);
    expect(transferFields(await metricsOf('vllm-0.32.0/metrics.b32.txt'))).toEqual([]);
  });
});

describe('the form in which a side channel is asked', () => {
  it.each(['0.32.0', '0.32.1', '0.32.0+cpu', '0.33.0', '0.33.0+cpu'])('is known of vLLM %s', (version) => {
    expect(vllmSideChannelForm('nixl', version)).toBe('nixl-3');
  });

  it.each(['0.31.9', '0.34.0', '0.33.0rc1', '0.32.1.dev5+gabc', '10.32.0', '0.32', '', '0.32.0\n0.32.0'])(
    'is not known of version %j',
    (version) => {
      expect(vllmSideChannelForm('nixl', version)).toBeUndefined();
    },
  );

  it('is not known of another connector', () => {
    expect(vllmSideChannelForm('mooncake', '0.32.0')).toBeUndefined();
  });
});
