import type { ObservedSize } from '../../../core/contract/evidence/observed-size.js';
import { knownHashUnit } from '../../../core/contract/wire/names.js';
import { describeSource, type RankSource } from '../../../core/relay/rank-source.js';
import type { Relay } from '../../../core/relay/relay.js';
import type { Clock } from '../../../edge/platform/clock.js';
import { describeError } from '../../../edge/platform/describe-error.js';
import type { Logger } from '../../../edge/platform/logger.js';
import type { HttpGet, HttpPostJson } from '../../../edge/platform/net/http-get.js';
import { loadPart } from '../../../edge/platform/processes/load-part.js';
import type { Random } from '../../../edge/platform/random.js';
import { engineOfKind } from '../../../engines/catalogue/engines.js';
import {
  Canary_State,
  type Canary as CanaryReport,
  type CapabilityReport,
  EngineKind,
  EngineRole,
  EngineState,
} from '../../../gen/kvaccord/v1/capabilities.js';
import { engineHttpUrl } from '../probing/engine-address.js';
import type { CanaryFault } from './judge-canary.js';
import type { CanaryOutcome, CanaryTarget } from './run-canary.js';

/** Milliseconds that the KV events have to be connected; then it is asked without them. */
const EVENTS_TIMEOUT_MS = 15_000;
/** Times that an engine is found busy, or the canary disturbed, before it is left in peace: it is not new any more. */
const MAX_BUSY_LOOKS = 30;

/** How engines are asked. */
export interface CanaryHttp {
  readonly get: HttpGet;
  readonly post: HttpPostJson;
}

/** What is read of the engine's events. */
interface Events {
  readonly relay: Relay;
  readonly sources: readonly RankSource[];
  /** Why nothing is read; empty when something is. */
  readonly reason: string;
}

export interface CanaryModules extends CanaryHttp {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly events: Events;
  /** Takes what is to stand in the report; undefined while there is nothing to say. */
  readonly onReport: (canary: CanaryReport | undefined) => void;
  /** Takes what a failure speaks against, in words. Called once for an engine start. */
  readonly onFault: (fault: CanaryFault, reason: string) => void;
  /** Takes the width that its blocks have, where all of them came as hashed. */
  readonly onProved: (observed: ObservedSize) => void;
  /** Loads what asks. Default: the module beside this one. */
  readonly load?: () => Promise<Pick<typeof import('./run-canary.js'), 'runCanary'>>;
}

/**
 * Asks each new engine one small prompt twice, once for each of its starts and
 * only while it is idle. It checks that tokens, stored blocks and cached tokens
 * are as this product computes them, and makes a fresh engine publish the first
 * event, which may be the only source of its block size.
 */
export class Canary {
  readonly #modules: CanaryModules;
  readonly #requests = new Map<string, number>();
  #instanceId = '';
  #sinceMs = 0;
  #busyLooks = 0;
  #report: CanaryReport | undefined;
  #running: Promise<void> | undefined;
  #stop = new AbortController();
  #isClosed = false;

  constructor(modules: CanaryModules) {
    this.#modules = modules;
  }

  /** What is said of it now; undefined before the first engine. */
  get report(): CanaryReport | undefined {
    return this.#report;
  }

  /** Prompts that were sent so far, by path. */
  get requests(): ReadonlyMap<string, number> {
    return this.#requests;
  }

