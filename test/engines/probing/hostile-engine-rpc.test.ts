import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/edge/platform/clock.js';
import { ProbeError } from '../../../src/edge/platform/probe-error.js';
import type { EngineRpc } from '../../../src/edge/rpc/engine-rpc.js';
import type { EngineProbe } from '../../../src/engines/probing/probe.js';
import { sglangGrpc } from '../../../src/engines/sglang/grpc.js';
import { vllmControlGrpc } from '../../../src/engines/vllm/control-grpc.js';
import { vllmEngineGrpc } from '../../../src/engines/vllm/engine-grpc.js';
import { GetServerInfoResponse as SglangInfo } from '../../../src/gen/engines/sglang/sglang.js';
import { GetKvEventSourcesResponse, ModelInfo, ServerInfo } from '../../../src/gen/engines/vllm/control.js';
import {
  GetServerInfoResponse as EngineInfo,
  GetModelInfoResponse,
} from '../../../src/gen/engines/vllm/vllm_engine.js';
import { CapabilityReport } from '../../../src/gen/kvaccord/v1/capabilities.js';
import { ReportStore } from '../../../src/worker/sidecar/report/report-store.js';
import { propertyRuns } from '../../support/property-runs.js';
import { mutatedMessages } from '../../support/wire-mutation.js';
import { readyView } from '../../worker/sidecar/support/views.js';

const sglangInfo = { page_size: 64, version: '0.5.23', dp_size: 2, max_total_num_tokens: 4_096 };

/** What an engine answers to each method, and the probe that asks it. */
const ENGINES: readonly (readonly [EngineProbe, Readonly<Record<string, Uint8Array>>])[] = [
  [
    vllmControlGrpc,
    {
      GetServerInfo: ServerInfo.encode(
        ServerInfo.fromPartial({
          apiVersion: 'v1',
          engineVersion: '0.32.0',
          instanceId: 'i',
          kvBlockSize: 16,
          effectiveAttentionBlockSize: 32,
          maxModelLen: 2_048,
          totalKvBlocks: 64n as never,
          parallelism: { tensorParallelSize: 2, dataParallelRank: 0, worldSize: 2 },
        }),
      ).finish(),
      GetModelInfo: ModelInfo.encode(
        ModelInfo.fromPartial({ servedModelName: 'tiny', servedModelAliases: ['t'], modelId: 'm' }),
      ).finish(),
      GetKvEventSources: GetKvEventSourcesResponse.encode(
        GetKvEventSourcesResponse.fromPartial({
          sources: [
            { dataParallelRank: 0, transport: 'zmq', endpoint: 'tcp://*:5557', topic: '', schemaVersion: 1 },
          ],
        }),
      ).finish(),
    },
  ],
  [
    vllmEngineGrpc,
    {
      GetServerInfo: EngineInfo.encode(
        EngineInfo.fromPartial({ blockSize: 16, kvRole: 'kv_both', dataParallelSize: 1, maxNumSeqs: 8 }),
      ).finish(),
      GetModelInfo: GetModelInfoResponse.encode(
        GetModelInfoResponse.fromPartial({
          servedModelName: 'tiny',
          modelPath: '/m',
          maxContextLength: 2_048,
        }),
      ).finish(),
    },
  ],
  [
    sglangGrpc,
    {
      GetServerInfo: SglangInfo.encode(
        SglangInfo.fromPartial({ jsonInfo: JSON.stringify(sglangInfo) }),
      ).finish(),
    },
  ],
];

function answering(bytes: Readonly<Record<string, Uint8Array>>): EngineRpc {
  return {
    async call(_address, method) {
      try {
        return method.responseDeserialize(Buffer.from(bytes[method.path.split('/').at(-1) ?? ''] ?? []));
      } catch {
        // grpc-js ends such a call with a status.
        throw new ProbeError('bad_answer', method.path, 'INTERNAL');
      }
    },
  };
}

describe("an engine's own gRPC that answers anything", () => {
  it.each(ENGINES.map(([probe, answers]) => [probe.name, probe, answers] as const))(
    '%s reads or refuses it, and a report of it can always be sent',
    async (_, probe, answers) => {
      const mutated = fc.record(
        Object.fromEntries(
          Object.entries(answers).map(([method, bytes]) => [method, mutatedMessages([bytes])]),
        ),
      );
      await fc.assert(
        fc.asyncProperty(mutated, async (bytes) => {
          const modules = { clock: systemClock, rpc: answering(bytes) };
          const target = { grpcAddress: '127.0.0.1:50051' };
          const answer = await probe.probe(target, modules as never, new AbortController().signal).then(
            (outcome) => outcome,
            (error: unknown) => {
              expect(error).toBeInstanceOf(ProbeError);
              return undefined;
            },
          );
          if (answer === undefined) return;
          const store = new ReportStore(
            { workerId: 'w-1', sidecarVersion: '1.2.3' },
            { clock: systemClock, view: readyView(answer.facts) },
          );
          const sent = CapabilityReport.decode(CapabilityReport.encode(store.current).finish());
          expect(sent.workerId).toBe('w-1');
        }),
        { numRuns: propertyRuns(150) },
      );
    },
  );
});
