import { type CapabilityReport, EngineState } from '../../gen/kvaccord/v1/capabilities.js';
import { buildReport, reportSubstance } from './build-report.js';
import type { Fact } from './evidence/facts.js';

/** What is known now of a worker that has no sidecar. */
export interface SidecarlessKnowledge {
  /** New at every start of the engine. */
  readonly instanceId: string;
  /** Why the worker cannot be used yet, for an operator; undefined when it can. */
  readonly problem: string | undefined;
  readonly facts: readonly Fact[];
  readonly warnings: readonly string[];
}

export interface SidecarlessReportsOptions {
  /** The worker's name in the fleet. */
  readonly workerId: string;
  /** Version of the program that reads the worker in a sidecar's place; empty where none does. */
  readonly sidecarVersion: string;
}

/**
 * The reports of one worker that has no sidecar, made where its fleet is. The
 * revision begins at 1 with each instance and grows exactly when the substance
 * of the report changes.
 */
export class SidecarlessReports {
  readonly #options: SidecarlessReportsOptions;
  #instanceId: string;
  #substance: string;
  #current: CapabilityReport;

  /** The first report is of `knowledge`; `nowMs` is in wall-clock milliseconds since 1970. */
  constructor(options: SidecarlessReportsOptions, knowledge: SidecarlessKnowledge, nowMs: number) {
    this.#options = options;
    this.#instanceId = knowledge.instanceId;
    this.#current = this.#build(knowledge, nowMs, 1n);
    this.#substance = reportSubstance(this.#current);
  }

  /** The report to give. */
  get current(): CapabilityReport {
    return this.#current;
  }

  /** Takes what is known now. Whether `current` is another report than before, which is then due. */
  renew(knowledge: SidecarlessKnowledge, nowMs: number): boolean {
    const isSameInstance = knowledge.instanceId === this.#instanceId;
    const next = this.#build(knowledge, nowMs, isSameInstance ? this.#current.revision + 1n : 1n);
    const substance = reportSubstance(next);
    if (isSameInstance && substance === this.#substance) return false;
    this.#instanceId = knowledge.instanceId;
    this.#substance = substance;
    this.#current = next;
    return true;
  }

  #build(knowledge: SidecarlessKnowledge, observedAtMs: number, revision: bigint): CapabilityReport {
    const { instanceId, problem, facts, warnings } = knowledge;
    return buildReport({
      ...this.#options,
      instanceId,
      revision,
      observedAtMs,
      engineState: problem === undefined ? EngineState.READY : EngineState.STARTING,
      engineProblem: problem === undefined ? [] : [problem],
      facts,
      warnings,
      topology: undefined,
      probes: [],
    });
  }
}
