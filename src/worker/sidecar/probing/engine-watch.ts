import { buildReport } from '../../../core/contract/build-report.js';
import { type ContractValues, contractValuesOf } from '../../../core/contract/contract-values.js';
import type { Fact, FactField } from '../../../core/contract/evidence/facts.js';
import { resolveFacts } from '../../../core/contract/evidence/resolve.js';
import { type Clock, sleep } from '../../../edge/platform/clock.js';
import type { Random } from '../../../edge/platform/random.js';
import { onAbort } from '../../../edge/platform/time/on-abort.js';
import type { EngineProbe, ProbeModules, ProbeTarget } from '../../../engines/probing/probe.js';
import { EngineState, type ProbeOutcome } from '../../../gen/kvaccord/v1/capabilities.js';
import {
  type InstanceIdentity,
  identify,
  startMarkerChanged,
  unseenInstance,
} from '../report/instance-identity.js';
import { type EngineHealth, judgeRound, NOT_YET_ASKED } from './engine-health.js';
import type { LearnFacts } from './learn-once.js';
import { type ProbeRound, runProbeRound, type SourceResult, toProbeOutcomes } from './probe-round.js';
import { EMPTY_MEMORY, rememberRound, type SourceMemory } from './source-memory.js';

/** Milliseconds between rounds while the engine is not ready, or missed a round. */
const FAST_INTERVAL_MS = 1_000;
/** Milliseconds between rounds of a ready engine, unless the operator says otherwise. */
const DEFAULT_PROBE_INTERVAL_MS = 10_000;
/**
 * Fast rounds that a ready engine gets to say its block size: its metrics may
 * come up a little later than its HTTP server. Then it is left in peace.
 */
const MAX_FAST_ROUNDS_WHEN_READY = 10;
/**
 * Rounds for which an engine that comes up waits for sources that are late. What such a source says may change what the engine
 * is: vLLM takes seconds for its first `/server_info`, and without it a prefill engine looks like one that serves whole requests.
 * A port to which no connection can be made is not late.
 */
const MAX_LATE_ROUNDS = 10;
/** Milliseconds of that at most: the gate of its model waits as long for this worker. */
const MAX_LATE_MS = 30_000;
/** Intervals vary by this part to either side, so that the sidecars of one node do not ask in step. */
const JITTER = 0.1;

/** All that is known about the engine after a round. */
export interface EngineView {
  readonly instanceId: string;
  readonly state: EngineState;
  /** Why it is not ready; empty when it is. */
  readonly problems: readonly string[];
  readonly facts: readonly Fact[];
  readonly warnings: readonly string[];
  readonly probes: readonly ProbeOutcome[];
  /** Why this view is of another engine start than the one before; absent when it is the same or the first. */
  readonly restart?: string;
}

/** Where to look; why there is nowhere to look yet; or that no engine is to be asked at all. */
export type EngineLocation =
  | { readonly type: 'at'; readonly targets: readonly ProbeTarget[]; readonly address: string }
  | { readonly type: 'nowhere'; readonly reason: string }
  | { readonly type: 'none' };

export interface EngineWatchOptions {
  readonly workerId: string;
  /** What the operator declared; part of every view, outranked by every live source. */
  readonly declaredFacts: readonly Fact[];
  /** Milliseconds between rounds of a ready engine; default 10,000. */
  readonly probeIntervalMs?: number;
}

export interface EngineWatchModules {
  readonly clock: Clock;
  readonly random: Random;
  readonly probeModules: ProbeModules;
  /** Gives every probe. Asked when they are needed, so that a sidecar serves before it has loaded them. */
  readonly loadProbes: () => Promise<readonly EngineProbe[]>;
  /**
   * Says before each round where the engine is. `state` is what the last
   * round found: a search for an engine need not go on while it is ready.
   */
  readonly locate: (state: EngineState, signal: AbortSignal) => Promise<EngineLocation>;
  /**
   * Learns what is asked of a ready engine once for each of its starts: its API paths, and the tokens that it makes of the
   * fixed prompts. The view waits for it, so that the first report of an engine has them. Absent: nothing is learned.
   */
  readonly learnFacts?: LearnFacts;
  /** Called after every round with all that is known; must not throw. */
  readonly onView: (view: EngineView) => void;
  /** Called with every round, for counting; must not throw. */
  readonly onRound?: (round: ProbeRound) => void;
}

/**
 * Facts that say which engine is meant rather than what it does. They stay in
 * the report of an engine that is down, so that people and the aggregator
 * still know whose place is empty.
 */
const DESCRIPTIVE_FIELDS: ReadonlySet<FactField> = new Set([
  'engine.kind',
  'engine.serving_addresses',
  'engine.role',
  'model.served_names',
  'model.root',
] satisfies FactField[]);

const NOTHING_KNOWN: Pick<EngineView, 'facts' | 'warnings'> = { facts: [], warnings: [] };

