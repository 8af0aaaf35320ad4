import type { CapabilityReport, Transfer } from '../../gen/kvaccord/v1/capabilities.js';
import {
  Completeness_State,
  EngineKind,
  EngineState,
  EvidenceSource,
} from '../../gen/kvaccord/v1/capabilities.js';
import { hasUnprintable, inPlainText } from '../text/printable.js';
import type { ContractValues } from './contract-values.js';
import { CONTRACT_FIELDS, comparedKey, contractValuesOf, TOPOLOGY_FIELDS } from './contract-values.js';
import { EVENT_SOURCES_FIELD } from './evidence/event-source-check.js';
import { type SizeFacts, sizeFactsOf } from './evidence/size-rule.js';
import { isTokensPerBlock } from './evidence/tokens-per-block.js';
import { type RehashAbility, UNKNOWN_REHASH } from './rehash.js';
import { type Serving, servingOf } from './serving.js';
import { type ProbeAnswer, probeAnswersOf } from './tokens/token-answers.js';
import { positionOf, type WorkerPosition } from './topology/worker-position.js';
import { type TransferContract, transferOf } from './transfer/transfer.js';
import { MAX_COUNTS, MAX_NAME_CHARS, MAX_PROBE_ID_BYTES, MAX_TEXT_CHARS } from './wire/report-limits.js';

/** Where a worker's `tokens_per_block` came from. */
export interface SizeEvidence {
  readonly source: EvidenceSource;
  readonly origin: string;
  readonly raw: string;
}

/** A value that the worker declares although its engine runs another (V4). */
export interface DeclaredDifference {
  readonly tokensPerBlock: number;
  readonly origin: string;
}

/** Events that are read elsewhere than the engine says, as far as one report shows. */
export interface MisreadEvents {
  readonly readAt: string;
  readonly saidAt: string;
  /** What was asked for it: `GET http://…/kv_event_sources`. */
  readonly origin: string;
}

/** One worker's report as the agreement sees it: checked, bounded, and with all that is compared worked out once. */
export interface WorkerReport {
  readonly workerId: string;
  readonly instanceId: string;
  readonly revision: bigint;
  /** The served model's name, by which workers are grouped; empty when it cannot be said. */
  readonly group: string;
  readonly engineKind: EngineKind;
  /** As the engine says it; empty where it does not. */
  readonly engineVersion: string;
  readonly draining: boolean;
  /** Whether it can be compared; `reasons` says why not. */
  readonly usable: boolean;
  readonly reasons: readonly string[];
  readonly values: ContractValues;
  /** Equal contracts have equal keys. */
  readonly contractKey: string;
  /** The same with the topology fields of `--topology require`. */
  readonly topologyKey: string;
  readonly evidence: SizeEvidence | undefined;
  /** Set when the worker declares another size than its engine has. */
  readonly declared: DeclaredDifference | undefined;
  /** Which sizes its engine can take. */
  readonly sizeFacts: SizeFacts;
  /** Whether its sidecar can re-hash its blocks into larger ones. */
  readonly rehash: RehashAbility;
  /** Set when its KV events are read elsewhere than its engine says that it publishes them. */
  readonly misreadEvents: MisreadEvents | undefined;
  /** Where its engine publishes its KV events. */
  readonly eventEndpoints: readonly string[];
  /** What it makes of the fixed prompts, for naming where two workers differ; empty where it cannot be asked. */
  readonly probeAnswers: readonly ProbeAnswer[];
  /** Where and under which names it serves. */
  readonly serving: Serving;
  /** How its engine exchanges KV blocks with others; undefined where nothing says that it does. */
  readonly transfer: TransferContract | undefined;
  /** Where it is. */
  readonly position: WorkerPosition;
}

/** Bytes of a SHA-256 digest. */
const SHA256_BYTES = 32;

function checkText(problems: string[], field: string, text: string): void {
  if (text.length > MAX_NAME_CHARS)
    problems.push(`${field} has ${text.length} characters, at most ${MAX_NAME_CHARS} are allowed`);
  if (hasUnprintable(text)) problems.push(`${field} holds control characters`);
}

