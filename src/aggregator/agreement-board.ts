import type { FleetView, GroupView } from '../agreement/snapshot.js';
import { Agreement, AgreementState } from '../gen/kvaccord/v1/fleet.js';
import type { Clock } from '../platform/clock.js';
import { toAgreement, toMember } from './fleet-messages.js';
import type { FleetRunner } from './fleet-runner.js';

/** What a question about a group comes to. */
export type BoardAnswer =
  | { readonly type: 'agreement'; readonly agreement: Agreement }
  /** No group was named and there are several. */
  | { readonly type: 'several_groups'; readonly groups: readonly string[] }
  /** Nobody serves that model, and nobody is left who still might. */
  | { readonly type: 'unknown_group'; readonly groups: readonly string[] };

interface Posted {
  readonly agreement: Agreement;
  /** Its encoding without the time, to tell news from repetition. */
  readonly content: Buffer;
}

/**
 * The agreements as messages, made once for everybody who watches, and made
 * anew only where something changed.
 */
export class AgreementBoard {
  readonly #clock: Clock;
  readonly #runner: FleetRunner;
  readonly #posted = new Map<string, Posted>();
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
    return agreements.length > 0 ? agreements : [this.#nobodyYet('')];
  }

  /** One group's agreement; an empty name is the only group there is. */
  ask(group: string): BoardAnswer {
    const groups = [...this.#posted.keys()];
    const name = group === '' && groups.length === 1 ? (groups[0] ?? '') : group;
    const posted = this.#posted.get(name);
    if (posted !== undefined) return { type: 'agreement', agreement: posted.agreement };
    if (name === '' && groups.length > 1) return { type: 'several_groups', groups };
    if (groups.length === 0 || this.#view.unassigned.length > 0) {
      return { type: 'agreement', agreement: this.#nobodyYet(name) };
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
    for (const name of [...this.#posted.keys()]) {
      if (!view.groups.some(({ group }) => group === name)) this.#posted.delete(name);
    }
    for (const group of view.groups) isNews = this.#postGroup(group) || isNews;
    // While there is no group, the reasons are all there is to watch.
    if (view.groups.length === 0) isNews = true;
    if (isNews) for (const watcher of [...this.#watchers]) watcher();
  }

  #postGroup(view: GroupView): boolean {
    const content = Buffer.from(Agreement.encode(toAgreement(view, 0)).finish());
    if (this.#posted.get(view.group)?.content.equals(content) === true) return false;
    this.#posted.set(view.group, { agreement: toAgreement(view, this.#clock.wallMs()), content });
    return true;
  }

  /** What there is to say of a model that no report has named yet. */
  #nobodyYet(group: string): Agreement {
    const { unassigned, reasons } = this.#view;
    const text = `no worker has reported the model "${group}" yet`;
    return {
      group,
      state: AgreementState.AGREEMENT_STATE_COLLECTING,
      epoch: 0n,
      gateOpen: false,
      contract: undefined,
      reasons:
        reasons.length > 0
          ? reasons.map((reason) => ({ ...reason }))
          : [{ code: 'waiting_for_workers', text }],
      members: unassigned.map(toMember),
      memberCount: unassigned.length,
      changedAt: new Date(this.#clock.wallMs()),
      routingMode: 'closed',
      ready: false,
    };
  }
}
