import { parseAddress } from '../../../edge/platform/address.js';
import { systemRandom } from '../../../edge/platform/random.js';
import type { Decision } from '../../../fleet/router/routing.js';

const ROOM_BITS = 0x3fff_ffff_ffff_ffffn;

/**
 * The number under which two engines meet, which nobody can guess. SGLang sends a request to the rank that is its remainder
 * by their number (`follow_bootstrap_room`), so it leads to the rank that was chosen.
 */
export function bootstrapRoom({ rank, rankCount }: Pick<Decision, 'rank' | 'rankCount'>): bigint {
  const drawn = BigInt(`0x${systemRandom.uniqueId()}`) & ROOM_BITS;
  const ranks = BigInt(Math.max(1, rankCount));
  return drawn - (drawn % ranks) + BigInt(rank);
}

/** HOST and PORT of an address; undefined where it is none. */
export function hostAndPort(address: string): { readonly host: string; readonly port: number } | undefined {
  const parsed = parseAddress(address);
  if (parsed?.type !== 'tcp' || parsed.port === 0) return undefined;
  return { host: parsed.host, port: parsed.port };
}
