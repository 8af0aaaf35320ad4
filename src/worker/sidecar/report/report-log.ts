import { EVENT_SOURCES_FIELD } from '../../../core/contract/evidence/event-source-check.js';
import { engineKindName, engineStateName, evidenceSourceName } from '../../../core/contract/wire/names.js';
import type { LogFields, Logger } from '../../../edge/platform/logger.js';
import type { CapabilityReport, Conflict } from '../../../gen/kvaccord/v1/capabilities.js';
import {
  EngineKind,
  EngineState,
  EvidenceSource,
  ServingAddress_Protocol,
} from '../../../gen/kvaccord/v1/capabilities.js';

const TOKENS_PER_BLOCK = 'contract.tokens_per_block';
/** Sentences that were logged once and are not logged again; more than a sidecar ever has. */
const MAX_LOGGED = 1_000;

/**
 * Gives the log what changed from one report to the next: each change once,
 * nothing at a round that found the same.
 */
export class ReportLog {
  readonly #logger: Logger;
  readonly #logged = new Set<string>();
  #truth = '';
  #state: EngineState | undefined;

  constructor(modules: { readonly logger: Logger }) {
    this.#logger = modules.logger;
  }

  /** `restart` says why this is another engine start than before; absent when it is not. */
  log(report: CapabilityReport, restart: string | undefined): void {
    const fields: LogFields = { worker_id: report.workerId, instance_id: report.instanceId };
    if (restart !== undefined) {
      this.#logger.info(fields, `The engine was restarted: ${restart}.`);
      this.#logged.clear();
    }
    this.#logState(report, fields);
    this.#logTruth(report, fields);
    for (const conflict of report.conflicts) {
      // What the engine's own events contradict has a warning with the cure in the report itself.
      if (isOfEvents(conflict) || conflict.field === EVENT_SOURCES_FIELD) continue;
      this.#warnOnce({ ...fields, field: conflict.field }, describeConflict(conflict));
    }
    for (const warning of report.warnings) this.#warnOnce(fields, `${warning}.`);
  }

  #logState(report: CapabilityReport, fields: LogFields): void {
    const state = report.engine?.state ?? EngineState.UNSPECIFIED;
    if (state === this.#state) return;
    const wasReady = this.#state === EngineState.READY;
    this.#state = state;
    if (state === EngineState.READY || state === EngineState.DRAINING) return;
    // Where no engine is asked there is none to wait for: `#logTruth` says what is missing.
    if (state === EngineState.UNSPECIFIED && !wasReady) return;
    this.#truth = '';
    const reason = report.completeness?.reasons[0] ?? `the engine is ${engineStateName(state)}`;
    if (wasReady) this.#logger.warn(fields, `Lost the engine: ${reason}.`);
    else this.#logger.info(fields, `Waiting for the engine: ${reason}.`);
  }

  #logTruth(report: CapabilityReport, fields: LogFields): void {
    const state = report.engine?.state ?? EngineState.UNSPECIFIED;
    const settled = state === EngineState.READY || state === EngineState.UNSPECIFIED;
    if (!settled) return;
    const reasons = report.completeness?.reasons ?? [];
    const truth = reasons.length > 0 ? `Incomplete: ${reasons.join('; ')}.` : describeTruth(report);
    if (truth === this.#truth) return;
    const proof = this.#truth === '' || reasons.length > 0 ? undefined : describeProof(report);
    this.#truth = truth;
    if (reasons.length > 0) this.#logger.warn(fields, truth);
    else {
      const size = report.contract?.tokensPerBlock;
      this.#logger.info({ ...fields, tokens_per_block: size }, proof ?? truth);
    }
  }

  #warnOnce(fields: LogFields, sentence: string): void {
    if (this.#logged.has(sentence)) return;
    if (this.#logged.size >= MAX_LOGGED) this.#logged.clear();
    this.#logged.add(sentence);
    this.#logger.warn(fields, sentence);
  }
}

/** Where the engine is, for people: its first HTTP address, else the first of any kind. */
function addressOf(report: CapabilityReport): string {
  const addresses = report.engine?.servingAddresses ?? [];
  const http = addresses.find(({ protocol }) => protocol === ServingAddress_Protocol.OPENAI_HTTP);
  const address = (http ?? addresses[0])?.address;
  return address === undefined ? '' : ` at ${address}`;
}

/** `vLLM`; `(other)` for a declared engine, whose name is not known. */
function kindOf(kind: EngineKind): string {
  return kind === EngineKind.OTHER ? '(other)' : engineKindName(kind);
}

/** `Engine vLLM 0.32.0 at http://… uses KV blocks of 32 tokens (engine_metrics: effective_attention_block_size="32")`. */
export function describeTruth(report: CapabilityReport): string {
  const { engine, contract } = report;
  const kind = engine === undefined || engine.kind === 0 ? '' : ` ${kindOf(engine.kind)}`;
  const version = engine === undefined || engine.version === '' ? '' : ` ${engine.version}`;
  const from = report.evidence.find(({ field }) => field === TOKENS_PER_BLOCK);
  const why = from === undefined ? '' : ` (${evidenceSourceName(from.source)}: ${from.raw})`;
  return `Engine${kind}${version}${addressOf(report)} uses KV blocks of ${contract?.tokensPerBlock} tokens${why}`;
}

/** `Tokens per block 32 proven by KV events of tcp://…: block_size=32.`; undefined when none proves it. */
function describeProof(report: CapabilityReport): string | undefined {
  const from = report.evidence.find(({ field }) => field === TOKENS_PER_BLOCK);
  if (from?.source !== EvidenceSource.OBSERVED_EVENT) return undefined;
  return `Tokens per block ${report.contract?.tokensPerBlock} proven by ${from.origin}: ${from.raw}.`;
}

function isOfEvents({ field, keptSource }: Conflict): boolean {
  return field === TOKENS_PER_BLOCK && keptSource === EvidenceSource.OBSERVED_EVENT;
}

function describeConflict(conflict: Conflict): string {
  const kept = `${conflict.keptValue} (${evidenceSourceName(conflict.keptSource)})`;
  const other = `${conflict.otherValue} (${evidenceSourceName(conflict.otherSource)}, ${conflict.otherOrigin})`;
  return `Sources differ for ${conflict.field}: ${kept} is used, ${other} is not.`;
}
