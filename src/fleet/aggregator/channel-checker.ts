import { type ServiceError, status } from '@grpc/grpc-js';
import type { AgreementEffect } from '../../core/agreement/state/events.js';
import type { ChannelAnswer, ChannelQuestion } from '../../core/pairs/side-channels.js';
import { withoutControls } from '../../core/text/printable.js';
import type { Clock, Timer } from '../../edge/platform/clock.js';
import { shareSignal } from '../../edge/platform/time/on-abort.js';
import { callUnary } from '../../edge/rpc/call-unary.js';
import type { RpcChannel } from '../../edge/rpc/channel.js';
import { CapabilitiesClient } from '../../gen/kvaccord/v1/capabilities.js';
import type { FleetCompanion } from './fleet-companion.js';
import type { FleetListener, FleetRunner } from './fleet-runner.js';

/** How long one question may take: connecting to a host that drops packets takes as long as it is given. */
const CALL_TIMEOUT_MS = 5_000;

/** How long after an answer that keeps a pair from requests it is asked again. */
const ASK_AGAIN_MS = 30_000;

/** Questions at a time, and of one sidecar; the others wait, those for other sidecars for no one of these. */
const MAX_CALLS = 32;
const MAX_CALLS_OF_TARGET = 4;

/** Longest reason that is kept. */
const MAX_REASON_CHARS = 300;

interface Asked {
  readonly group: string;
  readonly question: ChannelQuestion;
}

/**
 * P2: asks the sidecars beside decode engines whether the side channels of
 * prefill engines can be connected to from there, over the connections of
 * their sessions. Each question gets an answer, and one that keeps a pair from
 * requests is asked again.
 */
export class ChannelChecker implements FleetCompanion, FleetListener {
  readonly targets: readonly string[] = [];
  readonly #clock: Clock;
  readonly #runner: FleetRunner;
  readonly #channels = new Map<string, RpcChannel>();
  readonly #waiting: Asked[] = [];
  readonly #again = new Set<Timer>();
  readonly #stop = new AbortController();
  #calls = 0;
  /** By decode target. */
  readonly #callsOf = new Map<string, number>();
  /** Decode targets that did not answer in time, until when another one is asked in their place. */
  readonly #silentUntilMs = new Map<string, number>();

  constructor(modules: { readonly clock: Clock; readonly runner: FleetRunner }) {
    this.#clock = modules.clock;
    // Every call listens to it.
    shareSignal(this.#stop.signal);
    this.#runner = modules.runner;
  }

  onConnected(target: string, channel: RpcChannel): void {
    this.#channels.set(target, channel);
  }

  onDisconnected(target: string): void {
    this.#channels.delete(target);
    this.#silentUntilMs.delete(target);
  }

  onEffect(effect: AgreementEffect): void {
    if (effect.type === 'ask_channel') this.#enqueue(effect);
  }

  /** Ends all questions; none is answered any more. */
  close(): void {
    this.#stop.abort(new Error('the process ends'));
    for (const timer of this.#again) timer.clear();
    this.#again.clear();
    this.#waiting.length = 0;
  }

  #enqueue({ group, question }: Asked): void {
    if (this.#stop.signal.aborted) return;
    this.#waiting.push({ group, question });
    this.#next();
  }

  #next(): void {
    while (this.#calls < MAX_CALLS) {
      const at = this.#waiting.findIndex(
        ({ question }) => this.#callsTo(question.decodeTarget) < MAX_CALLS_OF_TARGET,
      );
      const [asked] = at === -1 ? [] : this.#waiting.splice(at, 1);
      if (asked === undefined) return;
      void this.#carryOut(asked);
    }
  }

  #callsTo(decodeTarget: string): number {
    return this.#callsOf.get(decodeTarget) ?? 0;
  }

  #countCall(decodeTarget: string, change: 1 | -1): void {
    this.#calls += change;
    const calls = this.#callsTo(decodeTarget) + change;
    if (calls === 0) this.#callsOf.delete(decodeTarget);
    else this.#callsOf.set(decodeTarget, calls);
  }

  #isSilent(decodeTarget: string): boolean {
    return (this.#silentUntilMs.get(decodeTarget) ?? Number.NEGATIVE_INFINITY) > this.#clock.monotonicMs();
  }

  /** Each rank's in turn, until one cannot be reached: a request may go to any of them. */
  async #ask({ decodeTarget, addresses }: ChannelQuestion): Promise<ChannelAnswer> {
    const channel = this.#channels.get(decodeTarget);
    if (channel === undefined) return { state: 'unknown', reason: `${decodeTarget} has no sidecar to ask` };
    if (this.#isSilent(decodeTarget))
      return { state: 'unknown', reason: `the sidecar ${decodeTarget} did not answer the last question` };
    const client = channel.createClient(CapabilitiesClient);
    try {
      for (const address of addresses) {
        const { reachable, reason } = await callUnary(
          client.checkSideChannel.bind(client),
          { address },
          { clock: this.#clock, timeoutMs: CALL_TIMEOUT_MS, signal: this.#stop.signal },
        );
        const why = withoutControls(reason.slice(0, MAX_REASON_CHARS)) || 'the sidecar gives no reason';
        if (!reachable) return { state: 'unreachable', reason: `${why}, says ${decodeTarget}`, address };
      }
      return { state: 'reachable' };
    } catch (error) {
      if ((error as ServiceError).code === status.DEADLINE_EXCEEDED)
        this.#silentUntilMs.set(decodeTarget, this.#clock.monotonicMs() + ASK_AGAIN_MS);
      return { state: 'unknown', reason: explain(error as ServiceError, decodeTarget) };
    }
  }

  async #carryOut({ group, question: wanted }: Asked): Promise<void> {
    const other = this.#isSilent(wanted.decodeTarget) ? this.#runner.questionAgain(group, wanted) : undefined;
    const question = other ?? wanted;
    this.#countCall(question.decodeTarget, 1);
    const answer = await this.#ask(question);
    this.#countCall(question.decodeTarget, -1);
    if (this.#stop.signal.aborted) return;
    try {
      this.#runner.channelAnswered(group, question, answer);
    } catch {
      // A fault of the agreement: the runner has logged and counted it, and the next answer tries again.
    }
    if (answer.state !== 'reachable') this.#askLater({ group, question });
    this.#next();
  }

  #askLater({ group, question }: Asked): void {
    const timer = this.#clock.setTimer(ASK_AGAIN_MS, () => {
      this.#again.delete(timer);
      const again = this.#runner.questionAgain(group, question);
      if (again !== undefined) this.#enqueue({ group, question: again });
    });
    this.#again.add(timer);
  }
}

function explain({ code, details }: ServiceError, target: string): string {
  if (code === status.UNIMPLEMENTED) return `the sidecar ${target} is older than this question`;
  return `the sidecar ${target} did not answer${details === undefined ? '' : ` (${withoutControls(details.slice(0, MAX_REASON_CHARS))})`}`;
}
