import type { Metadata } from '../../../gen/envoy/config/core/v3/base.js';
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
  const endpoints = new Set<string>();
  // Headers that were copied into the metadata are a text of several, also within a list.
  for (const text of (Array.isArray(value) ? value : [value]).slice(0, MAX_ENDPOINTS)) {
    if (typeof text !== 'string') continue;
    for (const part of text.split(',', MAX_ENDPOINTS)) {
      const endpoint = part.trim();
      if (endpoints.size < MAX_ENDPOINTS && endpoint !== '' && endpoint.length <= MAX_ENDPOINT_CHARS)
        endpoints.add(endpoint);
    }
  }
  return endpoints;
}

/** The endpoint that gave an answer; undefined where the gateway does not say. */
export function readServed(metadata: Metadata | undefined): string | undefined {
  const value: unknown = metadata?.filterMetadata[ENDPOINT_NAMESPACE]?.[SERVED];
  return typeof value === 'string' && value !== '' && value.length <= MAX_ENDPOINT_CHARS ? value : undefined;
}
