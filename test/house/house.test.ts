import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { violationsIn } from './violations.js';

const root = fileURLToPath(new URL('../..', import.meta.url));

function sources(): string[] {
  return readdirSync(join(root, 'src'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .filter((file) => !file.startsWith('src/gen/'))
    .sort();
}

describe('the house', () => {
  it('keeps its import arrows, and its clock, timers, randomness and processes in src/platform', () => {
    const files = sources();
    expect(files.length).toBeGreaterThan(5);
    expect(files.flatMap((file) => violationsIn(file, readFileSync(join(root, file), 'utf8')))).toEqual([]);
  });
});

describe('the rule finds', () => {
  const cases: readonly (readonly [string, string, string])[] = [
    [
      'src/sidecar/a.ts',
      "import { x } from '../aggregator/b.js';",
      'src/sidecar may not import src/aggregator',
    ],
    ['src/aggregator/a.ts', "import type { X } from '../sidecar/b.js';", 'may not import src/sidecar'],
    [
      'src/aggregator/discovery/a.ts',
      "export { x } from '../../sidecar/b.js';",
      'may not import src/sidecar',
    ],
    ['src/aggregator/a.ts', "export type * from '../sidecar/b.js';", 'may not import src/sidecar'],
    ['src/aggregator/a.ts', "const x = await import('../sidecar/b.js');", 'may not import src/sidecar'],
    ['src/aggregator/a.ts', "type X = import('../sidecar/b.js').X;", 'may not import src/sidecar'],
    ['src/aggregator/a.ts', 'const x = await import(name);', 'computed'],
    ['src/http/a.ts', "import type { X } from '../gen/kvaccord/v1/fleet.js';", 'may not import src/gen'],
    ['src/agreement/a.ts', "import { x } from '../platform/clock.js';", 'may not import src/platform'],
    ['src/rpc/a.ts', "import { x } from '../../test/support/fake-clock.js';", 'leaves src'],
    ['src/agreement/a.ts', "import { createHash } from 'node:crypto';", 'is pure'],
    ['src/contract/a.ts', "import { randomUUID } from 'node:crypto';", 'is pure'],
    ['src/contract/a.ts', "import * as crypto from 'node:crypto';", 'is pure'],
    ['src/contract/a.ts', "import 'node:crypto';", 'is pure'],
    ['src/blocks/a.ts', "import { readFileSync } from 'node:fs';", 'is pure'],
    ['src/blocks/a.ts', "import pino from 'pino';", 'is pure'],
    ['src/contract/a.ts', 'export const at = Date.now();', 'Date.now'],
    ['src/contract/a.ts', 'export const at = new Date();', 'Date()'],
    ['src/rpc/a.ts', 'const { now } = Date;', 'Date.now'],
    ['src/rpc/a.ts', "const at = Date['now']();", 'Date.now'],
    ['src/rpc/a.ts', 'setTimeout(() => {}, 5);', 'setTimeout'],
    ['src/rpc/a.ts', 'globalThis.setInterval(() => {}, 5);', 'setInterval'],
    ['src/rpc/a.ts', 'const timers = { setTimeout };', 'setTimeout'],
    ['src/rpc/a.ts', 'const at = globalThis.Date.now();', 'globalThis.Date'],
    ['src/rpc/a.ts', 'const r = Math.random();', 'Math.random'],
    ['src/rpc/a.ts', 'const home = process.env.HOME;', 'process'],
    ['src/rpc/a.ts', "import process from 'node:process';", 'node:process'],
    ['src/rpc/a.ts', "import { watch } from 'node:fs';", 'watch of node:fs'],
    ['src/rpc/a.ts', "import * as fs from 'node:fs';", 'single names'],
    ['src/rpc/a.ts', "import { spawn } from 'node:child_process';", 'node:child_process'],
    ['src/rpc/a.ts', "import { setTimeout as wait } from 'node:timers/promises';", 'node:timers/promises'],
    ['src/rpc/a.ts', 'fetch(url, { signal: AbortSignal.timeout(5) });', 'AbortSignal.timeout'],
    ['src/cli/serve.ts', "process.on('SIGTERM', stop);", 'process'],
    ['src/attic/a.ts', '', 'is no room of the house'],
  ];
  it.each(cases)('%s: %s', (file, source, expected) => {
    expect(violationsIn(file, source).join('\n')).toContain(expected);
  });
});

describe('the rule lets pass', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['src/contract/a.ts', "import { createHash } from 'node:crypto';"],
    [
      'src/contract/a.ts',
      "import type { X } from '../gen/kvaccord/v1/fleet.js';\nconst at: Date = new Date(5);",
    ],
    ['src/aggregator/discovery/a.ts', "import { x } from '../session.js';"],
    ['src/sidecar/engines/a.ts', "import type { Fact } from '../../contract/facts.js';"],
    ['src/sidecar/a.ts', "import { readFile } from 'node:fs/promises';"],
    [
      'src/sidecar/a.ts',
      'modules.clock.setTimer(5, fire); options.process.start(); const key = { process: 1 };',
    ],
    ['src/sidecar/a.ts', '// Date.now() in a comment, "setTimeout" in a string\nconst text = "process.env";'],
    ['src/platform/clock.ts', 'setTimeout(() => Date.now(), Math.random());'],
    ['src/cli/main.ts', 'process.exitCode = 2;'],
    ['src/cli/commands/a.ts', "import { x } from '../../sidecar/b.js';"],
  ];
  it.each(cases)('%s: %s', (file, source) => {
    expect(violationsIn(file, source)).toEqual([]);
  });
});