function checkName(problems: string[], field: string, name: string): void {
  if (name === '') problems.push(`${field} is empty`);
  checkText(problems, field, name);
}

function checkCount(problems: string[], field: string, count: number, max: number): void {
  if (count > max) problems.push(`${field} has ${count} entries, at most ${max} are allowed`);
}

function checkBytes(problems: string[], field: string, { length }: Uint8Array, max: number): void {
  if (length > max) problems.push(`${field} has ${length} bytes, at most ${max} are allowed`);
}

/**
 * A time that no clock shows: the wire carries up to 2^63 s, of which a date is made that is none, and on which
 * everything fails that writes it again.
 */
function checkTime(problems: string[], field: string, time: Date | undefined): void {
  if (time !== undefined && Number.isNaN(time.getTime())) problems.push(`${field} is no time that there is`);
}

/** Every bound of a report; what it names goes to the operator as it is. */
function findProblems(report: CapabilityReport): string[] {
  const problems = findExcess(report);
  // Lists that are too long are not walked.
  return (problems.length > 0 ? problems : findWrongItems(report)).slice(0, MAX_COUNTS.reasons);
}

/** Names, times and lengths of lists. */
function findExcess(report: CapabilityReport): string[] {
  const problems: string[] = [];
  checkName(problems, 'worker_id', report.workerId);
  checkName(problems, 'instance_id', report.instanceId);
  checkCount(problems, 'block_sizes', report.blockSizes.length, MAX_COUNTS.blockSizes);
  const cacheGroups = report.contract?.cacheGroups ?? [];
  checkCount(problems, 'contract.cache_groups', cacheGroups.length, MAX_COUNTS.cacheGroups);
  checkCount(problems, 'evidence', report.evidence.length, MAX_COUNTS.evidence);
  checkCount(problems, 'conflicts', report.conflicts.length, MAX_COUNTS.conflicts);
  checkCount(problems, 'kv_event_sources', report.kvEventSources.length, MAX_COUNTS.kvEventSources);
  checkCount(problems, 'warnings', report.warnings.length, MAX_COUNTS.warnings);
  checkCount(problems, 'probes', report.probes.length, MAX_COUNTS.probes);
  checkCount(problems, 'completeness.reasons', report.completeness?.reasons.length ?? 0, MAX_COUNTS.reasons);
  const { model, topology } = report;
  checkCount(problems, 'engine.apis', report.engine?.apis.length ?? 0, MAX_COUNTS.apis);
  checkCount(problems, 'model.served_names', model?.servedNames.length ?? 0, MAX_COUNTS.servedNames);
  checkCount(problems, 'model.lora_adapters', model?.loraAdapters.length ?? 0, MAX_COUNTS.loraAdapters);
  checkCount(problems, 'model.token_probes', model?.tokenProbes.length ?? 0, MAX_COUNTS.tokenProbes);
  checkCount(problems, 'topology.gpus', topology?.gpus.length ?? 0, MAX_COUNTS.gpus);
  checkCount(problems, 'topology.links', topology?.links.length ?? 0, MAX_COUNTS.links);
  checkCount(problems, 'topology.nics', topology?.nics.length ?? 0, MAX_COUNTS.nics);
  checkCount(problems, 'topology.notes', topology?.notes.length ?? 0, MAX_COUNTS.notes);
  checkCount(problems, 'topology.numa_nodes', topology?.numaNodes.length ?? 0, MAX_COUNTS.numaNodes);
  checkCount(
    problems,
    'topology.placement.topology_domains',
    Object.keys(topology?.placement?.topologyDomains ?? {}).length,
    MAX_COUNTS.topologyDomains,
  );
  checkCount(problems, 'canary.results', report.canary?.results.length ?? 0, MAX_COUNTS.canaryResults);
  checkCount(
    problems,
    'transfer.side_channels',
    report.transfer?.sideChannels.length ?? 0,
    MAX_COUNTS.sideChannels,
  );
  checkTime(problems, 'observed_at', report.observedAt);
  checkTime(problems, 'canary.asked_at', report.canary?.askedAt);
  return problems;
}

