import type { AgreementEffect, LogCode } from '../../core/agreement/state/events.js';
import type { FleetView, MemberView } from '../../core/agreement/view/snapshot.js';
import { groupBy } from '../../core/data/group-by.js';
import { countOf, nameSome } from '../../core/text/lists.js';
import { workerName } from '../../core/text/worker-name.js';
import type { FleetHistory } from '../../core/view/fleet-history.js';
import type { EntryKind, ViewTone } from '../../core/view/view-document.js';
import { Canary_State as CanaryState, type CapabilityReport } from '../../gen/kvaccord/v1/capabilities.js';
import type { FleetListener } from '../aggregator/fleet-runner.js';

/** Entries of one kind and model that one change of the fleet may have; of more, one entry names all together. */
const MAX_TOGETHER = 5;

/** Workers whose failed canary is remembered; beyond, one may be noted again. */
const MAX_CANARIES = 10_000;

/** What is noted of a line of the log; a code that is missing is a notice. */
const KINDS: Readonly<Partial<Record<LogCode, EntryKind>>> = {
  agreed: 'epoch',
  new_epoch: 'epoch',
  conflict: 'conflict',
  conflict_over: 'conflict_over',
  routing_mode: 'routing_mode',
  partial: 'partial',
  partial_over: 'partial',
  override_differs: 'dissent',
  worker_dissents: 'dissent',
  block_size_mismatch: 'dissent',
  report_refused: 'report_refused',
  worker_lost: 'lost',
  worker_back: 'back',
  group_ended: 'model_gone',
};

/** What to do, where the sentence itself does not say it. */
const TODO: Readonly<Partial<Record<LogCode, string>>> = {
  conflict: 'Give all workers of the model the same block size; the gate opens by itself.',
  worker_lost: 'Look whether its pod and its sidecar run; kv-accord status names who is missing.',
  report_refused: "Look at the sidecar's version and log.",
  worker_dissents: 'Start it with the value of the others; it is taken when it agrees.',
  override_differs: 'Start it with the value of the override, or take the override away.',
  block_size_mismatch: 'Correct the size where the sentence says; routing to it goes by load until then.',
  worker_contradicts_itself: 'Correct what it declares, so that it is what its engine has.',
  change_refused: 'The process ends, as --on-change refuse asks; start it again to take the new value.',
  partial: 'Bring up those that are missing.',
};

const TONES: Readonly<Record<'info' | 'warn' | 'error', ViewTone>> = {
  info: 'plain',
  warn: 'warn',
  error: 'bad',
};

/** A member as it was seen last. */
interface Seen {
  readonly group: string;
  readonly member: MemberView;
  /** The last start of its engine that was named; empty before the first. */
  readonly instanceId: string;
}

/** What happened to one worker, as it is gathered. */
interface Change {
  readonly kind: EntryKind;
  readonly tone: ViewTone;
  readonly group: string;
  readonly member: MemberView;
  /** About it alone, after its name. */
  readonly message: string;
  readonly todo: string;
}

/**
 * Writes what happens to a fleet into its timeline: what the agreement logs, in its words, and who came, went, drains or
 * conforms again. Ejections and doubts are written by the router, which knows why.
 */
export class FleetTimeline implements FleetListener {
  readonly #history: FleetHistory;
  #members = new Map<string, Seen>();
  /** Instances whose canary failed, by target. */
  readonly #canaries = new Map<string, string>();
  readonly #nameOf: (target: string) => string;

