import type { FleetView, GroupView } from '../../../core/agreement/view/snapshot.js';
import type { Clock } from '../../../edge/platform/clock.js';
import { Agreement, AgreementState } from '../../../gen/kvaccord/v1/fleet.js';
import type { FleetRunner } from '../fleet-runner.js';
import { toAgreement, toMembers } from './fleet-messages.js';

/** The answer to a question about a group. */
export type BoardAnswer =
  | { readonly type: 'agreement'; readonly agreement: Agreement }
  /** No group was named and there are several. */
  | { readonly type: 'several_groups'; readonly groups: readonly string[] }
  /** No worker serves that model, and none is left that still might. */
  | { readonly type: 'unknown_group'; readonly groups: readonly string[] };

/** Names that were asked for in vain and whose answer is kept: callers choose them. */
const MAX_KEPT_NAMES = 1_000;

interface Posted {
  readonly agreement: Agreement;
  /** Its encoding without the time, to distinguish news from repetition. */
  readonly content: Buffer;
}

/** The same for every model that no report has named, but for the name. */
interface PostedUnserved extends Posted {
  /** By the name that was asked for, so that a watcher does not get the same twice. */
  readonly byName: Map<string, Agreement>;
}

/**
 * The agreements as messages, made once for all watchers, and made
 * again only where something changed.
 */
export class AgreementBoard {
  readonly #clock: Clock;
  readonly #runner: FleetRunner;
  readonly #posted = new Map<string, Posted>();
  /** What is said of models that no report has named, once a client has asked for one. */
  #postedUnserved: PostedUnserved | undefined;
  readonly #watchers = new Set<() => void>();
  readonly #stop: () => void;
  #view: FleetView;

  constructor(modules: { readonly runner: FleetRunner; readonly clock: Clock }) {
    this.#clock = modules.clock;
    this.#runner = modules.runner;
    this.#view = this.#runner.view;
    this.#post(this.#view);
    this.#stop = this.#runner.listen({ onView: (view) => this.#post(view) });
  }

  /** Every group's agreement; while there is no group, one that says why. */
  all(): readonly Agreement[] {
    const agreements = [...this.#posted.values()].map(({ agreement }) => agreement);
    return agreements.length > 0 ? agreements : [this.#unserved('')];
  }

  /** One group's agreement; an empty name is the only group there is. */
  ask(group: string): BoardAnswer {
    const groups = [...this.#posted.keys()];
    const name = group === '' && groups.length === 1 ? (groups[0] ?? '') : group;
    const posted = this.#posted.get(name);
    if (posted !== undefined) return { type: 'agreement', agreement: posted.agreement };
    if (name === '' && groups.length > 1) return { type: 'several_groups', groups };
    if (groups.length === 0 || this.#view.unassigned.length > 0) {
      return { type: 'agreement', agreement: this.#unserved(name) };
    }
    return { type: 'unknown_group', groups };
  }

  /** Calls `onChange` after every change of any agreement, until the returned function is called. */
  watch(onChange: () => void): () => void {
    this.#watchers.add(onChange);
    return () => this.#watchers.delete(onChange);
  }

  /** Stops listening. */
  close(): void {
    this.#stop();
    this.#watchers.clear();
  }

  #post(view: FleetView): void {
    const before = this.#view;
    this.#view = view;
    let isNews =
      view.unassigned.length !== before.unassigned.length || this.#posted.size !== view.groups.length;
    const names = new Set(view.groups.map(({ group }) => group));
    for (const name of this.#posted.keys()) {
      if (!names.has(name)) this.#posted.delete(name);
    }
    for (const group of view.groups) isNews = this.#postGroup(group) || isNews;
    if (this.#postedUnserved !== undefined) isNews = this.#postUnserved(this.#postedUnserved) || isNews;
    if (isNews) for (const watcher of [...this.#watchers]) watcher();
  }

  #postGroup(view: GroupView): boolean {
    const content = Buffer.from(Agreement.encode(toAgreement(view, 0)).finish());
    if (this.#posted.get(view.group)?.content.equals(content) === true) return false;
    this.#posted.set(view.group, { agreement: toAgreement(view, this.#clock.wallMs()), content });
    return true;
  }

  /** What there is to say of a model that no report has named yet. */
  #unserved(group: string): Agreement {
    this.#postedUnserved ??= this.#describeUnserved();
    const { agreement, byName } = this.#postedUnserved;
    const kept = byName.get(group);
    if (kept !== undefined) return kept;
    const text = `no worker has reported the model "${group}" yet`;
    const reasons =
      agreement.reasons.length > 0 ? agreement.reasons : [{ code: 'waiting_for_workers', text }];
    const made = { ...agreement, group, reasons };
    if (byName.size < MAX_KEPT_NAMES) byName.set(group, made);
    return made;
  }

  #postUnserved(before: PostedUnserved): boolean {
    const isAskable = this.#posted.size === 0 || this.#view.unassigned.length > 0;
    this.#postedUnserved = isAskable ? this.#describeUnserved() : undefined;
    if (this.#postedUnserved?.content.equals(before.content) === true) this.#postedUnserved = before;
    return this.#postedUnserved !== before;
  }

  #describeUnserved(): PostedUnserved {
    const { unassigned, reasons } = this.#view;
    const agreement = Agreement.fromPartial({
      state: AgreementState.COLLECTING,
      reasons: reasons.map((reason) => ({ ...reason })),
      members: toMembers(unassigned),
      memberCount: unassigned.length,
      routingMode: 'closed',
    });
    const content = Buffer.from(Agreement.encode(agreement).finish());
    return {
      agreement: { ...agreement, changedAt: new Date(this.#clock.wallMs()) },
      content,
      byName: new Map(),
    };
  }
}
