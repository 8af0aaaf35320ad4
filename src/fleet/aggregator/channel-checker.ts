import { type ServiceError, status } from '@grpc/grpc-js';
import type { AgreementEffect } from '../../core/agreement/events.js';
import type { ChannelAnswer, ChannelQuestion } from '../../core/pairs/side-channels.js';
import { withoutControls } from '../../core/text/printable.js';
import type { Clock, Timer } from '../../edge/platform/clock.js';
import { callUnary } from '../../edge/rpc/call-unary.js';
import type { RpcChannel } from '../../edge/rpc/channel.js';
import { CapabilitiesClient } from '../../gen/kvaccord/v1/capabilities.js';
import type { FleetCompanion } from './fleet-companion.js';
import type { FleetListener, FleetRunner } from './fleet-runner.js';

/** How long one question may take: connecting to a host that drops packets takes as long as it is given. */
const CALL_TIMEOUT_MS = 5_000;

/** How long after an answer that keeps a pair from requests it is asked again. */
const ASK_AGAIN_MS = 30_000;

/** Questions at a time; the others wait. */
const MAX_CALLS = 32;

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

  constructor(modules: { readonly clock: Clock; readonly runner: FleetRunner }) {
    this.#clock = modules.clock;
    this.#runner = modules.runner;
  }

  onConnected(target: string, channel: RpcChannel): void {
    this.#channels.set(target, channel);
  }

  onDisconnected(target: string): void {
    this.#channels.delete(target);
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
      const asked = this.#waiting.shift();
      if (asked === undefined) return;
      this.#calls += 1;
      void this.#carryOut(asked);
    }
  }

  /** Each rank's in turn, until one cannot be reached: a request may go to any of them. */
  async #ask({ decodeTarget, addresses }: ChannelQuestion): Promise<ChannelAnswer> {
    const channel = this.#channels.get(decodeTarget);
    if (channel === undefined) return { state: 'unknown', reason: `${decodeTarget} has no sidecar to ask` };
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
      return { state: 'unknown', reason: explain(error as ServiceError, decodeTarget) };
    }
  }

  async #carryOut(asked: Asked): Promise<void> {
    const answer = await this.#ask(asked.question);
    this.#calls -= 1;
    if (this.#stop.signal.aborted) return;
    try {
      this.#runner.channelAnswered(asked.group, asked.question, answer);
    } catch {
      // A fault of the agreement: the runner has logged and counted it, and the next answer tries again.
    }
    if (answer.state !== 'reachable') this.#askLater(asked);
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
