import {
  type CapabilityReport,
  SideChannel_State,
  TransferMode,
  TransferRole,
} from '../../../gen/kvaccord/v1/capabilities.js';
import { nonEmpty } from '../../text/non-empty.js';
import { inPlainText } from '../../text/printable.js';
import { MAX_NAME_CHARS } from '../wire/report-limits.js';

/** Whether an engine hands KV blocks out (`producer`), takes them (`consumer`), or does both. */
export type TransferRoleName = 'producer' | 'consumer' | 'both';

/** Who moves the blocks: the decode engine fetches them (`pull`), or the prefill engine sends them (`push`). */
export type TransferModeName = 'pull' | 'push';

/** What came of asking a side channel; `unknown` of a newer peer's own word. */
export type SideChannelStateName = 'not_asked' | 'answered' | 'silent' | 'unreachable' | 'unknown';

/** Where other engines ask one data-parallel rank for what a transfer needs. */
export interface TransferSideChannel {
  readonly dataParallelRank: number;
  /** HOST:PORT as others reach it. */
  readonly address: string;
  readonly state: SideChannelStateName;
  /** Why it did not answer, for an operator; else empty. */
  readonly reason: string;
}

/** The single values of a transfer contract, by their names in `kvaccord.v1.Transfer`. */
export interface TransferValues {
  /** `nixl`, `mooncake`, `lmcache`, …; an engine's own word where this version knows no other. */
  readonly connector?: string;
  readonly connector_version?: string;
  readonly role?: TransferRoleName;
  /** The engine's name among those it exchanges blocks with. */
  readonly engine_id?: string;
  /** Engines whose hashes differ refuse each other's blocks. */
  readonly compatibility_hash?: string;
  readonly mode?: TransferModeName;
  /** Width in tokens of the blocks that are exchanged. */
  readonly tokens_per_block?: number;
  /** The engine's word for the order of a block's dimensions, such as `HND`. */
  readonly block_layout?: string;
  /** Of the model, such as `bfloat16`. */
  readonly dtype?: string;
  /** Of the KV cache; `auto` is that of the model. */
  readonly kv_cache_dtype?: string;
  readonly attention_backend?: string;
  readonly layer_count?: number;
  /** Of the whole model, not of one tensor-parallel rank. */
  readonly kv_head_count?: number;
  readonly head_size?: number;
  /** How long blocks that nobody fetches are kept, in seconds. */
  readonly lease_seconds?: number;
}

/** One field of a transfer contract. */
export type TransferField = keyof TransferValues;

/** How an engine exchanges KV blocks with others, as its report states it. What it cannot say is absent. */
export interface TransferContract {
  readonly values: TransferValues;
  /** By rank; one rank may have several addresses. */
  readonly sideChannels: readonly TransferSideChannel[];
  /** For each value that has evidence, what was asked for it: `GET http://…/server_info`. */
  readonly origins: Readonly<Partial<Record<TransferField, string>>>;
}

const ROLES: Readonly<Record<number, TransferRoleName>> = {
  [TransferRole.PRODUCER]: 'producer',
  [TransferRole.CONSUMER]: 'consumer',
  [TransferRole.BOTH]: 'both',
};

const MODES: Readonly<Record<number, TransferModeName>> = {
  [TransferMode.PULL]: 'pull',
  [TransferMode.PUSH]: 'push',
};

const STATES: Readonly<Record<number, SideChannelStateName>> = {
  [SideChannel_State.NOT_ASKED]: 'not_asked',
  [SideChannel_State.ANSWERED]: 'answered',
  [SideChannel_State.SILENT]: 'silent',
  [SideChannel_State.UNREACHABLE]: 'unreachable',
};

const FIELD_PREFIX = 'transfer.';

/** Reads it from a report that is within its bounds; undefined for an engine that exchanges none, as far as it says. */
export function transferOf({ transfer, evidence }: CapabilityReport): TransferContract | undefined {
  if (transfer === undefined) return undefined;
  const all: { readonly [Field in TransferField]: TransferValues[Field] | undefined } = {
    connector: nonEmpty(transfer.connector),
    connector_version: nonEmpty(transfer.connectorVersion),
    role: ROLES[transfer.role ?? TransferRole.UNSPECIFIED],
    engine_id: nonEmpty(transfer.engineId),
    compatibility_hash: nonEmpty(transfer.compatibilityHash),
    mode: MODES[transfer.mode ?? TransferMode.UNSPECIFIED],
    tokens_per_block: transfer.tokensPerBlock || undefined,
    block_layout: nonEmpty(transfer.blockLayout),
    dtype: nonEmpty(transfer.dtype),
    kv_cache_dtype: nonEmpty(transfer.kvCacheDtype),
    attention_backend: nonEmpty(transfer.attentionBackend),
    layer_count: transfer.layerCount || undefined,
    kv_head_count: transfer.kvHeadCount || undefined,
    head_size: transfer.headSize || undefined,
    lease_seconds: transfer.leaseSeconds,
  };
  const known = Object.entries(all).filter(([, value]) => value !== undefined);
  const origins = evidence.flatMap(({ field, origin }): [string, string][] => {
    const name = field.startsWith(FIELD_PREFIX) ? field.slice(FIELD_PREFIX.length) : '';
    return Object.hasOwn(all, name) ? [[name, plain(origin)]] : [];
  });
  return {
    values: Object.fromEntries(known),
    sideChannels: transfer.sideChannels
      .map(({ dataParallelRank, address, state, reason }) => ({
        dataParallelRank,
        address,
        state: STATES[state] ?? 'unknown',
        reason: plain(reason),
      }))
      .sort((a, b) => a.dataParallelRank - b.dataParallelRank),
    origins: Object.fromEntries(origins),
  };
}

function plain(text: string): string {
  return inPlainText(text.slice(0, MAX_NAME_CHARS));
}