/** What stands in the lists, and texts. */
function findWrongItems(report: CapabilityReport): string[] {
  const problems: string[] = [];
  const { model, topology } = report;
  checkTime(
    problems,
    'evidence.observed_at',
    report.evidence.find(({ observedAt }) => Number.isNaN(observedAt?.getTime()))?.observedAt,
  );
  for (const name of model?.servedNames ?? []) checkName(problems, 'model.served_names', name);
  checkText(problems, 'model.revision', model?.revision ?? '');
  checkText(problems, 'model.tokenizer_fingerprint', model?.tokenizerFingerprint ?? '');
  for (const { name, sha256, tokenIds } of model?.tokenProbes ?? []) {
    checkName(problems, 'model.token_probes.name', name);
    checkBytes(problems, 'model.token_probes.sha256', sha256, SHA256_BYTES);
    checkBytes(problems, 'model.token_probes.token_ids', tokenIds, MAX_PROBE_ID_BYTES);
  }
  checkText(problems, 'contract.hash_algorithm', report.contract?.hashAlgorithm ?? '');
  checkText(problems, 'contract.hash_seed', report.contract?.hashSeed ?? '');
  for (const { engineKind } of report.contract?.cacheGroups ?? []) {
    checkText(problems, 'contract.cache_groups.engine_kind', engineKind);
  }
  for (const gpu of topology?.gpus ?? []) checkText(problems, 'topology.gpus.product_name', gpu.productName);
  checkTransfer(problems, report.transfer);
  const texts: [string, readonly string[]][] = [
    ['completeness.reasons', report.completeness?.reasons ?? []],
    ['warnings', report.warnings],
    ['topology.notes', topology?.notes ?? []],
    ['probes.error', report.probes.map(({ error }) => error)],
    ['evidence.origin', report.evidence.map(({ origin }) => origin)],
    ['evidence.raw', report.evidence.map(({ raw }) => raw)],
    ['block_rehash.reason', [report.blockRehash?.reason ?? '']],
    ['canary.reason', [report.canary?.reason ?? '']],
    ['transfer.side_channels.reason', report.transfer?.sideChannels.map(({ reason }) => reason) ?? []],
    ['canary.results.reason', report.canary?.results.map(({ reason }) => reason) ?? []],
    ['canary.results.path', report.canary?.results.map(({ path }) => path) ?? []],
  ];
  for (const [field, lines] of texts) {
    const longest = Math.max(0, ...lines.map(({ length }) => length));
    if (longest > MAX_TEXT_CHARS) {
      problems.push(`${field} has a text of ${longest} characters, at most ${MAX_TEXT_CHARS} are allowed`);
    }
  }
  return problems;
}

/** The names of how an engine exchanges KV blocks: they are compared, and printed as they are. */
function checkTransfer(problems: string[], transfer: Transfer | undefined): void {
  if (transfer === undefined) return;
  const names: [string, string | undefined][] = [
    ['connector', transfer.connector],
    ['connector_version', transfer.connectorVersion],
    ['engine_id', transfer.engineId],
    ['compatibility_hash', transfer.compatibilityHash],
    ['block_layout', transfer.blockLayout],
    ['dtype', transfer.dtype],
    ['kv_cache_dtype', transfer.kvCacheDtype],
    ['attention_backend', transfer.attentionBackend],
  ];
  for (const [field, name = ''] of names) checkText(problems, `transfer.${field}`, name);
  for (const { address } of transfer.sideChannels) {
    checkName(problems, 'transfer.side_channels.address', address);
  }
}

/** R1–R3 as they show in a report from outside: why it cannot be compared. */
function whyUnusable(report: CapabilityReport): string[] {
  const state = report.engine?.state;
  const size = report.contract?.tokensPerBlock;
  const reasons: string[] = [];
  if (size !== undefined && !isTokensPerBlock(size)) {
    reasons.push(`tokens_per_block is ${size}, but must be an integer from 1 to 1,048,576`);
  }
  if (
    state === EngineState.UNREACHABLE ||
    state === EngineState.STARTING ||
    report.completeness?.state !== Completeness_State.COMPLETE
  ) {
    reasons.push(...(report.completeness?.reasons ?? []));
    if (reasons.length === 0) reasons.push('the report is not complete and gives no reason');
  } else {
    if (size === undefined) reasons.push('the report has no tokens_per_block');
    if (size !== undefined && !report.evidence.some(({ field }) => field === 'contract.tokens_per_block')) {
      reasons.push(
        `tokens_per_block ${size} comes without evidence, and a value without evidence is not believed`,
      );
    }
    if (report.model?.servedNames[0] === undefined) reasons.push('the report names no served model');
  }
  return reasons;
}

