import { countOf } from '../../../core/text/lists.js';
import { SIGN_VALUES } from '../../../engines/diagnosis/sign-values.js';
import type { ClueFor } from '../confidence.js';
import { giveConnector, handOver } from '../fixes/transfers.js';
import { originOn, totalOf } from '../measurements/measure.js';
import type { Measurements } from '../measurements/measurements.js';
import { transfersOn } from '../measurements/transfers.js';
import { sumOf } from '../metrics/metrics-page.js';
import type { Cause, Suspicion } from './cause.js';
import { clueFor, when } from './clues.js';

const TRANSFERRED = 'kv_accord_pd_transferred_tokens_total';
const RECOMPUTED = 'kv_accord_pd_recomputed_tokens_total';
/** Fewer tokens prove nothing. */
const MANY_TOKENS = 1_000;
/** Part of the tokens of divided requests from which on it is no accident. */
const PART = 0.05;

/** Decode engines compute prompts that they should have received. */
export const decodeRecomputes: Cause = {
  id: 'decode_recomputes',
  concerns: () => true,
  contradictedBy: () => [],
  suspect(measurements: Measurements): Suspicion | undefined {
    const cluesFor = [
      ...reportedByRouter(measurements),
      ...idleTransfers(measurements),
      ...logged(measurements),
    ];
    if (cluesFor.length === 0) return undefined;
    return {
      headline: 'Decode engines compute prompts again that prefill engines have computed for them',
      explanation:
        'The answers are right, so nothing reports it; each prompt is computed twice, and the fleet is slower than without the division. The decode engine got no parameters of the transfer (a proxy or an API that does not pass `kv_transfer_params` on), or none that it can use, or its transfers fail and it is configured to compute instead (`kv_load_failure_policy: recompute`).',
      cluesFor,
      cluesAgainst: [],
      explains: [],
      fixes: isWithoutConnector(measurements) ? [giveConnector(), handOver()] : [handOver()],
    };
  },
};

function isWithoutConnector(measurements: Measurements): boolean {
  return measurements.signal('transfer_recomputed')?.values.has(SIGN_VALUES.noConnector) === true;
}

/** kv-accord's frontend compares what it sent over with what the decode engine reports. */
function reportedByRouter({ evidence }: Measurements): readonly ClueFor[] {
  return evidence.metrics.flatMap((page) => {
    const recomputed = sumOf(page, RECOMPUTED) ?? 0;
    const all = recomputed + (sumOf(page, TRANSFERRED) ?? 0);
    if (recomputed < MANY_TOKENS || recomputed < all * PART) return [];
    return [
      clueFor(
        'proof',
        `${recomputed} of ${all} prompt tokens that were sent over were computed again.`,
        originOn(page, `${RECOMPUTED} ${recomputed}`),
        'prompts_recomputed',
      ),
    ];
  });
}

/** Prefill engines that work for nobody: what decode engines have, they computed themselves. */
function idleTransfers({ evidence }: Measurements): readonly ClueFor[] {
  const counts = transfersOn(evidence.metrics);
  const prefills = counts.filter(({ part }) => part === 'prefill');
  const decodes = counts.filter(({ part }) => part === 'decode');
  const [worst] = [...decodes].sort((a, b) => b.computedTokens - a.computedTokens);
  if (prefills.length === 0 || worst === undefined) return [];
  const computed = totalOf(decodes, ({ computedTokens }) => computedTokens);
  const arrived = totalOf(decodes, ({ arrivedTokens }) => arrivedTokens);
  if (computed < MANY_TOKENS || arrived >= (arrived + computed) * PART) return [];
  const prompts = totalOf(prefills, ({ requests }) => requests);
  return [
    clueFor(
      'signature',
      `Prefill engines computed ${countOf(prompts, 'prompt')}, and of the prompt tokens of decode engines ${arrived} came from another engine and ${computed} were computed there.`,
      originOn(
        worst.page,
        `external_kv_transfer ${worst.arrivedTokens}, local_compute ${worst.computedTokens}`,
      ),
      'prompts_recomputed',
    ),
  ];
}

function logged(measurements: Measurements): readonly ClueFor[] {
  return when(measurements.signal('transfer_recomputed'), ({ count, first, values }) => {
    const [reason] = values.keys();
    return clueFor(
      'signature',
      `A decode engine computed ${countOf(count, 'prompt')} that it should have received${reason === undefined ? '' : ` (${reason})`}.`,
      first,
      'prompts_recomputed',
    );
  });
}
