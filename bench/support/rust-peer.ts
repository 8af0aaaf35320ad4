import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { IS_QUICK } from './figures.js';

/** The program in `bench/peers/dynamo-kv-router`, which runs workloads against that Rust crate. */
export interface RustPeer {
  /** What the peer is, or why there is none. */
  readonly says: string;
  /** Runs one workload and gives the objects that it prints: none without a peer. Throws when it fails. */
  ask<Line>(args: readonly string[]): readonly Line[];
}

/** A build takes two minutes on two calm cores; a busy machine may take four times as long. */
const BUILD_MS = 600_000;
/** The registry may fail for a moment. */
const BUILD_TRIES = 2;
/** The longest workload takes ten seconds. */
const ASK_MS = 300_000;

const NAME = 'dynamo-kv-router 1.6.1';
/** Seen from where the compiled bench lies, in `.cache/bench/bench/support`. */
const SOURCES = fileURLToPath(new URL('../../../../bench/peers/dynamo-kv-router', import.meta.url));

/**
 * Finds the peer: the program that `KV_ACCORD_INDEX_PEER` names, or one that was
 * built from these sources before. Otherwise builds it with cargo, which takes
 * minutes and says so on stderr, unless only a short run was asked for.
 */
export function findRustPeer(): RustPeer {
  const named = process.env['KV_ACCORD_INDEX_PEER'] ?? '';
  if (named !== '') return peerAt(named, `${named}, as KV_ACCORD_INDEX_PEER says`);
  if (process.platform !== 'linux') return noPeer('it runs on Linux alone');
  const target = targetFolder();
  const program = join(target, 'release', 'kv-accord-index-peer');
  if (existsSync(program)) return peerAt(program, NAME);
  if (IS_QUICK) return noPeer('not built yet, and a short run does not build it');
  if (spawnSync('cargo', ['--version'], { stdio: 'ignore' }).status !== 0) return noPeer('no cargo');
  const problem = build(target);
  return problem === undefined ? peerAt(program, NAME) : noPeer(problem);
}

function peerAt(program: string, says: string): RustPeer {
  return {
    says,
    ask<Line>(args: readonly string[]): readonly Line[] {
      const text = execFileSync(program, args, { encoding: 'utf8', timeout: ASK_MS });
      return text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Line);
    },
  };
}

function noPeer(why: string): RustPeer {
  return { says: `${NAME} not run: ${why}`, ask: () => [] };
}

/** One for each state of the sources, so that each state is built once. */
function targetFolder(): string {
  const files = [
    'Cargo.lock',
    'Cargo.toml',
    ...readdirSync(join(SOURCES, 'src')).map((name) => `src/${name}`),
  ];
  const hash = createHash('sha256');
  for (const file of files.sort())
    hash
      .update(file)
      .update('\0')
      .update(readFileSync(join(SOURCES, file)))
      .update('\0');
  const cache = process.env['KV_ACCORD_PEER_CACHE'] ?? join(homedir(), '.cache', 'kv-accord');
  return join(cache, 'bench', `dynamo-kv-router-${hash.digest('hex').slice(0, 16)}`);
}

/** Why it could not be built, or undefined. */
function build(target: string): string | undefined {
  const startMs = performance.now();
  console.error(`building the peer ${NAME} into ${target}: some minutes, once`);
  for (let attempt = 1; attempt <= BUILD_TRIES; attempt += 1) {
    const leftMs = BUILD_MS - (performance.now() - startMs);
    if (leftMs <= 0) break;
    const { status, error } = spawnSync('cargo', ['build', '--release', '--locked'], {
      cwd: SOURCES,
      env: { ...process.env, CARGO_TARGET_DIR: target },
      stdio: ['ignore', 'ignore', 'inherit'],
      timeout: Math.ceil(leftMs),
    });
    const seconds = Math.round((performance.now() - startMs) / 1_000);
    if (status === 0) {
      console.error(`built the peer in ${seconds} s`);
      return undefined;
    }
    const why = error?.message ?? `it ended with ${status}`;
    console.error(`cargo build, try ${attempt} of ${BUILD_TRIES}, after ${seconds} s: ${why}`);
  }
  return 'cargo build failed';
}
