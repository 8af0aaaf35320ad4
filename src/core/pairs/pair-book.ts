import type { TransferField, TransferSideChannel } from '../contract/transfer.js';
import { workerName } from '../text/worker-name.js';
import { judgeProfiles, type ProfileJudgement } from './judge-profiles.js';
import { classAcrossHosts, classOfPair, classOnHost, isSameHost } from './pair-class.js';
import type { PairMember } from './pair-member.js';
import { type Entry, firstByName, MAX_PROFILES_OF_ROLE, type ProfileClass, Role } from './pair-role.js';
import { PairService } from './pair-service.js';
import type { PairClass, PairDifference, PairPolicy, PairState, PairVerdict } from './pair-words.js';
import type { ChannelAnswer, ChannelQuestion } from './side-channels.js';
import { type FinishedTransfer, slowPairMessage, type TransferCost } from './transfer-cost.js';
import type { TransferProfile } from './transfer-profile.js';

/** What is to be written to the log, once. */
export interface PairRemark {
  readonly level: 'info' | 'warn';
  readonly code: 'pair_set_aside' | 'pair_back' | 'pair_slow';
  /** The prefill worker's target. */
  readonly worker: string;
  readonly message: string;
}

/** What transfers of one pair came to. */
export interface PairTransfers {
  readonly cost: TransferCost | undefined;
  readonly transfers: number;
  readonly failedTransfers: number;
}

/** How many pairs there are in each state. */
export type PairCounts = Readonly<Record<PairState, number>>;

/** See `PairBook.changesSince`. */
export interface PairChangesSince {
  /** Prefill target and decode target. */
  readonly pairs: Iterable<readonly [string, string]>;
  readonly goneTargets: readonly string[];
}

/** What may be asked of a book; nothing of it changes the book. All targets are those of discovery. */
export interface PairLookup {
  readonly policy: PairPolicy;
  /** Targets of the members of a role, in the order in which they came. */
  readonly prefillTargets: Iterable<string>;
  readonly decodeTargets: Iterable<string>;
  readonly prefillCount: number;
  readonly decodeCount: number;
  /** Grows with every change that shows in an answer. */
  readonly version: number;
  readonly counts: PairCounts;
  changesSince(version: number): PairChangesSince | undefined;
  member(target: string): PairMember | undefined;
  /** Constant time, allocates nothing. Undefined where one of the two is no member of that role. */
  stateOf(prefillTarget: string, decodeTarget: string): PairState | undefined;
  /** Whether requests may be sent over the pair by its state and the policy. Constant time, allocates nothing. */
  mayUse(prefillTarget: string, decodeTarget: string): boolean;
  /** Constant time, allocates nothing; `unknown` for what is no pair. */
  classOf(prefillTarget: string, decodeTarget: string): PairClass;
  /** Measured ms per MiB; NaN before the first transfer that was measured. Constant time, allocates nothing. */
  millisecondsPerMebibyte(prefillTarget: string, decodeTarget: string): number;
  /** Calls `visit` for each decode worker over which requests of a prefill worker may be sent. */
  forEachDecode(prefillTarget: string, visit: (decodeTarget: string, pairClass: PairClass) => void): void;
  /** All of one pair, for people; undefined where one of the two is no member of that role. */
  verdict(prefillTarget: string, decodeTarget: string): PairVerdict | undefined;
  transfersOf(prefillTarget: string, decodeTarget: string): PairTransfers;
}

/** Pairs whose service is remembered, the longest unused forgotten first. */
const MAX_REMEMBERED_PAIRS = 65_536;

const OVERFLOW: ProfileJudgement = {
  state: 'cannot_say',
  reason: `workers of this role report more than ${MAX_PROFILES_OF_ROLE} different transfer contracts`,
  differences: [],
};

/** Members that left and are remembered. */
const MAX_GONE = 1_024;

