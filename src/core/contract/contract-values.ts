import { createHash } from 'node:crypto';
import type { CapabilityReport } from '../../gen/kvaccord/v1/capabilities.js';
import { HashUnit } from '../../gen/kvaccord/v1/capabilities.js';
import { nonEmpty } from '../text/non-empty.js';
import {
  cacheGroupValuesOf,
  firstGroupDifference,
  isCacheGroupField,
  isLateField,
  type LateField,
} from './late-fields.js';
import { isTokenField, tokenValuesOf } from './tokens/token-answers.js';
import { hashUnitName } from './wire/names.js';

/**
 * What a router must share with a worker so that both divide a token sequence
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

/** Stands for all fields of KV cache groups in a list of fields to compare; no worker has a value of it. */
export const CACHE_GROUP_FIELDS = 'cache_groups';

/** Says `possible` where the sidecar can re-hash the worker's blocks (A15). Not compared, and no part of a digest. */
export const BLOCK_REHASH = 'block_rehash';

/** A field that members can differ in. */
export type ContractField =
  | typeof BLOCK_REHASH
  | (typeof CONTRACT_FIELDS)[number]
  | (typeof TOPOLOGY_FIELDS)[number]
  | typeof CACHE_GROUP_FIELDS
  | LateField;

/** Known values by field; what the engine cannot say is absent (R2). */
export type ContractValues = Readonly<Partial<Record<ContractField, string | number>>>;

/** One text for each set of known values: equal contracts have equal keys. @internal */
export function contractKey(values: ContractValues, fields: readonly ContractField[]): string {
  return JSON.stringify(fields.map((field) => values[field] ?? null));
}

/** The same with all that is learned late, for all that a group compares. */
export function comparedKey(values: ContractValues, fields: readonly ContractField[]): string {
  const late = Object.entries(values).filter(([field]) => isLateField(field));
  const key = contractKey(values, fields);
  return late.length === 0 ? key : `${key} ${JSON.stringify(late.sort(([a], [b]) => (a < b ? -1 : 1)))}`;
}

/** The values without what is learned late, which an epoch does not fix (A13, A14). */
export function withoutLateFields(values: ContractValues): ContractValues {
  return Object.fromEntries(Object.entries(values).filter(([field]) => !isLateField(field)));
}

/** A5: two contracts are compatible when no field that both know differs. */
export function firstDifference(
  a: ContractValues,
  b: ContractValues,
  fields: readonly ContractField[],
): ContractField | undefined {
  for (const field of fields) {
    if (field === CACHE_GROUP_FIELDS) {
      const ofGroup = firstGroupDifference(a, b);
      if (ofGroup !== undefined) return ofGroup;
      continue;
    }
    const left = a[field];
    const right = b[field];
    if (left !== undefined && right !== undefined && left !== right) return field;
  }
  return undefined;
}

/** Where a field comes in an order of fields; two of KV cache groups come in the order of their names. */
export function isBefore(
  one: ContractField,
  other: ContractField,
  fields: readonly ContractField[],
): boolean {
  const place = (field: ContractField): number =>
    fields.indexOf(isCacheGroupField(field) ? CACHE_GROUP_FIELDS : field);
  const distance = place(one) - place(other);
  return distance < 0 || (distance === 0 && one < other);
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
 * model's name, then every contract field in order, absent ones as null, and
 * the fields of its KV cache groups where any is known.
 */
export function contractDigest(model: string, values: ContractValues): string {
  return createHash('sha256')
    .update(
      `kvaccord.v1.Contract\n${JSON.stringify(model)}\n${contractKey(values, CONTRACT_FIELDS)}${groupsKey(values)}`,
    )
    .digest('hex');
}

function groupsKey(values: ContractValues): string {
  const groups = Object.entries(values).filter(([field]) => isCacheGroupField(field));
  return groups.length === 0 ? '' : `\n${JSON.stringify(groups.sort(([a], [b]) => (a < b ? -1 : 1)))}`;
}

/** The contract and topology values that a report states. */
export function contractValuesOf(report: CapabilityReport): ContractValues {
  const { contract, model, parallelism, topology } = report;
  const unit = contract?.hashUnit ?? HashUnit.UNSPECIFIED;
  const products = [...new Set(topology?.gpus.map((gpu) => gpu.productName).filter((name) => name !== ''))];
  const all: Record<
    Exclude<ContractField, LateField | typeof CACHE_GROUP_FIELDS>,
    string | number | undefined
  > = {
    tokens_per_block: contract?.tokensPerBlock,
    hash_unit: unit === HashUnit.UNSPECIFIED ? undefined : hashUnitName(unit),
    model_revision: nonEmpty(model?.revision),
    tokenizer_fingerprint: nonEmpty(model?.tokenizerFingerprint),
    hash_algorithm: nonEmpty(contract?.hashAlgorithm),
    hash_seed: nonEmpty(contract?.hashSeed),
    tensor_parallel_size: parallelism?.tensorParallelSize,
    pipeline_parallel_size: parallelism?.pipelineParallelSize,
    decode_context_parallel_size: parallelism?.decodeContextParallelSize,
    block_rehash: report.blockRehash?.possible === true ? 'possible' : undefined,
    gpu_product: products.length === 0 ? undefined : products.sort().join(' + '),
  };
  const known = Object.entries(all).filter(([, value]) => value !== undefined);
  return { ...Object.fromEntries(known), ...tokenValuesOf(report), ...cacheGroupValuesOf(report) };
}
