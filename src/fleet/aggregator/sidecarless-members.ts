import { buildReport, reportSubstance } from '../../core/contract/build-report.js';
import type { DiscoveredWorker } from '../../core/contract/discovered-worker.js';
import type { Clock } from '../../edge/platform/clock.js';
import { type CapabilityReport, EngineState } from '../../gen/kvaccord/v1/capabilities.js';
import type { Endpoint } from '../discovery/source.js';

export interface SidecarlessMembersModules {
  readonly clock: Clock;
  /** Takes a member's report; see `FleetRunner.reported`. */
  reported(target: string, report: CapabilityReport): boolean;
}

/** What was reported of one member last. */
interface Held {
  readonly discovered: DiscoveredWorker;
  readonly revision: bigint;
  readonly substance: string;
}

/**
 * Reports for workers that have no sidecar what discovery knows of them. As
 * long as discovery lists one it counts as alive: no other source can say.
 */
export class SidecarlessMembers {
  readonly #modules: SidecarlessMembersModules;
  readonly #held = new Map<string, Held>();

  constructor(modules: SidecarlessMembersModules) {
    this.#modules = modules;
  }

  /** Takes discovery's full list, after the agreement has. Those that have a sidecar are left to it. */
  setEndpoints(endpoints: readonly Endpoint[]): void {
    const targets = new Set<string>();
    for (const { target, address, discovered } of endpoints) {
      if (address !== undefined || discovered === undefined) continue;
      targets.add(target);
      this.#report(target, discovered);
    }
    for (const target of this.#held.keys()) if (!targets.has(target)) this.#held.delete(target);
  }

  #report(target: string, discovered: DiscoveredWorker): void {
    const held = this.#held.get(target);
    if (held?.discovered === discovered) return;
    const isSameInstance = held?.discovered.instanceId === discovered.instanceId;
    const report = sidecarlessReport(target, discovered, this.#modules.clock.wallMs());
    const substance = reportSubstance(report);
    const isNews = !isSameInstance || held.substance !== substance;
    const revision = isSameInstance ? held.revision + (isNews ? 1n : 0n) : 1n;
    this.#held.set(target, { discovered, revision, substance });
    if (isNews) this.#modules.reported(target, { ...report, revision });
  }
}

function sidecarlessReport(target: string, discovered: DiscoveredWorker, nowMs: number): CapabilityReport {
  const { instanceId, facts, warnings } = discovered;
  const problem = problemOf(discovered);
  return buildReport({
    workerId: target,
    instanceId,
    revision: 0n,
    observedAtMs: nowMs,
    // There is none, so it has no version.
    sidecarVersion: '',
    engineState: problem === undefined ? EngineState.READY : EngineState.STARTING,
    engineProblem: problem === undefined ? [] : [problem],
    facts,
    warnings,
    topology: undefined,
    probes: [],
  });
}

/** Why what discovery knows is not enough, for anyone who started the worker: no sidecar's flag would help it. */
function problemOf({ problem, facts, warnings }: DiscoveredWorker): string | undefined {
  if (problem !== undefined) return problem;
  const hasSize = facts.some((fact) => fact.type === 'block_size' && fact.forContract);
  const hasModel = facts.some((fact) => fact.type === 'field' && fact.field === 'model.served_names');
  if (hasSize && hasModel) return undefined;
  const lacks = [...(hasSize ? [] : ['no block size']), ...(hasModel ? [] : ['no model'])];
  const [why] = warnings;
  return `its registration gives ${lacks.join(' and ')}${why === undefined ? '' : ` (${why})`}`;
}
