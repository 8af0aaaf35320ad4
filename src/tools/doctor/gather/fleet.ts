import { evidenceSourceName } from '../../../core/contract/wire/names.js';
import { countOf } from '../../../core/text/lists.js';
import { engineOfKind } from '../../../engines/catalogue/engines.js';
import type { SettingName, SizeBasis } from '../../../engines/diagnosis/sighting-words.js';
import {
  type CapabilityReport,
  canary_StateToJSON,
  type EngineKind,
  EvidenceSource,
} from '../../../gen/kvaccord/v1/capabilities.js';
import {
  type Agreement,
  AgreementState,
  agreementStateToJSON,
  memberStateToJSON,
  type Worker,
} from '../../../gen/kvaccord/v1/fleet.js';
import type { EvidencePart, FleetSighting, Origin, SettingSighting, SizeSighting } from '../evidence.js';
import { excerptOf } from '../logs/masking.js';
import { outcome } from './outcomes.js';
import { eventSourceSightings, tokenSightings } from './token-sightings.js';

/** Members of a group that are reported one by one; a fleet's problem shows among them. */
const MAX_MEMBERS = 1_000;

/** Adapters and groups of blocks that are named; a value is shortened anyway. */
const MAX_NAMES = 16;

const TOKENS_PER_BLOCK = 'contract.tokens_per_block';

/** What an aggregator at an address says of its fleet. */
export function fleetPart(
  address: string,
  agreements: readonly Agreement[],
  workers: readonly Worker[],
): EvidencePart {
  const reports = workers.flatMap(({ report }) => (report === undefined ? [] : [report]));
  const facts = workers
    .slice(0, MAX_MEMBERS)
    .flatMap(({ report, member }) =>
      report === undefined ? [] : [reportFacts(address, report, member?.rehashedTokensPerBlock)],
    );
  const words = agreements.map(
    ({ group, gateOpen }) => `${group || 'no model yet'}: gate ${gateOpen ? 'open' : 'shut'}`,
  );
  const detail = [`aggregator with ${countOf(workers.length, 'worker')}`, ...words].join(', ');
  return {
    source: outcome('fleet', address, 'read', detail),
    fleets: agreements.map((agreement) => fleetOf(address, agreement)),
    sizes: facts.flatMap(({ sizes }) => sizes),
    settings: facts.flatMap(({ settings }) => settings),
    tokens: tokenSightings(address, reports),
    eventSources: eventSourceSightings(address, reports),
  };
}

/** What a sidecar at an address reports. */
export function sidecarPart(address: string, report: CapabilityReport): EvidencePart {
  const { sizes, settings } = reportFacts(address, report);
  const size = report.contract?.tokensPerBlock;
  const state = `sidecar of ${report.workerId}, ${size === undefined ? 'tokens per block not known' : `${size} tokens per block`}`;
  const declared = report.conflicts.find(({ field }) => field === TOKENS_PER_BLOCK)?.otherValue;
  const fleet: FleetSighting = {
    group: report.model?.servedNames[0] ?? '',
    state: size === undefined ? 'collecting' : 'reported',
    gateOpen: false,
    tokensPerBlock: size,
    routingMode: undefined,
    reasons: report.warnings.map((text) => excerptOf(text, '')),
    members: [
      {
        worker: report.workerId,
        state: 'reported',
        reason: '',
        tokensPerBlock: size,
        declaredTokensPerBlock:
          declared === undefined || !/^\d+$/.test(declared) ? undefined : Number(declared),
      },
    ],
    origin: { place: address, text: excerptOf(state, '') },
  };
  return {
    source: outcome('fleet', address, 'read', state),
    fleets: [fleet],
    sizes,
    settings,
    tokens: tokenSightings(address, [report]),
    eventSources: eventSourceSightings(address, [report]),
  };
}

function fleetOf(address: string, agreement: Agreement): FleetSighting {
  const { group, contract, gateOpen, routingMode, reasons, members } = agreement;
  const state = wordOf(agreementStateToJSON(agreement.state), 'AGREEMENT_STATE_');
  const isAgreed = agreement.state === AgreementState.AGREED;
  const tokensPerBlock = isAgreed ? contract?.tokensPerBlock : undefined;
  const words = `${group}: ${state}, gate ${gateOpen ? 'open' : 'shut'}${tokensPerBlock === undefined ? '' : `, ${tokensPerBlock} tokens per block`}, routing ${routingMode}`;
  return {
    group,
    state,
    gateOpen,
    tokensPerBlock,
    routingMode: routingMode === '' ? undefined : routingMode,
    reasons: reasons.map(({ text }) => excerptOf(text, '')),
    members: members.slice(0, MAX_MEMBERS).map((member) => ({
      worker: member.workerId || member.target,
      state: wordOf(memberStateToJSON(member.state), 'MEMBER_STATE_'),
      reason: excerptOf(member.reason, ''),
      tokensPerBlock: member.rehashedTokensPerBlock ?? member.tokensPerBlock,
      declaredTokensPerBlock: member.declaredTokensPerBlock,
    })),
    origin: { place: address, text: excerptOf(words, '') },
  };
}

