import {
  type BlockSize,
  type Canary,
  CapabilityReport,
  type Contract,
  type Engine,
  type Model,
  type Transfer,
} from '../../gen/kvaccord/v1/capabilities.js';
import { inPlainText } from '../text/printable.js';
import { MAX_COUNTS, MAX_NAME_CHARS, MAX_TEXT_CHARS } from './wire/report-limits.js';
import { isName } from './wire/report-name.js';

/** Longest warning, reason or error that a sidecar sends: one line for a person. */
const MAX_SENTENCE_CHARS = 1_024;
/**
 * Largest report that is sent: half of what gRPC takes by default. Real ones
 * have some ten kilobytes.
 */
const MAX_REPORT_BYTES = 2 * 1024 * 1024;
/** Addresses at which one engine serves; data-parallel frontends have one each. */
const MAX_SERVING_ADDRESSES = 1_024;
/** Largest number of a `uint32` field. */
const MAX_UINT32 = 2 ** 32 - 1;

/** One line without control characters, cut to `maxChars`. */
function oneLine(text: string, maxChars: number): string {
  return inPlainText(text.slice(0, maxChars));
}

/** Whether `value` fits a `uint32` field of the wire; anything else cannot be sent at all. */
export function isUint32(value: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= MAX_UINT32;
}

/** Collects what had to be left out, one sentence for each field. */
class Omissions {
  readonly sentences: string[] = [];

  names(field: string, names: readonly string[], maxCount: number): string[] {
    const good = names.filter(isName);
    if (good.length < names.length) {
      this.sentences.push(
        `left out ${names.length - good.length} of ${field}: empty, longer than ${MAX_NAME_CHARS} characters, or with control characters`,
      );
    }
    return this.first(field, good, maxCount);
  }

  first<Item>(field: string, items: readonly Item[], maxCount: number): Item[] {
    if (items.length > maxCount) this.sentences.push(`left out ${items.length - maxCount} of ${field}`);
    return items.slice(0, maxCount);
  }

  /** `value`, or undefined with a sentence when it cannot be reported. */
  name(field: string, value: string | undefined): string | undefined {
    if (value === undefined || value === '' || isName(value)) return value;
    this.sentences.push(
      `left out ${field}: longer than ${MAX_NAME_CHARS} characters, or with control characters`,
    );
    return undefined;
  }
}

/** Puts a bounded text back where it was, or takes the field away. */
function replace<Key extends string>(
  part: { [K in Key]?: string | undefined },
  key: Key,
  value: string | undefined,
): void {
  if (value === undefined) delete part[key];
  else part[key] = value;
}

/** What of a block size the wire can carry; the size itself was judged before (R1). */
function boundBlockSize(size: BlockSize): BlockSize {
  const { kind, sizeTokens, groupIndex, attentionKind, slidingWindowTokens } = size;
  return {
    kind,
    sizeTokens,
    ...(groupIndex !== undefined && isUint32(groupIndex) ? { groupIndex } : {}),
    ...(attentionKind === undefined ? {} : { attentionKind: oneLine(attentionKind, MAX_NAME_CHARS) }),
    ...(slidingWindowTokens !== undefined && isUint32(slidingWindowTokens) ? { slidingWindowTokens } : {}),
  };
}

/** The reasons of an incomplete report within the same bounds. */
export function boundReasons(reasons: readonly string[]): string[] {
  return reasons.slice(0, MAX_COUNTS.reasons).map((reason) => oneLine(reason, MAX_SENTENCE_CHARS));
}

/**
 * Keeps a report of our own within what the other side believes, so that a
 * strange engine makes a report poorer and never unreadable. Changes `report`
 * in place; what it leaves out becomes a warning.
 */
export function boundReport(report: CapabilityReport): void {
  const omissions = new Omissions();
  // Only what `report` owns is changed; the facts' and the topology's own objects may be used again.
  if (report.engine !== undefined) boundEngine(report.engine, omissions);
  if (report.model !== undefined) boundModel(report.model, omissions);
  if (report.contract !== undefined) boundContract(report.contract, omissions);
  if (report.capacity !== undefined) {
    report.capacity.kvTiers = report.capacity.kvTiers.filter(isName).slice(0, MAX_COUNTS.kvEventSources);
  }
  if (report.transfer !== undefined) boundTransfer(report.transfer, omissions);
  if (report.canary !== undefined) boundCanary(report.canary);
  boundLists(report, omissions);
  for (const { what, drop } of SHEDDING) {
    if (CapabilityReport.encode(report).finish().length <= MAX_REPORT_BYTES) break;
    drop(report);
    omissions.sentences.push(`left out ${what}: the report would be larger than ${MAX_REPORT_BYTES} bytes`);
  }
  report.warnings = [...omissions.sentences, ...report.warnings]
    .slice(0, MAX_COUNTS.warnings)
    .map((warning) => oneLine(warning, MAX_SENTENCE_CHARS));
}

