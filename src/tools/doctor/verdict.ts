import { uncapitalised } from '../../core/text/capitalised.js';
import { countOf } from '../../core/text/lists.js';

import type { Assessment, Diagnosis, RoutingSummary } from './diagnosis.js';
import type { Spread } from './logs/log-summary.js';
import { findsBlocks, MIN_DECISIONS, percent } from './measurements/cache-hits.js';
import type { Measurements } from './measurements/measurements.js';
import { agreedText } from './measurements/sizes.js';
import { noFindingHeadline } from './no-finding.js';
import type { Remarks } from './remarks/remarks.js';
import { findsTooLittle, type Unknown } from './unknowns.js';

/** The verdict with its headline and advice; `unknowns` begin with the remarks. */
export function verdictOf(
  measurements: Measurements,
  assessments: readonly Assessment[],
  { ofErrors, ofLoad }: Remarks,
  unknowns: readonly Unknown[],
): Pick<Diagnosis, 'verdict' | 'headline' | 'advice'> {
  const health = healthOf(measurements);
  const [first] = assessments;
  const meant = first?.mayBeMeant === true ? first : undefined;
  // One sign of something does not outweigh that routing was seen to work.
  const isFinding =
    first !== undefined && first !== meant && !(first.confidence === 'possible' && health !== undefined);
  if (isFinding) {
    const [fix] = first.fixes;
    return {
      verdict: 'findings',
      headline: first.headline,
      advice: fix === undefined ? 'Leave everything as it is: what works speaks against it.' : `${fix.says}.`,
    };
  }
  if (health !== undefined) {
    return {
      verdict: 'healthy',
      headline: `KV-aware routing works: ${health}`,
      advice:
        first === undefined
          ? 'Nothing to do.'
          : 'Nothing to do; a weak sign of something else is listed below.',
    };
  }
  const [error] = ofErrors;
  if (error === undefined && meant !== undefined) return { verdict: 'unknown', ...reportOf(meant) };
  const remark = error ?? ofLoad[0];
  const ask =
    unknowns[0]?.ask ?? 'Run the doctor again on logs and metrics of the frontend, while requests come';
  return {
    verdict: 'unknown',
    headline: remark?.headline ?? noFindingHeadline(measurements),
    advice: `${ask}.`,
  };
}

/** What somebody may want as it is, and how to have it otherwise. */
function reportOf({ cause, headline, fixes }: Assessment): Pick<Diagnosis, 'headline' | 'advice'> {
  const [fix] = fixes;
  const otherwise = fix === undefined ? '' : ` Where it is not meant: ${uncapitalised(fix.says)}.`;
  return {
    headline: `${headline}. This may be meant; nothing else was seen`,
    advice: `Leave it as it is where ${cause === 'events_off' ? 'prompts have no beginning in common' : 'somebody wants it so'}.${otherwise}`,
  };
}

/** What was seen that lets one call it healthy; undefined when it was not enough. */
function healthOf(measurements: Measurements): string | undefined {
  const { sizes, stores, engineHits, evidence, routerHits } = measurements;
  const found = findsBlocks(measurements);
  if (findsTooLittle(measurements)) return undefined;
  if (found !== undefined && found.count >= MIN_DECISIONS) {
    const size = sizes.agreed === undefined ? '' : `, and router and engines use ${agreedText(sizes.agreed)}`;
    const engines =
      engineHits === undefined ? '' : ` (engines: ${percent(engineHits.share)} of prompt tokens)`;
    return `the router's hit rate is ${percent(found.share)} over ${countOf(found.count, 'decision')}${engines}${size}`;
  }
  const isQuiet = routerHits.every(({ count }) => count < MIN_DECISIONS);
  if (
    isQuiet &&
    sizes.agreed !== undefined &&
    stores !== undefined &&
    stores.applied > 0 &&
    stores.parentMissing === 0
  ) {
    return `router and engines use ${agreedText(sizes.agreed)}, and ${countOf(stores.applied, 'store')} arrived without a gap; too few requests have come to say more`;
  }
  const fleets = evidence.fleets;
  const works =
    fleets.length > 0 &&
    fleets.every(
      ({ state, gateOpen, routingMode }) => state === 'agreed' && gateOpen && routingMode === 'exact',
    );
  return works && isQuiet
    ? `kv-accord has ${countOf(fleets.length, 'group')} agreed, with the gate open and routing exact`
    : undefined;
}

/** How routing went, as far as any source reports it. */
export function routingOf(measurements: Measurements): RoutingSummary | undefined {
  const { decisions, routerHits, engineHits, evidence } = measurements;
  if (decisions === undefined && routerHits.length === 0 && engineHits === undefined) return undefined;
  const spreads = evidence.logs.flatMap((log) =>
    log.decisions === undefined ? [] : [log.decisions.firstTokenMs],
  );
  return {
    decisions: Math.max(decisions?.count ?? 0, ...routerHits.map(({ count }) => count)),
    decisionsByWorker: decisions?.byWorker ?? new Map(),
    routerHitRate: routerHits[0]?.share,
    engineHitRate: engineHits?.share,
    firstTokenSeconds: {
      cold: secondsOf(spreads.map(({ cold }) => cold)),
      warm: secondsOf(spreads.map(({ warm }) => warm)),
    },
  };
}

/** The median of the log with the most decisions: medians of several cannot be joined. */
function secondsOf(spreads: readonly (Spread | undefined)[]): number | undefined {
  const best = spreads.reduce<Spread | undefined>(
    (most, spread) => (spread !== undefined && spread.count > (most?.count ?? 0) ? spread : most),
    undefined,
  );
  return best === undefined ? undefined : best.median / 1_000;
}
