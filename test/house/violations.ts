import { posix } from 'node:path';
import { readModule } from './read-module.js';
import { PROCESS_OWNERS, ROOMS, type Room, UNDIVIDED_LAYERS } from './rooms.js';

/** Modules of Node that reach the process, its children or its timers. */
const PLATFORM_MODULES = new Set([
  'child_process',
  'cluster',
  'perf_hooks',
  'process',
  'timers',
  'timers/promises',
  'worker_threads',
]);

/** Single names of modules that are harmless otherwise. */
const PLATFORM_NAMES = new Set([
  'fs#watch',
  'fs#watchFile',
  'fs/promises#watch',
  'crypto#randomBytes',
  'crypto#randomInt',
  'crypto#randomUUID',
  'crypto#getRandomValues',
]);

/** Modules of which a namespace or default import would hide the names above. */
const NAMED_IMPORTS_ONLY = new Set(['crypto', 'fs', 'fs/promises']);

/**
 * Every way in which one source breaks the rules of the house, as lines
 * `src/core/agreement/gate.ts:3: …`. `file` is its path from the repository's root.
 */
export function violationsIn(file: string, source: string): string[] {
  const roomName = roomOf(file);
  const room = ROOMS[roomName];
  if (room === undefined)
    return [`${file}:1: src/${roomName} is no room of the house; see test/house/rooms.ts`];
  const { imports, platformUses } = readModule(file, source);
  const found: string[] = [];
  for (const { specifier, names, line } of imports) {
    const problem = importProblem(file, roomName, room, specifier, names);
    if (problem !== undefined) found.push(`${file}:${line}: ${problem}`);
  }
  if (room.isPlatform !== true && roomName !== 'gen') {
    for (const { what, line } of platformUses) {
      if (what === 'process' && PROCESS_OWNERS.includes(file)) continue;
      found.push(`${file}:${line}: ${what} belongs to src/edge/platform`);
    }
  }
  return found;
}

function importProblem(
  file: string,
  roomName: string,
  room: Room,
  specifier: string | undefined,
  names: readonly string[],
): string | undefined {
  if (specifier === undefined) return 'an import whose target is computed cannot be checked';
  if (specifier.startsWith('.')) {
    const target = posix.join(posix.dirname(file), specifier);
    if (!target.startsWith('src/')) return `${specifier} leaves src`;
    const targetRoom = roomOf(target);
    if (targetRoom === roomName || mayImport(room, targetRoom)) return undefined;
    return `src/${roomName} may not import src/${targetRoom} (${specifier})`;
  }
  const builtin = specifier.startsWith('node:') ? specifier.slice('node:'.length) : undefined;
  if (room.isPure === true) {
    const allowed =
      names.length > 0 && names.every((name) => room.allowedBuiltins?.includes(`${specifier}#${name}`));
    return allowed ? undefined : `src/${roomName} is pure and may not import ${specifier}`;
  }
  if (builtin === undefined || room.isPlatform === true) return undefined;
  if (PLATFORM_MODULES.has(builtin)) {
    if (builtin === 'process' && PROCESS_OWNERS.includes(file)) return undefined;
    return `${specifier} belongs to src/edge/platform`;
  }
  for (const name of names) {
    if (PLATFORM_NAMES.has(`${builtin}#${name}`))
      return `${name} of ${specifier} belongs to src/edge/platform`;
    if (NAMED_IMPORTS_ONLY.has(builtin) && (name === '*' || name === 'default')) {
      return `import single names from ${specifier}, so that what belongs to src/edge/platform can be recognized`;
    }
  }
  return undefined;
}

/** Whether a room may import another, by its own name or by the name of its layer. */
export function mayImport(room: Room, target: string): boolean {
  return room.mayImport.some((name) => name === target || target.startsWith(`${name}/`));
}

/**
 * `src/worker/sidecar/canary/canary.ts` is in the room `worker/sidecar`, `src/cli/settings/setting.ts` in `cli`, and
 * `src/worker/kv-events/decode/media.ts` in `worker/kv-events/decode`, which is listed.
 */
function roomOf(file: string): string {
  const [, layer = '', room = '', part = ''] = file.split('/');
  if (UNDIVIDED_LAYERS.includes(layer)) return layer;
  const divided = `${layer}/${room}/${part}`;
  return divided in ROOMS ? divided : `${layer}/${room}`;
}
