import { type ServiceError, status } from '@grpc/grpc-js';
import type { FleetView, GroupView, MemberView } from '../../core/agreement/view/snapshot.js';
import type { Clock, Timer } from '../../edge/platform/clock.js';
import { callUnary } from '../../edge/rpc/call-unary.js';
import type { RpcChannel } from '../../edge/rpc/channel.js';
import { CapabilitiesClient, ReportOfferRequest_Offer as Offer } from '../../gen/kvaccord/v1/capabilities.js';
import type { FleetCompanion } from './fleet-companion.js';
import type { FleetListener } from './fleet-runner.js';

/** How often an unchanged decision is repeated: a sidecar believes it for three times as long. */
const REPEAT_MS = 20_000;

/** How often is looked for decisions to repeat, and for calls that failed. */
const LOOK_MS = 1_000;

/** How long one report may take. */
const CALL_TIMEOUT_MS = 5_000;

/** Longest reason that is sent. */
const MAX_REASON_CHARS = 512;

interface OfferDecision {
  readonly instanceId: string;
  readonly offer: Offer;
  readonly reason: string;
}

interface OfferReport {
  readonly client: CapabilitiesClient;
  readonly gone: AbortController;
  decision: OfferDecision | undefined;
  saidAtMs: number;
  isCalling: boolean;
  /** The sidecar is older than this call. */
  isUnsupported: boolean;
}

/**
 * Reports to a sidecar, over the connection of its session, whether its worker
 * is offered here: a pod is only to count as ready in a rolling change once it
 * gets requests. It reports only to the sidecars that a client asks about it.
 */
export class OfferReporter implements FleetCompanion, FleetListener {
  readonly targets: readonly string[] = [];
  readonly #frontendId: string;
  readonly #clock: Clock;
  readonly #channels = new Map<string, RpcChannel>();
  /** Sidecars that are asked. */
  readonly #reports = new Map<string, OfferReport>();
  #view: FleetView | undefined;
  /** What `#view` says of each worker; undefined until that is needed. */
  #decisions: ReadonlyMap<string, OfferDecision> | undefined;
  #timer: Timer | undefined;

  constructor(options: { readonly frontendId: string }, modules: { readonly clock: Clock }) {
    this.#frontendId = options.frontendId;
    this.#clock = modules.clock;
  }

  onConnected(target: string, channel: RpcChannel): void {
    this.onDisconnected(target);
    this.#channels.set(target, channel);
  }

  onOfferAsked(target: string): void {
    const channel = this.#channels.get(target);
    if (channel === undefined || this.#reports.has(target)) return;
    const report: OfferReport = {
      client: channel.createClient(CapabilitiesClient),
      gone: new AbortController(),
      decision: undefined,
      saidAtMs: 0,
      isCalling: false,
      isUnsupported: false,
    };
    this.#reports.set(target, report);
    this.#report(target, report, false);
    this.#timer ??= this.#clock.setTimer(LOOK_MS, this.#look);
  }

  onDisconnected(target: string): void {
    this.#channels.delete(target);
    this.#reports.get(target)?.gone.abort(new Error('the session has ended'));
    this.#reports.delete(target);
    if (this.#reports.size > 0) return;
    this.#timer?.clear();
    this.#timer = undefined;
  }

  onView(view: FleetView): void {
    this.#view = view;
    this.#decisions = undefined;
    for (const [target, report] of this.#reports) this.#report(target, report, false);
  }

  readonly #look = (): void => {
    this.#timer = this.#clock.setTimer(LOOK_MS, this.#look);
    for (const [target, report] of this.#reports) this.#report(target, report, true);
  };

  /** Reports a decision that is new, or that is due again. */
  #report(target: string, report: OfferReport, mayRepeat: boolean): void {
    this.#decisions ??= decisionsOf(this.#view);
    const decision = this.#decisions.get(target);
    if (decision === undefined || report.isCalling || report.isUnsupported) return;
    const nowMs = this.#clock.monotonicMs();
    const isDue = mayRepeat && nowMs - report.saidAtMs >= REPEAT_MS;
    if (isSame(report.decision, decision) && !isDue) return;
    report.decision = decision;
    report.saidAtMs = nowMs;
    report.isCalling = true;
    const { client, gone } = report;
    const request = { frontendId: this.#frontendId, ...decision };
    callUnary(client.reportOffer.bind(client), request, {
      clock: this.#clock,
      timeoutMs: CALL_TIMEOUT_MS,
      signal: gone.signal,
    }).then(
      () => {
        report.isCalling = false;
        // What changed meanwhile.
        if (this.#reports.get(target) === report) this.#report(target, report, false);
      },
      (error: ServiceError) => {
        report.isCalling = false;
        report.isUnsupported = error.code === status.UNIMPLEMENTED;
        // The next look tries again: the stream's own end is the session's business.
        report.decision = undefined;
      },
    );
  }
}

function decisionsOf(view: FleetView | undefined): ReadonlyMap<string, OfferDecision> {
  const decisions = new Map<string, OfferDecision>();
  for (const group of view?.groups ?? []) {
    for (const member of group.members) {
      const decision = decisionOf(group, member);
      if (decision !== undefined) decisions.set(member.target, decision);
    }
  }
  return decisions;
}

/** Undefined while nothing is decided: to a sidecar that is the same as no decision. */
function decisionOf(
  { gateOpen }: GroupView,
  { instanceId, offer, state, reason }: MemberView,
): OfferDecision | undefined {
  if (!gateOpen || instanceId === '') return undefined;
  if (offer !== 'none') return { instanceId, offer: Offer.OFFERED, reason: '' };
  if (state !== 'dissenting') return undefined;
  return { instanceId, offer: Offer.KEPT_OUT, reason: reason.slice(0, MAX_REASON_CHARS) };
}

function isSame(one: OfferDecision | undefined, other: OfferDecision): boolean {
  return one?.instanceId === other.instanceId && one.offer === other.offer && one.reason === other.reason;
}
