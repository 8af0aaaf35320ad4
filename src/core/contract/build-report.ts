import type {
  BlockRehash,
  Canary,
  CapabilityReport,
  ProbeOutcome,
  Topology,
} from '../../gen/kvaccord/v1/capabilities.js';
import {
  Canary_State,
  Completeness_State,
  EngineKind,
  type EngineState,
  HashUnit,
} from '../../gen/kvaccord/v1/capabilities.js';
import { andMore } from '../text/lists.js';
import { boundReasons, boundReport, isUint32 } from './bound-report.js';
import { contractDigest, contractValuesOf } from './contract-values.js';
import { cacheGroupToWire, hitAlignmentOf } from './evidence/cache-groups.js';
import type { Fact, FactFields } from './evidence/facts.js';
import { resolveFacts } from './evidence/resolve.js';
import type { RehashAbility } from './rehash.js';
import { transferToWire } from './transfer-report.js';
import { MAX_TEXT_CHARS } from './wire/report-limits.js';

/** What a sidecar knows besides the facts. */
export interface ReportInput {
  readonly workerId: string;
  readonly instanceId: string;
  readonly revision: bigint;
  /** Wall-clock milliseconds since 1970. */
  readonly observedAtMs: number;
  readonly sidecarVersion: string;
  readonly engineState: EngineState;
  /** Why the engine is not ready, for `completeness.reasons`; empty when it is. */
  readonly engineProblem: readonly string[];
  readonly facts: readonly Fact[];
  readonly warnings: readonly string[];
  readonly topology: Topology | undefined;
  readonly probes: readonly ProbeOutcome[];
  /** What came of the canary; absent where none is sent. */
  readonly canary?: Canary | undefined;
  /** Whether the engine of a report has its blocks re-hashed on demand; absent where none would. */
  readonly canRehash?: ((report: CapabilityReport) => RehashAbility) | undefined;
}

function optional<Key extends string, Value>(
  key: Key,
  value: Value | undefined,
): { [K in Key]?: Exclude<Value, undefined> } {
  return (value === undefined ? {} : { [key]: value }) as { [K in Key]?: Exclude<Value, undefined> };
}

/** The fields that are `uint64` on the wire. */
type LargeNumberField =
  `capacity.${'total_kv_blocks' | 'max_running_requests' | 'max_batched_tokens' | 'kv_cache_size_tokens'}`;

/** The fields that are `uint32` on the wire. */
type SmallNumberField = 'model.max_model_len' | Extract<keyof FactFields, `parallelism.${string}`>;

/** Explanations in one reason: more of them hide the cure, and the report has every probe's own. */
const MAX_EXPLANATIONS = 5;

/** How the probes that gave nothing explain themselves, each explanation once. */
function explainSilence(probes: readonly ProbeOutcome[]): string {
  const silent = new Set(probes.filter((probe) => !probe.answered).map((probe) => probe.error));
  return silent.size === 0
    ? ''
    : ` (${[...silent].slice(0, MAX_EXPLANATIONS).join('; ')}${andMore(silent.size - MAX_EXPLANATIONS)})`;
}

function whyIncomplete(
  input: ReportInput,
  served: readonly string[],
  tokensPerBlock: boolean,
  problems: readonly string[],
): string[] {
  const reasons = [...input.engineProblem, ...problems];
  if (input.engineProblem.length > 0) return reasons;
  const isSilent = !tokensPerBlock && problems.length === 0;
  if (isSilent) {
    reasons.push(
      `no source could say tokens_per_block${explainSilence(input.probes)}; ` +
        "give the engine's own gRPC with --engine-grpc, or declare the value with --tokens-per-block",
    );
  }
  if (served.length === 0) {
    const explanation = isSilent ? '' : explainSilence(input.probes);
    reasons.push(`no source could say which model is served${explanation}; name it with --model`);
  }
  return reasons;
}

/** What a person should know of a canary that did not pass; what it waits for is no news. */
function canaryWarnings(canary: Canary | undefined): readonly string[] {
  switch (canary?.state) {
    case Canary_State.FAILED:
      return [`the canary failed: ${canary.reason}`];
    case Canary_State.INCONCLUSIVE:
      return [`the canary was inconclusive: ${canary.reason}`];
    default:
      return [];
  }
}

/** Brings everything that a sidecar knows into one report for the wire. Pure: same input, same report. */
export function buildReport(input: ReportInput): CapabilityReport {
  const resolved = resolveFacts(input.facts);
  const fields = new WireFields(resolved.fields);
  const report: CapabilityReport = {
    workerId: input.workerId,
    instanceId: input.instanceId,
    revision: input.revision,
    observedAt: new Date(input.observedAtMs),
    sidecarVersion: input.sidecarVersion,
    engine: engineOf(fields, input.engineState),
    model: modelOf(fields),
    contract: contractOf(fields, resolved.tokensPerBlock),
    blockSizes: [...resolved.blockSizes],
    evidence: resolved.evidence.filter((entry) => entry.field !== 'engine.start_marker'),
    conflicts: [...resolved.conflicts],
    parallelism: parallelismOf(fields),
    capacity: capacityOf(fields),
    kvEventSources: [...(fields.of('kv_event_sources') ?? [])],
    topology: input.topology,
    completeness: undefined,
    digest: '',
    warnings: [...input.warnings, ...resolved.warnings, ...canaryWarnings(input.canary)],
    probes: [...input.probes],
    canary: input.canary === undefined ? undefined : structuredClone(input.canary),
    blockRehash: undefined,
    transfer: transferToWire(resolved.fields, fields.dropped),
  };
  report.warnings.push(...fields.dropped);
  boundReport(report);
  report.blockRehash = blockRehashOf(input.canRehash?.(report));
  // Judged only now: a name that had to be left out cannot make a report complete.
  const served = report.model?.servedNames ?? [];
  const reasons = whyIncomplete(input, served, resolved.tokensPerBlock !== undefined, resolved.problems);
  report.completeness = {
    state: reasons.length === 0 ? Completeness_State.COMPLETE : Completeness_State.INCOMPLETE,
    reasons: boundReasons(reasons),
  };
  // What a reason says already is not said again.
  report.warnings = report.warnings.filter((warning) => !reasons.some((reason) => reason.includes(warning)));
  if (reasons.length === 0) report.digest = contractDigest(served[0] ?? '', contractValuesOf(report));
  return report;
}