/**
 * Asks the engine again and again and keeps the view of it: how it stands,
 * what it said, and which of its starts this is.
 */
export class EngineWatch {
  readonly #options: EngineWatchOptions;
  readonly #modules: EngineWatchModules;
  #health: EngineHealth = NOT_YET_ASKED;
  #identity: InstanceIdentity;
  #memory: SourceMemory = EMPTY_MEMORY;
  #known: Pick<EngineView, 'facts' | 'warnings'> = NOTHING_KNOWN;
  #wasDown = false;
  #fastRoundsWhenReady = 0;
  #lateRounds = 0;
  #lateSinceMs = 0;
  #knowsBlockSize = false;
  /** Ends the wait for the next round; absent while a round runs. */
  #endWait: (() => void) | undefined;
  #isHurried = false;
  /** Something else than a probe has shown another engine start since the last instance. */
  #hasShownRestart = false;

  constructor(options: EngineWatchOptions, modules: EngineWatchModules) {
    this.#options = options;
    this.#modules = modules;
    this.#identity = unseenInstance(modules.random.uniqueId());
  }

  /** What is known before the first round: that nothing was asked yet. */
  get firstView(): EngineView {
    return this.#view([], undefined);
  }

  /** Runs rounds until `signal` aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#modules;
    while (!signal.aborted) {
      this.#isHurried = false;
      const startedMs = clock.monotonicMs();
      const view = await this.round(signal);
      // A round that was cut short says nothing about the engine.
      if (signal.aborted) return;
      this.#modules.onView(view);
      await this.#wait(this.#nextDelayMs(), signal);
      // A hint may be wrong all the time; the engine is not asked more often for it than while it starts.
      if (this.#isHurried) await sleep(clock, startedMs + FAST_INTERVAL_MS - clock.monotonicMs(), signal);
    }
  }

  /**
   * Begins the next round now, because something else shows that the engine may
   * have gone or been restarted; at most one round a second. What a running round
   * finds may be of before, so another follows it.
   */
  lookNow(): void {
    this.#isHurried = true;
    this.#endWait?.();
  }

  /**
   * Something else shows that the engine was restarted, such as its KV
   * events. It is another instance from the next round on, unless a start
   * marker of the engine itself says otherwise.
   */
  restarted(): void {
    this.#hasShownRestart = true;
    this.lookNow();
  }

