import type { Candidate, CandidateCost } from './candidates.js';
import type { CostWeights } from './cost.js';
import type { ChoiceTables } from './what-was-lost.js';

/** What a candidate costs; `at` is its place among those that were weighed last. */
export function costAt(
  at: number,
  { ranks, survey, weighed }: ChoiceTables,
  { overlapScoreWeight }: CostWeights,
): CandidateCost {
  const place = weighed.placeAt(at);
  return {
    candidate: ranks.at(place).candidate,
    logit: weighed.costAt(at),
    overlapScoreWeight,
    potentialPrefillBlocks: survey.prefillBlocks(place),
    potentialActiveBlocks: survey.activeBlocks(place),
    cachedBlocks: survey.cachedBlocks(place),
    probability: weighed.probability(at),
  };
}

/**
 * Of those that were weighed last the cheapest `most`, and the chosen one and the best holder where they are not among
 * these. In the time of one pass, whatever their number.
 */
export function cheapestOf(
  most: number,
  chosen: Candidate,
  tables: ChoiceTables,
  weights: CostWeights,
): CandidateCost[] {
  const { ranks, survey, weighed } = tables;
  const { logits } = survey;
  const logitAt = (at: number): number => logits[weighed.placeAt(at)] as number;
  const found: number[] = [];
  let best = -1;
  let own = -1;
  for (let at = 0; at < weighed.count; at += 1) {
    const place = weighed.placeAt(at);
    if (best < 0 || survey.heldBlocks(place) > survey.heldBlocks(weighed.placeAt(best))) best = at;
    if (ranks.at(place).candidate === chosen) own = at;
    const cost = logits[place] as number;
    if (found.length === most && cost >= logitAt(found[most - 1] as number)) continue;
    let before = found.length;
    while (before > 0 && logitAt(found[before - 1] as number) > cost) before -= 1;
    found.splice(before, 0, at);
    if (found.length > most) found.pop();
  }
  for (const at of [own, best]) if (at >= 0 && !found.includes(at)) found.push(at);
  return found.map((at) => costAt(at, tables, weights));
}
