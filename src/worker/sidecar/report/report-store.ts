import { buildReport, reportSubstance } from '../../../core/contract/build-report.js';
import type { Fact } from '../../../core/contract/evidence/facts.js';
import type { RehashAbility } from '../../../core/contract/rehash.js';
import type { Clock } from '../../../edge/platform/clock.js';
import {
  type Canary,
  type CapabilityReport,
  EngineState,
  type Topology,
} from '../../../gen/kvaccord/v1/capabilities.js';
import type { EngineView } from '../probing/engine-watch.js';

export interface ReportStoreOptions {
  readonly workerId: string;
  readonly sidecarVersion: string;
  /** Whether blocks of the engine of a report can be re-hashed here; absent where they never are. */
  readonly canRehash?: (report: CapabilityReport) => RehashAbility;
}

/** Called with every new report, after it became the current one. Must not throw. */
export type ReportListener = (report: CapabilityReport, previous: CapabilityReport) => void;

/**
 * Holds the one current report. Its revision grows exactly when its substance
 * changes; a round that found the same only renews the time of observation,
 * and no notice.
 */
export class ReportStore {
  readonly #options: ReportStoreOptions;
  readonly #clock: Clock;
  readonly #listeners = new Set<ReportListener>();
  #view: EngineView;
  #topology: Topology | undefined;
  #extraFacts: readonly Fact[] = [];
  #observedFacts: readonly Fact[] = [];
  #canary: Canary | undefined;
  #isDraining = false;
  #current: CapabilityReport;

  /** `view` is what is known before anything was asked. */
  constructor(options: ReportStoreOptions, modules: { readonly clock: Clock; readonly view: EngineView }) {
    this.#options = options;
    this.#clock = modules.clock;
    this.#view = modules.view;
    // A restarted sidecar may name the same instance as before, and a lower
    // revision of it would be taken for an old report that came late. The wall
    // clock is the one number that grows from process to process.
    this.#current = this.#build(BigInt(Math.max(1, modules.clock.wallMs())));
  }

  get current(): CapabilityReport {
    return this.#current;
  }

  get isDraining(): boolean {
    return this.#isDraining;
  }

  /** What a round found out about the engine. */
  setView(view: EngineView): void {
    // An event proves something of the engine start that sent it, and of no other.
    if (view.instanceId !== this.#view.instanceId) {
      this.#observedFacts = [];
      this.#canary = undefined;
    }
    this.#view = view;
    this.#renew();
  }

  /** What the worker runs on. */
  setTopology(topology: Topology): void {
    this.#topology = topology;
    this.#renew();
  }

  /** Facts that no probe gives, such as the tokenizer's fingerprint; they replace the ones before. */
  setExtraFacts(facts: readonly Fact[]): void {
    this.#extraFacts = facts;
    this.#renew();
  }

  /** What the KV events of the current instance prove; dropped with the instance. They replace the ones before. */
  setObservedFacts(facts: readonly Fact[]): void {
    this.#observedFacts = facts;
    this.#renew();
  }

  /** What came of the canary of the current instance; undefined while there is none. */
  setCanary(canary: Canary | undefined): void {
    this.#canary = canary;
    this.#renew();
  }

  /** From now on every report says that this worker is going away. */
  drain(): void {
    this.#isDraining = true;
    this.#renew();
  }

  /** Calls `listener` at every change from now on. The function that comes back ends that. */
  subscribe(listener: ReportListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #build(revision: bigint): CapabilityReport {
    const view = this.#view;
    return buildReport({
      workerId: this.#options.workerId,
      instanceId: view.instanceId,
      revision,
      observedAtMs: this.#clock.wallMs(),
      sidecarVersion: this.#options.sidecarVersion,
      engineState: this.#isDraining ? EngineState.DRAINING : view.state,
      engineProblem: view.problems,
      facts: [...view.facts, ...this.#extraFacts, ...(isDown(view) ? [] : this.#observedFacts)],
      warnings: view.warnings,
      topology: this.#topology,
      probes: view.probes,
      canary: this.#canary,
      canRehash: this.#options.canRehash,
    });
  }

  #renew(): void {
    const previous = this.#current;
    const next = this.#build(previous.revision);
    const changed = reportSubstance(next) !== reportSubstance(previous);
    if (changed) next.revision += 1n;
    this.#current = next;
    if (!changed) return;
    for (const listener of this.#listeners) listener(next, previous);
  }
}

/** What was true of an engine that is not there says nothing that could be used. */
function isDown({ state }: EngineView): boolean {
  return state === EngineState.UNREACHABLE || state === EngineState.STARTING;
}