  async #wait(delayMs: number, signal: AbortSignal): Promise<void> {
    if (this.#isHurried || signal.aborted) return;
    const waiting = new AbortController();
    const end = (): void => waiting.abort();
    this.#endWait = end;
    const leave = onAbort(signal, end);
    await sleep(this.#modules.clock, delayMs, waiting.signal);
    leave();
    this.#endWait = undefined;
  }

  /** One round: asks everything once and gives the view after it. */
  async round(signal: AbortSignal): Promise<EngineView> {
    const { locate, probeModules, onRound } = this.#modules;
    const location = await locate(this.#health.state, signal);
    if (location.type === 'none') return this.#unasked();
    if (location.type === 'nowhere') return this.#lookAt([], location.reason);
    const probes = await this.#modules.loadProbes();
    const round = await runProbeRound({ probes, targets: location.targets }, probeModules, signal);
    if (signal.aborted) return this.firstView;
    onRound?.(round);
    const view = this.#lookAt(round.results, undefined, location.address);
    return this.#withLearned(view, location.targets, signal);
  }

  /** The view with what is learned once for each engine start, where the engine is ready and can be asked. */
  async #withLearned(
    view: EngineView,
    targets: readonly ProbeTarget[],
    signal: AbortSignal,
  ): Promise<EngineView> {
    const { learnFacts } = this.#modules;
    if (learnFacts === undefined || view.state !== EngineState.READY) return view;
    const { fields } = resolveFacts(view.facts);
    const model = fields['model.served_names']?.[0];
    const httpBaseUrl = targets.find((target) => target.httpBaseUrl !== undefined)?.httpBaseUrl;
    const kind = fields['engine.kind'];
    if (model === undefined || kind === undefined || httpBaseUrl === undefined) return view;
    const engine = { instanceId: view.instanceId, kind, model, httpBaseUrl, known: fields };
    const learned = await learnFacts(engine, signal);
    return {
      ...view,
      facts: [...view.facts, ...learned.facts],
      probes: [...view.probes, ...learned.probes],
    };
  }

  /** The engine is not watched, so nothing is said of its state. */
  #unasked(): EngineView {
    const state = EngineState.UNSPECIFIED;
    // No marker can say otherwise.
    const restart = this.#hasShownRestart ? 'its KV events restarted' : undefined;
    if (restart !== undefined) this.#identity = unseenInstance(this.#modules.random.uniqueId());
    this.#hasShownRestart = false;
    this.#health = { state, problems: [], silentRounds: 0, refusedRounds: 0 };
    this.#known = {
      facts: [],
      warnings: ['no engine is asked (--engine none): every value here is declared'],
    };
    return this.#view([], restart);
  }

  #lookAt(results: readonly SourceResult[], nowhere: string | undefined, address = ''): EngineView {
    this.#health =
      nowhere === undefined
        ? this.#untilNoneIsLate(judgeRound(this.#health, results, address), results, address)
        : {
            state: EngineState.UNREACHABLE,
            problems: [nowhere],
            silentRounds: 0,
            refusedRounds: 0,
          };
    const fresh = results.flatMap(({ outcome }) => (outcome.type === 'answered' ? outcome.facts : []));
    if (this.#health.state !== EngineState.READY) {
      this.#wasDown = true;
      this.#memory = EMPTY_MEMORY;
      const reported = new Set(fresh.map((fact) => (fact.type === 'field' ? fact.field : undefined)));
      const kept = this.#known.facts.filter(
        (fact) => fact.type === 'field' && DESCRIPTIVE_FIELDS.has(fact.field) && !reported.has(fact.field),
      );
      this.#known = { facts: [...fresh, ...kept], warnings: [] };
      this.#fastRoundsWhenReady = 0;
      return this.#view(toProbeOutcomes(results), undefined);
    }

    if (startMarkerChanged(this.#identity, fresh)) this.#memory = EMPTY_MEMORY;
    const { memory, facts, warnings } = rememberRound(this.#memory, results);
    this.#memory = memory;
    this.#known = { facts, warnings };
    const values = this.#contractValues(facts);
    this.#knowsBlockSize = values.tokens_per_block !== undefined;
    if (this.#knowsBlockSize) this.#fastRoundsWhenReady = 0;
    else this.#fastRoundsWhenReady += 1;
    const step = identify(
      this.#identity,
      { facts: fresh, values, wasDown: this.#wasDown || this.#hasShownRestart },
      this.#options.workerId,
      () => this.#modules.random.uniqueId(),
    );
    this.#identity = step.identity;
    this.#wasDown = false;
    this.#hasShownRestart = false;
    return this.#view(toProbeOutcomes(results), step.restart);
  }

  /** The same, but starting while sources of an engine that comes up have not answered in time. */
  #untilNoneIsLate(judged: EngineHealth, results: readonly SourceResult[], address: string): EngineHealth {
    const comesUp = judged.state === EngineState.READY && this.#health.state !== EngineState.READY;
    const late = results.filter(({ outcome }) => outcome.type === 'failed' && outcome.code === 'timeout');
    const nowMs = this.#modules.clock.monotonicMs();
    if (this.#lateRounds === 0) this.#lateSinceMs = nowMs;
    const isOver = this.#lateRounds >= MAX_LATE_ROUNDS || nowMs - this.#lateSinceMs >= MAX_LATE_MS;
    if (!comesUp || late.length === 0 || isOver) {
      this.#lateRounds = 0;
      return judged;
    }
    this.#lateRounds += 1;
    const names = late.map(({ probe, origin }) => `${probe} (${origin})`).join(', ');
    const problem = `the engine at ${address} has not answered all that it was asked yet: ${names}`;
    return { ...judged, state: EngineState.STARTING, problems: [problem] };
  }

  /** The contract that these facts come to, by the rules of every report. */
  #contractValues(facts: readonly Fact[]): ContractValues {
    return contractValuesOf(
      buildReport({
        workerId: this.#options.workerId,
        instanceId: '',
        revision: 0n,
        observedAtMs: 0,
        sidecarVersion: '',
        engineState: this.#health.state,
        engineProblem: [],
        facts: [...facts, ...this.#options.declaredFacts],
        warnings: [],
        topology: undefined,
        probes: [],
      }),
    );
  }

  #view(probes: readonly ProbeOutcome[], restart: string | undefined): EngineView {
    return {
      instanceId: this.#identity.instanceId,
      state: this.#health.state,
      problems: this.#health.problems,
      facts: [...this.#known.facts, ...this.#options.declaredFacts],
      warnings: this.#known.warnings,
      probes,
      ...(restart === undefined ? {} : { restart }),
    };
  }

  #isCalm(): boolean {
    const { state, silentRounds } = this.#health;
    if (state === EngineState.UNSPECIFIED) return true;
    if (state !== EngineState.READY || silentRounds > 0) return false;
    return this.#knowsBlockSize || this.#fastRoundsWhenReady > MAX_FAST_ROUNDS_WHEN_READY;
  }

  #nextDelayMs(): number {
    const slowMs = this.#options.probeIntervalMs ?? DEFAULT_PROBE_INTERVAL_MS;
    const intervalMs = this.#isCalm() ? slowMs : Math.min(FAST_INTERVAL_MS, slowMs);
    return intervalMs * (1 - JITTER + 2 * JITTER * this.#modules.random.fraction());
  }
}
