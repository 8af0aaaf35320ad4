import { openSecurity } from '../../../app/open-security.js';
import { watchView } from '../../../app/watch-view.js';
import { jsonText, withoutControls } from '../../../core/text/printable.js';
import type { ViewDocument } from '../../../core/view/view-document.js';
import { sleep } from '../../../edge/platform/clock.js';
import type { Environment } from '../../../edge/platform/processes/environment.js';
import type { TextOutput } from '../../../edge/platform/streams/standard-streams.js';
import { RpcDialer } from '../../../edge/rpc/channel.js';
import type { CommandBody } from '../../command.js';
import { EXIT_OK, EXIT_TRANSPORT } from '../../exit-codes.js';
import { readAddressOperand } from '../../shared/address-operand.js';
import { isConnectionProblem } from '../../shared/connection-problem.js';
import type { Screen } from '../status/scroll-view.js';
import type { topSettings } from './settings.js';
import { TopScreen } from './top-screen.js';

/** The aggregator's own default. */
const DEFAULT_ADDRESS = '127.0.0.1:50060';

/** How long `--once` looks, so that there are rates. */
const ONCE_MS = 1_500;

/** How often the screen is drawn again although nothing came: rates fall, and the clock goes on. */
const DRAW_EVERY_MS = 1_000;

/** How soon a process that is gone is asked again. */
const RETRY_MS = 2_000;

/** What a terminal without a size, or a file, is taken to have. */
const DEFAULT_COLUMNS = 80;
const FILE_COLUMNS = 160;

/** To the other screen, which leaves what was there before as it was; and back. */
const ENTER_SCREEN = '\u001b[?1049h\u001b[?25l';
const LEAVE_SCREEN = '\u001b[?25h\u001b[?1049l';

/** To the top; each line clears what stood there, and the last one what is below: nothing flickers. */
const HOME = '\u001b[H';
const CLEAR_REST_OF_LINE = '\u001b[K';
const CLEAR_BELOW = '\u001b[J';

/** Runs `kv-accord top`. */
export const runTop: CommandBody<typeof topSettings> = async (settings, context) => {
  const { clock, stdout, stderr, operands, environment } = context;
  const { json, timeoutMs, sort, filter = '', group } = settings;
  const address = readAddressOperand(operands[0] ?? DEFAULT_ADDRESS, settings);
  const security = await openSecurity(settings, context);
  const dialer = new RpcDialer({ connectTimeoutMs: timeoutMs }, { clock, security });
  const quit = new AbortController();
  const signal = AbortSignal.any([context.signal, quit.signal]);
  const isLive = stdout.isTerminal && !settings.once && !json;
  const screen = new TopScreen({
    address: address.text,
    sort,
    filter,
    group,
    hasColours: stdout.isTerminal && (environment['NO_COLOR'] ?? '') === '',
    isPlain: !showsUnicode(environment),
  });
  let closeKeys: (() => void) | undefined;
  let isShown = false;
  try {
    return isLive ? await watch() : await lookOnce();
  } finally {
    closeKeys?.();
    if (isShown) stdout.write(LEAVE_SCREEN);
    security.close();
  }

  /** Looks until the user has seen enough. */
  async function watch(): Promise<number> {
    const first = await follow();
    if (!isShown && first !== undefined) {
      stderr.write(`kv-accord top: ${first}\n`);
      return EXIT_TRANSPORT;
    }
    while (!signal.aborted) {
      screen.fail(first ?? `${address.text} ended the stream`);
      draw();
      await sleep(clock, RETRY_MS, signal);
      if (signal.aborted) break;
      const problem = await follow();
      screen.fail(problem ?? `${address.text} ended the stream`);
    }
    return EXIT_OK;
  }

  /** Follows the stream to its end. Returns what went wrong; undefined where it ended, or the user ended it. */
  async function follow(): Promise<string | undefined> {
    const ended = new AbortController();
    const until = AbortSignal.any([signal, ended.signal]);
    const drawing = drawOn(until);
    try {
      await ask(until, show);
      return undefined;
    } catch (error) {
      if (signal.aborted) return undefined;
      if (!isConnectionProblem(error)) throw error;
      return withoutControls(error.message);
    } finally {
      ended.abort();
      await drawing;
    }
  }

  async function ask(until: AbortSignal, onDocument: (document: ViewDocument) => void): Promise<void> {
    const channel = dialer.dial(address);
    try {
      await watchView(channel, { clock, signal: until, timeoutMs, once: false, onDocument });
    } finally {
      channel.close();
    }
  }

  async function drawOn(until: AbortSignal): Promise<void> {
    while (!until.aborted) {
      await sleep(clock, DRAW_EVERY_MS, until);
      if (isShown && !until.aborted) draw();
    }
  }

  function show(document: ViewDocument): void {
    screen.take(document);
    if (!isShown) {
      isShown = true;
      stdout.write(ENTER_SCREEN);
      closeKeys = context.openKeys(press, draw);
    }
    draw();
  }

  function draw(): void {
    if (!isShown) return;
    const text = screen.draw(screenOf(stdout), clock.wallMs());
    const lines = text.split('\n').map((line) => `${line}${CLEAR_REST_OF_LINE}`);
    stdout.write(`${HOME}${lines.join('\n')}${CLEAR_BELOW}`);
  }

  function press(key: string): void {
    const pressed = screen.press(key, screenOf(stdout));
    if (pressed === 'quit') quit.abort(new Error('the person at the terminal has seen enough'));
    else if (pressed) draw();
  }

  /** Looks for a second, and prints what was seen. */
  async function lookOnce(): Promise<number> {
    const enough = new AbortController();
    const until = AbortSignal.any([signal, enough.signal]);
    let last: ViewDocument | undefined;
    let done: Promise<void> | undefined;
    try {
      await ask(until, (document) => {
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
      stderr.write(`kv-accord top: ${address.text} ended the stream before it showed anything\n`);
      return EXIT_TRANSPORT;
    }
    const columns = stdout.isTerminal ? stdout.columns || DEFAULT_COLUMNS : FILE_COLUMNS;
    stdout.write(
      json ? `${jsonText(last)}\n` : screen.draw({ columns, rows: Number.POSITIVE_INFINITY }, clock.wallMs()),
    );
    return EXIT_OK;
  }
};

/** A terminal without a size yet says 0. */
function screenOf({ columns, rows }: TextOutput): Screen {
  return { columns: columns || DEFAULT_COLUMNS, rows: rows || 24 };
}

/** Whether the locale says UTF-8; nothing said is taken for it. */
function showsUnicode(environment: Environment): boolean {
  const locale = environment['LC_ALL'] || environment['LC_CTYPE'] || environment['LANG'] || '';
  return locale === '' || /utf-?8/i.test(locale);
}
