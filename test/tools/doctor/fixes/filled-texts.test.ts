import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { repairCache } from '../../../../src/tools/doctor/fixes/caches.js';

const FOLDER = new URL('../../../../src/tools/doctor/', import.meta.url).pathname;
/** `$reason` in place of `${reason}`; `$prompt` is of the shell of a command. */
const WITHOUT_BRACES = /\$(?!prompt\b)[a-z]\w+/;

describe('texts with values in them', () => {
  it('have braces around the names of all values', () => {
    const files = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('.ts'),
    );
    const found = files.filter((name) => WITHOUT_BRACES.test(readFileSync(join(FOLDER, name), 'utf8')));
    expect(files.length).toBeGreaterThan(100);
    expect(found).toEqual([]);
  });

  it.each([
    ["ModuleNotFoundError: No module named 'nixl'", 'pip install nixl'],
    ["PermissionError: [Errno 13] Permission denied: '/mnt/kv'", 'local_disk'],
    ['OSError: [Errno 98] Address already in use', 'ports of its own'],
    ['RuntimeError: CUDA error: out of memory', 'LMCACHE_MAX_LOCAL_CPU_SIZE'],
    [
      'Redis password is wrong',
      'Correct what the sentence names (Redis password is wrong), and restart the engine',
    ],
    ['local_disk is required', "Set local_disk in LMCache's configuration (LMCACHE_LOCAL_DISK=…)"],
  ])('say of LMCache that is off for %j: %s', (reason, says) => {
    const fix = repairCache([`LMCache switched itself off at its start: ${reason}`]);
    expect(fix.says).toContain(says);
    expect(fix.commands.join('\n')).not.toContain('$');
  });
});
