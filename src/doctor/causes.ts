import { blockSizeMismatch } from './causes/block-size-mismatch.js';
import type { Cause } from './causes/cause.js';
import { workersRejected } from './causes/workers-rejected.js';
import { wrongModelCard } from './causes/wrong-model-card.js';

/** All that can be wrong, in the order in which equally sure ones are told. */
export const ALL_CAUSES: readonly Cause[] = [blockSizeMismatch, wrongModelCard, workersRejected];
