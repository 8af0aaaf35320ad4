import { hostname, networkInterfaces } from 'node:os';

/** The names and addresses under which this machine, or this pod, is known to itself: never empty. */
export function ownHosts(): ReadonlySet<string> {
  const addresses = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  return new Set(['localhost', '127.0.0.1', '::1', hostname(), ...addresses.map(({ address }) => address)]);
}
