import { connectorRuleOf } from '../contract/transfer/connector-rules.js';
import type { TransferProfile } from './transfer-profile.js';

/** A field in which two profiles are not the same, as texts. */
export interface ProfileDifference {
  readonly field: string;
  readonly prefillValue: string;
  readonly decodeValue: string;
}

/** What two transfer profiles come to, for all workers that have them; side channels and service are judged apart from it. */
export interface ProfileJudgement {
  readonly state: 'can_pair' | 'cannot_say' | 'cannot_pair';
  /** Why, where `differences` do not say it; empty for `can_pair`. */
  readonly reason: string;
  /** What decides first; the hash comes last, as the proof. */
  readonly differences: readonly ProfileDifference[];
}

type Fault = ProfileDifference & {
  /** `breaks`: engines refuse it. `may_break`: no source says. */
  readonly weight: 'breaks' | 'may_break';
  /** Why it is a fault where that is not plain; empty otherwise. */
  readonly why: string;
};

/** Values that both sides must have in common, by the field's path. */
const EQUAL_FIELDS: readonly (readonly [string, keyof TransferProfile])[] = [
  ['transfer.connector', 'connector'],
  ['transfer.mode', 'mode'],
  ['transfer.dtype', 'dtype'],
  ['transfer.kv_cache_dtype', 'kvCacheDtype'],
  ['model.revision', 'modelRevision'],
  ['transfer.layer_count', 'layerCount'],
  ['transfer.kv_head_count', 'kvHeadCount'],
  ['transfer.head_size', 'headSize'],
  ['transfer.attention_backend', 'attentionBackend'],
];

function text(value: string | number | undefined): string {
  return value === undefined ? '' : String(value);
}

/** P1: which widths go together, by the connector. */
function blockSizeFault(prefill: TransferProfile, decode: TransferProfile): Fault | undefined {
  const [ours, theirs] = [prefill.tokensPerBlock, decode.tokensPerBlock];
  if (ours === undefined || theirs === undefined || ours === theirs) return undefined;
  const fault = (weight: Fault['weight'], why: string): Fault => ({
    field: 'transfer.tokens_per_block',
    prefillValue: text(ours),
    decodeValue: text(theirs),
    weight,
    why,
  });
  const { blockSizes, blockSizeReason } = connectorRuleOf(prefill.connector, prefill.engineKind);
  // Nobody has shown a prefill engine that sends into blocks of another width.
  const isPushed = (prefill.mode ?? decode.mode) === 'push';
  if (blockSizes === 'unknown' || (isPushed && blockSizes === 'decode_multiple'))
    return fault('may_break', blockSizeReason);
  if (blockSizes === 'decode_multiple' && theirs % ours === 0) return undefined;
  return fault('breaks', blockSizeReason);
}

/** Names of layouts whose heads are contiguous, and of those whose tokens are, before and since vLLM 0.30. */
const HEADS_FIRST: ReadonlySet<string> = new Set(['HND', 'LBHNC']);
const TOKENS_FIRST: ReadonlySet<string> = new Set(['NHD', 'LBNHC']);

/** Another layout is refused; some connectors take heads first into tokens first, with a setting. */
function layoutFault(prefill: TransferProfile, decode: TransferProfile): Fault | undefined {
  const [ours, theirs] = [prefill.blockLayout, decode.blockLayout];
  if (ours === undefined || theirs === undefined || ours === theirs) return undefined;
  const { canPermute: mayPermute } = connectorRuleOf(prefill.connector, prefill.engineKind);
  const canPermute = mayPermute && HEADS_FIRST.has(ours) && TOKENS_FIRST.has(theirs);
  return {
    field: 'transfer.block_layout',
    prefillValue: ours,
    decodeValue: theirs,
    weight: canPermute ? 'may_break' : 'breaks',
    why: canPermute ? 'it works only with enable_permute_local_kv on the decode worker' : '',
  };
}

/** Ranks that do not divide one another cannot share out heads (`TransferTopology.tp_ratio`). */
function ranksFault(field: string, ours: number | undefined, theirs: number | undefined): Fault | undefined {
  if (ours === undefined || theirs === undefined) return undefined;
  if (ours % theirs === 0 || theirs % ours === 0) return undefined;
  return {
    field,
    prefillValue: text(ours),
    decodeValue: text(theirs),
    weight: 'breaks',
    why: 'one must be a multiple of the other',
  };
}

/** A worker whose own engine was set up for the other role. */
function roleFault(prefill: TransferProfile, decode: TransferProfile): Fault | undefined {
  if (prefill.role !== 'consumer' && decode.role !== 'producer') return undefined;
  return {
    field: 'transfer.role',
    prefillValue: text(prefill.role),
    decodeValue: text(decode.role),
    weight: 'breaks',
    why: 'a prefill worker hands blocks out and a decode worker takes them',
  };
}

