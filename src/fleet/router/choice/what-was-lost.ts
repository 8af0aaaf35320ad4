import type { LostReason } from '../results/lost-hits.js';
import type { AboutRequest } from './about-request.js';
import type { RankTable } from './rank-table.js';
import type { Decided } from './reserved-request.js';
import type { Survey } from './survey.js';
import type { ChoiceScope, WeighedRanks } from './weighed-ranks.js';

/** What a choice was made from. */
export interface ChoiceTables {
  readonly ranks: RankTable;
  readonly survey: Survey;
  readonly weighed: WeighedRanks;
}

/** What the best of all workers held, and why it was not chosen; `at` is the choice among those that were weighed. */
export function whatWasLost(
  at: number,
  about: AboutRequest,
  { parts }: ChoiceScope,
  tables: ChoiceTables,
): Pick<Decided, 'bestBlocks' | 'lostReason' | 'neighbour'> {
  const { ranks, survey, weighed } = tables;
  const chosen = weighed.placeAt(at);
  let best = chosen;
  let most = survey.heldBlocks(best);
  const { all, parts: offered } = ranks;
  for (let place = 0; place < all.length; place += 1) {
    const held = survey.heldBlocks(place);
    if (held <= most || ((offered[place] as number) & parts) === 0) continue;
    best = place;
    most = held;
  }
  const bestBlocks = Math.max(survey.heldBlocks(best), survey.outsideBlocks);
  if (survey.heldBlocks(chosen) >= bestBlocks)
    return { bestBlocks, lostReason: undefined, neighbour: undefined };
  if (survey.outsideBlocks > survey.heldBlocks(best))
    return { bestBlocks, lostReason: 'draining', neighbour: undefined };
  const lostReason = whyNot(best, chosen, about, tables);
  const { target, rank } = ranks.at(best).candidate;
  const isNeighbour = isFit(lostReason) && target !== ranks.at(chosen).candidate.target;
  return {
    bestBlocks,
    lostReason,
    neighbour: isNeighbour ? { target, rank, cachedBlocks: bestBlocks } : undefined,
  };
}

function whyNot(
  best: number,
  chosen: number,
  { lacking, barred }: AboutRequest,
  { ranks, survey: { logits }, weighed }: ChoiceTables,
): LostReason {
  const { candidate, trust } = ranks.at(best);
  if (lacking?.includes(candidate.target)) return 'lora';
  if (barred?.includes(candidate.target)) return 'ejected';
  let least = Number.POSITIVE_INFINITY;
  let isLeft = false;
  for (let at = 0; at < weighed.count; at += 1) {
    const place = weighed.placeAt(at);
    least = Math.min(least, logits[place] as number);
    isLeft ||= place === best;
  }
  if (!isLeft) return 'retried';
  if (trust !== undefined) return 'doubted';
  return (logits[chosen] as number) > least ? 'temperature' : 'load';
}

/** Whether a worker that was not chosen for this reason is one that others may fetch blocks from: what is known of it holds. */
function isFit(reason: LostReason): boolean {
  return reason === 'load' || reason === 'temperature';
}
