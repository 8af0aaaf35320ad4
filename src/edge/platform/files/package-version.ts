import { readFileSync } from 'node:fs';
import { packageRoot } from './package-root.js';

/** The product's version from its `package.json`. */
export function readPackageVersion(): string {
  const text = readFileSync(new URL('package.json', packageRoot()), 'utf8');
  const { version } = JSON.parse(text) as { version?: unknown };
  return String(version ?? 'unknown');
}
