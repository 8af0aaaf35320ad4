import { type Entry, Role } from './pair-role.js';

/** The members of both roles. */
export class PairMembers {
  readonly prefill: Role = new Role();
  readonly decode: Role = new Role();
  /** Grows when members of a role come or go whose profile no other one has: who has partners may be another. */
  partnersVersion = 0;

  entry(target: string): Entry | undefined {
    return this.prefill.entries.get(target) ?? this.decode.entries.get(target);
  }

  /** Whether it is still the entry of its target. */
  isIn(entry: Entry): boolean {
    return this.entry(entry.member.target) === entry;
  }

  /** The members of the role that an entry does not have. */
  othersOf({ member }: Entry): Role {
    return member.role === 'prefill' ? this.decode : this.prefill;
  }

  add(entry: Entry): void {
    const role = this[entry.member.role];
    if (entry.profileClass.members.size === 0 || role.entries.size === 0) this.partnersVersion += 1;
    role.add(entry);
  }

  delete(entry: Entry): void {
    const { member, profileClass } = entry;
    const gone = this[member.role].delete(entry);
    if (gone !== undefined && member.role === 'decode')
      for (const { judged } of this.prefill.places.values()) judged.forget(gone.number);
    if (profileClass.members.size === 0) {
      this.partnersVersion += 1;
      for (const { judgements } of this.othersOf(entry).classes.values()) judgements.delete(profileClass);
    }
    for (const neighbour of entry.near.keys()) neighbour.near.delete(entry);
  }

  /** Members of the other role that are known to be on the machine of one. */
  *onSameHost(entry: Entry): Generator<Entry> {
    const others = this.othersOf(entry);
    const { position } = entry.member;
    yield* others.hosts.get(position.node) ?? [];
    const seen = new Set<Entry>();
    for (const { wholeId } of position.gpus) {
      for (const other of others.gpus.get(wholeId) ?? []) {
        const isNamed = position.node !== '' && other.member.position.node !== '';
        if (isNamed || seen.has(other)) continue;
        seen.add(other);
        yield other;
      }
    }
  }
}