function boundEngine(engine: Engine, omissions: Omissions): void {
  engine.version = oneLine(engine.version, MAX_NAME_CHARS);
  engine.servingAddresses = omissions.first(
    'engine.serving_addresses',
    engine.servingAddresses.filter(({ address }) => isName(address)),
    MAX_SERVING_ADDRESSES,
  );
  engine.apis = omissions.names('engine.apis', engine.apis, MAX_COUNTS.apis);
}

function boundModel(model: Model, omissions: Omissions): void {
  model.servedNames = omissions.names('model.served_names', model.servedNames, MAX_COUNTS.servedNames);
  model.loraAdapters = omissions.names('model.lora_adapters', model.loraAdapters, MAX_COUNTS.loraAdapters);
  replace(model, 'root', omissions.name('model.root', model.root));
  replace(model, 'revision', omissions.name('model.revision', model.revision));
  replace(
    model,
    'tokenizerFingerprint',
    omissions.name('model.tokenizer_fingerprint', model.tokenizerFingerprint),
  );
}

function boundContract(contract: Contract, omissions: Omissions): void {
  replace(contract, 'hashAlgorithm', omissions.name('contract.hash_algorithm', contract.hashAlgorithm));
  replace(contract, 'hashSeed', omissions.name('contract.hash_seed', contract.hashSeed));
  replace(contract, 'eventSchema', omissions.name('contract.event_schema', contract.eventSchema));
  contract.cacheGroups = omissions
    .first('contract.cache_groups', contract.cacheGroups, MAX_COUNTS.cacheGroups)
    .map((group) => ({ ...group, engineKind: oneLine(group.engineKind, MAX_NAME_CHARS) }));
}

function boundTransfer(transfer: Transfer, omissions: Omissions): void {
  transfer.connector = omissions.name('transfer.connector', transfer.connector) ?? '';
  replace(transfer, 'engineId', omissions.name('transfer.engine_id', transfer.engineId));
  replace(
    transfer,
    'compatibilityHash',
    omissions.name('transfer.compatibility_hash', transfer.compatibilityHash),
  );
  replace(transfer, 'blockLayout', omissions.name('transfer.block_layout', transfer.blockLayout));
  replace(transfer, 'dtype', omissions.name('transfer.dtype', transfer.dtype));
  replace(transfer, 'kvCacheDtype', omissions.name('transfer.kv_cache_dtype', transfer.kvCacheDtype));
  replace(
    transfer,
    'attentionBackend',
    omissions.name('transfer.attention_backend', transfer.attentionBackend),
  );
  transfer.sideChannels = omissions
    .first(
      'transfer.side_channels',
      transfer.sideChannels.filter(
        ({ dataParallelRank, address }) => isUint32(dataParallelRank) && isName(address),
      ),
      MAX_COUNTS.sideChannels,
    )
    .map((channel) => ({ ...channel, reason: oneLine(channel.reason, MAX_SENTENCE_CHARS) }));
}

function boundCanary(canary: Canary): void {
  canary.reason = oneLine(canary.reason, MAX_SENTENCE_CHARS);
  canary.results = canary.results.slice(0, MAX_COUNTS.canaryResults);
  for (const result of canary.results) result.reason = oneLine(result.reason, MAX_SENTENCE_CHARS);
}

/** Sizes, sources, conflicts, evidence and probes. */
function boundLists(report: CapabilityReport, omissions: Omissions): void {
  report.blockSizes = report.blockSizes.map(boundBlockSize);
  report.kvEventSources = omissions.first(
    'kv_event_sources',
    report.kvEventSources.filter(
      ({ dataParallelRank, endpoint, topic, replayEndpoint = '', schemaVersion = 0 }) =>
        isUint32(dataParallelRank) &&
        isUint32(schemaVersion) &&
        isName(endpoint) &&
        [topic, replayEndpoint].every((text) => text === '' || isName(text)),
    ),
    MAX_COUNTS.kvEventSources,
  );
  report.conflicts = omissions.first('conflicts', report.conflicts, MAX_COUNTS.conflicts);
  report.evidence = omissions.first('evidence', report.evidence, MAX_COUNTS.evidence);
  for (const entry of report.evidence) entry.origin = oneLine(entry.origin, MAX_TEXT_CHARS);
  report.probes = omissions.first('probes', report.probes, MAX_COUNTS.probes).map((probe) => ({
    ...probe,
    origin: oneLine(probe.origin, MAX_NAME_CHARS),
    error: oneLine(probe.error, MAX_SENTENCE_CHARS),
  }));
}

/** What a report can do without, the least missed first. */
const SHEDDING: readonly { readonly what: string; drop(report: CapabilityReport): void }[] = [
  {
    what: 'topology.links',
    drop: (report) => {
      if (report.topology !== undefined) report.topology = { ...report.topology, links: [] };
    },
  },
  {
    what: 'model.lora_adapters',
    drop: ({ model }) => {
      if (model !== undefined) model.loraAdapters = [];
    },
  },
  {
    what: 'kv_event_sources and engine.serving_addresses',
    drop: (report) => {
      report.kvEventSources = [];
      if (report.engine !== undefined) report.engine.servingAddresses = [];
    },
  },
];