const NO_TRANSFERS: PairTransfers = { cost: undefined, transfers: 0, failedTransfers: 0 };

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
  readonly #prefill = new Role();
  readonly #decode = new Role();
  /** Members whose profile had no room. */
  readonly #overflow: ProfileClass;
  /** Pairs that are set aside, in no order: they are few. */
  readonly #aside = new Map<PairService, { readonly prefill: Entry; readonly decode: Entry }>();
  #remembered = 0;
  /** Who left lately, for readers that follow changes. */
  readonly #gone: { readonly target: string; readonly version: number }[] = [];
  #counts: { readonly version: number; readonly counts: PairCounts } | undefined;
  /** Grows with every change that shows in a verdict. */
  version = 0;
  /** Grows when members of a role come or go whose profile no other one has: who has partners may be another. */
  partnersVersion = 0;
  /** A pair over which requests may be sent, as found last. */
  #usable: { readonly prefill: Entry; readonly decode: Entry } | undefined;
  /** The version at which none was found. */
  #noneUsableAt = -1;

  constructor(options: { readonly policy: PairPolicy }) {
    this.policy = options.policy;
    this.#overflow = {
      profile: OVERFLOW_PROFILE,
      members: new Set(),
      judgements: new Map(),
      partners: undefined,
    };
  }

  get prefillTargets(): Iterable<string> {
    return this.#prefill.entries.keys();
  }

  get decodeTargets(): Iterable<string> {
    return this.#decode.entries.keys();
  }

  get prefillCount(): number {
    return this.#prefill.entries.size;
  }

  get decodeCount(): number {
    return this.#decode.entries.size;
  }

  /** A member as the book has it. */
  member(target: string): PairMember | undefined {
    return (this.#prefill.entries.get(target) ?? this.#decode.entries.get(target))?.member;
  }

  /** When the next pair that is set aside is to be tried again; undefined while none is. */
  get dueAtMs(): number | undefined {
    let due: number | undefined;
    for (const { asideUntilMs } of this.#aside.keys()) {
      if (asideUntilMs !== undefined && (due === undefined || asideUntilMs < due)) due = asideUntilMs;
    }
    return due;
  }

  /** P5: whether members of the other role are there and the profiles of all of them are known not to go with this one's. */
  hasNoPartner(target: string): boolean {
    const entry = this.#entry(target);
    if (entry === undefined) return false;
    const { profileClass } = entry;
    if (profileClass.partners?.version !== this.partnersVersion) {
      profileClass.partners = { version: this.partnersVersion, exist: this.#hasPartner(entry) };
    }
    return !profileClass.partners.exist;
  }

  #hasPartner(entry: Entry): boolean {
    const isPrefill = entry.member.role === 'prefill';
    const others = isPrefill ? this.#decode : this.#prefill;
    if (others.entries.size === 0 || this.#overflow.members.size > 0) return true;
    for (const { members } of others.classes.values()) {
      for (const other of members) {
        const { state } = isPrefill ? this.#judgement(entry, other) : this.#judgement(other, entry);
        if (state !== 'cannot_pair') return true;
        break; // the others of this class are judged alike
      }
    }
    return false;
  }

  /** Targets of the members with the profile of this one, itself included. */
  *alikeTo(target: string): Generator<string> {
    for (const { member } of this.#entry(target)?.profileClass.members ?? []) yield member.target;
  }

  /** Why a member has no partner, by the first of the other role that most are alike to; undefined where it is no member. */
  nearestMiss(target: string): PairVerdict | undefined {
    const entry = this.#entry(target);
    if (entry === undefined) return undefined;
    const isPrefill = entry.member.role === 'prefill';
    const others = [...(isPrefill ? this.#decode : this.#prefill).classes.values()]
      .filter(({ members }) => members.size > 0)
      .map(({ members }) => ({ count: members.size, first: firstByName(members) }))
      .sort((a, b) => b.count - a.count || (a.first < b.first ? -1 : 1));
    const other = others[0]?.first;
    if (other === undefined) return undefined;
    return isPrefill ? this.verdict(target, other) : this.verdict(other, target);
  }

  /** A pair of each two profiles, for what is said of them all; at most `max`, by name. */
  samples(max: number): readonly PairVerdict[] {
    const verdicts: PairVerdict[] = [];
    const firsts = ({ classes }: Role): string[] =>
      [...classes.values()]
        .filter(({ members }) => members.size > 0)
        .map(({ members }) => firstByName(members))
        .sort();
    for (const prefill of firsts(this.#prefill)) {
      for (const decode of firsts(this.#decode)) {
        const verdict = this.verdict(prefill, decode);
        if (verdict !== undefined) verdicts.push(verdict);
        if (verdicts.length === max) return verdicts;
      }
    }
    return verdicts;
  }

  /** P3: whether at least one pair may be used. Constant time while the one that was found last still may. */
  get hasUsablePair(): boolean {
    const last = this.#usable;
    if (last !== undefined && this.#isIn(last.prefill) && this.#isIn(last.decode)) {
      if (this.#mayUse(last.prefill, last.decode)) return true;
    }
    this.#usable = undefined;
    if (this.#noneUsableAt === this.version) return false;
    for (const prefill of this.#prefill.entries.values()) {
      for (const decode of this.#decode.entries.values()) {
        if (!this.#mayUse(prefill, decode)) continue;
        this.#usable = { prefill, decode };
        return true;
      }
    }
    this.#noneUsableAt = this.version;
    return false;
  }

  /** How many pairs there are in each state. Costs prefill workers times places, once after a change. */
  get counts(): PairCounts {
    if (this.#counts?.version !== this.version) {
      this.#counts = { version: this.version, counts: this.#count() };
    }
    return this.#counts.counts;
  }

  #count(): PairCounts {
    const counts = { can_pair: 0, cannot_say: 0, cannot_pair: 0, set_aside: 0 };
    const withAside = new Set([...this.#aside.values()].map(({ prefill }) => prefill));
    for (const prefill of this.#prefill.entries.values()) {
      const { node } = prefill.member.position;
      const isUniform = !withAside.has(prefill) && this.#overflow.members.size === 0;
      for (const members of this.#decode.places.values()) {
        const [sample] = members;
        const there = sample?.member.position.node ?? '';
        const isElsewhere = node !== '' && there !== '' && node !== there;
        if (sample !== undefined && isElsewhere && isUniform)
          counts[this.#state(prefill, sample)] += members.size;
        else for (const decode of members) counts[this.#state(prefill, decode)] += 1;
      }
    }
    return counts;
  }

  /**
   * Pairs that changed after `version`, and members that left since; undefined where that is too long ago, and all is to
   * be read again.
   */
  changesSince(version: number): PairChangesSince | undefined {
    const [oldest] = this.#gone;
    if (oldest !== undefined && oldest.version > version && this.#gone.length > MAX_GONE / 2)
      return undefined;
    return {
      pairs: this.#pairsChangedSince(version),
      goneTargets: this.#gone.flatMap(({ target, version: at }) =>
        at > version && this.#entry(target) === undefined ? [target] : [],
      ),
    };
  }

  *#pairsChangedSince(version: number): Generator<readonly [string, string]> {
    const decodes = [...this.#decode.entries.values()].filter(({ changedAt }) => changedAt > version);
    for (const prefill of this.#prefill.entries.values()) {
      const isChanged = prefill.changedAt > version;
      for (const decode of isChanged ? this.#decode.entries.values() : decodes)
        yield [prefill.member.target, decode.member.target];
      if (isChanged) continue;
      for (const [decode, { changedAt }] of prefill.service)
        if (changedAt > version && decode.changedAt <= version)
          yield [prefill.member.target, decode.member.target];
    }
  }

  #changed(entry: Entry): void {
    this.version += 1;
    entry.changedAt = this.version;
  }

  #used(service: PairService): void {
    this.version += 1;
    service.changedAt = this.version;
  }

  #isIn(entry: Entry): boolean {
    return this.#entry(entry.member.target) === entry;
  }

  /** A member came or changed. What was learned of a pair in service ends with either instance. */
  setMember(member: PairMember): void {
    const before = this.#entry(member.target);
    if (before !== undefined && isSame(before.member, member)) return;
    const isSameInstance =
      before?.member.instanceId === member.instanceId && before.member.role === member.role;
    if (before !== undefined && !isSameInstance) this.deleteMember(member.target);
    const role = member.role === 'prefill' ? this.#prefill : this.#decode;
    const profileClass = role.classOf(member.profile) ?? this.#overflow;
    if (before === undefined || !isSameInstance) {
      this.#insert({
        member,
        profileClass,
        channel: new Map(),
        near: new Map(),
        service: new Map(),
        changedAt: 0,
      });
      return;
    }
    // The same engine with other values: its transfers stand, its nearness and its side channel are looked at again.
    const entry: Entry = {
      member,
      profileClass,
      channel: hasSameChannels(before.member, member) ? before.channel : new Map(),
      near: new Map(),
      service: before.service,
      changedAt: 0,
    };
    this.#takeOut(before);
    // Where it was the last one with its profile, the class went with it.
    if (profileClass !== this.#overflow) role.classes.set(profileClass.profile.key, profileClass);
    this.#insert(entry);
    this.#rename(before, entry);
  }

  /** A member left, drains, or reports nothing usable. */
  deleteMember(target: string): void {
    const entry = this.#entry(target);
    if (entry === undefined) return;
    this.#takeOut(entry);
    this.#gone.push({ target, version: this.version });
    if (this.#gone.length > MAX_GONE) this.#gone.splice(0, MAX_GONE / 2);
    for (const [decode, service] of entry.service) this.#forget(entry, decode, service);
    for (const prefill of this.#prefill.entries.values()) {
      const service = prefill.service.get(entry);
      if (service !== undefined) this.#forget(prefill, entry, service);
    }
  }

  stateOf(prefillTarget: string, decodeTarget: string): PairState | undefined {
    const prefill = this.#prefill.entries.get(prefillTarget);
    const decode = this.#decode.entries.get(decodeTarget);
    return prefill === undefined || decode === undefined ? undefined : this.#state(prefill, decode);
  }

  mayUse(prefillTarget: string, decodeTarget: string): boolean {
    const prefill = this.#prefill.entries.get(prefillTarget);
    const decode = this.#decode.entries.get(decodeTarget);
    return prefill !== undefined && decode !== undefined && this.#mayUse(prefill, decode);
  }

  classOf(prefillTarget: string, decodeTarget: string): PairClass {
    const prefill = this.#prefill.entries.get(prefillTarget);
    const decode = this.#decode.entries.get(decodeTarget);
    return prefill === undefined || decode === undefined ? 'unknown' : this.#class(prefill, decode);
  }

  millisecondsPerMebibyte(prefillTarget: string, decodeTarget: string): number {
    return this.#service(prefillTarget, decodeTarget)?.meter.millisecondsPerMebibyte ?? Number.NaN;
  }

  forEachDecode(prefillTarget: string, visit: (decodeTarget: string, pairClass: PairClass) => void): void {
    const prefill = this.#prefill.entries.get(prefillTarget);
    if (prefill === undefined) return;
    for (const decode of this.#decode.entries.values()) {
      if (this.#mayUse(prefill, decode)) visit(decode.member.target, this.#class(prefill, decode));
    }
  }

  verdict(prefillTarget: string, decodeTarget: string): PairVerdict | undefined {
    const prefill = this.#prefill.entries.get(prefillTarget);
    const decode = this.#decode.entries.get(decodeTarget);
    if (prefill === undefined || decode === undefined) return undefined;
    const { class: pairClass, evidence } = classOfPair(prefill.member.position, decode.member.position);
    const state = this.#state(prefill, decode);
    return {
      state,
      offered: this.#mayUse(prefill, decode),
      class: pairClass,
      classEvidence: evidence,
      reason: this.#reason(prefill, decode, state),
      differences: this.#differences(prefill, decode),
    };
  }

  transfersOf(prefillTarget: string, decodeTarget: string): PairTransfers {
    const service = this.#service(prefillTarget, decodeTarget);
    if (service === undefined) return NO_TRANSFERS;
    return { cost: service.meter.cost, transfers: service.transfers, failedTransfers: service.failed };
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
    const found = this.#serviceFor(prefillTarget, decodeTarget);
    if (found === undefined) return undefined;
    const { service, prefill, decode } = found;
    service.succeed();
    this.#used(service);
    if (transfer === undefined) return undefined;
    service.meter.add(transfer);
    if (service.isSlowLogged) return undefined;
    const slow = slowPairMessage(this.#class(prefill, decode), service.meter.cost);
    if (slow === undefined) return undefined;
    service.isSlowLogged = true;
    return remark('warn', 'pair_slow', prefill, `Pair ${pairName(prefill, decode)} ${slow}`);
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
    const found = this.#serviceFor(prefillTarget, decodeTarget);
    if (found === undefined) return undefined;
    const { service, prefill, decode } = found;
    const isAside = service.fail(reason, nowMs);
    this.#used(service);
    if (!isAside) return undefined;
    this.#aside.set(service, { prefill, decode });
    const seconds = Math.round(((service.asideUntilMs ?? nowMs) - nowMs) / 1_000);
    const times = service.failedInARow;
    return remark(
      'warn',
      'pair_set_aside',
      prefill,
      `Pair ${pairName(prefill, decode)} is set aside for ${seconds} s after ${times} failed ${times === 1 ? 'transfer' : 'transfers in a row'}: ${reason}. Others go on.`,
    );
  }

  /** Brings pairs back whose pause is over, and answers what is to be logged. */
  advance(nowMs: number): PairRemark[] {
    const remarks: PairRemark[] = [];
    for (const [service, { prefill, decode }] of this.#aside) {
      if (service.asideUntilMs === undefined || service.asideUntilMs > nowMs) continue;
      service.asideUntilMs = undefined;
      this.#aside.delete(service);
      this.#used(service);
      remarks.push(
        remark(
          'info',
          'pair_back',
          prefill,
          `Pair ${pairName(prefill, decode)} is tried again after a pause.`,
        ),
      );
    }
    return remarks;
  }

  /**
   * P2: what is to be asked because of a member that came or changed: once for each instance of a prefill worker and class
   * of its pairs. Until the answer no request goes over these pairs.
   */
  openQuestions(target: string): ChannelQuestion[] {
    const entry = this.#entry(target);
    if (entry === undefined) return [];
    const isPrefill = entry.member.role === 'prefill';
    const questions: ChannelQuestion[] = [];
    for (const other of (isPrefill ? this.#decode : this.#prefill).entries.values()) {
      const [prefill, decode] = isPrefill ? [entry, other] : [other, entry];
      const pairClass = this.#class(prefill, decode);
      const known = prefill.channel.get(pairClass);
      if (known !== undefined) continue;
      const question = this.#question(prefill, decode, pairClass);
      if (question === undefined) continue;
      prefill.channel.set(pairClass, { state: 'pending' });
      this.#changed(prefill);
      questions.push(question);
    }
    return questions;
  }

  /** The same question again, to another decode worker where there is one; undefined where it is of no use any more. */
  askAgain({
    prefillTarget,
    prefillInstanceId,
    class: pairClass,
    decodeTarget,
  }: ChannelQuestion): ChannelQuestion | undefined {
    const prefill = this.#prefill.entries.get(prefillTarget);
    if (prefill?.member.instanceId !== prefillInstanceId) return undefined;
    let found: ChannelQuestion | undefined;
    for (const decode of this.#decode.entries.values()) {
      if (this.#class(prefill, decode) !== pairClass) continue;
      found = this.#question(prefill, decode, pairClass) ?? found;
      if (found !== undefined && found.decodeTarget !== decodeTarget) return found;
    }
    return found;
  }

  #question(prefill: Entry, decode: Entry, pairClass: PairClass): ChannelQuestion | undefined {
    const [first] = prefill.member.sideChannels;
    if (first === undefined || first.state === 'silent' || first.state === 'unreachable') return undefined;
    if (this.#judgement(prefill, decode).state === 'cannot_pair') return undefined;
    return {
      prefillTarget: prefill.member.target,
      prefillInstanceId: prefill.member.instanceId,
      class: pairClass,
      decodeTarget: decode.member.target,
      address: first.address,
    };
  }

  /** What a decode worker of a class found of the side channel of one instance of a prefill worker; holds for its class. */
  setChannel(prefillTarget: string, instanceId: string, pairClass: PairClass, answer: ChannelAnswer): void {
    const prefill = this.#prefill.entries.get(prefillTarget);
    if (prefill?.member.instanceId !== instanceId) return;
    prefill.channel.set(pairClass, answer);
    this.#changed(prefill);
  }

  /** What was found of a prefill worker's side channel from a class; undefined where nobody was asked. */
  channelOf(prefillTarget: string, pairClass: PairClass): ChannelAnswer | undefined {
    return this.#prefill.entries.get(prefillTarget)?.channel.get(pairClass);
  }

  #entry(target: string): Entry | undefined {
    return this.#prefill.entries.get(target) ?? this.#decode.entries.get(target);
  }

  #insert(entry: Entry): void {
    const { member, profileClass } = entry;
    const role = member.role === 'prefill' ? this.#prefill : this.#decode;
    if (profileClass.members.size === 0 || role.entries.size === 0) this.partnersVersion += 1;
    role.add(entry);
    this.#changed(entry);
  }

  #takeOut(entry: Entry): void {
    const { member, profileClass } = entry;
    const [role, other] =
      member.role === 'prefill' ? [this.#prefill, this.#decode] : [this.#decode, this.#prefill];
    role.delete(entry);
    if (profileClass.members.size === 0) this.partnersVersion += 1;
    if (profileClass.members.size === 0 && profileClass !== this.#overflow) {
      role.classes.delete(profileClass.profile.key);
      for (const { judgements } of other.classes.values()) judgements.delete(profileClass);
    }
    for (const neighbour of entry.near.keys()) neighbour.near.delete(entry);
    this.version += 1;
  }

  /** Puts an entry in the place of another one that stands for the same instance. */
  #rename(before: Entry, after: Entry): void {
    for (const { service } of this.#prefill.entries.values()) {
      const kept = service.get(before);
      if (kept === undefined) continue;
      service.delete(before);
      service.set(after, kept);
    }
    for (const [service, { prefill, decode }] of this.#aside) {
      if (prefill !== before && decode !== before) continue;
      this.#aside.set(service, {
        prefill: prefill === before ? after : prefill,
        decode: decode === before ? after : decode,
      });
    }
  }

  #judgement(prefill: Entry, decode: Entry): ProfileJudgement {
    const [ours, theirs] = [prefill.profileClass, decode.profileClass];
    if (ours === this.#overflow || theirs === this.#overflow) return OVERFLOW;
    const known = ours.judgements.get(theirs);
    if (known !== undefined) return known;
    const made = judgeProfiles(ours.profile, theirs.profile);
    ours.judgements.set(theirs, made);
    return made;
  }

  #state(prefill: Entry, decode: Entry): PairState {
    const { state } = this.#judgement(prefill, decode);
    if (state === 'cannot_pair') return state;
    const channel = this.#channel(prefill, decode);
    if (channel === 'unreachable') return 'cannot_pair';
    if (prefill.service.get(decode)?.asideUntilMs !== undefined) return 'set_aside';
    return state === 'can_pair' && channel === 'reachable' ? 'can_pair' : 'cannot_say';
  }

  #mayUse(prefill: Entry, decode: Entry): boolean {
    const state = this.#state(prefill, decode);
    if (state === 'set_aside') return false;
    if (this.policy === 'report') return true;
    if (state === 'can_pair') return true;
    if (state === 'cannot_pair' || this.policy === 'require') return false;
    return this.#channel(prefill, decode) !== 'pending';
  }

  #channel(prefill: Entry, decode: Entry): ChannelAnswer['state'] {
    for (const { state } of prefill.member.sideChannels) {
      if (state === 'silent' || state === 'unreachable') return 'unreachable';
    }
    return prefill.channel.get(this.#class(prefill, decode))?.state ?? 'unknown';
  }

  #class(prefill: Entry, decode: Entry): PairClass {
    const known = prefill.near.get(decode);
    if (known !== undefined) return known;
    const [ours, theirs] = [prefill.member.position, decode.member.position];
    if (!isSameHost(ours, theirs)) return classAcrossHosts(ours, theirs);
    const made = classOnHost(ours, theirs).class;
    prefill.near.set(decode, made);
    decode.near.set(prefill, made);
    return made;
  }

  #reason(prefill: Entry, decode: Entry, state: PairState): string {
    if (state === 'can_pair') return '';
    const judgement = this.#judgement(prefill, decode);
    if (state === 'set_aside') {
      return `it failed in service: ${prefill.service.get(decode)?.lastFailure ?? ''}`;
    }
    const differing = this.#differences(prefill, decode).map((difference) =>
      differenceText(difference, prefill, decode),
    );
    const own = [...differing, ...(judgement.reason === '' ? [] : [judgement.reason])].join('; ');
    if (judgement.state === 'cannot_pair') return own;
    const channel = this.#channelReason(prefill, decode);
    return [own, channel].filter((text) => text !== '').join('; ');
  }

  #channelReason(prefill: Entry, decode: Entry): string {
    const { sideChannels } = prefill.member;
    const dead = sideChannels.find(({ state }) => state === 'silent' || state === 'unreachable');
    if (dead !== undefined) return deadChannelText(prefill, dead);
    const answer = prefill.channel.get(this.#class(prefill, decode));
    const at = sideChannels[0]?.address ?? '';
    switch (answer?.state) {
      case 'reachable':
        return '';
      case 'pending':
        return `whether the side channel ${at} can be reached from ${entryName(decode)} is being asked`;
      case 'unreachable':
        return `the side channel ${at} of ${entryName(prefill)} cannot be reached from where ${entryName(decode)} is: ${answer.reason}`;
      case 'unknown':
        return `whether the side channel ${at} can be reached is not known: ${answer.reason}`;
      default:
        return at === ''
          ? `${entryName(prefill)} names no side channel`
          : `nobody has asked yet whether the side channel ${at} can be reached`;
    }
  }

  #differences(prefill: Entry, decode: Entry): readonly PairDifference[] {
    return this.#judgement(prefill, decode).differences.map((difference) => ({
      ...difference,
      prefillOrigin: originOf(prefill, difference.field),
      decodeOrigin: originOf(decode, difference.field),
    }));
  }

  #service(prefillTarget: string, decodeTarget: string): PairService | undefined {
    const decode = this.#decode.entries.get(decodeTarget);
    if (decode === undefined) return undefined;
    return this.#prefill.entries.get(prefillTarget)?.service.get(decode);
  }

  #serviceFor(
    prefillTarget: string,
    decodeTarget: string,
  ): { readonly service: PairService; readonly prefill: Entry; readonly decode: Entry } | undefined {
    const prefill = this.#prefill.entries.get(prefillTarget);
    const decode = this.#decode.entries.get(decodeTarget);
    if (prefill === undefined || decode === undefined) return undefined;
    let service = prefill.service.get(decode);
    if (service === undefined) {
      if (this.#remembered >= MAX_REMEMBERED_PAIRS) this.#forgetOldest(prefill);
      service = new PairService();
      prefill.service.set(decode, service);
      this.#remembered += 1;
    }
    return { service, prefill, decode };
  }

  /** Makes room: the first that a prefill worker remembers, this one's if it has any. */
  #forgetOldest(preferred: Entry): void {
    for (const prefill of [preferred, ...this.#prefill.entries.values()]) {
      for (const [decode, service] of prefill.service) {
        this.#forget(prefill, decode, service);
        return;
      }
    }
  }

  #forget(prefill: Entry, decode: Entry, service: PairService): void {
    prefill.service.delete(decode);
    this.#aside.delete(service);
    this.#remembered -= 1;
  }
}

