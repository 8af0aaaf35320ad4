import { percent } from './causes/shared-clues.js';
import { counted } from './counted.js';
import type { Assessment, Diagnosis, RoutingPicture } from './diagnosis.js';
import type { Spread } from './logs/log-summary.js';
import { findsBlocks, MIN_DECISIONS, type Picture } from './picture.js';
import { basisRank } from './sizes.js';

/** The verdict with its words. */
export function verdictOf(
  picture: Picture,
  assessments: readonly Assessment[],
): Pick<Diagnosis, 'verdict' | 'headline' | 'advice'> {
  const health = healthOf(picture);
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
          : 'Nothing to do; a weak sign of something else is told below.',
    };
  }
  return {
    verdict: 'unknown',
    headline: 'Nothing wrong was seen, and not enough was seen to call it healthy',
    advice: `${unknownsOf(picture)[0] ?? 'Give the doctor logs and metrics of the frontend while requests come.'}`,
  };
}

/** What was seen that lets one call it healthy; undefined when it was not enough. */
function healthOf(picture: Picture): string | undefined {
  const { sizes, stores, engineHits, evidence, routerHits } = picture;
  const found = findsBlocks(picture);
  if (findsTooLittle(picture)) return undefined;
  if (found !== undefined && found.count >= MIN_DECISIONS) {
    const size =
      sizes.agreed === undefined
        ? ''
        : `, and router and engines use blocks of ${sizes.agreed.tokensPerBlock} tokens`;
    const engines =
      engineHits === undefined ? '' : ` (engines: ${percent(engineHits.share)} of prompt tokens)`;
    return `the router's hit rate is ${percent(found.share)} over ${counted(found.count, 'decision')}${engines}${size}`;
  }
  const isQuiet = routerHits.every(({ count }) => count < MIN_DECISIONS);
  if (
    isQuiet &&
    sizes.agreed !== undefined &&
    stores !== undefined &&
    stores.applied > 0 &&
    stores.parentMissing === 0
  ) {
    return `router and engines use blocks of ${sizes.agreed.tokensPerBlock} tokens, and ${counted(stores.applied, 'store')} arrived without a gap; too few requests have come to tell more`;
  }
  const fleets = evidence.fleets;
  const works =
    fleets.length > 0 &&
    fleets.every(
      ({ state, gateOpen, routingMode }) => state === 'agreed' && gateOpen && routingMode === 'exact',
    );
  return works && isQuiet
    ? `kv-accord has ${counted(fleets.length, 'group')} agreed, with the gate open and routing exact`
    : undefined;
}

/** A router that finds less than half of what engines have misses something, whatever it is. */
function findsTooLittle(picture: Picture): boolean {
  const found = findsBlocks(picture);
  const { engineHits } = picture;
  return found !== undefined && engineHits !== undefined && found.share < engineHits.share / 2;
}

/** What was not seen, and which source would tell it. */
export function unknownsOf(picture: Picture): readonly string[] {
  const { routerHits, engineHits, stores, sizes, dynamo, decisions, evidence } = picture;
  const knows = (side: 'worker' | 'router'): boolean =>
    sizes.rows.some(
      (row) => (row.side === 'worker') === (side === 'worker') && basisRank(row.basis) >= basisRank('in_use'),
    );
  const few = routerHits.every(({ count }) => count < MIN_DECISIONS);
  const isQuiet = routerHits.length > 0 && few;
  const unread = evidence.sources.filter(({ status }) => status === 'not_read');
  return [
    ...(findsTooLittle(picture)
      ? [
          `Why the router finds less than half of what engines have (${percent(findsBlocks(picture)?.share ?? 0)} against ${percent(engineHits?.share ?? 0)}): logs and metrics of all workers and frontends may tell it.`,
        ]
      : []),
    ...(routerHits.length === 0
      ? [
          `Whether the router finds blocks: ${decisions === undefined ? 'no routing decision was seen' : `${counted(decisions.count, 'decision')} were seen, and their lines do not tell cached blocks`}. /metrics of the frontend (dynamo_component_router_kv_hit_rate) tells it, or its log at level info.`,
        ]
      : []),
    ...(isQuiet
      ? [
          `Whether the router finds blocks: only ${counted(Math.max(...routerHits.map(({ count }) => count)), 'decision')} ${'were seen'}, and the first prompts are never found. Look again after ${MIN_DECISIONS} and more with common prefixes.`,
        ]
      : []),
    ...(knows('router')
      ? []
      : [
          'Which block size the router goes by: the gauge dynamo_frontend_model_kv_cache_block_size of the frontend tells it.',
        ]),
    ...(knows('worker')
      ? []
      : [
          "Which block size the engines cut: /metrics of the engine, the worker's log, or a kv-accord sidecar (kv-accord status) tells it.",
        ]),
    ...(stores === undefined
      ? [
          'Whether KV events arrive and are applied: dynamo_component_kv_cache_events_applied on /metrics of the frontend tells it.',
        ]
      : []),
    ...(engineHits === undefined
      ? [
          'What engines really reuse: /metrics of the frontend (dynamo_frontend_cached_tokens) or of the engines tells it.',
        ]
      : []),
    ...(dynamo.decides === 'unknown' && sizes.conflicts.length > 0
      ? [
          "Which number decides: the version of Dynamo is not known. The image's tag in the manifests tells it, or pip show ai-dynamo in the pod.",
        ]
      : []),
    ...unread.map(({ kind, name, detail }) => `What ${kind} ${name} would have told: ${detail}`),
  ];
}

/** How routing went, as far as anything told it. */
export function routingOf(picture: Picture): RoutingPicture | undefined {
  const { decisions, routerHits, engineHits, evidence } = picture;
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

/** The middle of the log that has most to tell: medians of several cannot be joined. */
function secondsOf(spreads: readonly (Spread | undefined)[]): number | undefined {
  const best = spreads.reduce<Spread | undefined>(
    (most, spread) => (spread !== undefined && spread.count > (most?.count ?? 0) ? spread : most),
    undefined,
  );
  return best === undefined ? undefined : best.median / 1_000;
}
