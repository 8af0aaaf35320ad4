import type { Fact } from './facts.js';

/** What a discovery source itself knows of a worker, such as from the model card that it registered. */
export interface DiscoveredWorker {
  /** New at every start of the worker. */
  readonly instanceId: string;
  readonly facts: readonly Fact[];
  readonly warnings: readonly string[];
  /** Why nothing is known of it although it is there, for an operator; undefined when something is known. */
  readonly problem?: string;
  /** What else it may be called where an operator names one worker: its instance id, the address of its system port. */
  readonly aliases?: readonly string[];
}
