// Installs the programs of others that the peer tests talk to, each once, into
// a folder that later runs reuse:
//
//   node test/peers/install/install.mjs            all of them
//   node test/peers/install/install.mjs vllm …     only these
//
// The folder is ~/.cache/kv-accord/peers, or "peers" in $KV_ACCORD_PEER_CACHE.
// Runs at the same time are safe: each program is installed under a lock. One
// that cannot be installed is reported as "not run" with the reason, and its
// tests are skipped; the exit status is 0 all the same, for the tests decide.
import { spawn } from 'node:child_process';
import { createWriteStream, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));
const cache = join(process.env.KV_ACCORD_PEER_CACHE ?? join(homedir(), '.cache', 'kv-accord'), 'peers');

/**
 * The programs, in the order of their installation. `target` is the folder or
 * file below the cache, `script` makes it, and `recipe` is what its stamp holds:
 * change that when a script changes what it makes, and every cache is made again.
 */
const PEERS = JSON.parse(readFileSync(join(here, 'peers.json'), 'utf8'));

/**
 * The file that says that a program is wholly installed. It lies beside the
 * program, because a script begins by wiping what is there.
 */
const stampOf = (peer) => join(cache, dirname(peer.target), `.${basename(peer.target)}.installed`);

/** A registry that answers badly now may answer well in a while. */
const ATTEMPTS = 3;
const PAUSES_MS = [5_000, 30_000];
/** The largest takes about 2 minutes with a warm package cache, and 20 on a slow line. */
const ATTEMPT_LIMIT_MS = 30 * 60_000;
/** One run installs, the others wait for it this long. */
const LOCK_LIMIT_MS = 60 * 60_000;

/**
 * Takes the lock of one program; the result gives it back. The lock is a socket
 * in Linux's abstract name space: it goes with its process, however that ends.
 */
async function lock(path) {
  const started = Date.now();
  for (;;) {
    const server = createServer();
    const taken = await new Promise((resolve, reject) => {
      server.once('error', (error) => (error.code === 'EADDRINUSE' ? resolve(false) : reject(error)));
      server.listen(`\0${path}`, () => resolve(true));
    });
    if (taken) return () => server.close();
    if (Date.now() - started > LOCK_LIMIT_MS) throw new Error(`another run has been at ${path} for too long`);
    await sleep(500);
  }
}

/** Runs one script; resolves with what went wrong, or undefined. */
function runScript(script, target, log) {
  return new Promise((resolve) => {
    const out = createWriteStream(log);
    const child = spawn('bash', [join(here, script), target], {
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    const tail = [];
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8');
      stream.on('data', (text) => {
        out.write(text);
        tail.push(...text.split('\n').filter((line) => line.trim() !== ''));
        tail.splice(0, tail.length - 3);
      });
    }
    const stop = () => process.kill(-child.pid, 'SIGTERM');
    const timer = setTimeout(stop, ATTEMPT_LIMIT_MS);
    const forward = () => {
      stop();
      process.exit(130);
    };
    process.once('SIGINT', forward).once('SIGTERM', forward);
    child.on('error', (error) => tail.push(error.message));
    child.on('close', (code) => {
      clearTimeout(timer);
      process.off('SIGINT', forward).off('SIGTERM', forward);
      out.end();
      resolve(code === 0 ? undefined : `${script} ended with ${code}: ${tail.join(' | ')}`);
    });
  });
}

/** Installs one program unless it is there. Resolves with the reason when it cannot be had. */
async function install(peer) {
  const target = join(cache, peer.target);
  const stamp = stampOf(peer);
  const isThere = () =>
    existsSync(target) && existsSync(stamp) && readFileSync(stamp, 'utf8').trim() === peer.recipe;
  if (isThere()) return undefined;
  mkdirSync(dirname(stamp), { recursive: true });
  const unlock = await lock(target);
  try {
    if (isThere()) return undefined; // another run has just made it
    rmSync(stamp, { force: true });
    let problem;
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      const started = Date.now();
      console.log(`peers: installing ${peer.name} (${peer.what}), attempt ${attempt}`);
      problem = await runScript(peer.script, target, `${target}.log`);
      const seconds = Math.round((Date.now() - started) / 1000);
      console.log(
        `peers: ${peer.name} ${problem === undefined ? 'installed' : `failed: ${problem}`} after ${seconds} s`,
      );
      if (problem === undefined) {
        writeFileSync(stamp, `${peer.recipe}\n`); // last: what has a stamp is whole
        return undefined;
      }
      if (attempt < ATTEMPTS) await sleep(PAUSES_MS[attempt - 1]);
    }
    return problem;
  } finally {
    unlock();
  }
}

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !PEERS.some((peer) => peer.name === name));
if (unknown.length > 0) {
  console.error(`unknown: ${unknown.join(', ')}; there are ${PEERS.map((peer) => peer.name).join(', ')}`);
  process.exit(2);
}
mkdirSync(cache, { recursive: true });
const problems = {};
// One after the other: the downloads share a line, the compilers share the cores.
for (const peer of PEERS.filter(({ name }) => wanted.length === 0 || wanted.includes(name))) {
  const problem = await install(peer).catch((error) => error.message);
  if (problem !== undefined) problems[peer.name] = problem;
  console.log(`peers: ${peer.name}: ${problem === undefined ? 'there' : `not run: ${problem}`}`);
}
writeFileSync(join(cache, 'problems.json'), `${JSON.stringify(problems, undefined, 2)}\n`);
