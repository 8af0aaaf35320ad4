import type { Agreement } from '../../gen/kvaccord/v1/fleet.js';

/**
 * The agreements of a fleet as they change, wherever they come from: worked
 * out in this process, or received from a running aggregator.
 */
export interface AgreementSource {
  /** What is known now; an agreement without a group says why there is none. */
  readonly agreements: readonly Agreement[];
  /** Why nothing can be known at present, in words for an operator; undefined when all is well. */
  readonly problem: string | undefined;
  /** Set when the question itself is wrong and waiting cannot help, such as a group that must be named. */
  readonly refusal: string | undefined;
  /** Calls `onChange` at every change of any of them, until the returned function is called. */
  watch(onChange: () => void): () => void;
  /** Starts; may be called once. */
  start(): void;
  /** Ends everything that it started. */
  close(): Promise<void>;
}