/**
 * V4: what the worker says of itself, by its own word or by what it is
 * configured with, and what is not so. A configuration counts against what
 * events showed: of what an engine answers about itself it is a reading like
 * others.
 */
function declaredDifference(report: CapabilityReport): DeclaredDifference | undefined {
  const ofSize = report.conflicts.filter(({ field }) => field === 'contract.tokens_per_block');
  const conflict =
    ofSize.find(({ otherSource }) => otherSource === EvidenceSource.DECLARED) ??
    ofSize.find(
      ({ otherSource, keptSource }) =>
        otherSource === EvidenceSource.ENGINE_CONFIG && keptSource === EvidenceSource.OBSERVED_EVENT,
    );
  if (conflict === undefined) return undefined;
  const tokensPerBlock = Number(conflict.otherValue);
  if (!isTokensPerBlock(tokensPerBlock)) return undefined;
  return { tokensPerBlock, origin: inPlainText(conflict.otherOrigin.slice(0, MAX_NAME_CHARS)) };
}

function rehashOf({ blockRehash }: CapabilityReport): RehashAbility {
  if (blockRehash === undefined) return UNKNOWN_REHASH;
  return {
    isPossible: blockRehash.possible,
    reason: inPlainText(blockRehash.reason.slice(0, MAX_NAME_CHARS)),
  };
}

function misreadEvents({ conflicts }: CapabilityReport): MisreadEvents | undefined {
  const conflict = conflicts.find(({ field }) => field === EVENT_SOURCES_FIELD);
  if (conflict === undefined) return undefined;
  const words = (text: string): string => inPlainText(text.slice(0, MAX_NAME_CHARS));
  return {
    readAt: words(conflict.keptValue),
    saidAt: words(conflict.otherValue),
    origin: words(conflict.otherOrigin),
  };
}

/** A report that is not believed at all, and why. */
export interface RefusedReport {
  readonly problems: readonly string[];
}

/**
 * The trust border: checks a report that came over the wire and works out what
 * the agreement compares. A report that breaks a bound is refused whole; one
 * that is well formed but cannot be compared comes back with `usable: false`.
 */
export function readReport(report: CapabilityReport): WorkerReport | RefusedReport {
  const problems = findProblems(report);
  if (problems.length > 0) return { problems };
  const reasons = whyUnusable(report);
  const usable = reasons.length === 0;
  const values = usable ? contractValuesOf(report) : {};
  const from = report.evidence.find((entry) => entry.field === 'contract.tokens_per_block');
  return {
    workerId: report.workerId,
    instanceId: report.instanceId,
    revision: report.revision,
    group: report.model?.servedNames[0] ?? '',
    engineKind: report.engine?.kind ?? EngineKind.UNSPECIFIED,
    engineVersion: inPlainText((report.engine?.version ?? '').slice(0, MAX_NAME_CHARS)),
    draining: report.engine?.state === EngineState.DRAINING,
    usable,
    reasons: reasons.map(inPlainText),
    values,
    contractKey: comparedKey(values, CONTRACT_FIELDS),
    topologyKey: comparedKey(values, [...CONTRACT_FIELDS, ...TOPOLOGY_FIELDS]),
    evidence:
      from === undefined
        ? undefined
        : { source: from.source, origin: inPlainText(from.origin), raw: inPlainText(from.raw) },
    declared: usable ? declaredDifference(report) : undefined,
    sizeFacts: sizeFactsOf(report),
    rehash: rehashOf(report),
    misreadEvents: usable ? misreadEvents(report) : undefined,
    eventEndpoints: report.kvEventSources.map(({ endpoint }) => endpoint),
    probeAnswers: usable ? probeAnswersOf(report) : [],
    serving: servingOf(report),
    transfer: transferOf(report),
    position: positionOf(report),
  };
}
