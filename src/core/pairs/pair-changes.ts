import type { PairMembers } from './pair-members.js';
import type { Entry } from './pair-role.js';
import type { PairService } from './pair-service.js';

/** See `PairLookup.changesSince`. */
export interface PairChangesSince {
  /** Prefill target and decode target. */
  readonly pairs: Iterable<readonly [string, string]>;
  readonly goneTargets: readonly string[];
}

/** Members that left and are remembered. */
const MAX_GONE = 1_024;

/** What changed when, for readers that follow changes. */
export class PairChanges {
  readonly #members: PairMembers;
  /** Who left lately. */
  readonly #gone: { readonly target: string; readonly version: number }[] = [];
  #version = 0;

  constructor(members: PairMembers) {
    this.#members = members;
  }

  /** Grows with every change that shows in an answer. */
  get version(): number {
    return this.#version;
  }

  /** All pairs of a member changed. */
  noteMember(entry: Entry): void {
    this.#version += 1;
    entry.changedAt = this.#version;
  }

  /** One pair changed. */
  notePair(service: PairService): void {
    this.#version += 1;
    service.changedAt = this.#version;
  }

  /** A member left. */
  noteGone(target: string): void {
    this.#version += 1;
    this.#gone.push({ target, version: this.#version });
    if (this.#gone.length > MAX_GONE) this.#gone.splice(0, MAX_GONE / 2);
  }

  /** See `PairLookup.changesSince`. */
  since(version: number): PairChangesSince | undefined {
    const [oldest] = this.#gone;
    if (oldest !== undefined && oldest.version > version && this.#gone.length > MAX_GONE / 2)
      return undefined;
    return {
      pairs: this.#pairsSince(version),
      goneTargets: this.#gone.flatMap(({ target, version: at }) =>
        at > version && this.#members.entry(target) === undefined ? [target] : [],
      ),
    };
  }

  *#pairsSince(version: number): Generator<readonly [string, string]> {
    const { prefill: prefills, decode: decodes } = this.#members;
    const changed = [...decodes.entries.values()].filter(({ changedAt }) => changedAt > version);
    for (const prefill of prefills.entries.values()) {
      const isChanged = prefill.changedAt > version;
      for (const decode of isChanged ? decodes.entries.values() : changed)
        yield [prefill.member.target, decode.member.target];
      if (isChanged) continue;
      for (const [decode, { changedAt }] of prefill.service)
        if (changedAt > version && decode.changedAt <= version)
          yield [prefill.member.target, decode.member.target];
    }
  }
}
