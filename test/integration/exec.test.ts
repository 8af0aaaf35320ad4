import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { FakeSidecar } from '../support/fake-sidecar.js';
import { OpenThings, workersOf } from '../support/open-things.js';
import { Program, requireBuild } from '../support/program.js';
import { makeWireReport } from '../support/reports.js';

beforeAll(requireBuild);

const open = new OpenThings();
afterEach(() => open.close());

/** What the program under `exec` says of itself once it stands. */
interface Said {
  readonly pid: number;
  readonly sizes: readonly (string | undefined)[];
  readonly args: readonly string[];
}

/** Prints its pid, sizes and arguments as one line, then each signal as another; SIGTERM ends it with 5. */
const STAYS = `
  for (const signal of ['SIGHUP', 'SIGUSR1', 'SIGUSR2', 'SIGINT', 'SIGQUIT', 'SIGTERM']) {
    process.on(signal, () => {
      process.stdout.write(signal + '\\n');
      if (signal === 'SIGTERM') process.exit(5);
    });
  }
  const { DYN_KV_CACHE_BLOCK_SIZE: a, DYN_ROUTER_BLOCK_SIZE: b, KV_ACCORD_TOKENS_PER_BLOCK: c } = process.env;
  process.stdout.write(JSON.stringify({ pid: process.pid, sizes: [a, b, c], args: process.argv.slice(1) }) + '\\n');
  setInterval(() => {}, 1e6);
`;

/** The same, but nothing short of SIGKILL ends it. */
const STUBBORN = STAYS.replace("if (signal === 'SIGTERM') process.exit(5);", '');

class Exec extends Program {
  constructor(flags: readonly string[], command: readonly string[]) {
    super(['exec', ...flags, '--', ...command]);
    open.add(() => this.end('SIGKILL'));
    // Killed hard, `exec` cannot end its program.
    open.add(() => {
      for (const { pid } of this.said.slice(-1)) if (isRunning(pid)) process.kill(pid, 'SIGKILL');
    });
  }

  static node(flags: readonly string[], code: string, args: readonly string[] = []): Exec {
    return new Exec(flags, [process.execPath, '-e', code, ...args]);
  }

  get said(): Said[] {
    return this.#stdoutLines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line));
  }

  get signals(): string[] {
    return this.#stdoutLines.filter((line) => line.startsWith('SIG'));
  }

  /** What the program says that was started as the given one. */
  async start(count = 1): Promise<Said> {
    await this.untilText(() => this.said.length >= count);
    return this.said[count - 1] as Said;
  }

  get #stdoutLines(): string[] {
    return this.stdout.split('\n').slice(0, -1);
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false; // ESRCH
  }
}

/** Three workers of 32, and what makes two of them change to 64, then the third. */
async function threeWorkers(): Promise<{ readonly all: FakeSidecar[]; change(): void; changeLast(): void }> {
  const all = [await open.sidecar('a'), await open.sidecar('b'), await open.sidecar('c')];
  const changeOne = (sidecar: FakeSidecar, index: number): void =>
    sidecar.setReport(makeWireReport('abc'[index] ?? '', { size: 64, instance: `new-${index}` }));
  return {
    all,
    change: () => {
      for (const [index, sidecar] of all.slice(0, 2).entries()) changeOne(sidecar, index);
    },
    changeLast: () => {
      for (const sidecar of all.slice(2)) changeOne(sidecar, 2);
    },
  };
}

/** The program goes by the number that it is started with, so that a majority decides it. */
const BY_NUMBER = ['--frontend-uses', 'observed'];

const SOON = ['--settle', '100ms'];

describe('exec', () => {
  it('runs the program with the agreed size in its variables and arguments, and passes its status on', async () => {
    const code = `${STAYS} process.exit(7)`;
    const exec = Exec.node(workersOf(await open.sidecar('a')), code, ['size={tokens_per_block}']);
    const { sizes, args } = await exec.start();
    expect(sizes).toEqual(['32', '32', '32']);
    expect(args).toEqual(['size=32']);
    expect(await exec.ended()).toBe(7);
  });

  it('fills the variables that --env names, and no others', async () => {
    const flags = [...workersOf(await open.sidecar('a')), '--env', 'DYN_ROUTER_BLOCK_SIZE'];
    const exec = Exec.node(flags, `${STAYS} process.exit(0)`);
    expect((await exec.start()).sizes).toEqual([null, '32', null]);
    expect(await exec.ended()).toBe(0);
  });

  it('passes on the end by a signal as 128+n', async () => {
    const exec = Exec.node(workersOf(await open.sidecar('a')), "process.kill(process.pid, 'SIGKILL')");
    expect(await exec.ended()).toBe(137);
  });

  it('gives the program the three standard streams', async () => {
    const exec = new Exec(workersOf(await open.sidecar('a')), ['sh', '-c', 'cat; echo said >&2']);
    exec.child.stdin?.end('what was typed');
    expect(await exec.ended()).toBe(0);
    expect(exec.stdout).toBe('what was typed');
    expect(exec.stderr).toContain('said\n');
  });

  it('passes signals on, each once, and ends as the program does', async () => {
    const exec = Exec.node(workersOf(await open.sidecar('a')), STAYS);
    const { pid } = await exec.start();
    for (const [index, signal] of (['SIGHUP', 'SIGUSR1', 'SIGINT', 'SIGINT'] as const).entries()) {
      exec.child.kill(signal);
      await exec.untilText(() => exec.signals.length === index + 1);
    }
    expect(await exec.end('SIGTERM')).toBe(5);
    expect(exec.signals).toEqual(['SIGHUP', 'SIGUSR1', 'SIGINT', 'SIGINT', 'SIGTERM']);
    expect(isRunning(pid)).toBe(false);
  });

  it('starts nothing before the fleet agrees, and ends by a signal with 128+n', async () => {
    const sidecar = await open.sidecar('a', {}, { mode: 'silent' });
    const exec = Exec.node(workersOf(sidecar), STAYS);
    await sidecar.until(() => sidecar.openWatches === 1);
    expect(await exec.end('SIGTERM')).toBe(143);
    expect(exec.stdout).toBe('');
  });

  it.each([
    ['no-such-program-anywhere', 'not found on PATH'],
    ['/', 'not an executable file'],
    ['/dev/null/x', 'a part of its path is not a folder'],
  ])('says that %s cannot be run in one line, with code 2', async (command, words) => {
    const exec = new Exec([...workersOf(await open.sidecar('a')), '--log-level', 'error'], [command]);
    expect(await exec.ended()).toBe(2);
    expect(exec.stderr).toBe(`kv-accord exec: cannot run "${command}": ${words}\n`);
  });

  it('waits for no fleet where the program cannot be run', async () => {
    const silent = workersOf(await open.sidecar('a', {}, { mode: 'silent' }));
    const exec = new Exec(silent, ['no-such-program-anywhere']);
    expect(await exec.ended()).toBe(2);
    expect(exec.stderr).toBe('kv-accord exec: cannot run "no-such-program-anywhere": not found on PATH\n');
  });

  it('V5: does not start a program that would go by declarations that are wrong', async () => {
    const sidecar = await open.sidecar('a', { declares: 16 });
    const exec = Exec.node(workersOf(sidecar), STAYS);
    expect(await exec.ended()).toBe(4);
    expect(exec.stdout).toBe('');
    expect(exec.stderr).toContain('declares 16');
    const obeyed = Exec.node(
      [...workersOf(sidecar), '--frontend-uses', 'observed'],
      `${STAYS} process.exit(0)`,
    );
    expect((await obeyed.start()).sizes[0]).toBe('32');
  });
});

