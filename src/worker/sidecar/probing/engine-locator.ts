import { engineKindName } from '../../../core/contract/wire/names.js';
import type { Logger } from '../../../edge/platform/logger.js';
import { loadPart } from '../../../edge/platform/processes/load-part.js';
import { withDeadline } from '../../../edge/platform/time/deadline.js';
import type { DetectFinding, Detection, DetectOptions } from '../../../engines/catalogue/auto-detect.js';
import type { ProbeModules, ProbeTarget } from '../../../engines/probing/probe.js';
import { EngineState } from '../../../gen/kvaccord/v1/capabilities.js';
import type { EngineLocation } from './engine-watch.js';

/** Milliseconds that one search may take; what answers slower than that is not found in it. */
const SEARCH_TIMEOUT_MS = 5_000;
/**
 * Searches that follow each other as fast as rounds do. What else listens on
 * the usual ports sees a few requests in each; after some minutes that is
 * enough, and a search every few seconds still finds an engine soon.
 */
const FAST_SEARCHES = 120;
/** Milliseconds between searches after that. */
const SLOW_SEARCH_INTERVAL_MS = 5_000;

/** What people call a target: its HTTP address, else its gRPC, else its file or folder. */
function addressOf({ httpBaseUrl, grpcAddress, configFile, dynamoFileKv }: ProbeTarget): string {
  return httpBaseUrl ?? grpcAddress ?? configFile ?? dynamoFileKv ?? 'no address';
}

/** Always the same targets, as the operator named them. */
export function fixedLocation(targets: readonly ProbeTarget[]): EngineLocation {
  return { type: 'at', targets, address: targets.map(addressOf).join(', ') };
}

export interface EngineLocatorOptions extends DetectOptions {
  /**
   * What the operator named beside `--engine auto`: the engine's gRPC, kind,
   * or files. It is part of whatever is found, and looked at by itself while
   * nothing is.
   */
  readonly named: ProbeTarget;
}

export interface EngineLocatorModules {
  readonly probeModules: ProbeModules;
  readonly logger: Logger;
}

/**
 * `--engine auto`: looks at the usual local ports until an engine is found,
 * says what was found and why it was taken, and looks again when that engine
 * cannot be reached any more.
 */
export class EngineLocator {
  readonly #options: EngineLocatorOptions;
  readonly #modules: EngineLocatorModules;
  #found: ProbeTarget | undefined;
  #lastReason = '';
  #searches = 0;
  #nextSearchAtMs = 0;

  constructor(options: EngineLocatorOptions, modules: EngineLocatorModules) {
    this.#options = options;
    this.#modules = modules;
  }

  /** Where the engine is; `state` is how it stood after the last round. */
  async locate(state: EngineState, signal: AbortSignal): Promise<EngineLocation> {
    const isLost = state === EngineState.UNREACHABLE;
    if (this.#found === undefined || isLost) await this.#searchWhenDue(signal);
    if (this.#found !== undefined) return fixedLocation([this.#found]);
    const { named } = this.#options;
    if (addressOf(named) !== addressOf({})) return fixedLocation([named]);
    return { type: 'nowhere', reason: this.#lastReason };
  }

  async #searchWhenDue(signal: AbortSignal): Promise<void> {
    const { clock } = this.#modules.probeModules;
    if (clock.monotonicMs() < this.#nextSearchAtMs) return;
    this.#searches += 1;
    const detection = await this.#search(signal);
    if (signal.aborted) return;
    if (this.#searches > FAST_SEARCHES) {
      this.#nextSearchAtMs = clock.monotonicMs() + SLOW_SEARCH_INTERVAL_MS;
    }
    this.#take(detection);
  }

  async #search(signal: AbortSignal): Promise<Detection> {
    const { probeModules } = this.#modules;
    // Loaded now: an operator who names the engine needs no search.
    const part = await loadPart(() => import('../../../engines/catalogue/auto-detect.js'), {
      clock: probeModules.clock,
      logger: this.#modules.logger,
      signal,
    });
    if (part === undefined) return { findings: [] };
    return withDeadline({ timeoutMs: SEARCH_TIMEOUT_MS, signal }, probeModules, (bounded) =>
      part.detectEngine(this.#options, probeModules, bounded),
    );
  }

  #take({ target, findings }: Detection): void {
    const { logger } = this.#modules;
    const looked = findings.map(({ address, taken, reason }) => ({ address, taken, reason }));
    if (target === undefined) {
      const reason = whyNone(findings);
      if (reason === this.#lastReason) return;
      this.#lastReason = reason;
      logger.debug({ looked }, 'Looked for an engine');
      return;
    }
    this.#searches = 0;
    const found: ProbeTarget = { ...target, ...this.#options.named };
    if (JSON.stringify(found) === JSON.stringify(this.#found)) return;
    this.#found = found;
    this.#lastReason = '';
    const taken = findings.filter((finding) => finding.taken).map(describeFinding);
    logger.info({ looked }, `Found an engine by itself: ${taken.join('; ')}.`);
  }
}

function describeFinding({ address, kind, reason }: DetectFinding): string {
  return `${kind === undefined ? '' : `${engineKindName(kind)} at `}${address} (${reason})`;
}

/** In words for the person who has to name it. */
function whyNone(findings: readonly DetectFinding[]): string {
  const engines = findings.filter(({ kind }) => kind !== undefined);
  if (engines.length > 0) {
    return `there is more than one engine here: ${engines.map(describeFinding).join(', ')}; say which with --engine`;
  }
  const addresses = findings.map(({ address }) => address).join(', ');
  return `no engine has been found yet at ${addresses}; name it with --engine if it is elsewhere`;
}
