import { SideChannel_State, TransferMode, TransferRole } from '../../gen/kvaccord/v1/capabilities.js';
import type { FactSheet } from '../facts/fact-sheet.js';
import type { JsonReader } from '../facts/json-reader.js';
import { sideChannelAddress } from '../probing/side-channel-address.js';

/** The halves of a pair; each has an attention backend of its own where it is set. */
const ROLES: ReadonlyMap<string, { readonly role: TransferRole; readonly backend: string }> = new Map([
  ['prefill', { role: TransferRole.PRODUCER, backend: 'prefill_attention_backend' }],
  ['decode', { role: TransferRole.CONSUMER, backend: 'decode_attention_backend' }],
]);

/** Backends whose prefill side writes into the decode engine's memory (`sglang/srt/disaggregation/*\/conn.py`). */
const PUSHING: ReadonlySet<string> = new Set(['mooncake', 'mooncake_tcp', 'nixl']);

/** States how an engine of `--disaggregation-mode` exchanges KV blocks; the settings are there, and idle, without it. */
export function readSglangTransfer(info: JsonReader, host: string | undefined, sheet: FactSheet): void {
  const half = ROLES.get(info.text('disaggregation_mode') ?? '');
  if (half === undefined) return;
  sheet.field('transfer.role', half.role, info.raw('disaggregation_mode'));
  const backend = info.text('disaggregation_transfer_backend');
  const raw = info.raw('disaggregation_transfer_backend');
  sheet.field('transfer.connector', backend === undefined ? undefined : `sglang-${backend}`, raw);
  if (PUSHING.has(backend ?? '')) sheet.field('transfer.mode', TransferMode.PUSH, raw);
  sheet.field('transfer.tokens_per_block', info.whole('page_size'), info.raw('page_size'));
  const dtype = info.text('dtype');
  // "auto" is what was asked for and says nothing of the model.
  sheet.field('transfer.dtype', dtype === 'auto' ? undefined : dtype, info.raw('dtype'));
  sheet.field('transfer.kv_cache_dtype', info.text('kv_cache_dtype'), info.raw('kv_cache_dtype'));
  const attention = info.has(half.backend) ? half.backend : 'attention_backend';
  sheet.field('transfer.attention_backend', info.text(attention), info.raw(attention));
  stateBootstrap(info, half.role, host, sheet);
}

/** One for all ranks; only the prefill side serves it (`sglang/srt/managers/disagg_service.py`). */
function stateBootstrap(
  info: JsonReader,
  role: TransferRole,
  host: string | undefined,
  sheet: FactSheet,
): void {
  const name = 'disaggregation_bootstrap_port';
  const port = info.whole(name);
  if (role !== TransferRole.PRODUCER || port === undefined || host === undefined) return;
  const address = sideChannelAddress(host, port);
  if (address === undefined) {
    sheet.warn(`${info.raw(name)} is no port of an address`);
    return;
  }
  const reason =
    "SGLang's bootstrap server is not asked: its answer has nothing that the engine does not say";
  const state = SideChannel_State.NOT_ASKED;
  sheet.field('transfer.side_channels', [{ dataParallelRank: 0, address, state, reason }], info.raw(name));
}