describe('exec in a fleet that changes', () => {
  it('restart: ends the program and starts it with the new size', async () => {
    const { all, change } = await threeWorkers();
    const exec = Exec.node([...workersOf(...all), ...SOON, ...BY_NUMBER], STAYS);
    const first = await exec.start();
    change();
    const second = await exec.start(2);
    expect([first.sizes[0], second.sizes[0]]).toEqual(['32', '64']);
    expect(exec.signals).toEqual(['SIGTERM']);
    expect(isRunning(first.pid)).toBe(false);
    expect(await exec.end('SIGTERM')).toBe(5);
    expect(isRunning(second.pid)).toBe(false);
  });

  it('V5: follows for a program that goes by declarations once no worker of the old size serves any longer', async () => {
    const { all, change, changeLast } = await threeWorkers();
    const exec = Exec.node([...workersOf(...all), ...SOON], STAYS);
    await exec.start();
    change();
    await exec.untilText(() => exec.stderr.includes('a new epoch has begun'));
    await exec.untilText(() => exec.stderr.includes('came into conflict while the program runs'));
    expect(exec.signals).toEqual([]);
    changeLast();
    const { sizes } = await exec.start(2);
    expect(sizes[0]).toBe('64');
    expect(exec.stderr).toContain('The conflict is over: the workers agree on KV block size 64');
    expect(await exec.end('SIGTERM')).toBe(5);
  });

  it('restart: follows an aggregator just so', async () => {
    const { all, change } = await threeWorkers();
    const aggregator = await open.aggregator(all, { settleMs: 100 });
    const exec = Exec.node(['--aggregator', aggregator.grpc, ...BY_NUMBER], STAYS);
    await exec.start();
    change();
    expect((await exec.start(2)).sizes[0]).toBe('64');
    expect(await exec.end('SIGTERM')).toBe(5);
  });

  it('restart: kills a program that does not end', async () => {
    const { all, change } = await threeWorkers();
    const exec = Exec.node([...workersOf(...all), ...SOON, ...BY_NUMBER, '--child-grace', '200ms'], STUBBORN);
    const { pid } = await exec.start();
    change();
    const second = await exec.start(2);
    expect(exec.signals).toEqual(['SIGTERM']);
    expect(isRunning(pid)).toBe(false);
    process.kill(second.pid, 'SIGKILL');
    expect(await exec.ended()).toBe(137);
  });

  it('exit: ends the program, then itself with 4', async () => {
    const { all, change } = await threeWorkers();
    const exec = Exec.node([...workersOf(...all), ...SOON, ...BY_NUMBER, '--on-change', 'exit'], STAYS);
    const { pid } = await exec.start();
    change();
    expect(await exec.ended()).toBe(4);
    expect(exec.signals).toEqual(['SIGTERM']);
    expect(isRunning(pid)).toBe(false);
  });

  it('ignore: leaves the program alone, and warns', async () => {
    const { all, change } = await threeWorkers();
    const exec = Exec.node([...workersOf(...all), ...SOON, ...BY_NUMBER, '--on-change', 'ignore'], STAYS);
    await exec.start();
    change();
    await exec.until(({ level, msg }) => level === 'warn' && msg.includes('it goes on with the old value'));
    expect(exec.signals).toEqual([]);
    expect(await exec.end('SIGTERM')).toBe(5);
    expect(exec.said).toHaveLength(1);
  });

  it('goes on when all workers and the aggregator are gone', async () => {
    const sidecar = await open.sidecar('a');
    const aggregator = await open.aggregator([sidecar]);
    const exec = Exec.node(['--aggregator', aggregator.grpc], STAYS);
    await exec.start();
    await aggregator.stop();
    await exec.until(({ msg }) => msg.startsWith('Cannot follow the aggregator'));
    expect(exec.signals).toEqual([]);
    expect(await exec.end('SIGTERM')).toBe(5);
  });
});
