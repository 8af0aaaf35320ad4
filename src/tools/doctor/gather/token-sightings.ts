import { EVENT_SOURCES_FIELD } from '../../../core/contract/evidence/event-source-check.js';
import { probeAnswersOf, tokenValuesOf } from '../../../core/contract/tokens/token-answers.js';
import type { CapabilityReport } from '../../../gen/kvaccord/v1/capabilities.js';
import type { EventSourceSighting, TokenSighting } from '../evidence.js';
import { excerptOf } from '../logs/masking.js';

/** Different answers of one source; a fleet has one, or a few when something is wrong. */
const MAX_DISTINCT = 64;

/** What workers make of the fixed prompts: one worker for each different set of answers. */
export function tokenSightings(
  address: string,
  reports: readonly CapabilityReport[],
): readonly TokenSighting[] {
  const found = new Map<string, TokenSighting>();
  for (const report of reports) {
    const values = tokenValuesOf(report);
    if (Object.keys(values).length === 0) continue;
    const group = report.model?.servedNames[0] ?? '';
    const key = JSON.stringify([group, values]);
    if (found.has(key) || found.size >= MAX_DISTINCT) continue;
    const evidence = report.evidence.find(({ field }) => field === 'model.token_probes');
    const text = excerptOf(`${evidence?.origin ?? 'its tokens'}: ${evidence?.raw ?? ''}`, '');
    found.set(key, {
      group,
      who: report.workerId,
      values,
      answers: probeAnswersOf(report),
      origin: { place: `${address}, worker ${report.workerId}`, text },
    });
  }
  return [...found.values()];
}

/** Workers whose events are read elsewhere than their engines say. */
export function eventSourceSightings(
  address: string,
  reports: readonly CapabilityReport[],
): readonly EventSourceSighting[] {
  return reports.flatMap((report) => {
    const conflict = report.conflicts.find(({ field }) => field === EVENT_SOURCES_FIELD);
    if (conflict === undefined) return [];
    const { keptValue: readAt, otherValue: saidAt, otherOrigin } = conflict;
    const owner = reports.find(
      (other) => other !== report && other.kvEventSources.some(({ endpoint }) => endpoint === readAt),
    );
    return [
      {
        who: report.workerId,
        readAt: excerptOf(readAt, ''),
        saidAt: excerptOf(saidAt, ''),
        publishes: report.kvEventSources.map(({ endpoint }) => endpoint),
        owner: owner?.workerId,
        origin: {
          place: `${address}, worker ${report.workerId}`,
          text: excerptOf(`read at ${readAt}, said by the engine: ${saidAt} (${otherOrigin})`, ''),
        },
      },
    ];
  });
}
