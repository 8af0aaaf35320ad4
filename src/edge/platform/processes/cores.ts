import { availableParallelism } from 'node:os';

/**
 * Cores that this process may run on, at least 1. What a container's CPU quota
 * takes away does not show: Node 20 looks at the affinity alone.
 */
export function availableCores(): number {
  return availableParallelism();
}
