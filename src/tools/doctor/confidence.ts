import type { Clue, Confidence } from './diagnosis.js';

/** What can be seen of several causes, and is struck from the weaker ones once a stronger one accounts for it. */
export type Symptom =
  | 'router_blind'
  | 'parents_missing'
  | 'no_stores'
  | 'empty_tree'
  | 'uneven_decisions'
  | 'own_number'
  | 'prompts_recomputed'
  | 'transfers_fail'
  | 'nothing_cached';

/**
 * `proof`: numbers that contradict each other. `signature`: a combination that
 * this cause has and its neighbours do not. `sign`: something that would be so,
 * and may be so for other reasons.
 */
export interface ClueFor extends Clue {
  readonly weight: 'proof' | 'signature' | 'sign';
  readonly symptom?: Symptom;
}

/**
 * `contradicts`: an effect was measured that could not be if this cause did
 * harm. `refutes`: it cannot be so as long as this holds. `weakens`: it would be
 * otherwise, as a rule. `noted`: worth showing, and decides nothing.
 */
export interface ClueAgainst extends Clue {
  readonly weight: 'contradicts' | 'refutes' | 'weakens' | 'noted';
}

const LEVELS = { proof: 3, signature: 2, sign: 1 } as const;
const CONFIDENCES: readonly (Confidence | undefined)[] = [undefined, 'possible', 'likely', 'certain'];

/**
 * The rule of confidence. The strongest clue for a cause decides: proof is
 * `certain`, a signature `likely`, a sign `possible`. What weakens takes one
 * step from a signature and drops a sign; proof stands against it. What refutes
 * leaves `likely` of a proof, and nothing of the rest. What contradicts leaves
 * `possible` of a proof: effects outrank labels. How many clues there are does
 * not matter: ten signs are not a proof.
 */
export function confidenceOf(
  cluesFor: readonly Pick<ClueFor, 'weight'>[],
  cluesAgainst: readonly Pick<ClueAgainst, 'weight'>[],
): Confidence | undefined {
  const level = Math.max(0, ...cluesFor.map(({ weight }) => LEVELS[weight]));
  if (isContradicted(cluesAgainst)) return level === LEVELS.proof ? 'possible' : undefined;
  if (cluesAgainst.some(({ weight }) => weight === 'refutes')) {
    return level === LEVELS.proof ? 'likely' : undefined;
  }
  const isWeakened = level < LEVELS.proof && cluesAgainst.some(({ weight }) => weight === 'weakens');
  return CONFIDENCES[isWeakened ? level - 1 : level];
}

/** Whether a measured effect speaks against it: then nothing that restarts anything is proposed for it. */
export function isContradicted(cluesAgainst: readonly Pick<ClueAgainst, 'weight'>[]): boolean {
  return cluesAgainst.some(({ weight }) => weight === 'contradicts');
}

/** Higher is surer. */
export function confidenceRank(confidence: Confidence): number {
  return CONFIDENCES.indexOf(confidence);
}