/** The engine as the other sources name it; undefined where it is Dynamo's, or none that is known. */
function backendOf(kind: EngineKind | undefined): string | undefined {
  const engine = engineOfKind(kind);
  return engine?.launch === undefined ? undefined : engine.word;
}

/** `AGREEMENT_STATE_CONFLICT` to `conflict`. */
function wordOf(name: string, prefix: string): string {
  return name.startsWith(prefix) ? name.slice(prefix.length).toLowerCase() : 'unspecified';
}

/** How well a size is known, by where the sidecar has it from. */
function basisOf(source: EvidenceSource): SizeBasis {
  switch (source) {
    case EvidenceSource.OBSERVED_EVENT:
      return 'observed';
    case EvidenceSource.DECLARED:
      return 'declared';
    default:
      return 'in_use';
  }
}

/**
 * The block size with its evidence, and what lost against it; parallelism and capacity. Where a sidecar re-hashes blocks,
 * `rehashed` is the size that counts for routing.
 */
function reportFacts(
  address: string,
  report: CapabilityReport,
  rehashed?: number,
): { readonly sizes: readonly SizeSighting[]; readonly settings: readonly SettingSighting[] } {
  const who = report.workerId;
  const place = `${address}, worker ${who}`;
  const sizes: SizeSighting[] = [];
  const settings: SettingSighting[] = [];
  const size = (tokensPerBlock: number, source: EvidenceSource, from: string): void => {
    const text = excerptOf(`tokens per block ${tokensPerBlock} (${evidenceSourceName(source)}, ${from})`, '');
    sizes.push({ side: 'worker', who, tokensPerBlock, basis: basisOf(source), origin: { place, text } });
  };
  const kept = report.contract?.tokensPerBlock;
  const evidence = report.evidence.find(({ field }) => field === TOKENS_PER_BLOCK);
  if (rehashed !== undefined)
    size(rehashed, EvidenceSource.OBSERVED_EVENT, `re-hashed by its sidecar from blocks of ${kept ?? '?'}`);
  else if (kept !== undefined)
    size(
      kept,
      evidence?.source ?? EvidenceSource.UNSPECIFIED,
      `${evidence?.origin ?? ''} ${evidence?.raw ?? ''}`,
    );
  for (const { field, otherValue, otherSource, otherOrigin } of report.conflicts)
    if (field === TOKENS_PER_BLOCK && /^\d{1,7}$/.test(otherValue))
      size(Number(otherValue), otherSource, otherOrigin);
  const set = (name: SettingName, value: bigint | number | string | undefined): void => {
    if (value === undefined || value === '' || Number(value) === 0) return;
    const origin: Origin = { place, text: excerptOf(`${name} ${value}`, '') };
    settings.push({
      side: 'worker',
      who,
      name,
      value: String(value).slice(0, 128),
      isDefault: false,
      origin,
    });
  };
  const { engine, parallelism, capacity, model, contract, canary } = report;
  if (canary !== undefined) {
    const word = wordOf(canary_StateToJSON(canary.state), 'STATE_');
    const origin: Origin = { place, text: excerptOf(`canary ${word}: ${canary.reason}`, '') };
    settings.push({ side: 'worker', who, name: 'canary', value: word, isDefault: false, origin });
  }
  set('backend', backendOf(engine?.kind));
  set('engine_version', engine?.version);
  set('model', model?.servedNames[0]);
  set('max_model_len', model?.maxModelLen);
  set('hash_seed', contract?.hashSeed);
  set('hash_algorithm', contract?.hashAlgorithm);
  set('tensor_parallel_size', parallelism?.tensorParallelSize);
  set('pipeline_parallel_size', parallelism?.pipelineParallelSize);
  set('data_parallel_size', parallelism?.dataParallelSize);
  set('context_parallel_size', parallelism?.decodeContextParallelSize);
  set('total_kv_blocks', capacity?.totalKvBlocks);
  set('kv_cache_tokens', capacity?.kvCacheSizeTokens);
  set('max_num_seqs', capacity?.maxRunningRequests);
  if (capacity?.prefixCaching === false) set('prefix_caching', 'false');
  set('lora_adapters', model?.loraAdapters.slice(0, MAX_NAMES).join(','));
  const kinds = report.blockSizes.slice(0, MAX_NAMES).map(({ attentionKind = '' }) => attentionKind);
  set('attention_kinds', [...new Set(kinds.filter((kind) => kind !== ''))].join(','));
  return { sizes, settings };
}
