import { FactSheet } from '../../facts/fact-sheet.js';
import { parseJsonObject } from '../../facts/json-object.js';
import { JsonReader } from '../../facts/json-reader.js';
import {
  BlockSizeKind,
  EngineKind,
  EngineRole,
  EvidenceSource,
  HashUnit,
} from '../../gen/kvaccord/v1/capabilities.js';
import { excerpt } from '../../platform/probe-error.js';
import { type EngineProbe, ProbeError, type ProbeModules, type ProbeTarget } from './probe.js';
import { concerns } from './probe-origin.js';
import { fromFileError, readSourceFile } from './read-source-file.js';

/** Folder of the model cards under the root of Dynamo's file discovery. */
const CARDS_FOLDER = 'v1/mdc';
/** Largest card that is read; real ones have 2 KiB. */
const MAX_CARD_BYTES = 256 * 1024;
/** Cards that are read in one round: workers that share one discovery folder. */
const MAX_CARDS = 256;

/** The words of `worker_type`; a worker that encodes images has one too, and none of these. */
const ROLES: ReadonlyMap<string, EngineRole> = new Map([
  ['aggregated', EngineRole.ENGINE_ROLE_AGGREGATED],
  ['prefill', EngineRole.ENGINE_ROLE_PREFILL],
  ['decode', EngineRole.ENGINE_ROLE_DECODE],
]);

/** A file of the cards' folder, told by its name: `<namespace>/<component>/<endpoint>/<instance id>[/<adapter>]`. */
interface CardFile {
  readonly name: string;
  /** The worker instance, in hexadecimal. It is a random 64-bit number, too large for a JSON number to hold. */
  readonly instanceId: string;
  /** Set for the card of a LoRA adapter of that instance. */
  readonly adapter?: string;
}

interface Card {
  readonly file: CardFile;
  readonly sheet: FactSheet;
  readonly body: JsonReader;
}

/**
 * The model card that a Dynamo worker leaves in file discovery, which is what
 * Dynamo's router goes by. It holds what the worker declares, and not what its
 * engine runs with: all of it counts as declared.
 *
 * Several workers may share the folder. The card of this one is known by the
 * address of the worker's system port in it; when there is only one, it is that.
 */
export const dynamoModelCard: EngineProbe = {
  name: 'dynamo-model-card',
  engineKind: EngineKind.ENGINE_KIND_DYNAMO,
  origin: (target) =>
    target.dynamoFileKv === undefined || !concerns(target, EngineKind.ENGINE_KIND_DYNAMO)
      ? undefined
      : `folder ${cardsFolder(target)}`,
  async probe(target, modules) {
    const folder = cardsFolder(target);
    const origin = `folder ${folder}`;
    const files = await listCards(folder, origin, modules);
    const cards: Card[] = [];
    const problems: string[] = [];
    for (const file of files.filter(({ adapter }) => adapter === undefined)) {
      try {
        cards.push(await readCard(folder, file, modules));
      } catch (cause) {
        if (!(cause instanceof ProbeError)) throw cause;
        problems.push(cause.message);
      }
    }
    const own = chooseCards(cards, target, origin, problems);
    const answers = own.map((card) => {
      stateCard(card, files);
      return card.sheet.answer();
    });
    return {
      facts: answers.flatMap(({ facts }) => facts),
      warnings: [...problems, ...answers.flatMap(({ warnings }) => warnings ?? [])],
    };
  },
};

function cardsFolder(target: ProbeTarget): string {
  return `${(target.dynamoFileKv ?? '').replace(/\/+$/, '')}/${CARDS_FOLDER}`;
}

async function listCards(
  folder: string,
  origin: string,
  modules: ProbeModules,
): Promise<readonly CardFile[]> {
  let names: readonly string[];
  try {
    names = await modules.listFiles(folder);
  } catch (cause) {
    throw fromFileError(cause, origin);
  }
  const files = names.flatMap((name) => toCardFile(name) ?? []);
  if (files.length > MAX_CARDS) {
    throw new ProbeError(
      'too_large',
      origin,
      `has ${files.length} model cards; at most ${MAX_CARDS} are read`,
    );
  }
  if (files.length === 0)
    throw new ProbeError('not_ready', origin, 'has no model card yet; the worker has not registered');
  return files;
}

/** Reads `dynamo%2Fbackend%2Fgenerate%2F4f163da561a23766`; undefined for a name of another form. */
function toCardFile(name: string): CardFile | undefined {
  let parts: readonly string[];
  try {
    parts = decodeURIComponent(name).split('/');
  } catch {
    // A percent sign that encodes nothing: no file of Dynamo's.
    return undefined;
  }
  const [, , , instanceId, adapter] = parts;
  if (parts.length < 4 || parts.length > 5 || instanceId === undefined) return undefined;
  if (!/^[0-9a-f]{1,16}$/.test(instanceId)) return undefined;
  return { name, instanceId, ...(adapter === undefined ? {} : { adapter }) };
}

