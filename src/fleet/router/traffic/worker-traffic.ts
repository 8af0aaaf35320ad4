import type { FaultKind } from '../../../core/health/worker-fault.js';
import { readReported } from '../results/compare.js';
import type { Usage } from '../routing.js';

/** What one worker has been given, and what came of it, since it joined its group. Plain numbers, read when asked. */
export class WorkerTraffic {
  /** Requests that it was chosen for, each try by itself. */
  decisions = 0;
  /** Requests whose first token came. */
  firstTokens = 0;
  /** From the decision to the first token, summed over those. */
  firstTokenMs = 0;
  /** Times that it was ejected. */
  ejections = 0;
  /** As its engine reported them. */
  promptTokens = 0;
  /** As its engine reported them. */
  outputTokens = 0;
  /** Requests that it failed, by what was seen. */
  readonly failures: Map<FaultKind, number> = new Map();

  /** Counts what its engine reported of a request, where that can be true. */
  countUsage({ promptTokens, outputTokens = 0 }: Usage): void {
    if (readReported(promptTokens, 0) !== undefined) this.promptTokens += promptTokens;
    if (readReported(outputTokens, 0) !== undefined) this.outputTokens += outputTokens;
  }

  /** Counts a request that it failed. */
  countFailure(kind: FaultKind): void {
    this.failures.set(kind, (this.failures.get(kind) ?? 0) + 1);
  }
}

/** The traffic of the workers of one group, by target. */
export class GroupTraffic {
  readonly #workers = new Map<string, WorkerTraffic>();

  /** Every worker of the group, those without a request as well. */
  get workers(): ReadonlyMap<string, WorkerTraffic> {
    return this.#workers;
  }

  /** That of one worker; undefined where it has left the group. */
  of(target: string): WorkerTraffic | undefined {
    return this.#workers.get(target);
  }

  /** Takes the workers of the group as they are now: what was counted of others is forgotten. */
  setWorkers(targets: readonly string[]): void {
    const left = new Set(this.#workers.keys());
    for (const target of targets) if (!left.delete(target)) this.#workers.set(target, new WorkerTraffic());
    for (const target of left) this.#workers.delete(target);
  }
}
