import { readFileSync } from 'node:fs';

/** The product's version, from its `package.json`, two folders up from here in the sources and in the build alike. */
export function readPackageVersion(): string {
  const text = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8');
  const { version } = JSON.parse(text) as { version?: unknown };
  return String(version ?? 'unknown');
}
