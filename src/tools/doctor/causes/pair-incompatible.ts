import { countOf } from '../../../core/text/lists.js';
import type { ClueFor } from '../confidence.js';
import { samePairFixes } from '../fixes/transfers.js';
import type { Measurements } from '../measurements/measurements.js';
import type { Cause, Suspicion } from './cause.js';
import { clueFor, findingClue, when } from './clues.js';
import { differenceText, differingFields, failedTransfers, transfersArrive } from './transfer-clues.js';

/** `dtype: bfloat16 (prefill-0) against float16 (decode-0)`, as kv-accord says what a pair differs in. */
const DIFFERENCE =
  /[a-z][\w. ]{1,40}: \S{1,80} \([^,;\n]{1,300}?\) against \S{1,80} \([^,;\n]{1,300}?\)(?![)\w])/;
/** What it says of workers without a partner. */
const WITHOUT_PARTNER = /can (?:hand its KV blocks to|take KV blocks from)/;

/** Prefill and decode engines refuse each other's KV blocks. */
export const pairIncompatible: Cause = {
  id: 'pair_incompatible',
  concerns: () => true,
  contradictedBy: transfersArrive,
  suspect(measurements: Measurements): Suspicion | undefined {
    const refused = measurements.signal('transfer_refused');
    const findings = measurements.evidence.findings.filter(({ ruleId }) => ruleId === 'pair-settings');
    const judged = judgedPairs(measurements);
    if (refused === undefined && findings.length === 0 && judged.length === 0) return undefined;
    const differences = refused === undefined ? [] : differingFields(measurements);
    const [difference] = differences;
    const [said] = judged.flatMap(({ says }) => DIFFERENCE.exec(says)?.[0] ?? []);
    const [field = said ?? 'a field that both must share'] = refused?.values.keys() ?? [];
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
        ...judged,
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

/** What a live fleet says of pairs that cannot work. */
function judgedPairs({ evidence }: Measurements): readonly ClueFor[] {
  return evidence.fleets.flatMap(({ reasons, members, origin }) =>
    [...reasons, ...members.map(({ reason }) => reason)]
      .filter((reason) => WITHOUT_PARTNER.test(reason))
      .map((reason) => clueFor('proof', reason.replace(/\s+/g, ' '), origin, 'transfers_fail')),
  );
}
