import {
  EngineKind,
  ServingAddress_Protocol,
  type SideChannel,
  type Transfer,
} from '../../gen/kvaccord/v1/capabilities.js';
import { isUint32 } from './bound-report.js';
import type { FactFields } from './evidence/facts.js';

/**
 * How the engine exchanges KV blocks, of what all sources say; undefined for
 * one that names no connector, no role and no side channel. The dtype alone
 * says nothing of a transfer. What cannot be sent is left out, with a sentence
 * in `dropped`.
 */
export function transferToWire(fields: Partial<FactFields>, dropped: string[]): Transfer | undefined {
  const connector = fields['transfer.connector'];
  const role = fields['transfer.role'];
  const channels = fields['transfer.side_channels'] ?? [];
  if (connector === undefined && role === undefined && channels.length === 0) return undefined;
  const small = (name: 'transfer.tokens_per_block' | 'transfer.lease_seconds'): number | undefined => {
    const value = fields[name];
    if (value === undefined || isUint32(value)) return value;
    dropped.push(`left out ${name}: ${value} is not an integer from 0 to 4,294,967,295`);
    return undefined;
  };
  const transfer: Transfer = { connector: connector ?? '', sideChannels: reachable(channels, fields) };
  const rest: Omit<Transfer, 'connector' | 'sideChannels'> = {
    role,
    engineId: fields['transfer.engine_id'],
    compatibilityHash: fields['transfer.compatibility_hash'],
    mode: fields['transfer.mode'],
    tokensPerBlock: small('transfer.tokens_per_block'),
    blockLayout: fields['transfer.block_layout'],
    dtype: fields['transfer.dtype'],
    kvCacheDtype: fields['transfer.kv_cache_dtype'],
    attentionBackend: fields['transfer.attention_backend'],
    leaseSeconds: small('transfer.lease_seconds'),
  };
  return Object.assign(
    transfer,
    Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined)),
  );
}

/**
 * vLLM itself hands the address of its side channel to decode engines. SGLang's
 * bootstrap server is named by the sender of the requests, so it is where the
 * operator says that others reach the engine.
 */
function reachable(channels: readonly SideChannel[], fields: Partial<FactFields>): SideChannel[] {
  const [best] = fields['engine.serving_addresses'] ?? [];
  const host =
    fields['engine.kind'] === EngineKind.SGLANG && best?.protocol === ServingAddress_Protocol.OPENAI_HTTP
      ? /^https?:\/\/(\[[^\]]+\]|[^/:]+)/i.exec(best.address)?.[1]
      : undefined;
  return channels.map((channel) =>
    host === undefined
      ? { ...channel }
      : { ...channel, address: `${host}${channel.address.slice(channel.address.lastIndexOf(':'))}` },
  );
}
