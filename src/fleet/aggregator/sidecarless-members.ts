import type { DiscoveredWorker } from '../../core/contract/evidence/discovered-worker.js';
import { type SidecarlessKnowledge, SidecarlessReports } from '../../core/contract/sidecarless-reports.js';
import type { Clock } from '../../edge/platform/clock.js';
import type { CapabilityReport } from '../../gen/kvaccord/v1/capabilities.js';
import type { Endpoint } from '../discovery/source.js';

export interface SidecarlessMembersModules {
  readonly clock: Clock;
  /** Takes a member's report; see `FleetRunner.reported`. */
  reported(target: string, report: CapabilityReport): boolean;
}

/** What was reported of one member last. */
interface Held {
  readonly discovered: DiscoveredWorker;
  readonly reports: SidecarlessReports;
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
    const knowledge: SidecarlessKnowledge = { ...discovered, problem: problemOf(discovered) };
    const nowMs = this.#modules.clock.wallMs();
    // There is no sidecar, so it has no version.
    const reports =
      held?.reports ?? new SidecarlessReports({ workerId: target, sidecarVersion: '' }, knowledge, nowMs);
    this.#held.set(target, { discovered, reports });
    if (held === undefined || reports.renew(knowledge, nowMs))
      this.#modules.reported(target, reports.current);
  }
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
