import { type Fact, type FactFields, fieldFact } from '../../core/contract/evidence/facts.js';
import { isTokensPerBlock } from '../../core/contract/evidence/tokens-per-block.js';
import { engineRoleName } from '../../core/contract/wire/names.js';
import { isJsonObject, type JsonObject } from '../../edge/platform/data/json-object.js';
import { nearestName } from '../../edge/platform/data/nearest-name.js';
import { excerpt, showValue } from '../../edge/platform/probe-error.js';
import {
  BlockSizeKind,
  EngineKind,
  EngineRole,
  EvidenceSource,
  HashUnit,
  type KvEventSource,
  ServingAddress_Protocol,
  type SideChannel,
  SideChannel_State,
  TransferMode,
  TransferRole,
} from '../../gen/kvaccord/v1/capabilities.js';
import { MAX_LIST_LENGTH } from '../facts/json-reader.js';
import { parseYamlObject } from './parse-yaml.js';
import { ProbeError } from './probe.js';

/** A value that the operator gave, and where: `--tokens-per-block`, `KV_ACCORD_MODEL`. */
export interface DeclaredValue<Value> {
  readonly value: Value;
  readonly origin: string;
}

/** Everything that an operator can declare about an engine. */
export interface Declaration {
  /** An integer from 1 to 1,048,576. */
  readonly tokensPerBlock?: DeclaredValue<number>;
  /** The name under which the model is served. */
  readonly model?: DeclaredValue<string>;
  /** The kind that `--engine-kind` names. */
  readonly engineKind?: DeclaredValue<EngineKind>;
  readonly role?: DeclaredValue<EngineRole>;
  /** Base URLs by which others reach the engine's OpenAI server. */
  readonly advertisedUrls?: DeclaredValue<readonly string[]>;
  /** HOST:PORT of each data-parallel rank's side channel, from rank 0 on. */
  readonly sideChannels?: DeclaredValue<readonly string[]>;
  /** Where each data-parallel rank publishes its KV events. */
  readonly eventSources?: DeclaredValue<readonly KvEventSource[]>;
  /** The text of the file that `--declare` names. */
  readonly file?: { readonly path: string; readonly text: string };
}

/** Reads a value of the file, or says what would be right. */
type Reader<Value> = (value: unknown) => { readonly value: Value } | { readonly expected: string };

const MAX_TEXT_CHARS = 1_024;
const MAX_UINT32 = 2 ** 32 - 1;

const text: Reader<string> = (value) =>
  typeof value === 'string' && value !== '' && value.length <= MAX_TEXT_CHARS
    ? { value }
    : { expected: `a text of 1 to ${MAX_TEXT_CHARS} characters` };

const wholeUpTo =
  (max: number): Reader<number> =>
  (value) =>
    typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= max
      ? { value }
      : { expected: `a whole number from 0 to ${max}` };

const count: Reader<number> = wholeUpTo(MAX_UINT32);
const large: Reader<number> = wholeUpTo(Number.MAX_SAFE_INTEGER);

const texts: Reader<readonly string[]> = (value) =>
  Array.isArray(value) && value.length <= MAX_LIST_LENGTH && value.every((item) => 'value' in text(item))
    ? { value }
    : { expected: `a list of at most ${MAX_LIST_LENGTH} texts` };

function oneOf<Value>(words: Readonly<Record<string, Value>>): Reader<Value> {
  return (value) => {
    const found = typeof value === 'string' && Object.hasOwn(words, value) ? words[value] : undefined;
    return found === undefined ? { expected: `one of ${Object.keys(words).join(', ')}` } : { value: found };
  };
}

const eventSources: Reader<readonly KvEventSource[]> = (value) => {
  const expected = 'a list of { data_parallel_rank, endpoint, topic?, replay_endpoint? }';
  if (!Array.isArray(value) || value.length > MAX_LIST_LENGTH) return { expected };
  const sources: KvEventSource[] = [];
  for (const item of value as readonly unknown[]) {
    if (!isJsonObject(item)) return { expected };
    const { data_parallel_rank: rank, endpoint, topic = '', replay_endpoint: replay } = item;
    if (!('value' in count(rank)) || !('value' in text(endpoint)) || typeof topic !== 'string')
      return { expected };
    if (replay !== undefined && !('value' in text(replay))) return { expected };
    sources.push({
      dataParallelRank: Number(rank),
      transport: 'zmq',
      endpoint: String(endpoint),
      topic,
      ...(replay === undefined ? {} : { replayEndpoint: String(replay) }),
    });
  }
  return { value: sources };
};

