import {
  type CapabilityReport,
  Completeness_State,
  EngineKind,
  EngineState,
  EvidenceSource,
  HashUnit,
} from '../../src/gen/kvaccord/v1/capabilities.js';

/** What a test says of a report on the wire; the rest is that of a plain vLLM worker. */
export interface WireSketch {
  readonly size?: number;
  readonly model?: string;
  readonly instance?: string;
  readonly revision?: bigint;
  /** What its model card says although its engine has another size. */
  readonly declares?: number;
}

/** A complete report as a sidecar beside a vLLM of 32 tokens per block sends it. */
export function makeWireReport(workerId: string, sketch: WireSketch = {}): CapabilityReport {
  const { size = 32, model = 'tiny', instance = `${workerId}-1`, revision = 1n } = sketch;
  return {
    workerId,
    instanceId: instance,
    revision,
    observedAt: new Date(0),
    sidecarVersion: '0.0.0',
    engine: {
      kind: EngineKind.VLLM,
      version: '0.32.0',
      state: EngineState.READY,
      servingAddresses: [],
      apis: [],
    },
    model: { servedNames: [model], loraAdapters: [], tokenProbes: [] },
    contract: { tokensPerBlock: size, hashUnit: HashUnit.UNSPECIFIED, cacheGroups: [] },
    blockSizes: [],
    evidence: [
      {
        field: 'contract.tokens_per_block',
        source: EvidenceSource.ENGINE_METRICS,
        origin: 'GET http://127.0.0.1:8000/metrics',
        raw: `effective_attention_block_size="${size}"`,
        observedAt: new Date(0),
      },
    ],
    conflicts:
      sketch.declares === undefined
        ? []
        : [
            {
              field: 'contract.tokens_per_block',
              keptValue: String(size),
              keptSource: EvidenceSource.ENGINE_METRICS,
              otherValue: String(sketch.declares),
              otherSource: EvidenceSource.DECLARED,
              otherOrigin: 'its model card',
            },
          ],
    parallelism: {},
    capacity: { kvTiers: [] },
    kvEventSources: [],
    topology: undefined,
    completeness: { state: Completeness_State.COMPLETE, reasons: [] },
    digest: '',
    warnings: [],
    probes: [],
    canary: undefined,
    transfer: undefined,
    blockRehash: undefined,
  };
}
