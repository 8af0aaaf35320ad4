import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { CliProcess } from '../../../support/cli-process.js';
import { OpenThings } from '../../../support/open-things.js';
import { requireBuild } from '../../../support/program.js';
import { HAS_TERMINAL, Terminal } from '../../../support/terminal.js';

const HOME = '\u001b[H';

beforeAll(requireBuild);
const open = new OpenThings();
afterEach(() => open.close());

async function runProgram(
  args: readonly string[],
): Promise<{ readonly exitCode: number; readonly stdout: string; readonly stderr: string }> {
  const cli = new CliProcess(args);
  const exitCode = await cli.ended;
  return { exitCode, stdout: cli.stdout.text, stderr: cli.stderr.text };
}

async function startFleet(): Promise<string> {
  const sidecars = await Promise.all(
    Array.from({ length: 10 }, (_, at) => open.sidecar(`w-${at}`, { size: at === 7 ? 64 : 32 })),
  );
  const harness = await open.aggregator(sidecars, { onMissing: 'proceed' });
  await harness.untilView(({ groups }) => groups[0]?.state === 'conflict');
  return harness.grpc;
}

describe('kv-accord top where there is no terminal', () => {
  it('looks for a second, prints what it saw, and ends with 0', async () => {
    const { exitCode, stdout } = await runProgram(['top', await startFleet()]);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^kv-accord aggregator \S+ at 127\.0\.0\.1:\d+/);
    expect(stdout).toContain('tiny: GATE SHUT');
    expect(stdout.match(/^w-\d \(/gm)?.length).toBe(10);
    expect(stdout).not.toContain('\u001b');
  });

  it('prints the whole view with --json', async () => {
    const { exitCode, stdout } = await runProgram(['top', await startFleet(), '--json']);
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ version: 1, workerCount: 10 });
  });

  it('says in a line that nobody is there, and that a sidecar shows no view, and ends with 5', async () => {
    const nobody = await runProgram(['top', '127.0.0.1:1', '--timeout', '1s']);
    expect(nobody.exitCode).toBe(5);
    expect(nobody.stderr).toMatch(/^kv-accord top: 127\.0\.0\.1:1: /);
    const { address } = await open.sidecar('w-1');
    const sidecar = await runProgram(['top', address]);
    expect(sidecar.exitCode).toBe(5);
    expect(sidecar.stderr).toContain('shows no view');
  });

  it('refuses an address that is none with 2', async () => {
    const { exitCode, stderr } = await runProgram(['top', 'nonsense']);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('"nonsense" (on the command line): must be');
  });
});

describe.skipIf(!HAS_TERMINAL)('kv-accord top on a terminal', () => {
  it.each([80, 120])(
    'keeps to %i columns, follows keys, and gives the terminal back at q',
    async (columns) => {
      const terminal = new Terminal(['top', await startFleet()], { open, rows: 16, columns });
      const screen = (): string[] => terminal.screenAfter(HOME);
      await terminal.until(() => screen().some((line) => /^w-\d \(/.test(line)));
      for (const line of screen()) expect(line.length).toBeLessThanOrEqual(columns);
      expect(screen().length).toBeLessThanOrEqual(16);
      terminal.press('s');
      await terminal.until(() => screen().some((line) => line.includes('sort: name')));
      terminal.press('/w-7\r');
      await terminal.until(() => screen().some((line) => line.includes('filter: w-7 ')));
      // A terminal may give the screen in pieces.
      await terminal.until(() => screen().filter((line) => /^w-\d \(/.test(line)).length === 1);
      terminal.press('3');
      await terminal.until(() => screen().some((line) => line.includes('[3 timeline]')));
      terminal.press('q');
      await terminal.until(() => terminal.text.includes('ended with'));
      expect(terminal.text).toMatch(/ended with 0, icanon/);
      expect(terminal.text).toContain('\u001b[?1049l');
    },
    60_000,
  );
});
