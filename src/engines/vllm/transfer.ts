import {
  type SideChannel,
  SideChannel_State,
  TransferMode,
  TransferRole,
} from '../../gen/kvaccord/v1/capabilities.js';
import type { FactSheet } from '../facts/fact-sheet.js';
import { type JsonReader, MAX_LIST_LENGTH } from '../facts/json-reader.js';
import { sideChannelAddress } from '../probing/side-channel-address.js';

/** What is known of one `kv_connector`. */
interface Connector {
  readonly name: string;
  readonly mode?: TransferMode;
}

/**
 * Connectors by which engines exchange blocks with each other
 * (`vllm/distributed/kv_transfer/kv_connector/factory.py`). `NixlConnector` is the pulling one; Mooncake's prefill side
 * writes into the decode engine's memory.
 */
const CONNECTORS: ReadonlyMap<string, Connector> = new Map([
  ['NixlConnector', { name: 'nixl', mode: TransferMode.PULL }],
  ['NixlPullConnector', { name: 'nixl', mode: TransferMode.PULL }],
  ['NixlPushConnector', { name: 'nixl', mode: TransferMode.PUSH }],
  ['MooncakeConnector', { name: 'mooncake', mode: TransferMode.PUSH }],
  ['LMCacheConnectorV1', { name: 'lmcache' }],
  ['LMCacheMPConnector', { name: 'lmcache' }],
  ['MoRIIOConnector', { name: 'moriio' }],
]);

/** Connectors by which no later request finds a block: they hold what attention leaves out, record states, or play. */
const WITHOUT_REUSE: ReadonlySet<string> = new Set([
  'HiSparseConnector',
  'DecodeBenchConnector',
  'ExampleHiddenStatesConnector',
]);

/** Connectors in which no other engine takes part: these, and those that move blocks to memory of one's own. */
const ALONE: ReadonlySet<string> = new Set([
  'OffloadingConnector',
  'SimpleCPUOffloadConnector',
  ...WITHOUT_REUSE,
]);

const ROLES: ReadonlyMap<string, TransferRole> = new Map([
  ['kv_producer', TransferRole.PRODUCER],
  ['kv_consumer', TransferRole.CONSUMER],
  ['kv_both', TransferRole.BOTH],
]);

/** A word of the engine's, and the evidence for it. */
interface StatedWord {
  readonly word: string | undefined;
  readonly raw: string;
}

/** The parts of an answer that say something of it. */
interface TransferPart {
  readonly body: JsonReader;
  /** `vllm_config` */
  readonly config: JsonReader;
  /** `vllm_config.kv_transfer_config` */
  readonly transfer: JsonReader;
  readonly role: StatedWord;
}

/**
 * Whether a vLLM engine may find blocks through this `kv_connector`: those of another engine, or those it stored itself. It hashes blocks
 * for a connector also without prefix caching (`EngineCore.request_block_hasher`).
 */
export function findsBlocksThrough(connector: string): boolean {
  return connector.includes('Connector') && !WITHOUT_REUSE.has(connector);
}

/** States connector and role of a `--kv-transfer-config`; false where the engine exchanges no blocks by it. */
export function stateVllmConnector(connector: StatedWord, role: StatedWord, sheet: FactSheet): boolean {
  if (connector.word === undefined || ALONE.has(connector.word)) return false;
  const known = CONNECTORS.get(connector.word);
  sheet.field('transfer.connector', known?.name ?? connector.word, connector.raw);
  sheet.field('transfer.mode', known?.mode, connector.raw);
  sheet.field('transfer.role', ROLES.get(role.word ?? ''), role.raw);
  return true;
}

/** Reads how an engine exchanges blocks from the body of `/server_info?config_format=json`. */
export function readVllmTransfer({ body, config, transfer, role }: TransferPart, sheet: FactSheet): void {
  const part = exchanging(transfer);
  const word = part.text('kv_connector');
  if (!stateVllmConnector({ word, raw: part.raw('kv_connector') }, role, sheet)) return;

  sheet.field('transfer.engine_id', transfer.text('engine_id'), transfer.raw('engine_id'));
  const model = config.child('model_config');
  // As PyTorch writes it: torch.bfloat16.
  sheet.field('transfer.dtype', model?.text('dtype')?.replace(/^torch\./, ''), model?.raw('dtype') ?? '');
  const cache = config.child('cache_config');
  sheet.field('transfer.kv_cache_dtype', cache?.text('cache_dtype'), cache?.raw('cache_dtype') ?? '');
  const attention = config.child('attention_config');
  sheet.field('transfer.attention_backend', attention?.text('backend'), attention?.raw('backend') ?? '');
  const environment = body.child('vllm_env');
  stateLease(part, environment, sheet);
  if (CONNECTORS.get(word ?? '')?.name === 'nixl' && environment !== undefined)
    stateSideChannels(environment, config.child('parallel_config'), sheet);
}

/** Of several connectors the one that exchanges blocks with other engines; all of them together where it is not one. */
function exchanging(transfer: JsonReader): JsonReader {
  if (transfer.text('kv_connector') !== 'MultiConnector') return transfer;
  const parts = transfer.child('kv_connector_extra_config')?.children('connectors') ?? [];
  const [part, another] = parts.filter((each) => CONNECTORS.has(each.text('kv_connector') ?? ''));
  return part === undefined || another !== undefined ? transfer : part;
}

/** Where it is stated: the default of a version is not known here. */
function stateLease(transfer: JsonReader, environment: JsonReader | undefined, sheet: FactSheet): void {
  const extra = transfer.child('kv_connector_extra_config');
  const lease = 'kv_lease_duration';
  sheet.field('transfer.lease_seconds', extra?.whole(lease), extra?.raw(lease) ?? '');
  // Versions before the leases.
  const timeout = 'VLLM_NIXL_ABORT_REQUEST_TIMEOUT';
  if (extra?.has(lease) !== true)
    sheet.field('transfer.lease_seconds', environment?.whole(timeout), environment?.raw(timeout) ?? '');
}

/** Each data-parallel rank binds the port plus its number, and hands this very address to decode engines. */
function stateSideChannels(
  environment: JsonReader,
  parallel: JsonReader | undefined,
  sheet: FactSheet,
): void {
  const host = environment.text('VLLM_NIXL_SIDE_CHANNEL_HOST');
  const port = environment.whole('VLLM_NIXL_SIDE_CHANNEL_PORT');
  if (host === undefined || port === undefined) return;
  const first = parallel?.whole('data_parallel_rank') ?? 0;
  const count = Math.min(parallel?.whole('data_parallel_size_local') ?? 1, MAX_LIST_LENGTH);
  const raw = environment.raw('VLLM_NIXL_SIDE_CHANNEL_HOST', 'VLLM_NIXL_SIDE_CHANNEL_PORT');
  const channels: SideChannel[] = [];
  for (let rank = first; rank < first + count; rank += 1) {
    const address = sideChannelAddress(host, port + rank);
    if (address === undefined) {
      sheet.warn(`${raw}: rank ${rank} has no address by it`);
      break;
    }
    channels.push({
      dataParallelRank: rank,
      address,
      state: SideChannel_State.NOT_ASKED,
      reason: 'the engine has not been asked yet',
    });
  }
  sheet.field('transfer.side_channels', channels.length === 0 ? undefined : channels, raw);
}