/** Where engines answer no hash, their versions are compared for connectors that take one alone. */
function versionFaults(prefill: TransferProfile, decode: TransferProfile): Fault[] {
  const { needsOneVersion } = connectorRuleOf(prefill.connector, prefill.engineKind);
  const fields: readonly (readonly [string, string | undefined, string | undefined])[] = [
    ['engine.version', prefill.engineVersion, decode.engineVersion],
    ['transfer.connector_version', prefill.connectorVersion, decode.connectorVersion],
  ];
  return fields.flatMap(([field, ours, theirs]) =>
    ours === undefined || theirs === undefined || ours === theirs || !needsOneVersion
      ? []
      : [
          {
            field,
            prefillValue: ours,
            decodeValue: theirs,
            weight: 'breaks' as const,
            why: 'the connector takes blocks of its own version alone',
          },
        ],
  );
}

function equalityFaults(prefill: TransferProfile, decode: TransferProfile): Fault[] {
  return EQUAL_FIELDS.flatMap(([field, name]) => {
    const [ours, theirs] = [prefill[name], decode[name]];
    if (ours === undefined || theirs === undefined || ours === '' || theirs === '' || ours === theirs)
      return [];
    // That of the model on both sides: the model's says it.
    if (name === 'kvCacheDtype' && ours === prefill.dtype && theirs === decode.dtype) return [];
    // Engines of two kinds name theirs each in its own way, and some exchange blocks across backends.
    const weight = name === 'attentionBackend' ? ('may_break' as const) : ('breaks' as const);
    return [{ field, prefillValue: text(ours), decodeValue: text(theirs), weight, why: '' }];
  });
}

/** P2, P4: judges what one worker says against what another says. */
export function judgeProfiles(prefill: TransferProfile, decode: TransferProfile): ProfileJudgement {
  // What the hash does not cover is judged apart from it.
  const beside = [
    roleFault(prefill, decode),
    blockSizeFault(prefill, decode),
    layoutFault(prefill, decode),
    ranksFault('parallelism.tensor_parallel_size', prefill.tensorParallelSize, decode.tensorParallelSize),
    ranksFault(
      'parallelism.decode_context_parallel_size',
      prefill.decodeContextParallelSize,
      decode.decodeContextParallelSize,
    ),
  ].filter((fault) => fault !== undefined);
  const [ours, theirs] = [prefill.compatibilityHash, decode.compatibilityHash];
  const hasBoth = ours !== undefined && theirs !== undefined;
  const covered =
    hasBoth && ours === theirs ? [] : [...equalityFaults(prefill, decode), ...versionFaults(prefill, decode)];
  const proof: Fault[] =
    hasBoth && ours !== theirs
      ? [
          {
            field: 'transfer.compatibility_hash',
            prefillValue: ours,
            decodeValue: theirs,
            weight: 'breaks',
            why: 'the engines refuse each other by it',
          },
        ]
      : [];
  // A hash that differs proves that what differs beside it counts.
  const faults = [...covered, ...beside, ...proof];
  const breaking = faults.filter(({ weight }) => weight === 'breaks');
  if (breaking.length > 0) return judged('cannot_pair', faults, breaking);
  if (faults.length > 0) return judged('cannot_say', faults, faults);
  const unknown = whatIsUnknown(prefill, decode, hasBoth);
  return { state: unknown === '' ? 'can_pair' : 'cannot_say', reason: unknown, differences: [] };
}

function judged(
  state: 'cannot_say' | 'cannot_pair',
  faults: readonly Fault[],
  deciding: readonly Fault[],
): ProfileJudgement {
  return {
    state,
    reason: [...new Set(deciding.map(({ why }) => why).filter((why) => why !== ''))].join('; '),
    differences: faults.map(({ field, prefillValue, decodeValue }) => ({ field, prefillValue, decodeValue })),
  };
}

/** P4: what decides and is not known; empty where enough is known. */
function whatIsUnknown(prefill: TransferProfile, decode: TransferProfile, hasHashes: boolean): string {
  const silent = [
    ...(prefill.connector === undefined ? ['the prefill worker'] : []),
    ...(decode.connector === undefined ? ['the decode worker'] : []),
  ];
  if (silent.length > 0) {
    const who = silent.join(' and ');
    return `${who} ${silent.length === 1 ? 'does' : 'do'} not say how KV blocks are exchanged`;
  }
  if (hasHashes) return '';
  const missing = (['dtype', 'kvCacheDtype'] as const).filter(
    (name) => prefill[name] === undefined || decode[name] === undefined,
  );
  const fields = missing.map((name) => (name === 'dtype' ? 'transfer.dtype' : 'transfer.kv_cache_dtype'));
  return fields.length === 0
    ? ''
    : `neither a compatibility hash nor ${fields.join(' and ')} is known of both`;
}
