import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { Program } from './support/program.js';
import { until } from './support/until.js';

const KEEPER = fileURLToPath(new URL('support/keeper.py', import.meta.url));

/** A program with a child that has left its session and does not heed TERM; it prints both process ids. */
const FAMILY = [
  'bash',
  '-c',
  'setsid bash -c \'trap "" TERM; echo $$; sleep 1000; sleep 1000\' & echo $$; wait',
];

/** The process ids that `FAMILY` has printed. */
function pidsIn(text: string): number[] {
  return text.split('\n').filter(Boolean).map(Number);
}

/** Whether a process runs; one that has ended and waits for its parent does not. */
function runs(pid: number): boolean {
  const status = `/proc/${pid}/status`;
  return existsSync(status) && !/^State:\s+Z/m.test(readFileSync(status, 'utf8'));
}

describe('what the tests start', () => {
  it('ends with all that it has started, also what left its session and ignores TERM', async () => {
    const program = new Program({ name: 'family', command: FAMILY });
    const pids = await until(
      'both processes',
      () => (pidsIn(program.log).length === 2 ? pidsIn(program.log) : false),
      {
        needs: [program],
      },
    );
    expect(pids.map(runs)).toEqual([true, true]);
    await program.stop();
    expect(pids.map(runs)).toEqual([false, false]);
  });

  it('can be ended immediately, without notice', async () => {
    const program = new Program({ name: 'crashing', command: FAMILY });
    const pids = await until(
      'both processes',
      () => (pidsIn(program.log).length === 2 ? pidsIn(program.log) : false),
      { needs: [program] },
    );
    expect(await program.kill()).toBe(137);
    expect(pids.map(runs)).toEqual([false, false]);
  });

  it('ends also when the test run is killed', async () => {
    // Stands in for the test run: it starts a keeper and lives on until it is killed.
    const script =
      "const c = require('node:child_process').spawn('python3', process.argv.slice(1), { stdio: ['pipe', 'inherit', 'inherit'] }); setInterval(() => c.pid, 1000);";
    const testRun = spawn(process.execPath, ['-e', script, KEEPER, ...FAMILY], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let printed = '';
    testRun.stdout.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
    });
    const pids = await until('both processes', () =>
      pidsIn(printed).length === 2 ? pidsIn(printed) : false,
    );
    testRun.kill('SIGKILL');
    await once(testRun, 'exit');
    await until('them to be gone', () => !pids.some(runs));
  });

  it('hands on the exit status, and 128 plus the signal of one that was killed', async () => {
    expect(await new Program({ name: 'status', command: ['bash', '-c', 'exit 4'] }).ended).toBe(4);
    expect(await new Program({ name: 'killed', command: ['bash', '-c', 'kill -KILL $$'] }).ended).toBe(137);
    expect(await new Program({ name: 'missing', command: ['/no/such/program'] }).ended).toBe(127);
  });
});
