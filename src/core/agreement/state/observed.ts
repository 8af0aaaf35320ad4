import type { ContractValues } from '../../contract/contract-values.js';
import { CONTRACT_FIELDS, comparedKey, TOPOLOGY_FIELDS } from '../../contract/contract-values.js';
import { EvidenceSource } from '../../contract/wire/enums.js';
import type { DeclaredDifference, WorkerReport } from '../../contract/worker-report.js';

/** A width that the index saw in the live KV events of one instance. */
export interface SeenWidth {
  readonly instanceId: string;
  readonly tokensPerBlock: number;
}

/** Whether the size of a report was seen in the worker's live KV events (V2). */
export function isObserved(report: WorkerReport): boolean {
  return report.evidence?.source === EvidenceSource.OBSERVED_EVENT;
}

/** Whether the size of a report is what a worker was configured to have, and nothing that runs has confirmed it (R4). */
export function isMereDeclaration(report: WorkerReport): boolean {
  const source = report.evidence?.source;
  return source === EvidenceSource.DECLARED || source === EvidenceSource.ENGINE_CONFIG;
}

/**
 * V1: a report with the width that the index saw in this instance's events in
 * place of what the worker says of itself. A report whose own size is observed
 * stands as it is: its sidecar reads the same events, and a later report of it
 * takes a width back.
 */
export function withSeenWidth(report: WorkerReport, seen: SeenWidth | undefined): WorkerReport {
  if (seen === undefined || seen.instanceId !== report.instanceId) return report;
  if (!report.usable || isObserved(report)) return report;
  const values: ContractValues = { ...report.values, tokens_per_block: seen.tokensPerBlock };
  return {
    ...report,
    values,
    contractKey: comparedKey(values, CONTRACT_FIELDS),
    topologyKey: comparedKey(values, [...CONTRACT_FIELDS, ...TOPOLOGY_FIELDS]),
    evidence: {
      source: EvidenceSource.OBSERVED_EVENT,
      origin: 'its KV events',
      raw: `block_size=${seen.tokensPerBlock}`,
    },
    declared: declaredInstead(report, seen.tokensPerBlock),
    sizeFacts: { ...report.sizeFacts, runsTokens: seen.tokensPerBlock },
  };
}

/** V4: what the worker declared or was configured with, when that is not what its events have. */
function declaredInstead(
  { declared, evidence, values }: WorkerReport,
  seen: number,
): DeclaredDifference | undefined {
  if (declared !== undefined) return declared.tokensPerBlock === seen ? undefined : declared;
  const own = values.tokens_per_block;
  if (evidence === undefined || typeof own !== 'number' || own === seen) return undefined;
  const { source, origin } = evidence;
  const isClaim = source === EvidenceSource.DECLARED || source === EvidenceSource.ENGINE_CONFIG;
  return isClaim ? { tokensPerBlock: own, origin } : undefined;
}
