/**
 * What can go wrong with finding workers: the closed list.
 * - `invalid_target`: the text is no target, or an entry of a file is none;
 * - `unsupported_target`: a known form that this version does not have;
 * - `duplicate_target`: the same worker is listed twice in one place;
 * - `too_many_endpoints`: more than `MAX_ENDPOINTS`;
 * - `no_addresses`: the name server says that the name has no addresses;
 * - `lookup_failed`: the name server or the cluster gave no answer, or none in time, or none that helps;
 * - `unreachable_cluster`: no Kubernetes API server is configured, or not as it must be;
 * - `unreadable_file`: it is not there, may not be read, or is too large;
 * - `invalid_file`: what it holds is no list of workers.
 */
export type DiscoveryErrorCode =
  | 'invalid_target'
  | 'unsupported_target'
  | 'duplicate_target'
  | 'too_many_endpoints'
  | 'no_addresses'
  | 'lookup_failed'
  | 'unreachable_cluster'
  | 'unreadable_file'
  | 'invalid_file';

/** Why workers cannot be found. The message names the value, where it stands and what would be right. */
export class DiscoveryError extends Error {
  readonly code: DiscoveryErrorCode;

  constructor(code: DiscoveryErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'DiscoveryError';
    this.code = code;
  }
}