  /** Takes in what a round found, and asks when it is time. `state` is the engine's own. */
  follow(report: CapabilityReport, state: EngineState): void {
    if (this.#isClosed) return;
    if (report.instanceId !== this.#instanceId) this.#begin(report.instanceId);
    if (this.#running !== undefined || this.#isOver || state !== EngineState.READY) return;
    const whyNot = whyNever(report);
    if (whyNot !== undefined) {
      this.#say(Canary_State.SKIPPED, whyNot);
      return;
    }
    const target = this.#targetOf(report);
    if (typeof target === 'string') {
      this.#say(Canary_State.WAITING, target);
      return;
    }
    const run = this.#run(target, this.#instanceId, this.#stop.signal);
    this.#running = run;
    void run.then(() => {
      // One that was given up for another engine start ends late.
      if (this.#running === run) this.#running = undefined;
    });
  }

  /** Ends it; what runs is given up. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stop.abort();
    await this.#running;
  }

  get #isOver(): boolean {
    const state = this.#report?.state ?? Canary_State.WAITING;
    return state !== Canary_State.WAITING;
  }

  #begin(instanceId: string): void {
    this.#stop.abort();
    this.#stop = new AbortController();
    this.#running = undefined;
    this.#instanceId = instanceId;
    this.#sinceMs = this.#modules.clock.monotonicMs();
    this.#busyLooks = 0;
    this.#set(undefined);
  }

  /** What to ask, or what it waits for. */
  #targetOf(report: CapabilityReport): CanaryTarget | string {
    const { events, clock } = this.#modules;
    const baseUrl = engineHttpUrl(report);
    const model = report.model?.servedNames[0];
    if (baseUrl === undefined) return 'the HTTP address of the engine is not known';
    if (model === undefined) return 'no source says which model is served';
    const ranks = events.sources.length === 0 ? [] : events.relay.ranks;
    const waits = ranks.filter(
      ({ picture, awaitsFirstBatch }) => picture === 'none' && awaitsFirstBatch !== true,
    );
    const isLate = clock.monotonicMs() - this.#sinceMs >= EVENTS_TIMEOUT_MS;
    if (waits.length > 0 && !isLate) return `its KV events are not read yet: ${waits[0]?.reason}`;
    const { contract } = report;
    return {
      engineKind: report.engine?.kind ?? EngineKind.UNSPECIFIED,
      baseUrl,
      model,
      tokensPerBlock: contract?.tokensPerBlock,
      hashUnit: knownHashUnit(contract?.hashUnit),
      maxModelLen: report.model?.maxModelLen,
      hitAlignmentTokens: contract?.hitAlignmentTokens,
      dropsLastHitBlock: contract?.dropsLastHitBlock,
      ranks: ranks.map(({ rank }) => rank),
      eventsReason: events.sources.length === 0 ? events.reason : (waits[0]?.reason ?? ''),
      eventSourceOf: (rank) => {
        const source = events.sources.find((other) => other.rank === rank);
        return source === undefined ? 'its KV events' : describeSource(source);
      },
    };
  }

  async #run(target: CanaryTarget, instanceId: string, signal: AbortSignal): Promise<void> {
    const { clock, random, get, post, events, logger } = this.#modules;
    try {
      const load = this.#modules.load ?? (() => import('./run-canary.js'));
      const part = await loadPart(load, { clock, logger, signal });
      if (part === undefined) return;
      const onRequest = (path: string): void => {
        this.#requests.set(path, (this.#requests.get(path) ?? 0) + 1);
      };
      const modules = { clock, random, get, post, relay: events.relay, onRequest };
      const outcome = await part.runCanary(target, modules, signal);
      if (signal.aborted || instanceId !== this.#instanceId) return;
      this.#take(outcome, target);
    } catch (error) {
      logger.error({ error }, 'The canary met a fault of this program; the engine is not asked again.');
      this.#say(Canary_State.INCONCLUSIVE, describeError(error));
    }
  }

  #take({ results, faults, hashUnit = 'token', disturbedBy }: CanaryOutcome, target: CanaryTarget): void {
    if (disturbedBy !== undefined) {
      this.#busyLooks += 1;
      const isLast = this.#busyLooks >= MAX_BUSY_LOOKS;
      const state = isLast ? Canary_State.SKIPPED : Canary_State.WAITING;
      this.#say(state, isLast ? `${disturbedBy}, at each of ${MAX_BUSY_LOOKS} looks` : disturbedBy);
      return;
    }
    const { clock, logger, onFault, onProved } = this.#modules;
    const state = worstOf(results.map((result) => result.state));
    const worst = results.find((result) => result.state === state);
    const reason = worst === undefined ? '' : `${worst.path}: ${worst.reason}`;
    this.#set({ state, reason, results: [...results], askedAt: new Date(clock.wallMs()) });
    const sentence = `Canary ${WORDS[state] ?? 'ended'}: ${reason}.`;
    if (state === Canary_State.FAILED) logger.warn({ instance_id: this.#instanceId }, sentence);
    else logger.info({ instance_id: this.#instanceId }, sentence);
    // The worst first: events of another engine make every other finding void.
    const fault = FAULTS.find((one) => faults.includes(one));
    if (fault !== undefined) onFault(fault, reason);
    if (fault === 'source') return;
    for (const { dataParallelRank, promptTokens, promptBlocks, storedBlocks, path } of results) {
      if (storedBlocks === undefined || storedBlocks === 0 || storedBlocks !== promptBlocks) continue;
      const tokensPerBlock = target.tokensPerBlock;
      if (tokensPerBlock === undefined) continue;
      onProved({
        tokensPerBlock,
        unit: hashUnit,
        rank: dataParallelRank,
        origin: target.eventSourceOf(dataParallelRank),
        raw: `canary on ${path}: ${storedBlocks} blocks of ${tokensPerBlock} from ${promptTokens} tokens`,
        observedAtMs: clock.wallMs(),
      });
    }
  }

  #say(state: Canary_State, reason: string): void {
    if (this.#report?.state === state && this.#report.reason === reason) return;
    this.#set({ state, reason, results: [], askedAt: undefined });
  }

  #set(report: CanaryReport | undefined): void {
    this.#report = report;
    this.#modules.onReport(report);
  }
}

/** What makes the others void first. */
const FAULTS: readonly CanaryFault[] = ['source', 'tokens', 'cached_less'];

const WORDS: Readonly<Record<number, string>> = {
  [Canary_State.SKIPPED]: 'skipped',
  [Canary_State.PASSED]: 'passed',
  [Canary_State.INCONCLUSIVE]: 'inconclusive',
  [Canary_State.FAILED]: 'failed',
};

/** Worst first; a path that is not served says nothing of the others. */
const SEVERITY: readonly Canary_State[] = [
  Canary_State.FAILED,
  Canary_State.INCONCLUSIVE,
  Canary_State.PASSED,
  Canary_State.SKIPPED,
];

function worstOf(states: readonly Canary_State[]): Canary_State {
  return SEVERITY.find((state) => states.includes(state)) ?? Canary_State.SKIPPED;
}

/** Why this engine is never asked; undefined when it may be. */
function whyNever({ engine }: CapabilityReport): string | undefined {
  if ((engineOfKind(engine?.kind)?.promptPaths ?? []).length === 0)
    return 'how this engine is asked is not known';
  const role = engine?.role;
  return role === EngineRole.PREFILL || role === EngineRole.DECODE
    ? 'it computes a part of each request only'
    : undefined;
}
