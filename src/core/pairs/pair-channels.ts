import type { PairChanges } from './pair-changes.js';
import { classOfEntries, judgementOf } from './pair-judge.js';
import type { PairMembers } from './pair-members.js';
import type { Entry } from './pair-role.js';
import type { PairClass } from './pair-words.js';
import type { ChannelAnswer, ChannelQuestion } from './side-channels.js';

/** P2: what decode workers are to be asked of side channels, and what they found. */
export class PairChannels {
  readonly #members: PairMembers;
  readonly #changes: PairChanges;

  constructor(members: PairMembers, changes: PairChanges) {
    this.#members = members;
    this.#changes = changes;
  }

  /** See `PairBook.openQuestions`. */
  openQuestions(target: string): ChannelQuestion[] {
    const entry = this.#members.entry(target);
    if (entry === undefined) return [];
    const isPrefill = entry.member.role === 'prefill';
    const questions: ChannelQuestion[] = [];
    for (const other of this.#members.othersOf(entry).entries.values()) {
      const [prefill, decode] = isPrefill ? [entry, other] : [other, entry];
      const pairClass = classOfEntries(prefill, decode);
      if (prefill.channel.has(pairClass)) continue;
      const question = questionFor(prefill, decode, pairClass);
      if (question === undefined) continue;
      prefill.channel.set(pairClass, { state: 'pending' });
      this.#changes.noteMember(prefill);
      questions.push(question);
    }
    return questions;
  }

  /** See `PairBook.askAgain`. */
  askAgain({
    prefillTarget,
    prefillInstanceId,
    class: pairClass,
    decodeTarget,
  }: ChannelQuestion): ChannelQuestion | undefined {
    const prefill = this.#members.prefill.entries.get(prefillTarget);
    if (prefill?.member.instanceId !== prefillInstanceId) return undefined;
    let found: ChannelQuestion | undefined;
    for (const decode of this.#members.decode.entries.values()) {
      if (classOfEntries(prefill, decode) !== pairClass) continue;
      found = questionFor(prefill, decode, pairClass) ?? found;
      if (found !== undefined && found.decodeTarget !== decodeTarget) return found;
    }
    return found;
  }

  /** See `PairBook.setChannel`. */
  set(prefillTarget: string, instanceId: string, pairClass: PairClass, answer: ChannelAnswer): void {
    const prefill = this.#members.prefill.entries.get(prefillTarget);
    if (prefill?.member.instanceId !== instanceId) return;
    prefill.channel.set(pairClass, answer);
    this.#changes.noteMember(prefill);
  }
}

/** Undefined where the answer would change nothing. */
function questionFor(prefill: Entry, decode: Entry, pairClass: PairClass): ChannelQuestion | undefined {
  const { sideChannels } = prefill.member;
  const isDead = sideChannels.some(({ state }) => state === 'silent' || state === 'unreachable');
  if (sideChannels.length === 0 || isDead) return undefined;
  if (judgementOf(prefill, decode).state === 'cannot_pair') return undefined;
  return {
    prefillTarget: prefill.member.target,
    prefillInstanceId: prefill.member.instanceId,
    class: pairClass,
    decodeTarget: decode.member.target,
    addresses: sideChannels.map(({ address }) => address),
  };
}