/** The fields that a file may declare, by the names of `kvaccord.v1.CapabilityReport`. */
const FIELDS: { readonly [Field in keyof FactFields]?: Reader<FactFields[Field]> } = {
  'engine.kind': oneOf<EngineKind>({
    vllm: EngineKind.VLLM,
    sglang: EngineKind.SGLANG,
    trtllm: EngineKind.TENSORRT_LLM,
    dynamo: EngineKind.DYNAMO,
    other: EngineKind.OTHER,
  }),
  'engine.version': text,
  'engine.role': oneOf<EngineRole>({
    aggregated: EngineRole.AGGREGATED,
    prefill: EngineRole.PREFILL,
    decode: EngineRole.DECODE,
  }),
  'model.served_names': texts,
  'model.root': text,
  'model.revision': text,
  'model.max_model_len': count,
  'model.tokenizer_fingerprint': text,
  'model.lora_adapters': texts,
  'contract.hash_unit': oneOf<HashUnit>({
    token: HashUnit.TOKEN,
    bigram: HashUnit.BIGRAM,
  }),
  'contract.hash_algorithm': text,
  'contract.hash_seed': text,
  'contract.event_schema': text,
  'parallelism.tensor_parallel_size': count,
  'parallelism.pipeline_parallel_size': count,
  'parallelism.data_parallel_size': count,
  'parallelism.data_parallel_rank': count,
  'parallelism.data_parallel_size_local': count,
  'parallelism.decode_context_parallel_size': count,
  'parallelism.expert_parallel_size': count,
  'parallelism.world_size': count,
  'capacity.total_kv_blocks': large,
  'capacity.max_running_requests': large,
  'capacity.max_batched_tokens': large,
  'capacity.kv_cache_size_tokens': large,
  'capacity.kv_tiers': texts,
  kv_event_sources: eventSources,
  'transfer.connector': text,
  'transfer.role': oneOf<TransferRole>({
    producer: TransferRole.PRODUCER,
    consumer: TransferRole.CONSUMER,
    both: TransferRole.BOTH,
  }),
  'transfer.mode': oneOf<TransferMode>({ pull: TransferMode.PULL, push: TransferMode.PUSH }),
  'transfer.tokens_per_block': count,
  'transfer.block_layout': text,
  'transfer.dtype': text,
  'transfer.kv_cache_dtype': text,
  'transfer.attention_backend': text,
  'transfer.lease_seconds': count,
};

/** The one field that is a block size and no field fact; the short form is there because it is what most files hold. */
const TOKENS_PER_BLOCK: ReadonlySet<string> = new Set(['contract.tokens_per_block', 'tokens_per_block']);
/** Fields that hold other fields. */
const SECTIONS: ReadonlySet<string> = new Set([
  'engine',
  'model',
  'contract',
  'parallelism',
  'capacity',
  'transfer',
]);

/**
 * Turns what the operator declared into facts, which every other source
 * outranks except in one thing: by which address others reach the engine. Rejects with a `ProbeError` that names the field, the value, where
 * it stands and what would be right.
 */
