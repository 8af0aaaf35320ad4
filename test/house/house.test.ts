import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { LAYERS, ROOMS, UNDIVIDED_LAYERS } from './rooms.js';
import { mayImport, violationsIn } from './violations.js';

const root = fileURLToPath(new URL('../..', import.meta.url));

function sources(): string[] {
  return readdirSync(join(root, 'src'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .filter((file) => !file.startsWith('src/gen/'))
    .sort();
}

describe('the house', () => {
  it('keeps its import arrows, and its clock, timers, randomness and processes in src/edge/platform', () => {
    const files = sources();
    expect(files.length).toBeGreaterThan(5);
    expect(files.flatMap((file) => violationsIn(file, readFileSync(join(root, file), 'utf8')))).toEqual([]);
  });
});

describe('a file of more than 350 lines', () => {
  it('is named in docs/decisions.md with the reason, and no other is', () => {
    const decisions = readFileSync(join(root, 'docs/decisions.md'), 'utf8');
    const [, section = ''] =
      /^### Files that stay longer than 350 lines\n([\s\S]*?)^## /m.exec(decisions) ?? [];
    const named = [...section.matchAll(/`([\w/-]+\.ts)`/g)].map(([, file = '']) => `src/${file}`);
    const long = sources().filter((file) => readFileSync(join(root, file), 'utf8').split('\n').length > 351);
    expect(named.sort()).toEqual(long);
  });
});

describe('the layers', () => {
  const layerOf = (room: string) => room.split('/')[0] ?? '';

  it('are the folders of src', () => {
    expect(readdirSync(join(root, 'src')).sort()).toEqual(Object.keys(LAYERS).sort());
  });

  it.each(Object.entries(ROOMS))('allow what the room %s may import', (name, { mayImport: rooms }) => {
    const layer = layerOf(name);
    for (const room of rooms) expect([layer, ...(LAYERS[layer] ?? [])]).toContain(layerOf(room));
  });

  it('have no circle of rooms', () => {
    const names = Object.keys(ROOMS);
    const reached = (from: string, seen: Set<string>): Set<string> => {
      const room = ROOMS[from];
      for (const to of names) {
        if (room === undefined || to === from || seen.has(to) || !mayImport(room, to)) continue;
        seen.add(to);
        reached(to, seen);
      }
      return seen;
    };
    expect(names.filter((name) => reached(name, new Set()).has(name))).toEqual([]);
  });

  it('are divided into rooms unless one room says it all', () => {
    for (const name of Object.keys(ROOMS)) expect(name.includes('/')).toBe(!UNDIVIDED_LAYERS.includes(name));
  });
});

describe('the rule finds', () => {
  const cases: readonly (readonly [string, string, string])[] = [
    [
      'src/worker/sidecar/a.ts',
      "import { x } from '../../fleet/aggregator/b.js';",
      'src/worker/sidecar may not import src/fleet/aggregator',
    ],
    [
      'src/fleet/aggregator/a.ts',
      "import type { X } from '../../worker/sidecar/b.js';",
      'may not import src/worker/sidecar',
    ],
    [
      'src/fleet/aggregator/parts/a.ts',
      "export { x } from '../../../worker/sidecar/b.js';",
      'may not import src/worker/sidecar',
    ],
    [
      'src/fleet/aggregator/a.ts',
      "export type * from '../../worker/sidecar/b.js';",
      'may not import src/worker/sidecar',
    ],
    [
      'src/fleet/aggregator/a.ts',
      "const x = await import('../../worker/sidecar/b.js');",
      'may not import src/worker/sidecar',
    ],
    [
      'src/fleet/aggregator/a.ts',
      "type X = import('../../worker/sidecar/b.js').X;",
      'may not import src/worker/sidecar',
    ],
    ['src/fleet/aggregator/a.ts', 'const x = await import(name);', 'computed'],
    [
      'src/edge/http/a.ts',
      "import type { X } from '../../gen/kvaccord/v1/fleet.js';",
      'may not import src/gen',
    ],
    [
      'src/core/agreement/a.ts',
      "import { x } from '../../edge/platform/clock.js';",
      'may not import src/edge/platform',
    ],
    ['src/edge/rpc/a.ts', "import { x } from '../../../test/support/fake-clock.js';", 'leaves src'],
    ['src/core/agreement/a.ts', "import { createHash } from 'node:crypto';", 'is pure'],
    ['src/core/contract/a.ts', "import { randomUUID } from 'node:crypto';", 'is pure'],
    ['src/core/contract/a.ts', "import * as crypto from 'node:crypto';", 'is pure'],
    ['src/core/contract/a.ts', "import 'node:crypto';", 'is pure'],
    ['src/core/blocks/a.ts', "import { readFileSync } from 'node:fs';", 'is pure'],
    ['src/core/blocks/a.ts', "import pino from 'pino';", 'is pure'],
    ['src/core/contract/a.ts', 'export const at = Date.now();', 'Date.now'],
    ['src/core/contract/a.ts', 'export const at = new Date();', 'Date()'],
    ['src/edge/rpc/a.ts', 'const { now } = Date;', 'Date.now'],
    ['src/edge/rpc/a.ts', "const at = Date['now']();", 'Date.now'],
    ['src/edge/rpc/a.ts', 'setTimeout(() => {}, 5);', 'setTimeout'],
    ['src/edge/rpc/a.ts', 'globalThis.setInterval(() => {}, 5);', 'setInterval'],
    ['src/edge/rpc/a.ts', 'const timers = { setTimeout };', 'setTimeout'],
    ['src/edge/rpc/a.ts', 'const at = globalThis.Date.now();', 'globalThis.Date'],
    ['src/edge/rpc/a.ts', 'const r = Math.random();', 'Math.random'],
    ['src/edge/rpc/a.ts', 'const home = process.env.HOME;', 'process'],
    ['src/edge/rpc/a.ts', "import process from 'node:process';", 'node:process'],
    ['src/edge/rpc/a.ts', "import { watch } from 'node:fs';", 'watch of node:fs'],
    ['src/edge/rpc/a.ts', "import * as fs from 'node:fs';", 'single names'],
    ['src/edge/rpc/a.ts', "import { spawn } from 'node:child_process';", 'node:child_process'],
    [
      'src/edge/rpc/a.ts',
      "import { setTimeout as wait } from 'node:timers/promises';",
      'node:timers/promises',
    ],
    ['src/edge/rpc/a.ts', 'fetch(url, { signal: AbortSignal.timeout(5) });', 'AbortSignal.timeout'],
    ['src/cli/serve.ts', "process.on('SIGTERM', stop);", 'process'],
    [
      'src/worker/kv-events/decode/a.ts',
      "import { x } from '../readers/b.js';",
      'src/worker/kv-events/decode may not import src/worker/kv-events/readers',
    ],
    ['src/attic/a.ts', '', 'is no room of the house'],
    ['src/core/attic/a.ts', '', 'is no room of the house'],
  ];
  it.each(cases)('%s: %s', (file, source, expected) => {
    expect(violationsIn(file, source).join('\n')).toContain(expected);
  });
});

describe('the rule lets pass', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['src/core/contract/a.ts', "import { createHash } from 'node:crypto';"],
    [
      'src/core/contract/a.ts',
      "import type { X } from '../../gen/kvaccord/v1/fleet.js';\nconst at: Date = new Date(5);",
    ],
    ['src/fleet/aggregator/parts/a.ts', "import { x } from '../session.js';"],
    [
      'src/worker/sidecar/canary/a.ts',
      "import type { Fact } from '../../../core/contract/evidence/facts.js';",
    ],
    ['src/worker/sidecar/a.ts', "import { readFile } from 'node:fs/promises';"],
    [
      'src/worker/sidecar/a.ts',
      'modules.clock.setTimer(5, fire); options.process.start(); const key = { process: 1 };',
    ],
    [
      'src/worker/sidecar/a.ts',
      '// Date.now() in a comment, "setTimeout" in a string\nconst text = "process.env";',
    ],
    ['src/edge/platform/clock.ts', 'setTimeout(() => Date.now(), Math.random());'],
    ['src/cli/main.ts', 'process.exitCode = 2;'],
    ['src/cli/commands/a.ts', "import { x } from '../../worker/sidecar/b.js';"],
  ];
  it.each(cases)('%s: %s', (file, source) => {
    expect(violationsIn(file, source)).toEqual([]);
  });
});
