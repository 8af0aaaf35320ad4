import { createHash } from 'node:crypto';
import type { CapabilityReport } from '../gen/kvaccord/v1/capabilities.js';
import { HashUnit } from '../gen/kvaccord/v1/capabilities.js';
import { hashUnitName } from './names.js';
import { isTokenField, type TokenField, tokenValuesOf } from './token-answers.js';

/**
 * What a router must share with a worker so that both cut a token sequence
 * into the same blocks, in the fixed order of the canonical form.
 */
export const CONTRACT_FIELDS = [
  'tokens_per_block',
  'hash_unit',
  'model_revision',
  'tokenizer_fingerprint',
  'hash_algorithm',
  'hash_seed',
] as const;

/** Compared as well under `--topology require`. */
export const TOPOLOGY_FIELDS = [
  'tensor_parallel_size',
  'pipeline_parallel_size',
  'decode_context_parallel_size',
  'gpu_product',
] as const;

/** A field that members can differ in. */
export type ContractField = (typeof CONTRACT_FIELDS)[number] | (typeof TOPOLOGY_FIELDS)[number] | TokenField;

/** Known values by field; what the engine cannot say is absent (R2). */
export type ContractValues = Readonly<Partial<Record<ContractField, string | number>>>;

/** One text for each set of known values: equal contracts have equal keys. */
export function contractKey(values: ContractValues, fields: readonly ContractField[]): string {
  return JSON.stringify(fields.map((field) => values[field] ?? null));
}

/** The same with all that is known of tokens, for all that a group compares. */
export function comparedKey(values: ContractValues, fields: readonly ContractField[]): string {
  const tokens = Object.entries(values).filter(([field]) => isTokenField(field));
  const key = contractKey(values, fields);
  return tokens.length === 0 ? key : `${key} ${JSON.stringify(tokens.sort(([a], [b]) => (a < b ? -1 : 1)))}`;
}

/** The values without what is known of tokens, which an epoch does not fix (A13). */
export function withoutTokens(values: ContractValues): ContractValues {
  return Object.fromEntries(Object.entries(values).filter(([field]) => !isTokenField(field)));
}

/** A5: two contracts are compatible when no field that both know differs. */
export function firstDifference(
  a: ContractValues,
  b: ContractValues,
  fields: readonly ContractField[],
): ContractField | undefined {
  return fields.find((field) => {
    const left = a[field];
    const right = b[field];
    return left !== undefined && right !== undefined && left !== right;
  });
}

/** The fields that `reference` knows and `values` cannot say (A5: unverified); `tokens` for all probes together. */
export function unverifiedFields(
  values: ContractValues,
  reference: ContractValues,
  fields: readonly ContractField[],
): string[] {
  const unsaid = fields.filter((field) => reference[field] !== undefined && values[field] === undefined);
  const hasTokens = Object.keys(values).some(isTokenField);
  const others = unsaid.filter((field) => !isTokenField(field));
  return unsaid.some(isTokenField) && !hasTokens ? [...others, 'tokens'] : others;
}

/** All that either knows; `a` wins where both do. */
export function mergeContracts(a: ContractValues, b: ContractValues): ContractValues {
  return { ...b, ...a };
}

/**
 * SHA-256, lower-case hex, of the canonical contract of one model: the
 * model's name, then every contract field in order, absent ones as null.
 */
export function contractDigest(model: string, values: ContractValues): string {
  return createHash('sha256')
    .update(`kvaccord.v1.Contract\n${JSON.stringify(model)}\n${contractKey(values, CONTRACT_FIELDS)}`)
    .digest('hex');
}

/** A proto3 `optional` text that is there but empty says nothing. */
function told(text: string | undefined): string | undefined {
  return text === undefined || text === '' ? undefined : text;
}

/** The contract and topology values that a report states. */
export function contractValuesOf(report: CapabilityReport): ContractValues {
  const { contract, model, parallelism, topology } = report;
  const unit = contract?.hashUnit ?? HashUnit.HASH_UNIT_UNSPECIFIED;
  const products = [...new Set(topology?.gpus.map((gpu) => gpu.productName).filter((name) => name !== ''))];
  const all: Record<ContractField, string | number | undefined> = {
    tokens_per_block: contract?.tokensPerBlock,
    hash_unit: unit === HashUnit.HASH_UNIT_UNSPECIFIED ? undefined : hashUnitName(unit),
    model_revision: told(model?.revision),
    tokenizer_fingerprint: told(model?.tokenizerFingerprint),
    hash_algorithm: told(contract?.hashAlgorithm),
    hash_seed: told(contract?.hashSeed),
    tensor_parallel_size: parallelism?.tensorParallelSize,
    pipeline_parallel_size: parallelism?.pipelineParallelSize,
    decode_context_parallel_size: parallelism?.decodeContextParallelSize,
    gpu_product: products.length === 0 ? undefined : products.sort().join(' + '),
  };
  const known = Object.entries(all).filter(([, value]) => value !== undefined);
  return { ...Object.fromEntries(known), ...tokenValuesOf(report) };
}
