import { groupBy } from '../../../../core/data/group-by.js';
import type { WorkerFacts } from '../facts/worker-facts.js';

/** Workers that do the same for the same model. */
export interface SameModel {
  readonly members: readonly WorkerFacts[];
  /** False when nothing says which model it is. */
  readonly isKnown: boolean;
}

/** Workers by model and phase: those of two models have no need to agree, nor have prefill and decode. */
export function sameFleet(workers: readonly WorkerFacts[]): readonly SameModel[] {
  const groups = groupBy(
    workers,
    ({ phase, model }) => `${phase}/${model === undefined ? '' : `model ${model}`}`,
  );
  return [...groups.values()].map((members) => ({ members, isKnown: members[0]?.model !== undefined }));
}
