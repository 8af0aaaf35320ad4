import {
  type CapabilityReport,
  EngineRole,
  EvidenceSource,
  SideChannel_State,
  TransferMode,
} from '../../src/gen/kvaccord/v1/capabilities.js';
import { makeWireReport } from './reports.js';

/** Where the dtype of such a report was read. */
export const PAIR_ORIGIN = 'GET http://127.0.0.1:8000/server_info';

/** What a test says of a prefill or decode worker; the rest is as of two that fit. */
export interface PairReportSketch {
  readonly dtype?: string;
  readonly instance?: string;
  /** Data-parallel ranks, each with a side channel of its own. Default 1. */
  readonly ranks?: number;
  /** Default: its own name. */
  readonly node?: string;
}

/** The report of a vLLM with NIXL, whose role its name says: `prefill-0`, `decode-1`. */
export function pairWireReport(
  name: string,
  { dtype = 'bfloat16', instance, ranks = 1, node = name }: PairReportSketch = {},
): CapabilityReport {
  const report = makeWireReport(name, instance === undefined ? {} : { instance });
  const role = name.startsWith('prefill') ? EngineRole.PREFILL : EngineRole.DECODE;
  return {
    ...report,
    engine: { ...report.engine, role } as CapabilityReport['engine'],
    transfer: {
      connector: 'nixl',
      mode: TransferMode.PULL,
      compatibilityHash: dtype,
      dtype,
      sideChannels: Array.from({ length: ranks }, (_, dataParallelRank) => ({
        dataParallelRank,
        address: `10.0.0.1:${5600 + dataParallelRank}`,
        ...{ state: SideChannel_State.ANSWERED, reason: '' },
      })),
    },
    evidence: [
      ...report.evidence,
      {
        field: 'transfer.dtype',
        source: EvidenceSource.ENGINE_HTTP,
        origin: PAIR_ORIGIN,
        raw: dtype,
        observedAt: new Date(0),
      },
    ],
    topology: {
      gpus: [],
      links: [],
      nics: [],
      numaNodes: [],
      notes: [],
      placement: { nodeName: node, zone: 'eu-1a', topologyDomains: {} },
    },
  };
}