/** Fields as the wire takes them; what it cannot hold is left out, with a sentence in `dropped`. */
class WireFields {
  readonly dropped: string[] = [];
  readonly #fields: Partial<FactFields>;

  constructor(fields: Partial<FactFields>) {
    this.#fields = fields;
  }

  of<F extends keyof FactFields>(name: F): FactFields[F] | undefined {
    return this.#fields[name];
  }

  big(name: LargeNumberField): bigint | undefined {
    const value = this.of(name);
    if (value === undefined) return undefined;
    if (Number.isSafeInteger(value) && value >= 0) return BigInt(value);
    this.dropped.push(`left out ${name}: ${value} is not a whole number`);
    return undefined;
  }

  small(name: SmallNumberField): number | undefined {
    const value = this.of(name);
    if (value === undefined || isUint32(value)) return value;
    this.dropped.push(`left out ${name}: ${value} is not an integer from 0 to 4,294,967,295`);
    return undefined;
  }
}

function engineOf(fields: WireFields, state: EngineState): CapabilityReport['engine'] {
  return {
    kind: fields.of('engine.kind') ?? EngineKind.UNSPECIFIED,
    version: fields.of('engine.version') ?? '',
    state,
    servingAddresses: [...(fields.of('engine.serving_addresses') ?? [])],
    ...optional('role', fields.of('engine.role')),
    apis: [...(fields.of('engine.apis') ?? [])],
  };
}

function modelOf(fields: WireFields): CapabilityReport['model'] {
  return {
    servedNames: [...(fields.of('model.served_names') ?? [])],
    loraAdapters: [...(fields.of('model.lora_adapters') ?? [])],
    tokenProbes: [...(fields.of('model.token_probes') ?? [])],
    ...optional('root', fields.of('model.root')),
    ...optional('revision', fields.of('model.revision')),
    ...optional('maxModelLen', fields.small('model.max_model_len')),
    ...optional('tokenizerFingerprint', fields.of('model.tokenizer_fingerprint')),
  };
}

function contractOf(fields: WireFields, tokensPerBlock: number | undefined): CapabilityReport['contract'] {
  const cacheGroups = fields.of('contract.cache_groups') ?? [];
  return {
    hashUnit: fields.of('contract.hash_unit') ?? HashUnit.UNSPECIFIED,
    cacheGroups: cacheGroups.map(cacheGroupToWire),
    ...optional('tokensPerBlock', tokensPerBlock),
    ...optional('hashAlgorithm', fields.of('contract.hash_algorithm')),
    ...optional('hashSeed', fields.of('contract.hash_seed')),
    ...optional('eventSchema', fields.of('contract.event_schema')),
    ...optional('hitAlignmentTokens', hitAlignmentOf(cacheGroups)),
    ...optional('dropsLastHitBlock', fields.of('contract.drops_last_hit_block')),
    ...optional('speculativeDecoding', fields.of('contract.speculative_decoding')),
  };
}

function parallelismOf(fields: WireFields): CapabilityReport['parallelism'] {
  return {
    ...optional('tensorParallelSize', fields.small('parallelism.tensor_parallel_size')),
    ...optional('pipelineParallelSize', fields.small('parallelism.pipeline_parallel_size')),
    ...optional('dataParallelSize', fields.small('parallelism.data_parallel_size')),
    ...optional('dataParallelRank', fields.small('parallelism.data_parallel_rank')),
    ...optional('dataParallelSizeLocal', fields.small('parallelism.data_parallel_size_local')),
    ...optional('decodeContextParallelSize', fields.small('parallelism.decode_context_parallel_size')),
    ...optional('expertParallelSize', fields.small('parallelism.expert_parallel_size')),
    ...optional('worldSize', fields.small('parallelism.world_size')),
  };
}

function capacityOf(fields: WireFields): CapabilityReport['capacity'] {
  return {
    kvTiers: [...(fields.of('capacity.kv_tiers') ?? [])],
    ...optional('totalKvBlocks', fields.big('capacity.total_kv_blocks')),
    ...optional('maxRunningRequests', fields.big('capacity.max_running_requests')),
    ...optional('maxBatchedTokens', fields.big('capacity.max_batched_tokens')),
    ...optional('kvCacheSizeTokens', fields.big('capacity.kv_cache_size_tokens')),
    ...optional('prefixCaching', fields.of('capacity.prefix_caching')),
  };
}

function blockRehashOf(ability: RehashAbility | undefined): BlockRehash | undefined {
  return ability === undefined
    ? undefined
    : { possible: ability.isPossible, reason: ability.reason.slice(0, MAX_TEXT_CHARS) };
}

/**
 * One text for everything in a report that the other side should know: a
 * new revision is due when it changes. Times, raw evidence and the words of
 * failed probes change at every round and are left out.
 */
export function reportSubstance(report: CapabilityReport): string {
  return JSON.stringify(
    {
      ...report,
      revision: 0,
      observedAt: 0,
      evidence: report.evidence.map(({ field, source, origin }) => [field, source, origin]),
      probes: report.probes.map(({ probe, answered }) => [probe, answered]),
    },
    (_key, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value),
  );
}
