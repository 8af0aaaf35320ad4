import type { Endpoint } from '../source.js';

/**
 * Members of which each has its address for itself. Pods on their node's
 * network share one, and so may a pod that ends and one that follows it: two
 * sessions with one sidecar would count one worker twice. The first has it, or
 * the first that does not end; the others say why they have none.
 */
export function onePerAddress(endpoints: readonly Endpoint[]): readonly Endpoint[] {
  const holders = new Map<string, Endpoint>();
  for (const endpoint of endpoints) {
    if (endpoint.address === undefined) continue;
    const holder = holders.get(endpoint.address);
    if (holder === undefined || (holder.draining === true && endpoint.draining !== true))
      holders.set(endpoint.address, endpoint);
  }
  return endpoints.map((endpoint) => {
    const { address, ...rest } = endpoint;
    const holder = address === undefined ? undefined : holders.get(address);
    if (holder === undefined || holder === endpoint) return endpoint;
    return {
      ...rest,
      pending: `its address ${address} is that of ${holder.target} too: pods on one node's network need ports of their own`,
    };
  });
}
