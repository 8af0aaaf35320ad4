import type { ClientReadableStream, ServiceError } from '@grpc/grpc-js';
import { status } from '@grpc/grpc-js';
import { isTokensPerBlock } from '../../core/contract/evidence/tokens-per-block.js';
import type { Address } from '../../edge/platform/address.js';
import type { Clock, Timer } from '../../edge/platform/clock.js';
import { sleep } from '../../edge/platform/clock.js';
import type { Logger } from '../../edge/platform/logger.js';
import type { Random } from '../../edge/platform/random.js';
import { FAULT_REASON } from '../../edge/platform/streams/stream-refusals.js';
import { backoffMs } from '../../edge/platform/time/backoff.js';
import { onAbort } from '../../edge/platform/time/on-abort.js';
import type { RpcDialer } from '../../edge/rpc/channel.js';
import { ConnectError } from '../../edge/rpc/connect-error.js';
import { readPeerReason } from '../../edge/rpc/errors.js';
import type { WatchAgreementResponse } from '../../gen/kvaccord/v1/fleet.js';
import { Agreement, AgreementState, FleetClient } from '../../gen/kvaccord/v1/fleet.js';
import type { AgreementSource } from './agreement-source.js';
import { WATCH_HEARTBEAT_MS } from './service/fleet-service.js';
import { explainConnect, explainStatus } from './sessions/explain-break.js';

/** An aggregator that says nothing for so long is taken for dead: three heartbeats. @internal */
export const SILENCE_LIMIT_MS: number = 3 * WATCH_HEARTBEAT_MS;

export interface RemoteAgreementOptions {
  readonly address: Address;
  /** The served model's name; empty while the fleet serves one model. */
  readonly group: string;
}

export interface RemoteAgreementModules {
  readonly dialer: RpcDialer;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** How one attempt to follow the aggregator ended. */
interface Break {
  readonly why: string;
  /** To ask the same again would not help. */
  readonly isFinal: boolean;
  /** The aggregator is well: it only has no worker of that model. */
  readonly isAnswer?: boolean;
}

/** Follows a running aggregator, and dials it again for as long as it takes. */
export class RemoteAgreement implements AgreementSource {
  readonly #options: RemoteAgreementOptions;
  readonly #modules: RemoteAgreementModules;
  readonly #stop = new AbortController();
  readonly #watchers = new Set<() => void>();
  /** The model that is asked for: the one that was named, or the only one there was when it was agreed. */
  #group: string;
  #agreement: Agreement | undefined;
  #problem: string | undefined;
  /** The last problem that was logged; forgotten when the aggregator is heard for good. */
  #loggedProblem: string | undefined;
  #refusal: string | undefined;
  /** Who was missing when that was last logged. */
  #partialReason = '';
  #failures = 0;
  #running: Promise<void> | undefined;

  constructor(options: RemoteAgreementOptions, modules: RemoteAgreementModules) {
    this.#options = options;
    this.#modules = modules;
    this.#group = options.group;
    this.#problem = `${options.address.text}: has not answered yet`;
  }

  get agreements(): readonly Agreement[] {
    return this.#agreement === undefined ? [] : [this.#agreement];
  }

  get problem(): string | undefined {
    return this.#problem;
  }

  get refusal(): string | undefined {
    return this.#refusal;
  }

  watch(onChange: () => void): () => void {
    this.#watchers.add(onChange);
    return () => this.#watchers.delete(onChange);
  }

  start(): void {
    this.#running ??= this.#run();
  }