async function readCard(folder: string, file: CardFile, modules: ProbeModules): Promise<Card> {
  const origin = `file ${folder}/${file.name}`;
  const text = await readSourceFile(`${folder}/${file.name}`, MAX_CARD_BYTES, origin, modules);
  const sheet = new FactSheet({
    source: EvidenceSource.EVIDENCE_SOURCE_DECLARED,
    origin,
    observedAtMs: modules.clock.wallMs(),
  });
  const body = new JsonReader(parseJsonObject(text, origin), sheet).child('card_json');
  if (body === undefined) throw new ProbeError('bad_answer', origin, 'has no card_json: no model card');
  return { file, sheet, body };
}

/** Origin of the worker's system port in a card, which serves the model's files from there; undefined without one. */
function systemPortOf(card: Card): string | undefined {
  const address = card.body.child('model_info')?.child('hf_config_json')?.text('path');
  return address !== undefined && /^https?:/.test(address) && URL.canParse(address)
    ? new URL(address).origin
    : undefined;
}

/** The cards of this worker; a process that runs several worker instances has one for each. */
function chooseCards(
  cards: readonly Card[],
  target: ProbeTarget,
  origin: string,
  problems: readonly string[],
): readonly Card[] {
  const [first] = cards;
  if (first === undefined) {
    throw new ProbeError('bad_answer', origin, `no model card can be read: ${excerpt(problems.join('; '))}`);
  }
  if (target.httpBaseUrl !== undefined && URL.canParse(target.httpBaseUrl)) {
    const asked = new URL(target.httpBaseUrl);
    const exact = cards.filter((card) => systemPortOf(card) === asked.origin);
    if (exact.length > 0) return exact;
    // The worker advertises its own address; the sidecar asks it over the loopback.
    const samePort = cards.filter((card) => {
      const port = systemPortOf(card);
      return port !== undefined && new URL(port).port === asked.port;
    });
    if (new Set(samePort.map(systemPortOf)).size === 1) return samePort;
  }
  if (cards.length === 1) return [first];
  const listed = cards
    .map((card) => `${card.file.instanceId} at ${systemPortOf(card) ?? 'no system port'}`)
    .join(', ');
  throw new ProbeError(
    'bad_answer',
    origin,
    `has the cards of ${cards.length} workers (${listed.slice(0, 400)}), and which is this one's is not known; ` +
      'start the worker with DYN_SYSTEM_PORT and give that port with --engine',
  );
}

function stateCard({ file, sheet, body }: Card, files: readonly CardFile[]): void {
  sheet.field('engine.kind', EngineKind.ENGINE_KIND_DYNAMO, 'a model card of Dynamo');
  sheet.field('engine.start_marker', file.instanceId, `instance id ${file.instanceId}`);
  sheet.size(BlockSizeKind.BLOCK_SIZE_KIND_REQUESTED, body.whole('kv_cache_block_size'), {
    forContract: true,
    raw: body.raw('kv_cache_block_size'),
  });
  const name = body.text('display_name');
  if (name !== undefined) sheet.field('model.served_names', [name], body.raw('display_name'));
  const type = body.text('worker_type');
  const role = ROLES.get(type ?? '');
  if (type !== undefined && role === undefined) {
    sheet.warn(`${body.raw('worker_type')}: which part of a request that is, is not known here`);
  }
  sheet.field('engine.role', role, body.raw('worker_type'));
  sheet.field('model.root', body.text('source_path'), body.raw('source_path'));
  const adapters = files
    .filter((other) => other.instanceId === file.instanceId)
    .flatMap(({ adapter }) => adapter ?? []);
  if (adapters.length > 0) sheet.field('model.lora_adapters', adapters, adapters.join(', '));

  // 0 stands for "not set" in the lengths and counts of a card.
  const told = (reader: JsonReader | undefined, field: string): number | undefined =>
    reader?.whole(field) || undefined;
  const runtime = body.child('runtime_config');
  sheet.field('model.max_model_len', told(body, 'context_length'), body.raw('context_length'));
  if (runtime === undefined) return;
  for (const [field, source] of [
    ['capacity.total_kv_blocks', 'total_kv_blocks'],
    ['capacity.max_running_requests', 'max_num_seqs'],
    ['capacity.max_batched_tokens', 'max_num_batched_tokens'],
    ['parallelism.data_parallel_size', 'data_parallel_size'],
  ] as const) {
    sheet.field(field, told(runtime, source), runtime.raw(source));
  }
  const rank = 'data_parallel_start_rank';
  sheet.field('parallelism.data_parallel_rank', runtime.whole(rank), runtime.raw(rank));
  const eagle = runtime.flag('enable_eagle');
  if (eagle !== undefined) {
    const unit = eagle ? HashUnit.HASH_UNIT_BIGRAM : HashUnit.HASH_UNIT_TOKEN;
    sheet.field('contract.hash_unit', unit, runtime.raw('enable_eagle'));
  }
  if (runtime.flag('kv_event_publishing_enabled') === false) {
    sheet.warn('kv_event_publishing_enabled is false: this worker publishes no KV events');
  }
}
