import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { createEngineRpc } from '../../../src/edge/rpc/engine-rpc.js';
import type { ProbeModules } from '../../../src/engines/probing/probe.js';
import { vllmControlGrpc } from '../../../src/engines/vllm/control-grpc.js';
import { vllmEngineGrpc } from '../../../src/engines/vllm/engine-grpc.js';
import { ControlService, ServerInfo } from '../../../src/gen/engines/vllm/control.js';
import {
  GetModelInfoResponse,
  GetServerInfoResponse,
  VllmEngineService,
} from '../../../src/gen/engines/vllm/vllm_engine.js';
import { EngineKind, EngineRole, EngineState } from '../../../src/gen/kvaccord/v1/capabilities.js';
import { fieldValues, probeFailure, probeModules, runProbe, sizeLines } from '../probing/probe-run.js';
import { recording } from '../probing/recorded-engine.js';
import { grpcRecordings, serveGrpc } from '../probing/recorded-grpc-engine.js';

function modules(): ProbeModules {
  const bare = probeModules();
  return { ...bare, rpc: createEngineRpc({}, bare) };
}

const control = grpcRecordings(recording('vllm-0.32.0/rust-frontend/control.jsonl'));
const recorded = (method: string): { hex: string } => ({ hex: control.get(`vllm.Control/${method}`) ?? '' });
const hex = (bytes: Uint8Array): { hex: string } => ({ hex: Buffer.from(bytes).toString('hex') });

describe('vllm.Control of the recorded Rust frontend', () => {
  it('reports the effective size, the engine start and where the events are', async () => {
    await using engine = await serveGrpc([
      [ControlService.getServerInfo, recorded('GetServerInfo')],
      [ControlService.getModelInfo, recorded('GetModelInfo')],
      [ControlService.getKvEventSources, recorded('GetKvEventSources')],
    ]);
    const { facts, warnings } = await runProbe(vllmControlGrpc, { grpcAddress: engine.address }, modules());
    expect(warnings).toEqual([]);
    expect(sizeLines(facts)).toEqual([
      'effective_attention 64 engine_rpc contract',
      'scheduler 64 engine_rpc',
    ]);
    expect(facts.find((fact) => fact.type === 'block_size')?.evidence).toMatchObject({
      origin: `gRPC ${engine.address}/vllm.Control`,
      raw: 'effective_attention_block_size: 64',
    });
    expect(fieldValues(facts, 'engine.kind')).toEqual([EngineKind.VLLM]);
    expect(fieldValues(facts, 'engine.state')).toEqual([EngineState.READY]);
    expect(fieldValues(facts, 'engine.version')).toEqual(['0.32.0']);
    expect(fieldValues(facts, 'engine.start_marker')).toEqual(['1795224580861852507']);
    expect(fieldValues(facts, 'capacity.total_kv_blocks')).toEqual([32_768]);
    expect(fieldValues(facts, 'parallelism.tensor_parallel_size')).toEqual([1]);
    expect(fieldValues(facts, 'model.served_names')).toEqual([['tiny']]);
    expect(fieldValues(facts, 'kv_event_sources')).toEqual([
      [
        {
          dataParallelRank: 0,
          transport: 'zmq',
          endpoint: 'tcp://127.0.0.1:5587',
          topic: 'kv-events',
          replayEndpoint: 'tcp://127.0.0.1:5588',
          encoding: 'msgpack',
          schemaVersion: 1,
        },
      ],
    ]);
  });

  const info = (fields: Parameters<typeof ServerInfo.fromPartial>[0]): { hex: string } =>
    hex(ServerInfo.encode(ServerInfo.fromPartial(fields)).finish());
  it.each([
    [
      'takes kv_block_size, with a warning, where the effective size is not filled in',
      { kvBlockSize: 16 },
      ['scheduler 16 engine_rpc contract'],
      /no effective_attention_block_size is reported/,
    ],
    [
      'does not take it under context parallelism',
      { kvBlockSize: 16, parallelism: { decodeContextParallelSize: 2 } },
      ['scheduler 16 engine_rpc'],
      /decode_context_parallel_size is 2/,
    ],
    ['reads 0 as "not stated" in both', { kvBlockSize: 0, effectiveAttentionBlockSize: 0n }, [], undefined],
    [
      'refuses a size beyond 2^53',
      { effectiveAttentionBlockSize: 2n ** 60n },
      [],
      /effective_attention_block_size is 1152921504606846976/,
    ],
  ] as const)('%s', async (_name, fields, sizes, warning) => {
    await using engine = await serveGrpc([[ControlService.getServerInfo, info(fields)]]);
    const { facts, warnings } = await runProbe(vllmControlGrpc, { grpcAddress: engine.address }, modules());
    expect(sizeLines(facts)).toEqual(sizes);
    // The two calls that this server does not have are warnings, and lose nothing.
    expect(warnings?.filter((text) => !text.includes('no such method'))).toEqual(
      warning === undefined ? [] : [expect.stringMatching(warning)],
    );
    expect(warnings?.filter((text) => text.includes('no such method'))).toHaveLength(2);
  });

  it('is not here on a server that has another service', async () => {
    await using engine = await serveGrpc([[VllmEngineService.getServerInfo, { hex: '' }]]);
    const failure = await probeFailure(vllmControlGrpc, { grpcAddress: engine.address }, modules());
    expect(failure.code).toBe('not_here');
    expect(failure.origin).toBe(`gRPC ${engine.address}/vllm.Control/GetServerInfo`);
  });

  it.each([
    [status.UNAVAILABLE, 'not_ready'],
    [status.INTERNAL, 'bad_answer'],
    [status.PERMISSION_DENIED, 'bad_answer'],
  ] as const)('turns status %i into %s', async (code, expected) => {
    await using engine = await serveGrpc([
      [ControlService.getServerInfo, { code, details: 'loading weights' }],
    ]);
    const failure = await probeFailure(vllmControlGrpc, { grpcAddress: engine.address }, modules());
    expect(failure.code).toBe(expected);
    expect(failure.message).toContain('loading weights');
  });

  it.each([
    ['bytes that are no message', 'ffffffffffffffff', 'bad_answer'],
    ['half a message', '0a06302e33', 'bad_answer'],
    ['more than 4 MiB', `0a8080e002${'41'.repeat(5_767_168)}`, 'too_large'],
  ])('rejects %s', async (_name, reply, expected) => {
    await using engine = await serveGrpc([[ControlService.getServerInfo, { hex: reply }]]);
    const failure = await probeFailure(vllmControlGrpc, { grpcAddress: engine.address }, modules());
    expect(failure.code).toBe(expected);
  });
});

