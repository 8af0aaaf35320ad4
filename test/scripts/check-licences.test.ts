import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';

const script = (name: string): string => fileURLToPath(new URL(`../../scripts/${name}`, import.meta.url));

/** Exit status and stderr of a check, of the repository's lock file or of one with these packages. */
function check(command: readonly string[], packages?: Record<string, object>) {
  const args = [...command];
  if (packages !== undefined) {
    const folder = mkdtempSync(join(tmpdir(), 'kv-accord-lock-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    args.push(join(folder, 'package-lock.json'));
    writeFileSync(join(folder, 'package-lock.json'), JSON.stringify({ packages: { '': {}, ...packages } }));
  }
  return spawnSync(process.execPath, args, { encoding: 'utf8' });
}

describe('the check of licences', () => {
  const licences = [script('check-licences.mjs')];

  it('allows every package of the lock file', () => {
    expect(check(licences)).toMatchObject({ status: 0, stderr: '' });
  });

  it.each([
    ['a licence that is not on the list', { license: 'GPL-3.0-only' }, 'is under GPL-3.0-only'],
    ['one half of which is not', { license: 'MIT AND AGPL-3.0-only' }, 'AGPL-3.0-only'],
    ['words that are no SPDX expression', { license: 'SEE LICENSE IN LICENSE' }, 'SEE LICENSE'],
    ['none', {}, 'a licence that it does not name'],
    ['one for texts, in production', { license: 'CC-BY-4.0' }, '(production)'],
  ])('refuses a package with %s', (_what, entry, sentence) => {
    const { status, stderr } = check(licences, { 'node_modules/a': { version: '1.0.0', ...entry } });
    expect(status).toBe(1);
    expect(stderr).toContain('a 1.0.0 ');
    expect(stderr).toContain(sentence);
  });

  it('takes a choice of which one is allowed, and a platform package by its owner', () => {
    const owned = check(licences, {
      'node_modules/a': { license: 'GPL-3.0-only OR MIT', optionalDependencies: { 'a-linux-x64': '1.0.0' } },
      'node_modules/a-linux-x64': { version: '1.0.0', optional: true, dev: true },
    });
    expect(owned.status).toBe(0);
  });
});
