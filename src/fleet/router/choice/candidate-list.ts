import type { MemberView } from '../../../core/agreement/view/snapshot.js';
import type { Serving } from '../../../core/contract/serving.js';
import { AGGREGATED_PARTS, type Candidate, PARTS } from './candidates.js';

/**
 * Why a member that the agreement offers gets no requests here:
 * - `role`: it serves a part of requests, and how that is sent to its engine is not known;
 * - `alone`: it serves a part of requests, and no worker serves the other one;
 * - `unreachable`: no address of it is known.
 */
export type LeftOut = 'role' | 'alone' | 'unreachable';

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
  /** Whether there are workers of both parts of a request. */
  hasPairs = false;
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
    const found = members.flatMap((member) => this.#candidatesOf(member));
    const hasPart = (part: number): boolean => found.some(({ parts = 0 }) => (parts & part) !== 0);
    this.hasPairs = hasPart(PARTS.prefill) && hasPart(PARTS.decode);
    this.#candidates = this.hasPairs ? found : found.filter((one) => this.#isOfUseAlone(one));
    return true;
  }

  /** Where no worker has the other part, only those that can compute whole requests are of use. */
  #isOfUseAlone({ target, parts = AGGREGATED_PARTS }: Candidate): boolean {
    if ((parts & PARTS.whole) !== 0) return true;
    this.#leftOut.set(target, 'alone');
    return false;
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
    const parts = partsOf(serving);
    if (parts === 0) {
      this.#leftOut.set(target, 'role');
      return [];
    }
    if (this.#modules.isReachable?.(member) === false) {
      this.#leftOut.set(target, 'unreachable');
      return [];
    }
    const rankCount = serving.ranks.length;
    const { split } = serving;
    const about = { target, workerId, instanceId, rankCount, offer };
    return serving.ranks.map((rank) =>
      split === undefined ? { ...about, rank } : { ...about, rank, parts, split },
    );
  }
}

/**
 * What of requests a worker computes, bits of `PARTS`; 0 for nothing that can be sent to it. An engine that fetches blocks
 * where a request names them computes a prompt that comes without; one that both engines meet for (`bootstrap`) refuses it.
 */
function partsOf({ role, split }: Serving): number {
  if (role === 'aggregated') return AGGREGATED_PARTS;
  if (split === undefined) return 0;
  if (role === 'prefill')
    return split.protocol === 'bootstrap' && split.bootstrapAddresses.size === 0 ? 0 : PARTS.prefill;
  if (role !== 'decode') return 0;
  return split.protocol === 'nixl' ? PARTS.decode | PARTS.whole : PARTS.decode;
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
