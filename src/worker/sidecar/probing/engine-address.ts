import {
  type CapabilityReport,
  EvidenceSource,
  ServingAddress_Protocol,
} from '../../../gen/kvaccord/v1/capabilities.js';

/**
 * The base URL at which the sidecar itself reaches its engine over HTTP, without a slash at its end; undefined while
 * none is known. An address that the operator advertises to others stands before it in the report.
 */
export function engineHttpUrl({ engine, evidence }: CapabilityReport): string | undefined {
  const all = (engine?.servingAddresses ?? []).filter(
    ({ protocol }) => protocol === ServingAddress_Protocol.OPENAI_HTTP,
  );
  const isAdvertised = evidence.some(
    ({ field, source }) => field === 'engine.serving_addresses' && source === EvidenceSource.DECLARED,
  );
  const http = isAdvertised ? all.at(-1) : all[0];
  return http?.address.replace(/\/+$/, '');
}
