import { type ServiceError, status } from '@grpc/grpc-js';
import type { FleetView, GroupView, MemberView } from '../agreement/snapshot.js';
import { CapabilitiesClient, ReportOfferRequest_Offer as Offer } from '../gen/kvaccord/v1/capabilities.js';
import type { Clock, Timer } from '../platform/clock.js';
import { callUnary } from '../rpc/call-unary.js';
import type { RpcChannel } from '../rpc/channel.js';
import type { FleetCompanion } from './fleet-companion.js';
import type { FleetListener } from './fleet-runner.js';

/** How often an unchanged word is repeated: a sidecar believes it for three times as long. */
const REPEAT_MS = 20_000;

/** How often is looked for words to repeat, and for calls that failed. */
const LOOK_MS = 1_000;

/** How long one report may take. */
const CALL_TIMEOUT_MS = 5_000;

/** Longest reason that is sent. */
const MAX_REASON_CHARS = 512;

interface Word {
  readonly instanceId: string;
  readonly offer: Offer;
  readonly reason: string;
}

interface Told {
  readonly client: CapabilitiesClient;
  readonly gone: AbortController;
  word: Word | undefined;
  saidAtMs: number;
  isCalling: boolean;
  /** The sidecar is older than this call. */
  isUnsupported: boolean;
}

/**
 * Reports to each sidecar, over the connection of its session, whether its
 * worker is offered here: a pod is only to count as ready in a rolling change
 * once it gets requests.
 */
export class OfferReporter implements FleetCompanion, FleetListener {
  readonly targets: readonly string[] = [];
  readonly #frontendId: string;
  readonly #clock: Clock;
  readonly #told = new Map<string, Told>();
  #words: ReadonlyMap<string, Word> = new Map();
  #timer: Timer | undefined;

  constructor(options: { readonly frontendId: string }, modules: { readonly clock: Clock }) {
    this.#frontendId = options.frontendId;
    this.#clock = modules.clock;
  }

  onConnected(target: string, channel: RpcChannel): void {
    this.onDisconnected(target);
    this.#told.set(target, {
      client: channel.createClient(CapabilitiesClient),
      gone: new AbortController(),
      word: undefined,
      saidAtMs: 0,
      isCalling: false,
      isUnsupported: false,
    });
    this.#timer ??= this.#clock.setTimer(LOOK_MS, this.#look);
  }

  onDisconnected(target: string): void {
    this.#told.get(target)?.gone.abort(new Error('the session has ended'));
    this.#told.delete(target);
    if (this.#told.size > 0) return;
    this.#timer?.clear();
    this.#timer = undefined;
  }

  onView(view: FleetView): void {
    const words = new Map<string, Word>();
    for (const group of view.groups) {
      for (const member of group.members) words.set(member.target, wordOf(group, member));
    }
    this.#words = words;
    for (const [target, told] of this.#told) this.#report(target, told, false);
  }

  readonly #look = (): void => {
    this.#timer = this.#clock.setTimer(LOOK_MS, this.#look);
    for (const [target, told] of this.#told) this.#report(target, told, true);
  };

  /** Reports a word that is new, or that is due again. */
  #report(target: string, told: Told, mayRepeat: boolean): void {
    const word = this.#words.get(target);
    if (word === undefined || word.instanceId === '' || told.isCalling || told.isUnsupported) return;
    const nowMs = this.#clock.monotonicMs();
    const isDue = mayRepeat && nowMs - told.saidAtMs >= REPEAT_MS;
    if (isSame(told.word, word) && !isDue) return;
    told.word = word;
    told.saidAtMs = nowMs;
    told.isCalling = true;
    const { client, gone } = told;
    const request = { frontendId: this.#frontendId, ...word };
    callUnary(client.reportOffer.bind(client), request, {
      clock: this.#clock,
      timeoutMs: CALL_TIMEOUT_MS,
      signal: gone.signal,
    }).then(
      () => {
        told.isCalling = false;
        // What changed meanwhile.
        if (this.#told.get(target) === told) this.#report(target, told, false);
      },
      (error: ServiceError) => {
        told.isCalling = false;
        told.isUnsupported = error.code === status.UNIMPLEMENTED;
        // The next look tries again: the stream's own end is the session's business.
        told.word = undefined;
      },
    );
  }
}

function wordOf({ gateOpen }: GroupView, { instanceId, offer, state, reason }: MemberView): Word {
  if (!gateOpen) return { instanceId, offer: Offer.OFFER_UNDECIDED, reason: '' };
  if (offer !== 'none') return { instanceId, offer: Offer.OFFER_OFFERED, reason: '' };
  if (state !== 'dissenting') return { instanceId, offer: Offer.OFFER_UNDECIDED, reason: '' };
  return { instanceId, offer: Offer.OFFER_KEPT_OUT, reason: reason.slice(0, MAX_REASON_CHARS) };
}

function isSame(one: Word | undefined, other: Word): boolean {
  return one?.instanceId === other.instanceId && one.offer === other.offer && one.reason === other.reason;
}