  constructor(modules: { readonly history: FleetHistory }) {
    this.#history = modules.history;
    this.#nameOf = (target) => {
      const known = this.#members.get(target);
      return known === undefined ? target : workerName(known.member);
    };
  }

  onEffect(effect: AgreementEffect): void {
    if (effect.type === 'gate') {
      const { group, open } = effect;
      this.#history.note({
        kind: open ? 'gate_open' : 'gate_shut',
        tone: open ? 'good' : 'bad',
        group,
        worker: '',
        text: open ? `The gate of "${group}" is open.` : `The gate of "${group}" is shut: requests wait.`,
        todo: open ? '' : 'The reasons stand with the model; the entries around this one say what changed.',
      });
      return;
    }
    // Restarts are noted of every start of an engine, also of those that were down between.
    if (effect.type !== 'log' || effect.code === 'instance_replaced') return;
    const { level, code, group, worker, message } = effect;
    this.#history.note({
      kind: KINDS[code] ?? 'notice',
      tone: code === 'agreed' || code === 'conflict_over' || code === 'worker_back' ? 'good' : TONES[level],
      group,
      worker: worker === undefined ? '' : this.#nameOf(worker),
      ...(worker === undefined ? {} : { target: worker }),
      text: message,
      todo: TODO[code] ?? '',
    });
  }

  onView(view: FleetView): void {
    const before = this.#members;
    const now = new Map<string, Seen>();
    const changes: Change[] = [];
    for (const { group, members } of [...view.groups, { group: '', members: view.unassigned }]) {
      for (const member of members) {
        const seen = before.get(member.target);
        const instanceId = member.instanceId || (seen?.instanceId ?? '');
        now.set(member.target, { group, member, instanceId });
        if (seen !== undefined && seen.instanceId !== '' && instanceId !== seen.instanceId)
          changes.push({
            kind: 'restarted',
            tone: 'warn',
            group,
            member,
            message: `has another start of its engine (instance ${seen.instanceId} is now ${instanceId}): its cache begins empty.`,
            todo: '',
          });
        const change = changeOf(seen?.member, member, group);
        if (change !== undefined) changes.push(change);
      }
    }
    for (const [target, { group, member }] of before) {
      if (now.has(target)) continue;
      this.#canaries.delete(target);
      const isFault = member.state !== 'draining';
      changes.push({
        kind: 'left',
        tone: isFault ? 'warn' : 'plain',
        group,
        member,
        message: 'is listed no longer.',
        todo: '',
      });
    }
    this.#members = now;
    this.#write(changes);
  }

  onReport(target: string, { instanceId, canary, workerId }: CapabilityReport): void {
    if (canary?.state !== CanaryState.FAILED) {
      this.#canaries.delete(target);
      return;
    }
    if (this.#canaries.get(target) === instanceId || this.#canaries.size >= MAX_CANARIES) return;
    this.#canaries.set(target, instanceId);
    const worker = workerName({ workerId, target });
    this.#history.note({
      kind: 'canary_failed',
      tone: 'bad',
      group: this.#members.get(target)?.group ?? '',
      worker,
      target,
      text: `The canary of worker ${worker} failed: ${canary.reason}`,
      todo: 'Its cache counts are not as predicted: compare its flags with those of a worker whose canary passed.',
    });
  }

  #write(changes: readonly Change[]): void {
    for (const alike of groupBy(changes, ({ kind, group }) => `${kind}\n${group}`).values()) {
      const [first] = alike;
      if (first === undefined) continue;
      if (alike.length > MAX_TOGETHER) {
        const names = nameSome(alike.map(({ member }) => workerName(member)));
        const { kind, tone, group, todo, message } = first;
        this.#history.note({
          kind,
          tone,
          group,
          worker: names,
          workerCount: alike.length,
          text: `${countOf(alike.length, 'worker')}, each ${message.replace(/\.$/, '')}: ${names}.`,
          todo,
        });
        continue;
      }
      for (const { kind, tone, group, member, message, todo } of alike) {
        const worker = workerName(member);
        this.#history.note({
          kind,
          tone,
          group,
          worker,
          target: member.target,
          text: `Worker ${worker} ${message}`,
          todo,
        });
      }
    }
  }
}

/** What is to be noted of a member beside what is logged. */
function changeOf(before: MemberView | undefined, member: MemberView, group: string): Change | undefined {
  if (before === undefined)
    return { kind: 'joined', tone: 'plain', group, member, message: 'is listed.', todo: '' };
  if (before.state === member.state) return undefined;
  const isGood = isInUse(member);
  if (member.state === 'incomplete' && isInUse(before)) {
    const message = `gets no requests: ${member.reason === '' ? 'its report cannot be used' : member.reason}.`;
    const todo = 'Look whether its engine runs; it is used again as soon as its report is complete.';
    return { kind: 'lost', tone: 'warn', group, member, message, todo };
  }
  if (before.state === 'incomplete' && isGood)
    return { kind: 'back', tone: 'good', group, member, message: 'is in use again.', todo: '' };
  if (before.state === 'dissenting' && isGood) {
    const message = 'agrees with the others again.';
    return { kind: 'conforms', tone: 'good', group, member, message, todo: '' };
  }
  if (member.state === 'draining')
    return {
      kind: 'draining',
      tone: 'plain',
      group,
      member,
      message: 'drains: it gets nothing new.',
      todo: '',
    };
  return undefined;
}

function isInUse({ state }: MemberView): boolean {
  return state === 'conforming' || state === 'verified';
}
