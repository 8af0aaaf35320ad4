import type { Tier } from '../../../core/blocks/tier.js';

/** Words of `medium`, as vLLM, SGLang and Dynamo write them. */
const TIER_OF_MEDIUM: Readonly<Record<string, Tier>> = {
  GPU: 'device',
  DEVICE: 'device',
  CPU: 'host',
  CPU_PINNED: 'host',
  CPU_TIER1: 'host',
  CPU_TIER2: 'disk',
  DISK: 'disk',
  NVME: 'disk',
  STORAGE: 'disk',
  EXTERNAL: 'external',
  NETWORK: 'external',
  REMOTE: 'external',
  SHARED: 'external',
};

/**
 * The tier of a `medium`; none for a word that is not known. Dynamo takes that
 * for the device; here a wrong credit weighs more than a missing one.
 */
export function tierOfMedium(medium: string | undefined): Tier | undefined {
  if (medium === undefined) return 'device';
  return Object.hasOwn(TIER_OF_MEDIUM, medium) ? TIER_OF_MEDIUM[medium] : undefined;
}