const OVERFLOW_PROFILE = { key: '' } as TransferProfile;

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

/** Of a field by its path; values outside `transfer` have none here. */
function originOf({ member }: Entry, field: string): string {
  return member.origins[field.replace(/^transfer\./, '') as TransferField] ?? '';
}

function entryName({ member }: Entry): string {
  return workerName(member);
}

function pairName(prefill: Entry, decode: Entry): string {
  return `${entryName(prefill)} → ${entryName(decode)}`;
}

function remark(
  level: PairRemark['level'],
  code: PairRemark['code'],
  prefill: Entry,
  message: string,
): PairRemark {
  return { level, code, worker: prefill.member.target, message };
}

function deadChannelText(prefill: Entry, { address, state, reason }: TransferSideChannel): string {
  const found = state === 'silent' ? 'accepts connections and answers nothing' : 'cannot be reached';
  return `the side channel ${address} of ${entryName(prefill)} ${found}${reason === '' ? '' : `: ${reason}`}`;
}

/** `dtype: bfloat16 (prefill-0) against float16 (decode-1), from GET http://…/server_info`. */
function differenceText(difference: PairDifference, prefill: Entry, decode: Entry): string {
  const { field, prefillValue, decodeValue, prefillOrigin, decodeOrigin } = difference;
  const name = field.replace(/^transfer\./, '');
  const origins = [...new Set([prefillOrigin, decodeOrigin].filter((origin) => origin !== ''))].join(' and ');
  const from = origins === '' ? '' : `, from ${origins}`;
  return `${name}: ${shortValue(prefillValue)} (${entryName(prefill)}) against ${shortValue(decodeValue)} (${entryName(decode)})${from}`;
}

/** A hash needs no more than what distinguishes it for people. */
function shortValue(value: string): string {
  return /^[0-9a-f]{40,}$/.test(value) ? `${value.slice(0, 12)}…` : value;
}
