import type { Registry } from 'prom-client';
import type { AgreementEffect } from '../agreement/events.js';
import type { FleetView, GroupView } from '../agreement/snapshot.js';
import { RouterService } from '../gen/kvaccord/v1/router.js';
import type { AskedIndex, IndexDirectory } from '../indexer/asked-index.js';
import { PromptHashes, tooLongWords } from '../indexer/prompt-hashes.js';
import type { Clock } from '../platform/clock.js';
import type { Logger } from '../platform/logger.js';
import { type Random, seededRandom } from '../platform/random.js';
import type { RpcEdge } from '../rpc/handlers.js';
import type { ActiveRoute, RouteEnd } from './active-route.js';
import type { CandidateListModules, LeftOut } from './candidate-list.js';
import { DecisionLog, type DecisionLogDetail } from './decision-log.js';
import type { GroupRouterOptions } from './group-router.js';
import { type ReservationLimits, Reservations } from './reservations.js';
import { type GroupRequest, RoutedGroup, type Selected } from './routed-group.js';
import { RouterMetrics } from './router-metrics.js';
import { createRouterService } from './router-service.js';
import { type Route, type RouteRequest, type Routing, RoutingError, type Usage } from './routing.js';
import { predictedCachedTokens, TruthCheck, truthWords } from './truth-check.js';

export interface FleetRoutingOptions extends GroupRouterOptions {
  /** Makes each group's choices repeatable; by default they are not. */
  readonly seed?: number | undefined;
  /** What of decisions is logged. */
  readonly decisionLog: DecisionLogDetail;
  /** Of what is reserved over gRPC. */
  readonly reservationLimits?: ReservationLimits;
}

export interface FleetRoutingModules extends CandidateListModules {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly edge: RpcEdge;
  /** Whose indexes are asked; `FleetIndexing` is one. */
  readonly indexes: IndexDirectory;
  /** The agreement; `FleetRunner` is one. */
  readonly fleet: { readonly view: FleetView };
}

/**
 * Prompt tokens that an engine may report of one request: what the router takes of a prompt itself. What is more is no
 * report, for one answer could set a counter to 2^53-1, after which nothing is counted any more.
 */
const MAX_TOLD_TOKENS = 4 * 1024 * 1024;

/** Workers that one line of the log names. */
const MAX_NAMED = 10;

const LEFT_OUT_WORDS: Readonly<Record<LeftOut, string>> = {
  role: 'serve only prefill or only decode: disaggregated serving is out of scope here, and they get no requests',
  unreachable:
    'get no requests: no address of their OpenAI server is known. Let their sidecars ask the engine (--engine), or name the address with --worker-urls',
};

/**
 * The routing of a fleet: who gets which request, in each group whose gate is
 * open. It never decides by an index other than that of the running epoch: what
 * an index directory does not have any more is not asked (G1, G2).
 */
export class FleetRouting implements Routing {
  readonly services: readonly {
    readonly definition: typeof RouterService;
    readonly implementation: ReturnType<typeof createRouterService>;
  }[];
  readonly targets: readonly string[] = [];
  readonly #options: FleetRoutingOptions;
  readonly #modules: FleetRoutingModules;
  readonly #metrics: RouterMetrics;
  readonly #hashes = new PromptHashes();
  readonly #truth = new TruthCheck();
  readonly #reservations: Reservations;
  readonly #groups = new Map<string, RoutedGroup>();
  /** Who was told to be left out, by group and target. */
  readonly #toldLeftOut = new Map<string, Set<string>>();

