import type { RehashAbility } from '../../../core/contract/rehash.js';
import type { RankSource } from '../../../core/relay/rank-source.js';
import { type CapabilityReport, HashUnit } from '../../../gen/kvaccord/v1/capabilities.js';
import { type EventSettings, planEvents } from './kv-events-sources.js';

const POSSIBLE: RehashAbility = { isPossible: true, reason: '' };

/**
 * Whether the blocks of the engine of a report can be re-hashed into larger ones, so that what is found is exact in whole
 * larger blocks. `settings` is undefined where no KV events are read.
 */
export function rehashAbility(settings: EventSettings | undefined, report: CapabilityReport): RehashAbility {
  if (settings === undefined) return impossible('its sidecar reads no KV events (--kv-event-sources off)');
  const plan = planEvents(settings, report);
  if (plan.type !== 'read') return impossible(plan.reason);
  const obstacle = obstacleOf(report) ?? sourceObstacle(plan.sources);
  return obstacle === undefined ? POSSIBLE : impossible(obstacle);
}

/** Why these sources cannot be read a second time, for the larger blocks; undefined when they can. */
export function sourceObstacle(sources: readonly RankSource[]): string | undefined {
  for (const source of sources) {
    if (source.kind === 'trtllm-drain')
      return `${source.url} loses what is read, so that it can be read once only`;
    if (source.endpoint.startsWith('@'))
      return `${source.endpoint} is bound by its sidecar, so that it can be read once only`;
  }
  return undefined;
}

/** What in an engine's way to find a hit does not hold for larger blocks; undefined when nothing is known of such. */
function obstacleOf({ contract }: CapabilityReport): string | undefined {
  if (contract === undefined) return undefined;
  const { cacheGroups, hashUnit, tokensPerBlock = 1, hitAlignmentTokens = 1 } = contract;
  if (cacheGroups.length > 0) return 'its hits depend on KV cache groups of several kinds or windows';
  if (hashUnit === HashUnit.BIGRAM) return 'it hashes pairs of tokens (EAGLE)';
  if (contract.dropsLastHitBlock === true) return 'it takes the last block off every hit (EAGLE or MTP)';
  if (contract.speculativeDecoding === true && contract.dropsLastHitBlock === undefined)
    return 'it decodes speculatively, and may take the last block off every hit';
  if (hitAlignmentTokens > tokensPerBlock)
    return `its hits end on multiples of ${hitAlignmentTokens} tokens, which are more than a block`;
  return undefined;
}

function impossible(reason: string): RehashAbility {
  return { isPossible: false, reason };
}
