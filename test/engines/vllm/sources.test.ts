import { describe, expect, it } from 'vitest';
import type { Fact } from '../../../src/core/contract/evidence/facts.js';
import { dialable } from '../../../src/engines/probing/event-endpoint.js';
import { vllmKvEventSources } from '../../../src/engines/vllm/kv-event-sources.js';
import { vllmServerInfo } from '../../../src/engines/vllm/server-info.js';
import { EngineRole, HashUnit } from '../../../src/gen/kvaccord/v1/capabilities.js';
import { fieldValues, probeFailure, runProbe, sizeLines } from '../probing/probe-run.js';
import { recording, serveRecordings } from '../probing/recorded-engine.js';

const models = { '/v1/models': recording('vllm-0.32.0/models.b32.json') };
const serverInfo = '/server_info?config_format=json';

describe('/kv_event_sources of vLLM', () => {
  it.each([
    ['kv_event_sources.b32.json', 5557],
    ['rust-frontend/kv_event_sources.b64-seed0.json', 5587],
  ])('%s gives an endpoint to connect to, with the replay socket', async (file, port) => {
    await using engine = await serveRecordings({
      ...models,
      '/kv_event_sources': recording(`vllm-0.32.0/${file}`),
    });
    const { facts, warnings } = await runProbe(vllmKvEventSources, { httpBaseUrl: engine.url });
    expect(warnings).toEqual([]);
    expect(fieldValues(facts, 'kv_event_sources')).toEqual([
      [
        {
          dataParallelRank: 0,
          transport: 'zmq',
          endpoint: `tcp://127.0.0.1:${port}`,
          topic: 'kv-events',
          replayEndpoint: `tcp://127.0.0.1:${port + 1}`,
        },
      ],
    ]);
  });

  it('reports one source for each data-parallel rank, and that a publisher which connects is met by binding', async () => {
    const ranks = {
      0: {
        enable_kv_cache_events: true,
        publisher: 'zmq',
        endpoint: 'tcp://*:5557',
        replay_endpoint: null,
        topic: '',
      },
      1: { enable_kv_cache_events: true, publisher: 'zmq', endpoint: 'tcp://10.0.0.9:5558', topic: 'kv' },
      2: { enable_kv_cache_events: false, publisher: 'null', endpoint: 'tcp://*:5559' },
    };
    await using engine = await serveRecordings({ ...models, '/kv_event_sources': JSON.stringify(ranks) });
    const { facts } = await runProbe(vllmKvEventSources, { httpBaseUrl: engine.url });
    expect(fieldValues(facts, 'kv_event_sources')).toEqual([
      [
        { dataParallelRank: 0, transport: 'zmq', endpoint: 'tcp://127.0.0.1:5557', topic: '' },
        { dataParallelRank: 1, transport: 'zmq', endpoint: '@tcp://10.0.0.9:5558', topic: 'kv' },
      ],
    ]);
  });

  it('says that there are none', async () => {
    await using engine = await serveRecordings({ ...models, '/kv_event_sources': '{}' });
    const { facts, warnings } = await runProbe(vllmKvEventSources, { httpBaseUrl: engine.url });
    expect(fieldValues(facts, 'kv_event_sources')).toEqual([[]]);
    expect(warnings?.[0]).toContain('--kv-events-config');
  });

  it('leaves out a rank that makes no sense and keeps the others', async () => {
    const ranks = {
      x: { endpoint: 'tcp://*:1' },
      1: { publisher: 'zmq', endpoint: 'tcp://*:99999' },
      2: { publisher: 'zmq', endpoint: 'tcp://*:5559', topic: 7 },
    };
    await using engine = await serveRecordings({ ...models, '/kv_event_sources': JSON.stringify(ranks) });
    const { facts, warnings } = await runProbe(vllmKvEventSources, { httpBaseUrl: engine.url });
    expect(fieldValues(facts, 'kv_event_sources')[0]?.map((source) => source.dataParallelRank)).toEqual([2]);
    expect(warnings?.join('\n')).toMatch(/rank 1 is left out: "tcp:\/\/\*:99999" has no host and port/);
    expect(warnings?.join('\n')).toMatch(/2\.topic is 7; expected a text/);
    expect(warnings?.join('\n')).toMatch(/"x" is no data-parallel rank/);
  });
});

describe('an endpoint to connect to', () => {
  it.each([
    ['tcp://*:5557', '10.1.2.3', 0, 'tcp://10.1.2.3:5557'],
    ['tcp://0.0.0.0:5557', 'engine', 3, 'tcp://engine:5560'],
    ['tcp://[::]:5557', '[::1]', 0, 'tcp://[::1]:5557'],
    ['tcp://:::5557', '[::1]', 0, 'tcp://[::1]:5557'],
    ['tcp://10.9.9.9:5557', 'engine', 1, 'tcp://10.9.9.9:5558'],
    ['ipc:///tmp/kv', undefined, 0, 'ipc:///tmp/kv'],
  ])('%s at %s rank %i is %s', (endpoint, host, rank, expected) => {
    expect(dialable(endpoint, host, rank)).toEqual({ type: 'endpoint', endpoint: expected });
  });

  it.each([
    'tcp://*:5557',
    'ipc:///tmp/kv',
    'inproc://kv',
    'tcp://*',
    'tcp://:5557',
    '',
    `tcp://${'h'.repeat(600)}:1`,
  ])('is refused for %s without a host and with rank 1', (endpoint) => {
    expect(dialable(endpoint, undefined, 1).type).toBe('refused');
  });
});

/** Fields of `speculative_config` that 0.32 does not have. */
const SINCE_0_33 = { disable_eagle_block_drop: false, disable_lookahead_block_hashes: false };

