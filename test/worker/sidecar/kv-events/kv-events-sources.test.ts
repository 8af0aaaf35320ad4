import { describe, expect, it } from 'vitest';
import {
  CapabilityReport,
  EngineKind,
  EvidenceSource,
  ServingAddress_Protocol,
} from '../../../../src/gen/kvaccord/v1/capabilities.js';
import { type EventPlan, planEvents } from '../../../../src/worker/sidecar/kv-events/kv-events-sources.js';

const AUTO = { from: 'engine' } as const;

interface Stated {
  readonly rank?: number;
  readonly endpoint?: string;
  readonly transport?: string;
  readonly topic?: string;
  readonly replayEndpoint?: string;
}

function plan(stated: readonly Stated[], settings: Parameters<typeof planEvents>[0] = AUTO): EventPlan {
  const kvEventSources = stated.map(({ rank = 0, endpoint = 'tcp://127.0.0.1:5557', ...rest }) => ({
    dataParallelRank: rank,
    endpoint,
    transport: 'zmq',
    ...rest,
  }));
  return planEvents(settings, CapabilityReport.fromPartial({ kvEventSources }));
}

describe('what is read of an engine', () => {
  it('is what the engine names, by rank', () => {
    const replayEndpoint = 'tcp://127.0.0.1:5559';
    expect(plan([{ rank: 1, topic: 'kv', replayEndpoint }, { endpoint: '@tcp://127.0.0.1:5557' }])).toEqual({
      type: 'read',
      sources: [
        { kind: 'zmq', rank: 0, endpoint: '@tcp://127.0.0.1:5557', topic: '' },
        { kind: 'zmq', rank: 1, endpoint: 'tcp://127.0.0.1:5557', topic: 'kv', replayEndpoint },
      ],
    });
  });

  it('is what the operator names, whatever the engine says', () => {
    const sources = [{ kind: 'zmq', rank: 0, endpoint: 'tcp://other:1', topic: '' }] as const;
    expect(plan([{}], { from: 'operator', sources })).toEqual({ type: 'read', sources });
  });

  it('is nothing of an engine without a prefix cache, also where it or the operator names a source', () => {
    const report = CapabilityReport.fromPartial({
      capacity: { prefixCaching: false },
      kvEventSources: [{ endpoint: 'tcp://127.0.0.1:5557', transport: 'zmq' }],
    });
    const sources = [{ kind: 'zmq', rank: 0, endpoint: 'tcp://other:1', topic: '' }] as const;
    for (const settings of [AUTO, { from: 'operator', sources } as const]) {
      expect(planEvents(settings, report)).toMatchObject({
        type: 'nothing',
        reason: expect.stringContaining('without a prefix cache'),
      });
    }
  });

  it('takes the first of several sources for one rank', () => {
    const planned = plan([{ endpoint: 'tcp://a:1' }, { endpoint: 'tcp://b:1' }]);
    expect(planned).toMatchObject({ sources: [{ endpoint: 'tcp://a:1' }] });
  });

  it('leaves out a replay endpoint that cannot be dialled', () => {
    const planned = plan([{ replayEndpoint: 'tcp://*:5558' }]);
    expect(planned.type === 'read' && planned.sources[0]).not.toHaveProperty('replayEndpoint');
  });

  it.each([
    [{ transport: 'kafka', endpoint: 'tcp://a:1' }, 'kafka tcp://a:1'],
    [{ endpoint: 'inproc://x' }, 'zmq inproc://x'],
    [{ endpoint: 'tcp://a:1\u001b[2J' }, 'zmq tcp://a:1'],
  ])('is nothing where all that it names cannot be read, with the name: %j', (source, named) => {
    const planned = plan([source]);
    expect(planned.type).toBe('nothing');
    expect(planned.type === 'nothing' && planned.reason).toContain(named);
    expect(planned.type === 'nothing' && planned.reason).not.toContain('\u001b');
  });

  it('is nothing when the engine says that there is nothing, and is left as it was when it says nothing', () => {
    expect(plan([])).toMatchObject({ type: 'unsaid', reason: expect.stringContaining('--kv-events-config') });
    const report = CapabilityReport.fromPartial({
      evidence: [{ field: 'kv_event_sources', source: EvidenceSource.ENGINE_HTTP }],
    });
    expect(planEvents(AUTO, report).type).toBe('nothing');
  });
});

describe('the draining endpoint of TensorRT-LLM', () => {
  const trtllm = CapabilityReport.fromPartial({
    engine: {
      kind: EngineKind.TENSORRT_LLM,
      servingAddresses: [
        { protocol: ServingAddress_Protocol.OPENAI_HTTP, address: 'http://127.0.0.1:8000/' },
      ],
    },
    contract: { tokensPerBlock: 32 },
  });

  it('is read only when the operator says so, with the size that other sources tell', () => {
    expect(planEvents(AUTO, trtllm)).toMatchObject({
      reason: expect.stringContaining('--trtllm-drain-events'),
    });
    expect(planEvents({ from: 'engine', drainsTrtllm: true }, trtllm)).toEqual({
      type: 'read',
      sources: [
        { kind: 'trtllm-drain', rank: 0, url: 'http://127.0.0.1:8000/kv_cache_events', tokensPerBlock: 32 },
      ],
    });
  });

  it('is asked where this sidecar reaches the engine, not where others do', () => {
    const report = CapabilityReport.fromPartial({
      ...trtllm,
      engine: {
        ...trtllm.engine,
        servingAddresses: [
          { protocol: ServingAddress_Protocol.OPENAI_HTTP, address: 'https://lb.lan/llama' },
          ...(trtllm.engine?.servingAddresses ?? []),
        ],
      },
      evidence: [{ field: 'engine.serving_addresses', source: EvidenceSource.DECLARED }],
    });
    expect(planEvents({ from: 'engine', drainsTrtllm: true }, report)).toMatchObject({
      sources: [{ url: 'http://127.0.0.1:8000/kv_cache_events' }],
    });
  });

  it('is left alone when the engine publishes its events', () => {
    const report = CapabilityReport.fromPartial({
      ...trtllm,
      kvEventSources: [{ transport: 'zmq', endpoint: 'tcp://127.0.0.1:5557' }],
    });
    expect(planEvents({ from: 'engine', drainsTrtllm: true }, report)).toMatchObject({
      sources: [{ kind: 'zmq' }],
    });
  });

  it('is never asked of another engine', () => {
    const report = CapabilityReport.fromPartial({ ...trtllm, engine: { kind: EngineKind.VLLM } });
    expect(planEvents({ from: 'engine', drainsTrtllm: true }, report).type).toBe('unsaid');
  });
});
