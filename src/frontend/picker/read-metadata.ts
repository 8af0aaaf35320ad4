import type { Metadata } from '../../gen/envoy/config/core/v3/base.js';
import { ENDPOINT_NAMESPACE, SERVED, SUBSET, SUBSET_NAMESPACE } from './names.js';

/** Longest list of endpoints that is read: as many as discovery takes. */
const MAX_ENDPOINTS = 10_000;

/** Longest endpoint: an IPv6 address with brackets and a port has 47 characters. */
const MAX_ENDPOINT_CHARS = 64;

/**
 * The endpoints that alone may be chosen; undefined where the gateway names
 * none. An empty list, and one that cannot be read, allows no endpoint.
 */
export function readSubset(metadata: Metadata | undefined): ReadonlySet<string> | undefined {
  const hint = metadata?.filterMetadata[SUBSET_NAMESPACE];
  if (hint === undefined || !Object.hasOwn(hint, SUBSET)) return undefined;
  const value: unknown = hint[SUBSET];
  const parts =
    typeof value === 'string' ? value.split(',', MAX_ENDPOINTS) : Array.isArray(value) ? value : [];
  const endpoints = new Set<string>();
  for (const part of parts.slice(0, MAX_ENDPOINTS)) {
    if (typeof part === 'string' && part.length <= MAX_ENDPOINT_CHARS && part.trim() !== '')
      endpoints.add(part.trim());
  }
  return endpoints;
}

/** The endpoint that gave an answer; undefined where the gateway does not say. */
export function readServed(metadata: Metadata | undefined): string | undefined {
  const value: unknown = metadata?.filterMetadata[ENDPOINT_NAMESPACE]?.[SERVED];
  return typeof value === 'string' && value !== '' && value.length <= MAX_ENDPOINT_CHARS ? value : undefined;
}
