import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { AggregatorHarness } from '../../../support/aggregator-harness.js';
import { OpenThings } from '../../../support/open-things.js';
import { requireBuild } from '../../../support/program.js';
import { HAS_TERMINAL, Terminal } from '../../../support/terminal.js';

const CLEAR = '\u001b[2J\u001b[H';

beforeAll(requireBuild);
const open = new OpenThings();
afterEach(() => open.close());

/** A terminal of 12 lines and 80 columns. */
function openTerminal(args: readonly string[]): Terminal {
  return new Terminal(args, { open, rows: 12, columns: 80 });
}

/** The lines that are on the screen. */
function screenOf(terminal: Terminal): string[] {
  return terminal.screenAfter(CLEAR);
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

describe.skipIf(!HAS_TERMINAL)('status --watch on a terminal', () => {
  it('scrolls by keys within the size of the terminal, shows every line, and gives the terminal back at q', async () => {
    const aggregator = await startFleet();
    const terminal = openTerminal(['status', aggregator.grpc, '--watch']);
    await terminal.until(() => /^lines 1-11 of \d+: /.test(screenOf(terminal).at(-1) ?? ''));
    const count = Number(/of (\d+)/.exec(screenOf(terminal).at(-1) ?? '')?.[1]);
    const seen = new Set(screenOf(terminal));
    for (let top = 2; top <= count - 10; top += 1) {
      terminal.press(top % 2 === 0 ? '\u001b[B' : 'j');
      const place = `lines ${top}-${top + 10} of ${count}: `;
      await terminal.until(() => screenOf(terminal).at(-1)?.startsWith(place) === true);
      for (const line of screenOf(terminal)) seen.add(line);
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
      await terminal.until(() => screenOf(terminal).at(-1)?.startsWith(`lines ${first}-`) === true);
    }
    terminal.press('q');
    await terminal.until(() => terminal.text.includes('ended with'));
    expect(terminal.text).toMatch(/ended with 0, icanon/);
  }, 60_000);

  it.each(['--topology', '--routing'])(
    'keeps to 80 columns with %s',
    async (flag) => {
      const aggregator = await startFleet();
      const terminal = openTerminal(['status', aggregator.grpc, '--watch', flag]);
      const last = flag === '--topology' ? /no report yet|no GPU|gpu/i : /No model was routed/;
      await terminal.until(() => screenOf(terminal).some((line) => last.test(line)));
      for (const line of screenOf(terminal)) expect(line.length).toBeLessThanOrEqual(80);
      terminal.press('q');
      await terminal.until(() => terminal.text.includes('ended with 0'));
    },
    60_000,
  );

  it('ends by Ctrl-C as every command does', async () => {
    const aggregator = await startFleet();
    const terminal = openTerminal(['status', aggregator.grpc, '--watch']);
    await terminal.until(() => screenOf(terminal).at(-1)?.startsWith('lines 1-11') === true);
    terminal.press('\u0003');
    await new Promise((resolve) => terminal.child.once('exit', resolve));
    expect(terminal.text).not.toContain('kv-accord status:');
  }, 60_000);

  it('is left as it is for who has no keys, and says how many lines are not shown', async () => {
    const aggregator = await startFleet();
    const terminal = openTerminal(['status', aggregator.grpc, '--watch', '</dev/null']);
    await terminal.until(() => /and \d+ more lines: kv-accord status shows all/.test(terminal.text));
    expect(terminal.text).not.toContain('lines 1-');
  }, 60_000);
});
