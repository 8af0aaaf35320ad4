import { type FleetSnapshot, takePairs, takeResults, takeSnapshot } from '../../../app/fleet-snapshot.js';
import { openSecurity } from '../../../app/open-security.js';
import { andMore } from '../../../core/text/lists.js';
import { jsonText, withoutControls } from '../../../core/text/printable.js';
import { sleep } from '../../../edge/platform/clock.js';
import type { TextOutput } from '../../../edge/platform/streams/standard-streams.js';
import { type RpcChannel, RpcDialer } from '../../../edge/rpc/channel.js';
import { CapabilityReport } from '../../../gen/kvaccord/v1/capabilities.js';
import { Agreement, ListPairsResponse, Worker } from '../../../gen/kvaccord/v1/fleet.js';
import { ListResultsResponse } from '../../../gen/kvaccord/v1/router.js';
import type { CommandBody } from '../../command.js';
import { EXIT_OK, EXIT_TRANSPORT } from '../../exit-codes.js';
import { readAddressOperand } from '../../shared/address-operand.js';
import { isConnectionProblem } from '../../shared/connection-problem.js';
import { wrapLine } from '../../shared/wrap-line.js';
import { printIndex } from './index-dump.js';
import { renderPairs } from './pairs-table.js';
import { renderResults } from './results-table.js';
import { type Screen, ScrollView } from './scroll-view.js';
import type { statusSettings } from './settings.js';
import { renderTopology } from './topology-table.js';
import { renderSnapshot } from './workers-table.js';

/** The aggregator's own default. */
const DEFAULT_ADDRESS = '127.0.0.1:50060';

/** How often `--watch` asks. */
const WATCH_INTERVAL_MS = 1_000;

/** Clears the screen and goes to its top, on a terminal. */
const CLEAR_SCREEN = '\u001b[2J\u001b[H';

/** What a terminal without a size is taken to have. */
const DEFAULT_COLUMNS = 80;

/** Narrowest terminal that a table is fitted to, in characters. */
const MIN_COLUMNS = 40;

/** What one look at the fleet gave. */
type Look = { readonly answer: string } | { readonly problem: string };

