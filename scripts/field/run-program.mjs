import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** The program as it was built. */
export const PROGRAM = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const USAGE = pathToFileURL(fileURLToPath(new URL('report-usage.mjs', import.meta.url))).href;
/** What one run may print; more is a fault of its own. */
const MAX_OUTPUT_BYTES = 512 * 1024 * 1024;

/**
 * Runs kv-accord in a folder and measures it. `end` is `exit`, `time-out` or
 * `crash`: a signal, an exit code that is not documented, or a trace of the stack.
 */
export async function runProgram(args, { folder, timeoutMs, heapMb, exitCodes }) {
  const place = mkdtempSync(join(tmpdir(), 'kv-accord-field-'));
  const usageFile = join(place, 'usage.json');
  const node = [
    ...(heapMb === undefined ? [] : [`--max-old-space-size=${heapMb}`]),
    '--import',
    USAGE,
    PROGRAM,
  ];
  const startedAt = performance.now();
  try {
    const { code, signal, stdout, stderr, hasTimedOut } = await new Promise((done, failed) => {
      const child = spawn(process.execPath, [...node, ...args], {
        cwd: folder,
        stdio: ['ignore', 'pipe', 'pipe'],
        env: { PATH: process.env.PATH, HOME: process.env.HOME, NO_COLOR: '1', FIELD_USAGE_FILE: usageFile },
      });
      const parts = { stdout: [], stderr: [] };
      let size = 0;
      let hasTimedOut = false;
      for (const name of ['stdout', 'stderr'])
        child[name].on('data', (chunk) => {
          size += chunk.length;
          if (size > MAX_OUTPUT_BYTES) child.kill('SIGKILL');
          else parts[name].push(chunk);
        });
      const timer = setTimeout(() => {
        hasTimedOut = true;
        child.kill('SIGKILL');
      }, timeoutMs);
      child.on('error', failed);
      child.on('close', (code, signal) => {
        clearTimeout(timer);
        const text = (name) => Buffer.concat(parts[name]).toString('utf8');
        done({ code, signal, stdout: text('stdout'), stderr: text('stderr'), hasTimedOut });
      });
    });
    const isCrash = signal !== null || !exitCodes.includes(code) || /^\s+at .+:\d+:\d+\)?$/m.test(stderr);
    return {
      end: hasTimedOut ? 'time-out' : isCrash ? 'crash' : 'exit',
      code,
      stdout,
      stderr,
      ms: Math.round(performance.now() - startedAt),
      ...usageOf(usageFile),
    };
  } finally {
    rmSync(place, { recursive: true });
  }
}

/** Nothing where the program did not come to its end. */
function usageOf(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return { peakBytes: undefined, cpuMs: undefined };
  }
}