  constructor(options: FleetRoutingOptions, modules: FleetRoutingModules) {
    this.#options = options;
    this.#modules = modules;
    const { clock, random, registry, edge, fleet } = modules;
    this.#reservations = new Reservations(options.reservationLimits ?? {}, { clock, random });
    this.#metrics = new RouterMetrics(registry, {
      groups: this.#groups,
      expired: () => this.#reservations.expired,
    });
    this.services = [
      {
        definition: RouterService,
        implementation: createRouterService({
          edge,
          hashes: this.#hashes,
          reservations: this.#reservations,
          view: () => fleet.view,
          select: (group, request) => this.#select(group, request),
          reserve: (group, request) => this.#reserve(group, request),
        }),
      },
    ];
  }

  async route({ group, tokens, loraName, cacheSalt, excluded }: RouteRequest): Promise<Route> {
    if (tokens === undefined)
      return this.#reserve(group, { hash: undefined, tokenCount: undefined, loraName, excluded });
    const prompt = { tokens, loraName, cacheSalt };
    const problem = tooLongWords(prompt);
    if (problem !== undefined) throw new RoutingError('prompt_too_long', `the prompt's ${problem}`);
    return this.#reserve(group, {
      hash: (contract) => this.#hashes.hash(prompt, contract),
      tokenCount: tokens.length,
      loraName,
      excluded,
    });
  }

  start(): void {
    // All begins with the first view.
  }

  onEffect(effect: AgreementEffect): void {
    switch (effect.type) {
      case 'epoch_ended':
        this.#groups.get(effect.group)?.shut();
        return;
      case 'group_ended':
        this.#groups.get(effect.group)?.shut();
        this.#groups.delete(effect.group);
        this.#toldLeftOut.delete(effect.group);
        this.#metrics.remove(effect.group);
        return;
      default:
    }
  }

  onView(view: FleetView): void {
    let hasChanged = false;
    for (const group of view.groups) {
      const index = group.gateOpen ? this.#modules.indexes.of(group.group) : undefined;
      // An index of another epoch is not that of this view: the next one is on its way.
      if (index === undefined || index.epoch !== group.epoch) {
        this.#groups.get(group.group)?.shut();
        continue;
      }
      if (!this.#groupOf(group.group).show(group, index)) continue;
      hasChanged = true;
      this.#tellLeftOut(group.group);
    }
    if (hasChanged) this.#truth.keepOnly(targetsOf(view));
  }

  async close(): Promise<void> {
    for (const group of this.#groups.values()) group.shut();
    this.#reservations.close();
  }

  #groupOf(name: string): RoutedGroup {
    const known = this.#groups.get(name);
    if (known !== undefined) return known;
    const { seed, decisionLog: detail } = this.#options;
    const { random, logger, isReachable } = this.#modules;
    const group = new RoutedGroup(name, this.#options, {
      random: seed === undefined ? random : seededRandom(seed),
      log: new DecisionLog({ group: name, detail }, { logger }),
      onReleased: (end) => this.#released(end),
      ...(isReachable === undefined ? {} : { isReachable }),
    });
    this.#groups.set(name, group);
    return group;
  }

  #select(group: string, request: GroupRequest): Selected {
    return this.#timed(() => this.#open(group).select(request));
  }

  #reserve(group: string, request: GroupRequest): ActiveRoute {
    return this.#timed(() => this.#open(group).reserve(request));
  }

  #timed<T>(decide: () => T): T {
    const { clock } = this.#modules;
    const beganMs = clock.monotonicMs();
    const decided = decide();
    this.#metrics.observeDecision(clock.monotonicMs() - beganMs);
    return decided;
  }

  #open(name: string): RoutedGroup {
    const group = this.#groups.get(name);
    const index: AskedIndex | undefined = this.#modules.indexes.of(name);
    // Asked anew each time: whatever the order in which others hear of an epoch's end, its index is not used after it.
    if (group?.index !== undefined && group.index === index) return group;
    throw whyNot(name, this.#modules.fleet.view);
  }

  #released({ decision, hadFirstToken, usage }: RouteEnd): void {
    const { group, tokensPerBlock, promptBlocks, cachedBlocks } = decision;
    const tally = this.#groups.get(group)?.tally;
    // The group ended meanwhile, and its series with it.
    if (tally === undefined) return;
    const told = usage === undefined ? undefined : toldTokens(usage);
    if (usage === undefined || told === undefined) {
      // Who never came to a first token found nothing cached anywhere.
      if (hadFirstToken && promptBlocks > 0)
        this.#metrics.observeCachedPart(group, cachedBlocks / promptBlocks);
      return;
    }
    tally.predictedCachedTokens += predictedCachedTokens(decision);
    tally.actualCachedTokens += told.cachedTokens;
    const blocks = Math.ceil(told.promptTokens / tokensPerBlock);
    this.#metrics.observeCachedPart(group, Math.floor(told.cachedTokens / tokensPerBlock) / blocks);
    const finding = this.#truth.record(decision, usage);
    if (finding === undefined) return;
    this.#modules.logger[finding.isFailing ? 'warn' : 'info'](
      { group, worker: finding.target },
      truthWords(finding),
    );
  }

  /** Tells once of each worker that the agreement offers and that gets nothing all the same. */
  #tellLeftOut(group: string): void {
    const leftOut = this.#groups.get(group)?.list.leftOut ?? new Map<string, LeftOut>();
    const told = this.#toldLeftOut.get(group) ?? new Set<string>();
    for (const target of told) if (!leftOut.has(target)) told.delete(target);
    for (const why of ['role', 'unreachable'] as const) {
      const news = [...leftOut].flatMap(([target, its]) =>
        its === why && !told.has(target) ? [target] : [],
      );
      if (news.length === 0) continue;
      for (const target of news) told.add(target);
      const more = news.length - MAX_NAMED;
      const named = news.slice(0, MAX_NAMED).join(', ') + (more > 0 ? ` and ${more} more` : '');
      this.#modules.logger.warn({ group }, `Workers of "${group}" ${LEFT_OUT_WORDS[why]}: ${named}.`);
    }
    this.#toldLeftOut.set(group, told);
  }
}

/** What an engine tells, where it tells and that can be true. */
function toldTokens({
  promptTokens,
  cachedTokens,
}: Usage): { readonly promptTokens: number; readonly cachedTokens: number } | undefined {
  if (cachedTokens === undefined || !Number.isSafeInteger(promptTokens)) return undefined;
  const isPossible =
    promptTokens >= 1 && promptTokens <= MAX_TOLD_TOKENS && cachedTokens >= 0 && cachedTokens <= promptTokens;
  return isPossible ? { promptTokens, cachedTokens } : undefined;
}

function targetsOf({ groups }: FleetView): Set<string> {
  return new Set(groups.flatMap(({ members }) => members.map(({ target }) => target)));
}

/** Why a group is not routed. */
function whyNot(name: string, view: FleetView): RoutingError {
  const group: GroupView | undefined = view.groups.find((candidate) => candidate.group === name);
  if (group === undefined)
    return new RoutingError('unknown_group', `nobody serves "${name.slice(0, 256)}"`, view.reasons);
  if (group.gateOpen)
    return new RoutingError('no_index', `the epoch of "${name}" has no index; the log says why`);
  return new RoutingError('gate_shut', `the gate of "${name}" is shut`, group.reasons);
}
