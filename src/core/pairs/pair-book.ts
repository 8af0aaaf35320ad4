import { countPairs, type PairCounts } from './count-pairs.js';
import { PairChanges, type PairChangesSince } from './pair-changes.js';
import { PairChannels } from './pair-channels.js';
import { classOfEntries, mayUseEntries, stateOfEntries } from './pair-judge.js';
import { type PairLinks, PairLinksTable } from './pair-links.js';
import type { PairLookup } from './pair-lookup.js';
import type { PairMember } from './pair-member.js';
import { PairMembers } from './pair-members.js';
import { hasNoPartner, nearestMiss, pairsOfProfiles } from './pair-partners.js';
import { type Entry, NO_PLACE } from './pair-role.js';
import { verdictOf } from './pair-verdict.js';
import type { PairClass, PairPolicy, PairState, PairVerdict } from './pair-words.js';
import { type PairRemark, PairsInService, type PairTransfers } from './pairs-in-service.js';
import type { ChannelAnswer, ChannelQuestion } from './side-channels.js';
import type { FinishedTransfer } from './transfer-cost.js';
import { WorkablePair } from './workable-pair.js';

/**
 * All pairs of prefill and decode workers of one model: who can hand KV blocks
 * to whom, how near they are, and how their transfers went (rules P1 to P7 of
 * `docs/agreement.md`).
 *
 * A pair is never stored: workers with equal transfer profiles are judged once,
 * nearness follows from two positions, and only pairs that were used or failed
 * are remembered. So a change of one worker costs the number of different
 * profiles and of workers on its host, whatever the fleet's size. Pure: times
 * are monotonic milliseconds that the caller passes in.
 */
export class PairBook implements PairLookup {
  readonly policy: PairPolicy;
  readonly #members = new PairMembers();
  readonly #changes = new PairChanges(this.#members);
  readonly #service = new PairsInService(this.#members, this.#changes);
  readonly #channels = new PairChannels(this.#members, this.#changes);
  readonly #workable: WorkablePair;
  readonly #links: PairLinksTable;
  #counts: { readonly version: number; readonly counts: PairCounts } | undefined;

  constructor(options: { readonly policy: PairPolicy }) {
    this.policy = options.policy;
    this.#workable = new WorkablePair(this.#members, this.#changes, this.policy);
    this.#links = new PairLinksTable(this.#members, this.policy);
  }

  get prefillTargets(): Iterable<string> {
    return this.#members.prefill.entries.keys();
  }

  get decodeTargets(): Iterable<string> {
    return this.#members.decode.entries.keys();
  }

  get prefillCount(): number {
    return this.#members.prefill.entries.size;
  }

  get decodeCount(): number {
    return this.#members.decode.entries.size;
  }

  get version(): number {
    return this.#changes.version;
  }

  /** Grows when members of a role come or go whose profile no other one has: who has partners may be another. */
  get partnersVersion(): number {
    return this.#members.partnersVersion;
  }

  /** A member as the book has it. */
  member(target: string): PairMember | undefined {
    return this.#members.entry(target)?.member;
  }

  /** When the next pair that is set aside is to be tried again; undefined while none is. */
  get dueAtMs(): number | undefined {
    return this.#service.dueAtMs;
  }

