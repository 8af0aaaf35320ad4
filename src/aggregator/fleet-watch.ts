import type { AgreementOptions } from '../agreement/options.js';
import type { CapabilityReport } from '../gen/kvaccord/v1/capabilities.js';
import type { Agreement } from '../gen/kvaccord/v1/fleet.js';
import type { Clock } from '../platform/clock.js';
import type { Logger } from '../platform/logger.js';
import type { Random } from '../platform/random.js';
import type { RpcDialer } from '../rpc/channel.js';
import { AgreementBoard } from './agreement-board.js';
import type { AgreementFeed } from './agreement-feed.js';
import type { DiscoverySource, Endpoint, ExpectedWorkers } from './discovery/source.js';
import { FleetRunner } from './fleet-runner.js';
import type { ChannelListener } from './session-listener.js';
import { SessionPool } from './session-pool.js';
import { ToldMembers } from './told-members.js';

export interface FleetWatchModules {
  readonly source: DiscoverySource;
  readonly dialer: RpcDialer;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** What lives on a fleet's workers beside the agreement. */
export interface FleetCompanion extends ChannelListener {
  /** Members without a sidecar, listed before those that discovery finds. */
  readonly targets: readonly string[];
}

/** Different troubles of discovery that are logged until it gives a list again. */
const MAX_TOLD_TROUBLES = 100;

/** Finds a fleet's workers, watches each, and works out what they come to. */
export class FleetWatch implements AgreementFeed {
  readonly runner: FleetRunner;
  readonly board: AgreementBoard;
  readonly #modules: FleetWatchModules;
  readonly #pool: SessionPool;
  readonly #toldMembers: ToldMembers;
  readonly #stop = new AbortController();
  /** Why discovery failed last; undefined while its last round went well. */
  #discoveryTrouble: string | undefined;
  /** What was said of discovery since its last list: several sources may fail in turn. */
  readonly #toldTroubles = new Set<string>();
  /** Whether any worker was ever heard. */
  #hasHeard = false;
  #running: Promise<void> | undefined;
  readonly #companions: FleetCompanion[] = [];

  constructor(options: AgreementOptions, modules: FleetWatchModules) {
    const { clock, logger, random, dialer } = modules;
    this.#modules = modules;
    this.runner = new FleetRunner(options, { clock, logger });
    this.board = new AgreementBoard({ runner: this.runner, clock });
    const reported = (target: string, report: CapabilityReport): boolean => {
      this.#hasHeard = true;
      return this.runner.reported(target, report);
    };
    this.#toldMembers = new ToldMembers({ clock, reported });
    this.#pool = new SessionPool(
      {},
      {
        clock,
        random,
        logger,
        dialer,
        listener: {
          onReport: reported,
          onAlive: (target) => this.runner.alive(target),
          onBroken: (target, reason) => this.runner.broken(target, reason),
          onConnected: (target, channel) => {
            for (const companion of this.#companions) companion.onConnected?.(target, channel);
          },
          onDisconnected: (target) => {
            for (const companion of this.#companions) companion.onDisconnected?.(target);
          },
        },
      },
    );
  }

  get agreements(): readonly Agreement[] {
    return this.board.all();
  }

  get trouble(): string | undefined {
    if (this.#hasHeard) return undefined;
    if (this.#discoveryTrouble !== undefined) return this.#discoveryTrouble;
    return this.runner.view.reasons.map(({ text }) => text).join('; ');
  }

  /** Never: a fleet that is worked out here has all its groups. */
  get refusal(): undefined {
    return undefined;
  }

  watch(onChange: () => void): () => void {
    return this.board.watch(onChange);
  }

  /** Lets `companion` use the sessions' connections, and lists its members. Before `start`. */
  accompany(companion: FleetCompanion): void {
    this.#companions.push(companion);
  }

  start(): void {
    this.#running ??= this.#modules.source.run(
      this.#stop.signal,
      (endpoints, expected) => this.#listed(endpoints, expected),
      (error) => this.#discoveryFailed(error),
    );
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    this.#pool.close();
    this.board.close();
    this.runner.close();
  }

  #listed(endpoints: readonly Endpoint[], expected: ExpectedWorkers | undefined): void {
    this.#discoveryTrouble = undefined;
    this.#toldTroubles.clear();
    const own = new Set(this.#companions.flatMap(({ targets }) => targets));
    const found = endpoints.filter(({ target }) => !own.has(target));
    this.runner.listed([...[...own].map((target) => ({ target })), ...found], expected);
    for (const { target, pending } of found) if (pending !== undefined) this.runner.broken(target, pending);
    this.#pool.setEndpoints(found);
    this.#toldMembers.setEndpoints(found);
  }

  #discoveryFailed(error: Error): void {
    // Told when it is new: a name that does not resolve fails every few seconds.
    this.#discoveryTrouble = error.message;
    if (this.#toldTroubles.has(error.message) || this.#toldTroubles.size >= MAX_TOLD_TROUBLES) return;
    this.#toldTroubles.add(error.message);
    this.#modules.logger.warn({ source: this.#modules.source.name }, `Discovery: ${error.message}`);
  }
}
