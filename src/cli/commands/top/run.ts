import { watchView } from '../../../app/watch-view.js';
import { jsonText, withoutControls } from '../../../core/text/printable.js';
import type { ViewDocument } from '../../../core/view/view-document.js';
import { sleep } from '../../../edge/platform/clock.js';
import type { Environment } from '../../../edge/platform/processes/environment.js';
import type { CommandBody, CommandContext } from '../../command.js';
import { EXIT_OK, EXIT_TRANSPORT } from '../../exit-codes.js';
import { openAskedProcess } from '../../shared/asked-process.js';
import { isConnectionProblem } from '../../shared/connection-problem.js';
import { DEFAULT_COLUMNS, LiveScreen } from './live-screen.js';
import type { topSettings } from './settings.js';
import { TopScreen } from './top-screen.js';

/** How long `--once` looks, so that there are rates. */
const ONCE_MS = 1_500;

/** How soon a process that is gone is asked again. */
const RETRY_MS = 2_000;

/** What a file, which has no width, is written for. */
const FILE_COLUMNS = 160;

/** What both ways to look have. */
interface Looking {
  readonly context: CommandContext<typeof topSettings>;
  readonly screen: TopScreen;
  /** Where the process is that is asked. */
  readonly place: string;
  /** Takes views until the process ends their stream. Rejects as `watchView` does. */
  follow(signal: AbortSignal, onDocument: (document: ViewDocument) => void): Promise<void>;
}

/** Runs `kv-accord top`. */
export const runTop: CommandBody<typeof topSettings> = async (settings, context) => {
  const { clock, stdout, environment } = context;
  const { json, timeoutMs, sort, filter = '', group } = settings;
  const { address, dialer, close } = await openAskedProcess(settings, context);
  const screen = new TopScreen({
    address: address.text,
    sort,
    filter,
    group,
    hasColours: stdout.isTerminal && (environment['NO_COLOR'] ?? '') === '',
    isPlain: !showsUnicode(environment),
  });
  const looking: Looking = {
    context,
    screen,
    place: address.text,
    follow: async (signal, onDocument) => {
      const channel = dialer.dial(address);
      try {
        await watchView(channel, { clock, signal, timeoutMs, once: false, onDocument });
      } finally {
        channel.close();
      }
    },
  };
  try {
    const isLive = stdout.isTerminal && !settings.once && !json;
    return isLive ? await watch(looking) : await lookOnce(looking, json);
  } finally {
    close();
  }
};

/** Looks until the user has seen enough. */
async function watch({ context, screen, place, follow }: Looking): Promise<number> {
  const { clock, stdout, openKeys, stderr } = context;
  const quit = new AbortController();
  const signal = AbortSignal.any([context.signal, quit.signal]);
  const onQuit = (): void => quit.abort(new Error('the person at the terminal has seen enough'));
  const live = new LiveScreen({ clock, stdout, openKeys, screen, onQuit });
  /** To the end of the stream. Resolves with what went wrong; undefined where the process ended it, or the user. */
  const untilEnd = async (): Promise<string | undefined> => {
    const ended = new AbortController();
    const until = AbortSignal.any([signal, ended.signal]);
    const drawing = live.drawUntil(until);
    try {
      await follow(until, (document) => live.show(document));
      return undefined;
    } catch (error) {
      if (signal.aborted) return undefined;
      if (!isConnectionProblem(error)) throw error;
      return withoutControls(error.message);
    } finally {
      ended.abort();
      await drawing;
    }
  };
  try {
    let problem = await untilEnd();
    if (!live.isShown && problem !== undefined) {
      stderr.write(`kv-accord top: ${problem}\n`);
      return EXIT_TRANSPORT;
    }
    while (!signal.aborted) {
      live.fail(problem ?? `${place} ended the stream`);
      await sleep(clock, RETRY_MS, signal);
      if (!signal.aborted) problem = await untilEnd();
    }
    return EXIT_OK;
  } finally {
    live.close();
  }
}

/** Looks for a second, and prints what was seen. */
async function lookOnce({ context, screen, place, follow }: Looking, json: boolean): Promise<number> {
  const { clock, stdout, stderr, signal } = context;
  const enough = new AbortController();
  const until = AbortSignal.any([signal, enough.signal]);
  let last: ViewDocument | undefined;
  let done: Promise<void> | undefined;
  try {
    await follow(until, (document) => {
      last = document;
      screen.take(document);
      if (json) enough.abort();
      else done ??= sleep(clock, ONCE_MS, until).then(() => enough.abort());
    });
  } catch (error) {
    if (!enough.signal.aborted) {
      signal.throwIfAborted();
      if (!isConnectionProblem(error)) throw error;
      stderr.write(`kv-accord top: ${withoutControls(error.message)}\n`);
      return EXIT_TRANSPORT;
    }
  }
  await done;
  if (last === undefined) {
    stderr.write(`kv-accord top: ${place} ended the stream before it showed anything\n`);
    return EXIT_TRANSPORT;
  }
  const columns = stdout.isTerminal ? stdout.columns || DEFAULT_COLUMNS : FILE_COLUMNS;
  stdout.write(
    json ? `${jsonText(last)}\n` : screen.draw({ columns, rows: Number.POSITIVE_INFINITY }, clock.wallMs()),
  );
  return EXIT_OK;
}

/** Whether the locale says UTF-8; nothing said is taken for it. */
function showsUnicode(environment: Environment): boolean {
  const locale = environment['LC_ALL'] || environment['LC_CTYPE'] || environment['LANG'] || '';
  return locale === '' || /utf-?8/i.test(locale);
}
