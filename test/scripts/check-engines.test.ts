import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';

const SCRIPT = fileURLToPath(new URL('../../scripts/check-engines.mjs', import.meta.url));
const ROOT = { engines: { node: '^20.19.0 || ^22.13.0 || >=24.0.0' } };

/** Exit status and stderr of the check, of the repository's lock file or of one with these packages. */
function check(packages?: Record<string, object>): { status: number | null; stderr: string } {
  const args = [SCRIPT];
  if (packages !== undefined) {
    const folder = mkdtempSync(join(tmpdir(), 'kv-accord-engines-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    args.push(join(folder, 'package-lock.json'));
    writeFileSync(join(folder, 'package-lock.json'), JSON.stringify({ packages: { '': ROOT, ...packages } }));
  }
  return spawnSync(process.execPath, args, { encoding: 'utf8' });
}

describe('the check of engines', () => {
  it('finds no package in the lock file that refuses a supported Node', () => {
    expect(check()).toMatchObject({ status: 0, stderr: '' });
  });

  it('names the package that refuses one supported line, also where it is nested', () => {
    const { status, stderr } = check({
      'node_modules/a/node_modules/@b/cookie': { version: '2.0.2', engines: { node: '>=22' } },
    });
    expect(status).toBe(1);
    expect(stderr).toContain('@b/cookie 2.0.2 wants Node >=22');
    expect(stderr).toContain('npm explain @b/cookie');
  });

  it('takes ranges that hold every supported Node, and packages that name none', () => {
    const { status } = check({
      'node_modules/a': { version: '1.0.0', engines: { node: '^20.19.0 || ^22.13.0 || >=23.5.0' } },
      'node_modules/b': { version: '1.0.0' },
      'node_modules/c': { version: '1.0.0', engines: { npm: '>=1' } },
    });
    expect(status).toBe(0);
  });
});
