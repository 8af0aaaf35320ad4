import type { SettingError } from '../../app/setting-error.js';
import type { Address } from '../../edge/platform/address.js';
import type { ResolvedEntry } from './resolve.js';

const ANY_HOST: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

/** Throws what `reject` makes where two settings of one command would listen in one place: the second would find it taken. */
export function checkListens(
  entries: readonly ResolvedEntry[],
  reject: (name: string, allowed: string) => SettingError,
): void {
  const before: { readonly name: string; readonly address: Address }[] = [];
  for (const { name, setting, value } of entries) {
    if (setting.kind !== 'address' || setting.use !== 'listen' || value === undefined) continue;
    const address = value as Address;
    const same = before.find((one) => isSame(one.address, address));
    if (same !== undefined)
      throw reject(name, `another address than that of --${same.name}, ${same.address.text}`);
    before.push({ name, address });
  }
}

/** Whether a process that listens at one of them cannot listen at the other. */
export function isSame(a: Address, b: Address): boolean {
  if (a.type === 'unix' || b.type === 'unix') return a.type === b.type && a.text === b.text;
  if (a.port !== b.port || a.port === 0) return false;
  return a.host === b.host || ANY_HOST.has(a.host) || ANY_HOST.has(b.host);
}
