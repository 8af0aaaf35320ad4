import { BlockSizeKind, type CapabilityReport } from '../../src/gen/kvaccord/v1/capabilities.js';
import { makeWireReport } from '../../test/support/reports.js';

/** A report as a sidecar beside a vLLM sends it: with its sizes, capacity and how each source answered, about 1 KB. */
export function makeBenchReport(workerId: string, size: number, start: number): CapabilityReport {
  const report = makeWireReport(workerId, { size, instance: `${workerId}-${start}` });
  const origin = 'GET http://127.0.0.1:8000';
  const evidence = report.evidence.flatMap((first) =>
    ['engine.kind', 'engine.version', 'model.served_names', 'capacity.total_kv_blocks'].map((field) => ({
      ...first,
      field,
      origin: `${origin}/v1/models`,
    })),
  );
  return {
    ...report,
    blockSizes: [
      { kind: BlockSizeKind.EFFECTIVE_ATTENTION, sizeTokens: size },
      { kind: BlockSizeKind.SCHEDULER, sizeTokens: size },
    ],
    evidence: [...report.evidence, ...evidence],
    capacity: { kvTiers: ['device'], totalKvBlocks: 65_536n },
    probes: ['openai-models', 'vllm-metrics', 'vllm-version', 'vllm-kv-event-sources'].map((probe) => ({
      probe,
      origin: `${origin}/${probe}`,
      answered: true,
      factCount: 4,
      error: '',
    })),
    digest: 'a'.repeat(64),
  };
}