export async function declaredFacts(
  declaration: Declaration,
  observedAtMs: number,
): Promise<readonly Fact[]> {
  const {
    tokensPerBlock,
    model,
    engineKind,
    role,
    advertisedUrls,
    eventSources: sources,
    sideChannels,
    file,
  } = declaration;
  const facts: Fact[] = [];
  if (tokensPerBlock !== undefined) {
    facts.push(
      sizeFact(tokensPerBlock.value, String(tokensPerBlock.value), tokensPerBlock.origin, observedAtMs),
    );
  }
  if (model !== undefined) {
    const evidence = declaredBy(model.origin, model.value, observedAtMs);
    facts.push(fieldFact('model.served_names', [model.value], evidence));
  }
  if (engineKind !== undefined) {
    const evidence = declaredBy(engineKind.origin, String(engineKind.value), observedAtMs);
    facts.push(fieldFact('engine.kind', engineKind.value, evidence));
  }
  if (role !== undefined) {
    const evidence = declaredBy(role.origin, engineRoleName(role.value), observedAtMs);
    facts.push(fieldFact('engine.role', role.value, evidence));
  }
  if (advertisedUrls !== undefined) {
    const { value, origin } = advertisedUrls;
    const protocol = ServingAddress_Protocol.OPENAI_HTTP;
    const addresses = value.map((address) => ({ protocol, address }));
    facts.push(
      fieldFact('engine.serving_addresses', addresses, declaredBy(origin, value.join(','), observedAtMs)),
    );
  }
  if (sources !== undefined) {
    const raw = sources.value.map(({ endpoint }) => endpoint).join(',');
    facts.push(fieldFact('kv_event_sources', sources.value, declaredBy(sources.origin, raw, observedAtMs)));
  }
  if (sideChannels !== undefined) {
    const { value, origin } = sideChannels;
    const evidence = declaredBy(origin, value.join(','), observedAtMs);
    facts.push(fieldFact('transfer.side_channels', value.map(declaredSideChannel), evidence));
  }
  if (file !== undefined) {
    const origin = `file ${file.path}`;
    for (const [path, value] of flatten(await parseYamlObject(file.text, origin))) {
      facts.push(fileFact(path, value, origin, observedAtMs));
    }
  }
  return facts;
}

function declaredBy(origin: string, raw: string, observedAtMs: number): Fact['evidence'] {
  return { source: EvidenceSource.DECLARED, origin, raw, observedAtMs };
}

function declaredSideChannel(address: string, dataParallelRank: number): SideChannel {
  const reason = 'the engine has not been asked yet';
  return { dataParallelRank, address, state: SideChannel_State.NOT_ASKED, reason };
}

function sizeFact(sizeTokens: unknown, raw: string, origin: string, observedAtMs: number): Fact {
  if (typeof sizeTokens !== 'number' || !isTokensPerBlock(sizeTokens)) {
    throw new ProbeError(
      'bad_answer',
      origin,
      `tokens_per_block is ${raw}; expected an integer from 1 to 1,048,576`,
    );
  }
  return {
    type: 'block_size',
    size: { kind: BlockSizeKind.REQUESTED, sizeTokens },
    forContract: true,
    evidence: declaredBy(origin, raw, observedAtMs),
  };
}

/** The values of a file by their full path. */
function flatten(object: JsonObject): readonly (readonly [string, unknown])[] {
  return Object.entries(object).flatMap(([name, value]) =>
    SECTIONS.has(name) && isJsonObject(value)
      ? Object.entries(value).map(([inner, innerValue]) => [`${name}.${inner}`, innerValue] as const)
      : [[name, value] as const],
  );
}

function fileFact(path: string, value: unknown, origin: string, observedAtMs: number): Fact {
  const raw = showValue(value);
  if (TOKENS_PER_BLOCK.has(path)) return sizeFact(value, raw, origin, observedAtMs);
  const read = Object.hasOwn(FIELDS, path)
    ? (FIELDS[path as keyof typeof FIELDS] as Reader<never>)
    : undefined;
  if (read === undefined) {
    const problem = SECTIONS.has(path)
      ? `${path} is ${raw}; expected fields with values`
      : unknownField(path);
    throw new ProbeError('bad_answer', origin, problem);
  }
  const outcome = read(value);
  if ('expected' in outcome) {
    throw new ProbeError('bad_answer', origin, `${path} is ${raw}; expected ${outcome.expected}`);
  }
  const evidence = declaredBy(origin, `${path}: ${JSON.stringify(value)}`, observedAtMs);
  return fieldFact(path as keyof FactFields, outcome.value, evidence);
}

function unknownField(path: string): string {
  const known = [...Object.keys(FIELDS), ...TOKENS_PER_BLOCK];
  return `${excerpt(path)} is no field that can be declared; the nearest one is ${nearestName(path, known)?.name}`;
}
