import { withoutControls } from '../../../core/text/printable.js';
import { sleep } from '../../../edge/platform/clock.js';
import type { RpcChannel } from '../../../edge/rpc/channel.js';
import type { CommandBody } from '../../command.js';
import { EXIT_OK, EXIT_TRANSPORT } from '../../exit-codes.js';
import { openAskedProcess } from '../../shared/asked-process.js';
import { isConnectionProblem } from '../../shared/connection-problem.js';
import { printIndex } from './index-dump.js';
import type { statusSettings } from './settings.js';
import { takeLook } from './take-look.js';
import { columnsToFit, WatchedTable } from './watched-table.js';

/** How often `--watch` asks. */
const WATCH_INTERVAL_MS = 1_000;

/** What one look at the fleet gave. */
type Look = { readonly answer: string } | { readonly problem: string };

/** Runs `kv-accord status`. */
export const runStatus: CommandBody<typeof statusSettings> = async (settings, context) => {
  const { clock, stdout, stderr, openKeys } = context;
  const { watch, json, timeoutMs } = settings;
  const { address, dialer, close } = await openAskedProcess(settings, context);
  const quit = new AbortController();
  const signal = AbortSignal.any([context.signal, quit.signal]);
  const isLive = watch && stdout.isTerminal;
  let channel: RpcChannel | undefined;
  let table: WatchedTable | undefined;

  /** Asks over the channel of the time before, or a new one. Rejects with `signal.reason`. */
  const look = async (): Promise<Look> => {
    try {
      channel ??= dialer.dial(address);
      const columns = isLive ? columnsToFit(stdout) : undefined;
      return { answer: await takeLook(channel, settings, { clock, signal, columns }) };
    } catch (error) {
      channel?.close();
      channel = undefined;
      if (!isConnectionProblem(error)) throw error;
      return { problem: withoutControls(error.message) };
    }
  };
  const show = (found: Look): void => {
    if (table !== undefined) table.show(textOf(found));
    // Elsewhere than on a terminal problems are no data.
    else ('answer' in found ? stdout : stderr).write(textOf(found));
  };

  try {
    if (settings.index) {
      channel = dialer.dial(address);
      await printIndex(channel, { clock, signal, stdout, timeoutMs, json, group: settings.group ?? '' });
      return EXIT_OK;
    }
    let shown = await look();
    if ('problem' in shown) {
      stderr.write(textOf(shown));
      return EXIT_TRANSPORT;
    }
    if (isLive) {
      const onQuit = (): void => quit.abort(new Error('the person at the terminal has seen enough'));
      table = new WatchedTable({ stdout, openKeys, onQuit });
    }
    show(shown);
    while (watch) {
      await sleep(clock, WATCH_INTERVAL_MS, signal);
      await stdout.taken(signal);
      // The user has seen enough: that is how a watch ends.
      if (signal.aborted) break;
      const before: Look = shown;
      shown = await look().catch((error: unknown) => {
        if (signal.aborted) return before;
        throw error;
      });
      if (textOf(shown) !== textOf(before) || table?.isResized === true) show(shown);
    }
    return EXIT_OK;
  } catch (error) {
    if (!isConnectionProblem(error)) throw error;
    stderr.write(textOf({ problem: withoutControls(error.message) }));
    return EXIT_TRANSPORT;
  } finally {
    table?.close();
    channel?.close();
    close();
  }
};

function textOf(look: Look): string {
  return 'answer' in look ? look.answer : `kv-accord status: ${look.problem}\n`;
}
