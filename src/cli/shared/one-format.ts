import type { SettingError } from '../../app/setting-error.js';

/** Refuses a `--format` beside `--json` that asks for something else: which of the two is meant is not known. */
export function checkOneFormat(
  { json, format }: { readonly json: boolean; readonly format: string },
  reject: (name: 'format', allowed: string) => SettingError,
  flags: ReadonlySet<string>,
): void {
  if (json && flags.has('format') && format !== 'json')
    throw reject('format', 'json, or left out, beside --json');
}
