import type { CapabilityReport } from '../../gen/kvaccord/v1/capabilities.js';
import { cacheGroupFromWire } from './evidence/cache-groups.js';
import { isTokenField, type TokenField } from './tokens/token-answers.js';

/**
 * What a worker's events have shown of one KV cache group, as a field of the
 * contract that workers are compared by: `cache_groups[1].window_tokens`.
 */
export type CacheGroupField = `cache_groups[${number}].${'kind' | 'tokens_per_block' | 'window_tokens'}`;

/**
 * A field that a worker learns while it runs: probes are answered after a
 * while, and groups show with the first prompt that reaches them. An epoch
 * fixes none of them (A13, A14).
 */
export type LateField = TokenField | CacheGroupField;

/** Whether a field of the contract is about a KV cache group. */
export function isCacheGroupField(field: string): field is CacheGroupField {
  return field.startsWith('cache_groups[');
}

/** Whether a field of the contract is learned while a worker runs. */
export function isLateField(field: string): field is LateField {
  return isTokenField(field) || isCacheGroupField(field);
}

/** What a report states of the worker's KV cache groups; a kind that is not understood is compared by the engine's word. */
export function cacheGroupValuesOf(report: CapabilityReport): Readonly<Record<CacheGroupField, string>> {
  const values: Record<CacheGroupField, string> = {};
  for (const wire of report.contract?.cacheGroups ?? []) {
    const { index, kind, tokensPerBlock, windowTokens, engineKind } = cacheGroupFromWire(wire);
    values[`cache_groups[${index}].kind`] = kind === 'other' ? engineKind : kind;
    values[`cache_groups[${index}].tokens_per_block`] = String(tokensPerBlock);
    if (windowTokens !== undefined) values[`cache_groups[${index}].window_tokens`] = String(windowTokens);
  }
  return values;
}

/** The first field of a group, by name, that both know and that differs. */
export function firstGroupDifference(
  a: Readonly<Record<string, string | number | undefined>>,
  b: Readonly<Record<string, string | number | undefined>>,
): CacheGroupField | undefined {
  let first: CacheGroupField | undefined;
  for (const field in a) {
    if (!isCacheGroupField(field)) continue;
    const [left, right] = [a[field], b[field]];
    if (left === undefined || right === undefined || left === right) continue;
    if (first === undefined || field < first) first = field;
  }
  return first;
}
