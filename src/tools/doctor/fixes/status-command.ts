import { shellQuoted } from '../../../core/text/shell-quoted.js';
import type { Seen } from '../measurements/seen.js';

/**
 * `kv-accord status` with `flags`, for the address at which kv-accord was asked; without one it asks the aggregator of its own
 * machine.
 */
export function statusCommand(
  { statusAddress }: Pick<Seen, 'statusAddress'>,
  ...flags: readonly string[]
): string {
  const address = statusAddress === undefined ? [] : [statusWord(statusAddress)];
  return ['kv-accord status', ...flags, ...address].join(' ');
}

/** An address as one word of a shell. */
function statusWord(address: string): string {
  return /^[\w.:/-]+$/.test(address) ? address : shellQuoted(address);
}