/** What the recorded body says with these fields of its configuration in place of its own. */
async function factsOf(more: object): Promise<readonly Fact[]> {
  const recorded = JSON.parse(recording('vllm-0.32.0/server_info.b32.json')) as { vllm_config: object };
  const body = JSON.stringify({ ...recorded, vllm_config: { ...recorded.vllm_config, ...more } });
  await using engine = await serveRecordings({ ...models, [serverInfo]: body });
  return (await runProbe(vllmServerInfo, { httpBaseUrl: engine.url })).facts;
}

describe('/server_info of vLLM', () => {
  it('as recorded is configuration: the effective size may serve, block_size never', async () => {
    await using engine = await serveRecordings({
      ...models,
      [serverInfo]: recording('vllm-0.32.0/server_info.b32.json'),
    });
    const { facts, warnings } = await runProbe(vllmServerInfo, { httpBaseUrl: engine.url });
    expect(warnings).toEqual([]);
    expect(sizeLines(facts)).toEqual([
      'effective_attention 32 engine_config contract',
      'scheduler 32 engine_config',
    ]);
    expect(facts[0]?.evidence.origin).toBe(`GET ${engine.url}${serverInfo}`);
    expect(fieldValues(facts, 'parallelism.decode_context_parallel_size')).toEqual([1]);
    expect(fieldValues(facts, 'parallelism.world_size')).toEqual([1]);
    expect(fieldValues(facts, 'capacity.max_running_requests')).toEqual([128]);
    expect(fieldValues(facts, 'capacity.max_batched_tokens')).toEqual([2048]);
    expect(fieldValues(facts, 'contract.hash_algorithm')).toEqual(['sha256']);
    expect(fieldValues(facts, 'engine.role')).toEqual([EngineRole.AGGREGATED]);
    expect(fieldValues(facts, 'kv_event_sources')[0]?.[0]?.endpoint).toBe('tcp://127.0.0.1:5557');
  });

  it.each([
    [{ kv_connector: 'P2pNcclConnector', kv_role: 'kv_producer' }, [EngineRole.PREFILL]],
    [{ kv_connector: 'P2pNcclConnector', kv_role: 'kv_consumer' }, [EngineRole.DECODE]],
    // An engine that offloads blocks to its host has it, and so have both sides of a pair.
    [{ kv_connector: 'NixlConnector', kv_role: 'kv_both' }, []],
    [{ kv_connector: null, kv_role: null }, []],
    [{ kv_role: 'toString' }, []],
    ['a text', []],
    [undefined, []],
  ])('with a kv_transfer_config of %j has the role %j', async (transfer, roles) => {
    const recorded = JSON.parse(recording('vllm-0.32.0/server_info.b32.json')) as { vllm_config: object };
    const config = { ...recorded.vllm_config, kv_transfer_config: transfer };
    const body = JSON.stringify({ ...recorded, vllm_config: config });
    await using engine = await serveRecordings({ ...models, [serverInfo]: body });
    const { facts } = await runProbe(vllmServerInfo, { httpBaseUrl: engine.url });
    expect(fieldValues(facts, 'engine.role')).toEqual(roles);
  });

  it.each([
    ['0.32 drops the last block of a hit with EAGLE', { method: 'eagle' }, true, undefined],
    ['0.32 drops it with DFlash as well', { method: 'dflash' }, true, undefined],
    [
      '0.32 keeps it where that is switched off',
      { method: 'eagle', disable_eagle_block_drop: true },
      false,
      undefined,
    ],
    ['0.33 keeps it and hashes the next token', { method: 'eagle3', ...SINCE_0_33 }, false, HashUnit.BIGRAM],
    ['0.33 may look farther with MTP', { method: 'mtp', ...SINCE_0_33 }, false, undefined],
    ['0.33 keeps it with DFlash', { method: 'dflash', ...SINCE_0_33 }, false, undefined],
    [
      '0.33 drops it where its hashes are those of before',
      { method: 'eagle', disable_eagle_block_drop: false, disable_lookahead_block_hashes: true },
      true,
      undefined,
    ],
  ])('of %s', async (_, speculation, drops, unit) => {
    const facts = await factsOf({ speculative_config: speculation });
    expect(fieldValues(facts, 'contract.drops_last_hit_block')).toEqual([drops]);
    expect(fieldValues(facts, 'contract.hash_unit')).toEqual(unit === undefined ? [] : [unit]);
  });

  it('of 0.33 drops the last block where KV blocks are transferred, or no prefix is kept', async () => {
    const speculative = { speculative_config: { method: 'eagle', ...SINCE_0_33 } };
    const transfer = { kv_connector: 'NixlConnector', kv_role: 'kv_both' };
    const facts = await factsOf({ ...speculative, kv_transfer_config: transfer });
    expect(fieldValues(facts, 'contract.drops_last_hit_block')).toEqual([true]);
    const uncached = await factsOf({ ...speculative, cache_config: { enable_prefix_caching: false } });
    expect(fieldValues(uncached, 'contract.drops_last_hit_block')).toEqual([true]);
  });

  it('of the Rust frontend has no engine configuration, and that is no fault', async () => {
    const body = recording('vllm-0.32.0/rust-frontend/server_info.b64-seed0.json');
    await using engine = await serveRecordings({ ...models, [serverInfo]: body });
    expect(await runProbe(vllmServerInfo, { httpBaseUrl: engine.url })).toEqual({ facts: [], warnings: [] });
  });

  it('is not here outside development mode', async () => {
    await using engine = await serveRecordings(models);
    expect((await probeFailure(vllmServerInfo, { httpBaseUrl: engine.url })).code).toBe('not_here');
  });
});
