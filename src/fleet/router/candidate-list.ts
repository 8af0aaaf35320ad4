import type { MemberView } from '../../core/agreement/snapshot.js';
import type { Candidate } from './candidates.js';

/** Why a member that the agreement offers gets no requests here. */
export type LeftOut = 'role' | 'unreachable';

export interface CandidateListModules {
  /** Whether requests can be sent to it; default: to every worker. */
  isReachable?(member: MemberView): boolean;
}

/** Who may be chosen, kept from one view of the fleet to the next. */
export class CandidateList {
  readonly #modules: CandidateListModules;
  #members: readonly MemberView[] = [];
  #candidates: readonly Candidate[] = [];
  readonly #leftOut = new Map<string, LeftOut>();
  /** Targets of candidates by the LoRA adapters that they have; made when a request asks for one. */
  #byAdapter: ReadonlyMap<string, ReadonlySet<string>> | undefined;

  constructor(modules: CandidateListModules) {
    this.#modules = modules;
  }

  get candidates(): readonly Candidate[] {
    return this.#candidates;
  }

  /** Members that are offered and yet left out, by target. */
  get leftOut(): ReadonlyMap<string, LeftOut> {
    return this.#leftOut;
  }

  /** Takes the group's members; false when that changes nothing. Views come often, and a fleet has thousands of ranks. */
  update(members: readonly MemberView[]): boolean {
    const before = this.#members;
    this.#members = members;
    if (members.length === before.length && members.every((member, at) => isSame(member, before[at])))
      return false;
    this.#leftOut.clear();
    this.#byAdapter = undefined;
    this.#candidates = members.flatMap((member) => this.#candidatesOf(member));
    return true;
  }

  /**
   * Candidates, by target, that do not have a LoRA adapter while another one has. Engines load adapters while they
   * run, one after the other, and answer 404 to a name that they do not have.
   */
  lackingAdapter(name: string): readonly string[] {
    if (name === '') return [];
    this.#byAdapter ??= this.#readAdapters();
    const having = this.#byAdapter.get(name);
    if (having === undefined) return [];
    const lacking = new Set<string>();
    for (const { target } of this.#candidates) if (!having.has(target)) lacking.add(target);
    return [...lacking];
  }

  #readAdapters(): Map<string, Set<string>> {
    const byAdapter = new Map<string, Set<string>>();
    const candidates = new Set(this.#candidates.map(({ target }) => target));
    for (const { target, serving } of this.#members) {
      if (!candidates.has(target)) continue;
      for (const name of serving?.loraAdapters ?? []) {
        const having = byAdapter.get(name);
        if (having === undefined) byAdapter.set(name, new Set([target]));
        else having.add(target);
      }
    }
    return byAdapter;
  }

  #candidatesOf(member: MemberView): Candidate[] {
    const { target, workerId, instanceId, offer, serving } = member;
    if (offer === 'none' || member.state === 'draining' || serving === undefined) return [];
    if (serving.role !== 'aggregated') {
      this.#leftOut.set(target, 'role');
      return [];
    }
    if (this.#modules.isReachable?.(member) === false) {
      this.#leftOut.set(target, 'unreachable');
      return [];
    }
    const rankCount = serving.ranks.length;
    return serving.ranks.map((rank) => ({ target, workerId, instanceId, rank, rankCount, offer }));
  }
}

/** Whether nothing of it differs that a candidate is made of; `serving` is the same object until a report changes. */
function isSame(a: MemberView, b: MemberView | undefined): boolean {
  return (
    b !== undefined &&
    a.target === b.target &&
    a.instanceId === b.instanceId &&
    a.offer === b.offer &&
    a.serving === b.serving &&
    a.workerId === b.workerId &&
    (a.state === 'draining') === (b.state === 'draining')
  );
}
