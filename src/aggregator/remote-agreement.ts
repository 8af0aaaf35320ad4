import type { ClientReadableStream, ServiceError } from '@grpc/grpc-js';
import { status } from '@grpc/grpc-js';
import type { Agreement, WatchAgreementResponse } from '../gen/kvaccord/v1/fleet.js';
import { FleetClient } from '../gen/kvaccord/v1/fleet.js';
import type { Address } from '../platform/address.js';
import type { Clock, Timer } from '../platform/clock.js';
import { sleep } from '../platform/clock.js';
import type { Random } from '../platform/random.js';
import type { RpcDialer } from '../rpc/channel.js';
import type { AgreementFeed } from './agreement-feed.js';
import { WATCH_HEARTBEAT_MS } from './fleet-service.js';

/** An aggregator that says nothing for so long is taken for dead: three heartbeats. */
const SILENCE_LIMIT_MS: number = 3 * WATCH_HEARTBEAT_MS;

/** First and longest pause before the aggregator is dialled again; doubled at each failure, with jitter. */
const FIRST_RETRY_MS = 250;
const LONGEST_RETRY_MS = 15_000;

/** Answers to a question that is wrong: asking again would not help. */
const FINAL_STATUSES: readonly number[] = [status.INVALID_ARGUMENT, status.UNIMPLEMENTED];

export interface RemoteAgreementOptions {
  readonly address: Address;
  /** The served model's name; empty while the fleet serves one model. */
  readonly group: string;
}

export interface RemoteAgreementModules {
  readonly dialer: RpcDialer;
  readonly clock: Clock;
  readonly random: Random;
}

/** Follows a running aggregator, and dials it again for as long as it takes. */
export class RemoteAgreement implements AgreementFeed {
  readonly #options: RemoteAgreementOptions;
  readonly #modules: RemoteAgreementModules;
  readonly #stop = new AbortController();
  readonly #watchers = new Set<() => void>();
  #agreement: Agreement | undefined;
  #trouble: string | undefined = 'not asked yet';
  #refusal: string | undefined;
  #running: Promise<void> | undefined;

  constructor(options: RemoteAgreementOptions, modules: RemoteAgreementModules) {
    this.#options = options;
    this.#modules = modules;
  }

  get agreements(): readonly Agreement[] {
    return this.#agreement === undefined ? [] : [this.#agreement];
  }

  get trouble(): string | undefined {
    return this.#trouble;
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
    const { clock, random } = this.#modules;
    let retryMs = FIRST_RETRY_MS;
    while (!this.#stop.signal.aborted && this.#refusal === undefined) {
      const trouble = await this.#follow(() => {
        retryMs = FIRST_RETRY_MS;
      });
      if (this.#stop.signal.aborted) return;
      this.#trouble = trouble;
      this.#tell();
      if (this.#refusal !== undefined) return;
      await sleep(clock, retryMs * (0.5 + random.fraction() / 2), this.#stop.signal);
      retryMs = Math.min(retryMs * 2, LONGEST_RETRY_MS);
    }
  }

  /** Follows one stream until it ends; resolves with why. */
  async #follow(onHeard: () => void): Promise<string> {
    const { dialer } = this.#modules;
    let channel: ReturnType<RpcDialer['dial']> | undefined;
    try {
      channel = dialer.dial(this.#options.address);
      await channel.waitForReady(this.#stop.signal);
      const call = channel.createClient(FleetClient).watchAgreement({ group: this.#options.group });
      return await this.#read(call, onHeard);
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    } finally {
      channel?.close();
    }
  }

  #read(call: ClientReadableStream<WatchAgreementResponse>, onHeard: () => void): Promise<string> {
    const { clock } = this.#modules;
    const { signal } = this.#stop;
    return new Promise((resolve) => {
      let silence: Timer | undefined;
      const finish = (why: string): void => {
        silence?.clear();
        signal.removeEventListener('abort', stop);
        call.cancel();
        resolve(why);
      };
      const stop = (): void => finish('stopped');
      const expectMore = (): void => {
        silence?.clear();
        const why = `${this.#options.address.text}: the aggregator said nothing for ${SILENCE_LIMIT_MS / 1_000} s`;
        silence = clock.setTimer(SILENCE_LIMIT_MS, () => finish(why));
      };
      expectMore();
      signal.addEventListener('abort', stop, { once: true });
      call.on('data', ({ payload }: WatchAgreementResponse) => {
        expectMore();
        onHeard();
        this.#trouble = undefined;
        if (payload?.$case !== 'agreement') return;
        this.#agreement = payload.value;
        this.#tell();
      });
      call.on('error', (error: ServiceError) => {
        if (FINAL_STATUSES.includes(error.code)) this.#refusal = this.#explain(error);
        finish(this.#explain(error));
      });
      call.on('end', () => finish(`${this.#options.address.text}: the aggregator ended the watch`));
    });
  }

  #explain(error: ServiceError): string {
    const who = this.#options.address.text;
    if (error.code === status.UNIMPLEMENTED) return `${who}: is no kv-accord aggregator`;
    return `${who}: ${error.details === '' ? error.message : error.details}`;
  }

  #tell(): void {
    for (const watcher of [...this.#watchers]) watcher();
  }
}