/** Runs `kv-accord status`. */
export const runStatus: CommandBody<typeof statusSettings> = async (settings, context) => {
  const { clock, stdout, stderr, operands } = context;
  const { watch, json, timeoutMs } = settings;
  const address = readAddressOperand(operands[0] ?? DEFAULT_ADDRESS, settings);
  const security = await openSecurity(settings, context);
  const dialer = new RpcDialer({ connectTimeoutMs: timeoutMs }, { clock, security });
  const quit = new AbortController();
  const signal = AbortSignal.any([context.signal, quit.signal]);
  const view = new ScrollView();
  let channel: RpcChannel | undefined;
  let closeKeys: (() => void) | undefined;
  try {
    if (settings.index) return await showIndex();
    let look: Look = await ask();
    if ('problem' in look) {
      stderr.write(`kv-accord status: ${look.problem}\n`);
      return EXIT_TRANSPORT;
    }
    const isLive = watch && stdout.isTerminal;
    if (isLive) closeKeys = context.openKeys(press, draw);
    if (isLive) show(look);
    else stdout.write(look.answer);
    let shape = shapeOf(stdout);
    while (watch) {
      await sleep(clock, WATCH_INTERVAL_MS, signal);
      await stdout.taken(signal);
      // The user has seen enough: that is how a watch ends.
      if (signal.aborted) break;
      const before: Look = look;
      look = await ask().catch((error: unknown) => {
        if (signal.aborted) return before;
        throw error;
      });
      if (textOf(look) !== textOf(before) || (isLive && shapeOf(stdout) !== shape)) show(look);
      shape = shapeOf(stdout);
    }
    return EXIT_OK;
  } finally {
    closeKeys?.();
    channel?.close();
    security.close();
  }

  async function showIndex(): Promise<number> {
    try {
      channel = dialer.dial(address);
      await printIndex(channel, { clock, signal, stdout, timeoutMs, json, group: settings.group ?? '' });
      return EXIT_OK;
    } catch (error) {
      if (!isConnectionProblem(error)) throw error;
      stderr.write(`kv-accord status: ${withoutControls(error.message)}\n`);
      return EXIT_TRANSPORT;
    }
  }

  function show(look: Look): void {
    const text = textOf(look);
    view.setText(text);
    // On a terminal each look replaces the one before; elsewhere problems are no data.
    if (!stdout.isTerminal) ('answer' in look ? stdout : stderr).write(text);
    else if (closeKeys === undefined) stdout.write(`${CLEAR_SCREEN}${fitRows(text, stdout.rows)}`);
    else draw();
  }

  function draw(): void {
    stdout.write(`${CLEAR_SCREEN}${view.draw(screenOf(stdout))}`);
  }

  function press(key: string): void {
    if (key === 'q') quit.abort(new Error('the person at the terminal has seen enough'));
    else if (view.press(key, screenOf(stdout))) draw();
  }

  /** The width that a watched terminal has; undefined where nothing has to fit. */
  function columnsToFit(): number | undefined {
    // A terminal without a size yet says 0.
    const columns = watch && stdout.isTerminal ? stdout.columns || undefined : undefined;
    return columns === undefined ? undefined : Math.max(columns, MIN_COLUMNS);
  }

  /** With the lines that a watched terminal is too narrow for wrapped. */
  function fitted(text: string): string {
    const columns = columnsToFit();
    if (columns === undefined) return text;
    return text
      .split('\n')
      .map((line) => wrapLine(line, columns))
      .join('\n');
  }

  /** Asks over the channel of the time before, or a new one. Rejects with `signal.reason`. */
  async function ask(): Promise<Look> {
    try {
      channel ??= dialer.dial(address);
      if (settings.routing) {
        const results = await takeResults(channel, settings.group ?? '', { clock, timeoutMs, signal });
        if (json) return { answer: `${jsonText(ListResultsResponse.toJSON(results))}\n` };
        return { answer: fitted(withoutControls(renderResults(results.groups))) };
      }
      if (settings.pairs) {
        const pairs = await takePairs(channel, settings.group ?? '', { clock, timeoutMs, signal });
        if (json) return { answer: `${jsonText(ListPairsResponse.toJSON(pairs))}\n` };
        return { answer: fitted(withoutControls(renderPairs(pairs))) };
      }
      const snapshot = await takeSnapshot(channel, { clock, timeoutMs, signal });
      if (json) return { answer: `${jsonText(toJson(snapshot))}\n` };
      if (settings.topology) return { answer: fitted(withoutControls(renderTopology(snapshot))) };
      return { answer: withoutControls(renderSnapshot(snapshot, columnsToFit())) };
    } catch (error) {
      channel?.close();
      channel = undefined;
      if (!isConnectionProblem(error)) throw error;
      return { problem: withoutControls(error.message) };
    }
  }
};

/** A terminal without a size yet says 0. */
function screenOf({ columns, rows }: TextOutput): Screen {
  return { columns: columns || DEFAULT_COLUMNS, rows: rows || Number.POSITIVE_INFINITY };
}

/** Another one shows the same in another form. */
function shapeOf({ columns, rows }: TextOutput): string {
  return `${columns} x ${rows}`;
}

/** As many lines as the terminal shows, where no keys can be read: what is worst comes first. */
function fitRows(text: string, rows: number | undefined): string {
  const lines = text.trimEnd().split('\n');
  // The last row is the cursor's, the one before says what is left out.
  const room = Math.max((rows || Number.POSITIVE_INFINITY) - 2, 1);
  if (lines.length <= room + 1) return text;
  return `${lines.slice(0, room).join('\n')}\n...${andMore(lines.length - room, 'lines')}: kv-accord status shows all\n`;
}

function textOf(look: Look): string {
  return 'answer' in look ? look.answer : `kv-accord status: ${look.problem}\n`;
}

/** Proto3 JSON of what was found, the same that grpcurl prints. */
function toJson(snapshot: FleetSnapshot): unknown {
  if (snapshot.type === 'sidecar') return { report: CapabilityReport.toJSON(snapshot.report) };
  return {
    agreements: snapshot.agreements.map((agreement) => Agreement.toJSON(agreement)),
    workers: snapshot.workers.map((worker) => Worker.toJSON(worker)),
  };
}
