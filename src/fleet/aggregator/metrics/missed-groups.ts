import type { FleetView, MemberView } from '../../../core/agreement/view/snapshot.js';
import type { Clock } from '../../../edge/platform/clock.js';

/**
 * How long the series of a model stay after its last worker has left. An operator who is paged needs them for longer than any
 * `for` of an alert and a night's work takes; a model that was taken away on purpose must not raise an alarm for days.
 * @internal
 */
export const MISSED_FOR_MS: number = 6 * 3_600_000;

/**
 * Models that have ended and still have series: a few in a real fleet, and no more than this in a hostile one.
 * @internal
 */
export const MAX_MISSED_GROUPS = 64;

export interface MissedGroupsOptions {
  /** Models that are to be served always: missed whenever they are not, and then no other one is. Empty: those that were. */
  readonly expectedModels: readonly string[];
}

/**
 * The models that should be served and are not, so that an outage does not
 * make its own series vanish. Without expected models these are the models that
 * were agreed once and whose workers have left the list, for `MISSED_FOR_MS`. A
 * model whose workers serve another one now has ended on purpose, and is not
 * missed.
 */
export class MissedGroups {
  readonly #expected: readonly string[];
  readonly #clock: Clock;
  /** The members that an agreed group had last. */
  readonly #last = new Map<string, readonly MemberView[]>();
  /** When each group is forgotten, the one that ended first in front. */
  readonly #missedUntilMs = new Map<string, number>();

  constructor(options: MissedGroupsOptions, modules: { readonly clock: Clock }) {
    this.#expected = [...new Set(options.expectedModels)];
    this.#clock = modules.clock;
  }

  /** Takes note of a new view. */
  update(view: FleetView): void {
    if (this.#expected.length > 0) return;
    const present = new Set<string>();
    for (const { group, epoch, members } of view.groups) {
      present.add(group);
      this.#missedUntilMs.delete(group);
      if (epoch > 0 && members.length > 0) this.#last.set(group, members);
    }
    for (const [group, members] of this.#last) {
      if (present.has(group)) continue;
      this.#last.delete(group);
      if (!servesAnother(members, view)) this.#miss(group);
    }
  }

  /** Those of them that `view` does not have. */
  missingIn(view: FleetView): string[] {
    const nowMs = this.#clock.monotonicMs();
    for (const [group, untilMs] of this.#missedUntilMs) {
      if (nowMs >= untilMs) this.#missedUntilMs.delete(group);
    }
    const present = new Set(view.groups.map(({ group }) => group));
    return [...this.#expected, ...this.#missedUntilMs.keys()].filter((group) => !present.has(group));
  }

  #miss(group: string): void {
    const [oldest] = this.#missedUntilMs.keys();
    if (this.#missedUntilMs.size >= MAX_MISSED_GROUPS && oldest !== undefined) {
      this.#missedUntilMs.delete(oldest);
    }
    this.#missedUntilMs.set(group, this.#clock.monotonicMs() + MISSED_FOR_MS);
  }
}

/** Whether one of these workers reports another model now. */
function servesAnother(members: readonly MemberView[], view: FleetView): boolean {
  const targets = new Set(members.map(({ target }) => target));
  return view.groups.some((group) => group.members.some(({ target }) => targets.has(target)));
}
