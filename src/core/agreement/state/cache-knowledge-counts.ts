/** G7: how well a router could decide. */
export type RoutingMode = 'closed' | 'exact' | 'mixed' | 'approximate' | 'load_only';

/** How much a router knows of a member that is offered. */
export type CacheKnowledge = 'exact' | 'partial' | 'unknown';

/**
 * The offered members of a group by how much is known of their caches, kept up
 * to date member by member, so that the mode costs the same whatever the
 * fleet's size.
 */
export class CacheKnowledgeCounts<Member> {
  readonly #byMember = new Map<Member, CacheKnowledge>();
  /** Those that keep the mode from `exact`, to be named. */
  readonly #inexact = new Set<Member>();
  #exact = 0;
  #partial = 0;

  /** Members that are offered, with or without cache knowledge. */
  get offered(): number {
    return this.#byMember.size;
  }

  get exact(): number {
    return this.#exact;
  }

  get partial(): number {
    return this.#partial;
  }

  /** Offered members whose cache view is not exact. */
  get inexact(): ReadonlySet<Member> {
    return this.#inexact;
  }

  /** Counts a member as it now stands; undefined when it is not offered. */
  set(member: Member, knowledge: CacheKnowledge | undefined): void {
    const before = this.#byMember.get(member);
    if (before === knowledge) return;
    this.#add(before, -1);
    this.#add(knowledge, 1);
    if (knowledge === undefined) this.#byMember.delete(member);
    else this.#byMember.set(member, knowledge);
    if (knowledge === undefined || knowledge === 'exact') this.#inexact.delete(member);
    else this.#inexact.add(member);
  }

  #add(knowledge: CacheKnowledge | undefined, count: number): void {
    if (knowledge === 'exact') this.#exact += count;
    else if (knowledge === 'partial') this.#partial += count;
  }
}