/** A message that was recorded as JSON with the field names of its proto. */
function camelFields(path: string): Record<string, never> {
  const fields = Object.entries(JSON.parse(recording(path)) as Record<string, never>);
  return Object.fromEntries(
    fields.map(([name, value]) => [
      name.replace(/_(.)/g, (_all, letter: string) => letter.toUpperCase()),
      value,
    ]),
  );
}

describe('vllm.grpc.engine.VllmEngine', () => {
  it('as recorded reports its block_size, which is the scheduler unit', async () => {
    const server = camelFields('vllm-0.32.0/smg-grpc/GetServerInfo.json');
    const model = camelFields('vllm-0.32.0/smg-grpc/GetModelInfo.json');
    await using engine = await serveGrpc([
      [
        VllmEngineService.getServerInfo,
        hex(GetServerInfoResponse.encode(GetServerInfoResponse.fromPartial(server)).finish()),
      ],
      [
        VllmEngineService.getModelInfo,
        hex(GetModelInfoResponse.encode(GetModelInfoResponse.fromPartial(model)).finish()),
      ],
    ]);
    const { facts, warnings } = await runProbe(vllmEngineGrpc, { grpcAddress: engine.address }, modules());
    expect(warnings).toEqual([]);
    expect(sizeLines(facts)).toEqual(['scheduler 32 engine_rpc contract']);
    expect(fieldValues(facts, 'model.max_model_len')).toEqual([2048]);
    expect(fieldValues(facts, 'model.served_names')).toEqual([['tiny']]);
    expect(fieldValues(facts, 'capacity.max_running_requests')).toEqual([128]);
    expect(fieldValues(facts, 'engine.serving_addresses')[0]?.[0]?.address).toBe(engine.address);
    // It has no connector, and an empty text cannot be distinguished from none.
    expect(fieldValues(facts, 'engine.role')).toEqual([]);
  });

  it.each([
    ['kv_producer', [EngineRole.PREFILL]],
    ['kv_consumer', [EngineRole.DECODE]],
    ['kv_both', []],
  ])('with the kv_role %s has the role %j', async (kvRole, roles) => {
    const server = GetServerInfoResponse.fromPartial({ blockSize: 32, kvRole });
    await using engine = await serveGrpc([
      [VllmEngineService.getServerInfo, hex(GetServerInfoResponse.encode(server).finish())],
    ]);
    const { facts } = await runProbe(vllmEngineGrpc, { grpcAddress: engine.address }, modules());
    expect(fieldValues(facts, 'engine.role')).toEqual(roles);
  });

  it('of an older server, without a block size, says so', async () => {
    await using engine = await serveGrpc([[VllmEngineService.getServerInfo, { hex: '' }]]);
    const { facts, warnings } = await runProbe(vllmEngineGrpc, { grpcAddress: engine.address }, modules());
    expect(sizeLines(facts)).toEqual([]);
    expect(warnings?.[0]).toContain('no block_size is reported');
  });
});
