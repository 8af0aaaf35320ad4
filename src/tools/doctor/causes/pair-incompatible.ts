import { countOf } from '../../../core/text/lists.js';
import { samePairFixes } from '../fixes/transfers.js';
import type { Measurements } from '../measurements/measurements.js';
import type { Cause, Suspicion } from './cause.js';
import { clueFor, findingClue, when } from './clues.js';
import { differenceText, differingFields, failedTransfers, transfersArrive } from './transfer-clues.js';

/** Prefill and decode engines refuse each other's KV blocks. */
export const pairIncompatible: Cause = {
  id: 'pair_incompatible',
  concerns: () => true,
  contradictedBy: transfersArrive,
  suspect(measurements: Measurements): Suspicion | undefined {
    const refused = measurements.signal('transfer_refused');
    const findings = measurements.evidence.findings.filter(({ ruleId }) => ruleId === 'pair-settings');
    if (refused === undefined && findings.length === 0) return undefined;
    const differences = refused === undefined ? [] : differingFields(measurements);
    const [difference] = differences;
    const [field = 'a field that both must share'] = refused?.values.keys() ?? [];
    const what =
      difference !== undefined
        ? differenceText(difference)
        : (findings[0]?.message ?? `the lines name the ${field}`);
    return {
      headline: `Prefill and decode engines refuse each other's KV blocks: ${what}`,
      explanation:
        'Before the first transfer the engines compare what their KV blocks are made of. Where that differs, every request that is divided between them fails or is computed again, while both engines answer their health checks and all other requests.',
      cluesFor: [
        ...when(refused, ({ count, first }) =>
          clueFor(
            'proof',
            `${countOf(count, 'line')} of engines that refuse each other's KV blocks: ${field}.`,
            first,
            'transfers_fail',
          ),
        ),
        ...differences.map((one) =>
          clueFor('sign', `The engines differ in their ${differenceText(one)}.`, one.values[1]?.seen.origin),
        ),
        ...findings.map((finding) => findingClue(finding, 'sign')),
        ...(refused === undefined ? [] : failedTransfers(measurements)),
      ],
      cluesAgainst: [],
      explains: ['transfers_fail', 'prompts_recomputed'],
      fixes: samePairFixes(measurements, difference?.field ?? field),
    };
  },
};
