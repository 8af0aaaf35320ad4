import type { JsonObject } from '../../edge/platform/data/json-object.js';
import { ProbeError } from '../../edge/platform/probe-error.js';
import {
  BlockSizeKind,
  EngineKind,
  EngineRole,
  type EvidenceSource,
  HashUnit,
  SideChannel_State,
  TransferRole,
} from '../../gen/kvaccord/v1/capabilities.js';
import { FactSheet, type SourceFacts } from '../facts/fact-sheet.js';
import { JsonReader } from '../facts/json-reader.js';
import { sideChannelAddress } from '../probing/side-channel-address.js';

/** The halves of a pair, by the same words. */
const TRANSFER_ROLES: ReadonlyMap<string, TransferRole> = new Map([
  ['prefill', TransferRole.PRODUCER],
  ['decode', TransferRole.CONSUMER],
]);

/** The words of `worker_type`; a worker that encodes images has one too, and none of these. */
const ROLES: ReadonlyMap<string, EngineRole> = new Map([
  ['aggregated', EngineRole.AGGREGATED],
  ['prefill', EngineRole.PREFILL],
  ['decode', EngineRole.DECODE],
]);

export interface ModelCardOptions {
  /** How far what it says is believed. */
  readonly source: EvidenceSource;
  /** Where it was found: `file /var/lib/dynamo/v1/mdc/…`. */
  readonly origin: string;
  /** Wall-clock milliseconds since 1970. */
  readonly observedAtMs: number;
  /** The worker instance, in hexadecimal. */
  readonly instanceId: string;
  /** LoRA adapters of that instance, which have cards of their own. */
  readonly adapters: readonly string[];
}

/** What a worker registered about itself: what Dynamo's router goes by, and not what the engine runs with. */
export interface ModelCard extends SourceFacts {
  /**
   * Origin of the worker's system port (`http://127.0.0.1:9090`), which serves
   * the model's files from there; undefined for a worker that has none.
   */
  readonly systemPort: string | undefined;
}

/**
 * Reads a model card as Dynamo keeps it in its discovery. Throws a `ProbeError`
 * for an object that is none; a wrong field is left out with a warning.
 */
export function readModelCard(card: JsonObject, options: ModelCardOptions): ModelCard {
  const { origin, instanceId, adapters } = options;
  const sheet = new FactSheet(options);
  const body = new JsonReader(card, sheet).child('card_json');
  if (body === undefined) throw new ProbeError('bad_answer', origin, 'has no card_json: no model card');
  sheet.field('engine.kind', EngineKind.DYNAMO, 'a model card of Dynamo');
  sheet.field('engine.start_marker', instanceId, `instance id ${instanceId}`);
  sheet.size(BlockSizeKind.REQUESTED, body.whole('kv_cache_block_size'), {
    forContract: true,
    raw: body.raw('kv_cache_block_size'),
  });
  stateModel(body, sheet);
  if (adapters.length > 0) sheet.field('model.lora_adapters', adapters, adapters.join(', '));
  const runtime = body.child('runtime_config');
  if (runtime !== undefined) stateRuntime(runtime, sheet);
  stateTransfer(body, runtime, sheet);
  return { ...sheet.answer(), systemPort: systemPortOf(body) };
}

function stateModel(body: JsonReader, sheet: FactSheet): void {
  const name = body.text('display_name');
  if (name !== undefined) sheet.field('model.served_names', [name], body.raw('display_name'));
  const type = body.text('worker_type');
  const role = ROLES.get(type ?? '');
  if (type !== undefined && role === undefined) {
    sheet.warn(`${body.raw('worker_type')}: which part of a request that is, is not known here`);
  }
  sheet.field('engine.role', role, body.raw('worker_type'));
  sheet.field('model.root', body.text('source_path'), body.raw('source_path'));
  sheet.field('model.max_model_len', statedNumber(body, 'context_length'), body.raw('context_length'));
}

function stateRuntime(runtime: JsonReader, sheet: FactSheet): void {
  for (const [field, source] of [
    ['capacity.total_kv_blocks', 'total_kv_blocks'],
    ['capacity.max_running_requests', 'max_num_seqs'],
    ['capacity.max_batched_tokens', 'max_num_batched_tokens'],
    ['parallelism.data_parallel_size', 'data_parallel_size'],
  ] as const) {
    sheet.field(field, statedNumber(runtime, source), runtime.raw(source));
  }
  const rank = 'data_parallel_start_rank';
  sheet.field('parallelism.data_parallel_rank', runtime.whole(rank), runtime.raw(rank));
  const eagle = runtime.flag('enable_eagle');
  if (eagle !== undefined) {
    const unit = eagle ? HashUnit.BIGRAM : HashUnit.TOKEN;
    sheet.field('contract.hash_unit', unit, runtime.raw('enable_eagle'));
  }
  if (runtime.flag('kv_event_publishing_enabled') === false) {
    sheet.warn('kv_event_publishing_enabled is false: this worker publishes no KV events');
  }
}

/** By what the engines of a pair exchange blocks no card says; where its bootstrap server is, one of SGLang or TokenSpeed does. */
function stateTransfer(body: JsonReader, runtime: JsonReader | undefined, sheet: FactSheet): void {
  sheet.field('transfer.role', TRANSFER_ROLES.get(body.text('worker_type') ?? ''), body.raw('worker_type'));
  const endpoint = runtime?.child('disaggregated_endpoint');
  const host = endpoint?.text('bootstrap_host');
  const port = endpoint?.whole('bootstrap_port');
  if (endpoint === undefined || host === undefined || port === undefined) return;
  const raw = endpoint.raw('bootstrap_host', 'bootstrap_port');
  const address = sideChannelAddress(host, port);
  if (address === undefined) {
    sheet.warn(`${raw}: no address that others can connect to`);
    return;
  }
  const reason = 'a bootstrap server is not asked: the card says what is known of it';
  const state = SideChannel_State.NOT_ASKED;
  sheet.field('transfer.side_channels', [{ dataParallelRank: 0, address, state, reason }], raw);
}

/** A length or a count, of which 0 stands for "not set". */
function statedNumber(reader: JsonReader, field: string): number | undefined {
  return reader.whole(field) || undefined;
}

function systemPortOf(body: JsonReader): string | undefined {
  const address = body.child('model_info')?.child('hf_config_json')?.text('path');
  return address !== undefined && /^https?:/.test(address) && URL.canParse(address)
    ? new URL(address).origin
    : undefined;
}
