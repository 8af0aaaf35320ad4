import { countOf } from '../../core/text/lists.js';
import { MIN_DECISIONS, noneFound, percent } from './measurements/cache-hits.js';
import type { Measurements } from './measurements/measurements.js';
import { isNobodyServing, namesOf } from './unknowns.js';

/** The headline where nothing was seen that is wrong or worth a remark, nor enough to call it healthy: what was seen of routing and caches. */
export function noFindingHeadline(measurements: Measurements): string {
  const { seen } = measurements;
  if (isNobodyServing(measurements)) {
    const others = seen.others.length === 0 ? '' : ` in lines of ${namesOf(seen.others)}`;
    return `Nothing wrong was seen${others}; no line of an engine or a router was recognised`;
  }
  return (
    emptyDecisions(measurements) ??
    engineCaches(measurements) ??
    'Nothing wrong was seen, and not enough was seen to call it healthy'
  );
}

/** Of decisions that all found nothing, what they show; undefined where one did, or where only one was seen. */
function emptyDecisions(measurements: Measurements): string | undefined {
  const none = noneFound(measurements);
  if (none === undefined || none.count < 2 || measurements.engineHits !== undefined) return undefined;
  const found = `No cached block was found in ${countOf(none.count, 'routing decision')}`;
  return none.count < MIN_DECISIONS
    ? `${found}: too few to tell, as the first prompts are never found`
    : `${found}, and nothing shows whether an engine had one`;
}

/** What engines found in their caches, where no router was seen to look for it. */
function engineCaches(measurements: Measurements): string | undefined {
  const { engineHits, routerHits } = measurements;
  if (engineHits === undefined || routerHits.length > 0) return undefined;
  if (engineHits.share === 0) return undefined;
  const upTo = engineHits.promptTokens === 0 ? 'up to ' : '';
  return `Nothing wrong was seen: engines had ${upTo}${percent(engineHits.share)} of prompt tokens in their caches, and no routing decision was seen`;
}
