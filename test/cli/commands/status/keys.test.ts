import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { AggregatorHarness } from '../../../support/aggregator-harness.js';
import { Changes } from '../../../support/changes.js';
import { OpenThings } from '../../../support/open-things.js';
import { requireBuild } from '../../../support/program.js';

const MAIN = fileURLToPath(new URL('../../../../dist/cli/main.js', import.meta.url));
const CLEAR = '\u001b[2J\u001b[H';

/** `script` of util-linux runs a command on a terminal of its own, and passes on what it is written. */
const hasScript = spawnSync('script', ['--version']).stdout?.toString().includes('util-linux') === true;

beforeAll(requireBuild);
const open = new OpenThings();
afterEach(() => open.close());

/** The built program on a terminal of 12 lines and 80 columns. */
class Terminal {
  readonly changes = new Changes();
  readonly child: ChildProcess;
  text = '';

  constructor(args: readonly string[]) {
    const command = `stty rows 12 cols 80; ${[process.execPath, MAIN, ...args].join(' ')}; echo "ended with $?, $(stty -a | grep -o -- '-\\?icanon')"`;
    this.child = spawn('script', ['-qfec', command, '/dev/null'], {
      env: { PATH: process.env['PATH'], TERM: 'xterm', SHELL: '/bin/sh' },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.child.stdout?.on('data', (bytes: Buffer) => {
      this.text += bytes.toString();
      this.changes.tell();
    });
    open.add(() => void this.child.kill('SIGKILL'));
  }

  /** The lines that are on the screen. */
  get screen(): string[] {
    return (this.text.split(CLEAR).at(-1) ?? '').split('\r\n');
  }

  press(keys: string): void {
    this.child.stdin?.write(keys);
  }

  until(holds: () => boolean): Promise<void> {
    return this.changes.until(holds);
  }
}

/** An aggregator in conflict, with a cure for each of ten workers, which do not fit 12 lines. */
async function startFleet(): Promise<AggregatorHarness> {
  const sidecars = await Promise.all(
    Array.from({ length: 10 }, (_, at) => open.sidecar(`w-${at}`, { size: at === 7 ? 64 : 32 })),
  );
  const aggregator = await open.aggregator(sidecars, { onMissing: 'proceed' });
  await aggregator.untilView(({ groups }) => groups[0]?.state === 'conflict');
  return aggregator;
}

describe.skipIf(!hasScript)('status --watch on a terminal', () => {
  it('scrolls by keys within the size of the terminal, shows every line, and gives the terminal back at q', async () => {
    const aggregator = await startFleet();
    const terminal = new Terminal(['status', aggregator.grpc, '--watch']);
    await terminal.until(() => /^lines 1-11 of \d+: /.test(terminal.screen.at(-1) ?? ''));
    const count = Number(/of (\d+)/.exec(terminal.screen.at(-1) ?? '')?.[1]);
    const seen = new Set(terminal.screen);
    for (let top = 2; top <= count - 10; top += 1) {
      terminal.press(top % 2 === 0 ? '\u001b[B' : 'j');
      const place = `lines ${top}-${top + 10} of ${count}: `;
      await terminal.until(() => terminal.screen.at(-1)?.startsWith(place) === true);
      for (const line of terminal.screen) seen.add(line);
    }
    for (const line of seen) expect(line.length).toBeLessThanOrEqual(80);
    const { members = [] } = aggregator.aggregator.fleet.runner.view.groups[0] ?? {};
    for (const { target, workerId } of members)
      expect([...seen].filter((line) => line.startsWith(`${workerId} (${target}) `))).toHaveLength(1);
    for (const [keys, first] of [
      ['\u001b[5~', Math.max(1, count - 10 - 11)],
      ['\u001b[1~', 1],
      ['\u001b[6~', Math.min(12, count - 10)],
      ['\u001b[H', 1],
      ['\u001b[F', count - 10],
      ['k', count - 11],
    ] as const) {
      terminal.press(keys);
      await terminal.until(() => terminal.screen.at(-1)?.startsWith(`lines ${first}-`) === true);
    }
    terminal.press('q');
    await terminal.until(() => terminal.text.includes('ended with'));
    expect(terminal.text).toMatch(/ended with 0, icanon/);
  }, 60_000);

  it('ends by Ctrl-C as every command does', async () => {
    const aggregator = await startFleet();
    const terminal = new Terminal(['status', aggregator.grpc, '--watch']);
    await terminal.until(() => terminal.screen.at(-1)?.startsWith('lines 1-11') === true);
    terminal.press('\u0003');
    await new Promise((resolve) => terminal.child.once('exit', resolve));
    expect(terminal.text).not.toContain('kv-accord status:');
  }, 60_000);

  it('is left as it is for who has no keys, and says how many lines are not shown', async () => {
    const aggregator = await startFleet();
    const terminal = new Terminal(['status', aggregator.grpc, '--watch', '</dev/null']);
    await terminal.until(() => /and \d+ more lines: kv-accord status shows all/.test(terminal.text));
    expect(terminal.text).not.toContain('lines 1-');
  }, 60_000);
});