  async close(): Promise<void> {
    this.#stop.abort();
    this.#watchers.clear();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { clock, logger, random } = this.#modules;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const asked = this.#group;
      const { why, isFinal, isAnswer } = await this.#follow();
      if (signal.aborted) return;
      const text = `${this.#options.address.text}: ${why}`;
      if (isAnswer === true) this.#tryTake(unserved(asked, text));
      else if (!isFinal) this.#fail(text);
      else if (asked === this.#group) return this.#refuse(text);
      else logger.info({}, `The fleet has come to serve several models: "${this.#group}" is followed`);
      this.#failures += 1;
      await sleep(clock, backoffMs(this.#failures, random), signal);
    }
  }

  /** Follows one stream until it ends. */
  async #follow(): Promise<Break> {
    let channel: ReturnType<RpcDialer['dial']> | undefined;
    try {
      channel = this.#modules.dialer.dial(this.#options.address);
      await channel.waitForReady(this.#stop.signal);
      const call = channel.createClient(FleetClient).watchAgreement({ group: this.#group });
      return await this.#read(call);
    } catch (error) {
      const isFinal = error instanceof ConnectError && error.code === 'plaintext_refused';
      return { why: explainConnect(error), isFinal };
    } finally {
      channel?.close();
    }
  }

  #read(call: ClientReadableStream<WatchAgreementResponse>): Promise<Break> {
    const { clock } = this.#modules;
    const { signal } = this.#stop;
    return new Promise((resolve) => {
      let isOver = false;
      let silence: Timer | undefined;
      let leave = (): void => undefined;
      const finish = (end: Break): void => {
        if (isOver) return;
        isOver = true;
        silence?.clear();
        leave();
        call.cancel();
        resolve(end);
      };
      const expectMore = (): void => {
        silence?.clear();
        const why = `the aggregator said nothing for ${SILENCE_LIMIT_MS / 1_000} s: it hangs or the network drops packets`;
        silence = clock.setTimer(SILENCE_LIMIT_MS, () => finish({ why, isFinal: false }));
      };
      expectMore();
      leave = onAbort(signal, () => finish({ why: 'stopped', isFinal: false }));
      call.on('data', ({ payload }: WatchAgreementResponse) => {
        if (isOver) return; // what was on its way when we left
        expectMore();
        if (payload?.$case !== 'agreement') {
          // It has held for a heartbeat's time: an aggregator that only flaps is dialled ever more rarely.
          this.#failures = 0;
          this.#loggedProblem = undefined;
          return;
        }
        const problem = findProblem(payload.value) ?? this.#tryTake(payload.value);
        if (problem !== undefined) finish({ why: problem, isFinal: false });
      });
      call.on('error', (error: ServiceError) => {
        // After we left it may be no answer at all: grpc-js has an error of its own for what was on its way.
        if (!isOver) finish(explainEnd(error));
      });
      call.on('end', () =>
        finish({ why: 'the aggregator ended the watch: it is shut down or restarted', isFinal: false }),
      );
    });
  }

  /** What fails on an answer ends the stream that it came on, and not the process; comes back with the reason. */
  #tryTake(agreement: Agreement): string | undefined {
    try {
      this.#take(agreement);
      return undefined;
    } catch (error) {
      this.#modules.logger.error(
        { error },
        'An answer of the aggregator met a fault of this program. Please report it.',
      );
      return FAULT_REASON;
    }
  }

  #take(agreement: Agreement): void {
    this.#problem = undefined;
    this.#agreement = agreement;
    if (agreement.state === AgreementState.AGREED) this.#group = agreement.group;
    const { partialReason } = agreement;
    const isFirst = partialReason !== '' && this.#partialReason === '';
    // Who is missing may change word by word; that any worker is missing is logged once.
    if (isFirst) this.#modules.logger.warn({ code: 'partial' }, `The aggregator says that ${partialReason}`);
    this.#partialReason = partialReason;
    this.#notify();
  }

  #fail(problem: string): void {
    this.#problem = problem;
    if (problem !== this.#loggedProblem)
      this.#modules.logger.warn({}, `Cannot follow the aggregator: ${problem}`);
    this.#loggedProblem = problem;
    this.#notifySafely();
  }

  #refuse(refusal: string): void {
    // Before there was anything to lose, only the client that asks gets the refusal.
    if (this.#agreement !== undefined) {
      this.#modules.logger.warn({}, `The aggregator is not followed any more: ${refusal}`);
    }
    this.#problem = refusal;
    this.#refusal = refusal;
    this.#notifySafely();
  }

  /** Beside a stream there is no caller to catch what a watcher throws: the aggregator is dialled again all the same. */
  #notifySafely(): void {
    try {
      this.#notify();
    } catch (error) {
      this.#modules.logger.error(
        { error },
        'A watcher failed while it handled a problem with the aggregator: this is a fault of this program. The aggregator is still followed. Please report it.',
      );
    }
  }

  #notify(): void {
    for (const watcher of [...this.#watchers]) watcher();
  }
}

function explainEnd(error: ServiceError): Break {
  const reason = readPeerReason(error)?.reason;
  if (reason === 'unknown_group') return { why: error.details, isFinal: false, isAnswer: true };
  if (reason === 'several_groups') return { why: `${error.details}; set --group`, isFinal: true };
  const isFinal = error.code === status.INVALID_ARGUMENT || error.code === status.UNIMPLEMENTED;
  return { why: explainStatus(error, 'aggregator'), isFinal };
}

/** R1 at this border too: why an agreement cannot be used. */
function findProblem({ state, contract, changedAt }: Agreement): string | undefined {
  if (Number.isNaN(changedAt?.getTime()))
    return 'the aggregator answers a changed_at outside every calendar: is it an aggregator?';
  if (state !== AgreementState.AGREED) return undefined;
  const size = contract?.tokensPerBlock;
  if (size !== undefined && isTokensPerBlock(size)) return undefined;
  return `the aggregator says agreed, but tokens_per_block is ${size ?? 'missing'} and must be an integer from 1 to 1,048,576`;
}

/** What stands for a model that the aggregator does not know, or not any more. */
function unserved(group: string, text: string): Agreement {
  return Agreement.fromPartial({
    group,
    state: AgreementState.COLLECTING,
    reasons: [{ code: 'waiting_for_workers', text }],
  });
}