  /** P5: whether members of the other role are there and the profiles of all of them are known not to go with this one's. */
  hasNoPartner(target: string): boolean {
    const entry = this.#members.entry(target);
    return entry !== undefined && hasNoPartner(this.#members, entry);
  }

  /** Targets of the members with the profile of this one, itself included. */
  *alikeTo(target: string): Generator<string> {
    for (const { member } of this.#members.entry(target)?.profileClass.members ?? []) yield member.target;
  }

  /** Why a member has no partner, by the first of the other role that most are alike to; undefined where it is no member. */
  nearestMiss(target: string): PairVerdict | undefined {
    const entry = this.#members.entry(target);
    const miss = entry === undefined ? undefined : nearestMiss(this.#members, entry);
    return miss === undefined ? undefined : this.verdict(...miss);
  }

  /** A pair of each two profiles, for what is said of them all; at most `max`, by name. */
  samples(max: number): readonly PairVerdict[] {
    const verdicts: PairVerdict[] = [];
    for (const pair of pairsOfProfiles(this.#members)) {
      const verdict = this.verdict(...pair);
      if (verdict !== undefined) verdicts.push(verdict);
      if (verdicts.length === max) break;
    }
    return verdicts;
  }

  /** P3: whether there is a pair that may be used, now or when it is no longer set aside. Constant time while the last that was found is still one. */
  get hasWorkablePair(): boolean {
    return this.#workable.exists;
  }

  get setAside(): Iterable<readonly [string, string]> {
    return Array.from(this.#service.aside, ({ prefill, decode }) => [
      prefill.member.target,
      decode.member.target,
    ]);
  }

  get counts(): PairCounts {
    if (this.#counts?.version !== this.version) {
      this.#counts = { version: this.version, counts: countPairs(this.#members, this.#service.aside) };
    }
    return this.#counts.counts;
  }

  changesSince(version: number): PairChangesSince | undefined {
    return this.#changes.since(version);
  }

  /** A member came or changed. What was learned of a pair in service ends with either instance. */
  setMember(member: PairMember): void {
    const before = this.#members.entry(member.target);
    if (before !== undefined && isSame(before.member, member)) return;
    if (before?.member.instanceId === member.instanceId && before.member.role === member.role) {
      this.#replace(before, member);
      return;
    }
    if (before !== undefined) this.deleteMember(member.target);
    this.#insert(member, { channel: new Map(), service: new Map() });
  }

  /** The same engine with other values: its transfers stand, its nearness and its side channel are looked at again. */
  #replace(before: Entry, member: PairMember): void {
    this.#members.delete(before);
    const channel = hasSameChannels(before.member, member) ? before.channel : new Map();
    const after = this.#insert(member, { channel, service: before.service });
    this.#service.rename(before, after);
  }

  #insert(member: PairMember, known: Pick<Entry, 'channel' | 'service'>): Entry {
    const profileClass = this.#members[member.role].classOf(member.profile);
    const entry: Entry = {
      ...{ member, profileClass, number: -1, place: NO_PLACE, near: new Map(), changedAt: 0 },
      ...known,
    };
    this.#members.add(entry);
    this.#changes.noteMember(entry);
    return entry;
  }

  /** A member left, drains, or reports nothing usable. */
  deleteMember(target: string): void {
    const entry = this.#members.entry(target);
    if (entry === undefined) return;
    this.#members.delete(entry);
    this.#changes.noteGone(target);
    this.#service.forgetMember(entry);
  }

  stateOf(prefillTarget: string, decodeTarget: string): PairState | undefined {
    const prefill = this.#members.prefill.entries.get(prefillTarget);
    const decode = this.#members.decode.entries.get(decodeTarget);
    return prefill === undefined || decode === undefined ? undefined : stateOfEntries(prefill, decode);
  }

  mayUse(prefillTarget: string, decodeTarget: string): boolean {
    const prefill = this.#members.prefill.entries.get(prefillTarget);
    const decode = this.#members.decode.entries.get(decodeTarget);
    return prefill !== undefined && decode !== undefined && mayUseEntries(prefill, decode, this.policy);
  }

  classOf(prefillTarget: string, decodeTarget: string): PairClass {
    const prefill = this.#members.prefill.entries.get(prefillTarget);
    const decode = this.#members.decode.entries.get(decodeTarget);
    return prefill === undefined || decode === undefined ? 'unknown' : classOfEntries(prefill, decode);
  }

  millisecondsPerMebibyte(prefillTarget: string, decodeTarget: string): number {
    return this.#service.millisecondsPerMebibyte(prefillTarget, decodeTarget);
  }

  get decodeNumbersVersion(): number {
    return this.#members.decode.numbersVersion;
  }

  decodeNumberOf(decodeTarget: string): number | undefined {
    return this.#members.decode.entries.get(decodeTarget)?.number;
  }

  linksOf(prefillTarget: string): PairLinks | undefined {
    return this.#links.of(prefillTarget);
  }

  verdict(prefillTarget: string, decodeTarget: string): PairVerdict | undefined {
    const prefill = this.#members.prefill.entries.get(prefillTarget);
    const decode = this.#members.decode.entries.get(decodeTarget);
    return prefill === undefined || decode === undefined
      ? undefined
      : verdictOf(prefill, decode, this.policy);
  }

  transfersOf(prefillTarget: string, decodeTarget: string): PairTransfers {
    return this.#service.transfersOf(prefillTarget, decodeTarget);
  }

  /**
   * P6: a transfer came to its end. What it took may be unknown; then it only counts as one that went well. Answers what
   * is to be logged.
   */
  transferDone(
    prefillTarget: string,
    decodeTarget: string,
    transfer: FinishedTransfer | undefined,
  ): PairRemark | undefined {
    return this.#service.transferDone(prefillTarget, decodeTarget, transfer);
  }

  /**
   * P6: a transfer failed, or the decode worker computed what it should have received; `reason` is for an operator.
   * Answers what is to be logged, where the pair is set aside by it.
   */
  transferFailed(
    prefillTarget: string,
    decodeTarget: string,
    reason: string,
    nowMs: number,
  ): PairRemark | undefined {
    return this.#service.transferFailed(prefillTarget, decodeTarget, reason, nowMs);
  }

  /** Brings pairs back whose pause is over, and answers what is to be logged. */
  advance(nowMs: number): PairRemark[] {
    return this.#service.advance(nowMs);
  }

  /**
   * P2: what is to be asked because of a member that came or changed: once for each instance of a prefill worker and class
   * of its pairs. Until the answer no request goes over these pairs.
   */
  openQuestions(target: string): ChannelQuestion[] {
    return this.#channels.openQuestions(target);
  }

  /** The same question again, to another decode worker where there is one; undefined where it is of no use any more. */
  askAgain(question: ChannelQuestion): ChannelQuestion | undefined {
    return this.#channels.askAgain(question);
  }

  /** What a decode worker of a class found of the side channel of one instance of a prefill worker; holds for its class. */
  setChannel(prefillTarget: string, instanceId: string, pairClass: PairClass, answer: ChannelAnswer): void {
    this.#channels.set(prefillTarget, instanceId, pairClass, answer);
  }
}

function isSame(a: PairMember, b: PairMember): boolean {
  return (
    a.role === b.role &&
    a.instanceId === b.instanceId &&
    a.workerId === b.workerId &&
    a.profile.key === b.profile.key &&
    a.position.key === b.position.key &&
    hasSameChannels(a, b)
  );
}

function hasSameChannels(a: PairMember, b: PairMember): boolean {
  return (
    a.sideChannels.length === b.sideChannels.length &&
    a.sideChannels.every(({ address, state }, at) => {
      const other = b.sideChannels[at];
      return address === other?.address && state === other.state;
    })
  );
}
