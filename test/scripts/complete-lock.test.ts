import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';

const SCRIPT = fileURLToPath(new URL('../../scripts/complete-lock.mjs', import.meta.url));

/** Exit status and stderr of `--check`, of the repository's lock file or of one with these packages. */
function check(packages?: Record<string, object>): { status: number | null; stderr: string } {
  const args = [SCRIPT, '--check'];
  if (packages !== undefined) {
    const folder = mkdtempSync(join(tmpdir(), 'kv-accord-lock-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    args.push(join(folder, 'package-lock.json'));
    writeFileSync(join(folder, 'package-lock.json'), JSON.stringify({ packages: { '': {}, ...packages } }));
  }
  return spawnSync(process.execPath, args, { encoding: 'utf8' });
}

const hashed = { version: '1.0.0', integrity: 'sha512-AA==' };

describe('the check of the lock file', () => {
  it('finds a hash for every package, and every platform', () => {
    expect(check()).toMatchObject({ status: 0, stderr: '' });
  });

  it('names a package without a hash, also where only development on another platform installs it', () => {
    const { status, stderr } = check({
      'node_modules/a': hashed,
      'node_modules/a-win32-x64': { version: '1.0.0', dev: true, optional: true },
    });
    expect(status).toBe(1);
    expect(stderr).toContain('a-win32-x64 1.0.0 has no integrity');
  });

  it('names a platform that npm has left out', () => {
    const { status, stderr } = check({
      'node_modules/a': { ...hashed, optionalDependencies: { 'a-darwin-arm64': '1.0.0' } },
    });
    expect(status).toBe(1);
    expect(stderr).toContain('lacks other platforms');
    expect(stderr).toContain('a-darwin-arm64');
  });
});
