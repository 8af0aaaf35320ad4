import type { AgreementOptions } from '../../core/agreement/state/options.js';
import type { DiscoveredWorker } from '../../core/contract/evidence/discovered-worker.js';
import type { Clock } from '../../edge/platform/clock.js';
import type { Logger } from '../../edge/platform/logger.js';
import type { Random } from '../../edge/platform/random.js';
import { StreamRefusals } from '../../edge/platform/streams/stream-refusals.js';
import type { RpcDialer } from '../../edge/rpc/channel.js';
import { type CapabilityReport, EngineState } from '../../gen/kvaccord/v1/capabilities.js';
import type { Agreement } from '../../gen/kvaccord/v1/fleet.js';
import type { DiscoverySource, Endpoint, ExpectedWorkers, SourceHealth } from '../discovery/source.js';
import type { AgreementSource } from './agreement-source.js';
import { ChannelChecker } from './channel-checker.js';
import type { FleetCompanion } from './fleet-companion.js';
import { FleetRunner } from './fleet-runner.js';
import { matchDirectWorkers } from './match-direct-workers.js';
import { AgreementBoard } from './service/agreement-board.js';
import { SessionPool } from './sessions/session-pool.js';
import { SidecarlessMembers } from './sidecarless-members.js';

export interface FleetWatchModules {
  readonly source: DiscoverySource;
  readonly dialer: RpcDialer;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** See `WorkerSessionModules`. */
  readonly frontendId?: string;
}

/** Different problems of discovery that are logged until it gives a list again. */
const MAX_LOGGED_PROBLEMS = 100;

/** Finds a fleet's workers, watches each, and works out what they come to. */
export class FleetWatch implements AgreementSource {
  readonly runner: FleetRunner;
  readonly board: AgreementBoard;
  /** Streams of sidecars that were ended for what came on them. */
  readonly refusals: StreamRefusals;
  readonly #modules: FleetWatchModules;
  readonly #pool: SessionPool;
  readonly #sidecarlessMembers: SidecarlessMembers;
  readonly #stop = new AbortController();
  /** Why discovery failed last; undefined while its last round went well. */
  #discoveryProblem: string | undefined;
  /** In the turn in which a problem was reported: an empty list that comes with it is its consequence. */
  #isReporting = false;
  /** Whether the last round of discovery went well. */
  #isListing = false;
  /** What was said of discovery since its last list: several sources may fail in turn. */
  readonly #loggedProblems = new Set<string>();
  /** Whether any worker was ever heard. */
  #hasHeard = false;
  #running: Promise<void> | undefined;
  readonly #companions: FleetCompanion[] = [];
  readonly #channelChecker: ChannelChecker;
  /** What companions have heard of their members. */
  readonly #discovered = new Map<string, DiscoveredWorker>();

  constructor(options: AgreementOptions, modules: FleetWatchModules) {
    const { clock, logger, random, dialer } = modules;
    this.#modules = modules;
    this.refusals = new StreamRefusals(modules);
    this.runner = new FleetRunner(options, { clock, logger });
    this.board = new AgreementBoard({ runner: this.runner, clock });
    this.#channelChecker = new ChannelChecker({ clock, runner: this.runner });
    this.accompany(this.#channelChecker);
    this.runner.listen(this.#channelChecker);
    const reported = (target: string, report: CapabilityReport): boolean => {
      this.#hasHeard = true;
      return this.runner.reported(target, report);
    };
    this.#sidecarlessMembers = new SidecarlessMembers({ clock, reported });
    this.#pool = new SessionPool(
      {},
      {
        clock,
        random,
        logger,
        dialer,
        refusals: this.refusals,
        frontendId: modules.frontendId,
        listener: {
          onReport: reported,
          onAlive: (target) => this.runner.alive(target),
          onBroken: (target, reason) => this.runner.broken(target, reason),
          onConnected: (target, channel) => {
            for (const companion of this.#companions) companion.onConnected?.(target, channel);
          },
          onOfferAsked: (target) => {
            for (const companion of this.#companions) companion.onOfferAsked?.(target);
          },
          onDisconnected: (target) => {
            for (const companion of this.#companions) companion.onDisconnected?.(target);
          },
        },
      },
    );
  }

  /** The sources of discovery, each with whether its last round went well. */
  get sources(): readonly SourceHealth[] {
    const { source } = this.#modules;
    return source.health?.() ?? [{ name: source.name, isUp: this.#isListing }];
  }

  get agreements(): readonly Agreement[] {
    return this.board.all();
  }

  get problem(): string | undefined {
    if (this.#hasHeard) return undefined;
    if (this.#discoveryProblem !== undefined) return this.#discoveryProblem;
    // An engine whose model was declared has a group before anything was heard of it.
    const { reasons, groups } = this.runner.view;
    return [...reasons, ...groups.flatMap((group) => group.reasons)].map(({ text }) => text).join('; ');
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

  /** A companion reports of its member. One whose engine has said nothing yet is not heard. False when it is not listed. */
  reported(target: string, report: CapabilityReport): boolean {
    if (report.engine?.state !== EngineState.STARTING) this.#hasHeard = true;
    return this.runner.reported(target, report);
  }

  start(): void {
    this.#running ??= this.#modules.source.run(
      this.#stop.signal,
      (endpoints, expected) => this.#listed(endpoints, expected),
      (error) => {
        this.#isListing = false;
        this.#discoveryFailed(error);
      },
    );
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    this.#channelChecker.close();
    this.#pool.close();
    this.board.close();
    this.runner.close();
  }

  #listed(endpoints: readonly Endpoint[], expected: ExpectedWorkers | undefined): void {
    this.#isListing = true;
    this.#discoveryProblem = undefined;
    // A problem of a list is reported just before it.
    if (endpoints.length > 0 || !this.#isReporting) this.runner.discoveryProblem(undefined);
    this.#loggedProblems.clear();
    const own = new Set(this.#companions.flatMap(({ targets }) => targets));
    const held = new Map([...this.#discovered].map(([target, { instanceId }]) => [target, instanceId]));
    const { matched, rest, problems } = matchDirectWorkers(endpoints, own, held);
    const brought = [...own].map((target) => ({ target, draining: matched.get(target)?.draining === true }));
    this.runner.listed([...brought, ...rest], expected);
    for (const { target, pending } of rest) if (pending !== undefined) this.runner.broken(target, pending);
    for (const target of own) this.#notifyCompanions(target, matched.get(target)?.discovered);
    for (const problem of problems) this.#discoveryFailed(new Error(problem));
    this.#pool.setEndpoints(rest);
    this.#sidecarlessMembers.setEndpoints(rest);
  }

  #notifyCompanions(target: string, discovered: DiscoveredWorker | undefined): void {
    if (this.#discovered.get(target) === discovered) return;
    if (discovered === undefined) this.#discovered.delete(target);
    else this.#discovered.set(target, discovered);
    for (const companion of this.#companions) {
      if (companion.targets.includes(target)) companion.onDiscovered?.(target, discovered);
    }
  }

  #discoveryFailed(error: Error): void {
    // Logged when it is new: a name that does not resolve fails every few seconds.
    this.#discoveryProblem = error.message;
    this.runner.discoveryProblem(error.message);
    this.#isReporting = true;
    queueMicrotask(() => {
      this.#isReporting = false;
    });
    if (this.#loggedProblems.has(error.message) || this.#loggedProblems.size >= MAX_LOGGED_PROBLEMS) return;
    this.#loggedProblems.add(error.message);
    this.#modules.logger.warn({ source: this.#modules.source.name }, `Discovery: ${error.message}`);
  }
}
