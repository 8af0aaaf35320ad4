import { countOf } from '../../core/text/lists.js';

import type { Assessment, Diagnosis, RoutingSummary } from './diagnosis.js';
import type { Spread } from './logs/log-summary.js';
import { findsBlocks, MIN_DECISIONS, percent } from './measurements/cache-hits.js';
import type { Measurements } from './measurements/measurements.js';
import { basisRank } from './sizes.js';

/** The verdict with its headline and advice. */
export function verdictOf(
  measurements: Measurements,
  assessments: readonly Assessment[],
): Pick<Diagnosis, 'verdict' | 'headline' | 'advice'> {
  const health = healthOf(measurements);
  const [first] = assessments;
  // One sign of something does not outweigh that routing was seen to work.
  const isFinding = first !== undefined && !(first.confidence === 'possible' && health !== undefined);
  if (isFinding) {
    const [fix] = first.fixes;
    return {
      verdict: 'findings',
      headline: first.headline,
      advice:
        fix === undefined
          ? 'Look at the clues below; no change can be proposed from what was seen.'
          : `${fix.says}.`,
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
  return {
    verdict: 'unknown',
    headline: 'Nothing wrong was seen, and not enough was seen to call it healthy',
    advice: `${unknownsOf(measurements)[0] ?? 'Give the doctor logs and metrics of the frontend while requests come.'}`,
  };
}

/** What was seen that lets one call it healthy; undefined when it was not enough. */
function healthOf(measurements: Measurements): string | undefined {
  const { sizes, stores, engineHits, evidence, routerHits } = measurements;
  const found = findsBlocks(measurements);
  if (findsTooLittle(measurements)) return undefined;
  if (found !== undefined && found.count >= MIN_DECISIONS) {
    const size =
      sizes.agreed === undefined
        ? ''
        : `, and router and engines use a block size of ${sizes.agreed.tokensPerBlock} tokens`;
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
    return `router and engines use a block size of ${sizes.agreed.tokensPerBlock} tokens, and ${countOf(stores.applied, 'store')} arrived without a gap; too few requests have come to say more`;
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

/** A router that finds less than half of what engines have misses something, whatever it is. */
function findsTooLittle(measurements: Measurements): boolean {
  const found = findsBlocks(measurements);
  const { engineHits } = measurements;
  return found !== undefined && engineHits !== undefined && found.share < engineHits.share / 2;
}

/** What was not seen, and which source would show it. */
export function unknownsOf(measurements: Measurements): readonly string[] {
  const { routerHits, engineHits, stores, sizes, dynamo, decisions, evidence } = measurements;
  const knows = (side: 'worker' | 'router'): boolean =>
    sizes.rows.some(
      (row) => (row.side === 'worker') === (side === 'worker') && basisRank(row.basis) >= basisRank('in_use'),
    );
  const few = routerHits.every(({ count }) => count < MIN_DECISIONS);
  const isQuiet = routerHits.length > 0 && few;
  const unread = evidence.sources.filter(({ status }) => status === 'not_read');
  return [
    ...(findsTooLittle(measurements)
      ? [
          `Why the router finds less than half of what engines have (${percent(findsBlocks(measurements)?.share ?? 0)} against ${percent(engineHits?.share ?? 0)}): logs and metrics of all workers and frontends may show it.`,
        ]
      : []),
    ...(routerHits.length === 0
      ? [
          `Whether the router finds blocks: ${decisions === undefined ? 'no routing decision was seen' : `${countOf(decisions.count, 'decision')} were seen, and their lines do not report cached blocks`}. /metrics of the frontend (dynamo_component_router_kv_hit_rate) shows it, or its log at level info.`,
        ]
      : []),
    ...(isQuiet
      ? [
          `Whether the router finds blocks: only ${countOf(Math.max(...routerHits.map(({ count }) => count)), 'decision')} ${'were seen'}, and the first prompts are never found. Look again after ${MIN_DECISIONS} and more with common prefixes.`,
        ]
      : []),
    ...(knows('router')
      ? []
      : [
          'Which block size the router uses: the gauge dynamo_frontend_model_kv_cache_block_size of the frontend shows it.',
        ]),
    ...(knows('worker')
      ? []
      : [
          "Which block size the engines use: /metrics of the engine, the worker's log, or a kv-accord sidecar (kv-accord status) shows it.",
        ]),
    ...(stores === undefined
      ? [
          'Whether KV events arrive and are applied: dynamo_component_kv_cache_events_applied on /metrics of the frontend shows it.',
        ]
      : []),
    ...(engineHits === undefined
      ? [
          'What engines really reuse: /metrics of the frontend (dynamo_frontend_cached_tokens) or of the engines shows it.',
        ]
      : []),
    ...(dynamo.decides === 'unknown' && sizes.conflicts.length > 0
      ? [
          "Which number decides: the version of Dynamo is not known. The image's tag in the manifests shows it, or pip show ai-dynamo in the pod.",
        ]
      : []),
    ...unread.map(({ kind, name, detail }) => `What ${kind} ${name} would have shown: ${detail}`),
  ];
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
