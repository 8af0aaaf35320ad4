import type { DestinationStream, Logger as PinoLogger, LoggerOptions as PinoOptions } from 'pino';
import { pino } from 'pino';
import { countOf } from '../../core/text/lists.js';
import { onOneLine, printableJson, withoutControls } from '../../core/text/printable.js';
import { describeError } from './describe-error.js';
import type { LostLines } from './streams/bounded-output.js';
import { errorOutput } from './streams/standard-streams.js';

/** What belongs to one line of the log beside its sentence. Values are data, never part of the sentence. */
export type LogFields = Readonly<Record<string, unknown>>;

/**
 * Where every part of the product logs what it does. The levels mean:
 * `error` a person must act, `warn` a person should look, `info` a change
 * that matters to operators (logged once), `debug` everything else. What comes
 * from the network in bulk stays at debug.
 */
export interface Logger {
  error(fields: LogFields, message: string): void;
  warn(fields: LogFields, message: string): void;
  info(fields: LogFields, message: string): void;
  debug(fields: LogFields, message: string): void;
  /** A logger that adds `fields` to every line. */
  child(fields: LogFields): Logger;
}

/** The level names of `--log-level`, from the loudest to the quietest. */
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const;
/** A level by its name. */
export type LogLevel = (typeof LOG_LEVELS)[number];

/** The forms of `--log-format`. */
export const LOG_FORMATS = ['auto', 'pretty', 'json'] as const;
/** A form of lines by its name. */
export type LogFormat = (typeof LOG_FORMATS)[number];

export interface LoggerOptions {
  /** What is below it is left out. Default `info`. */
  readonly level?: LogLevel;
  /** `auto` (default) is pretty on a terminal and JSON lines everywhere else. */
  readonly format?: LogFormat;
  /** Whether the destination is a terminal that a person reads. */
  readonly isTerminal: boolean;
  /** Whether pretty lines may use colours; default: when `isTerminal`. */
  readonly colours?: boolean;
  /**
   * Whether a pretty line clears the terminal's line first, for programs that
   * show a line of their own with the cursor at its start. Default false.
   */
  readonly clearsLine?: boolean;
}

export interface LoggerModules {
  /** Where lines go; default is `errorOutput`, standard error, so that standard output stays data. */
  readonly destination?: DestinationStream;
}

/**
 * Field names whose values are secrets wherever they stand in the first two
 * levels of a line. pino replaces the values; the sentence itself must never
 * carry one.
 */
const SECRET_FIELDS = ['token', 'bearer', 'password', 'secret', 'authorization', 'apiKey', 'privateKey'];

const CLEAR_TO_END_OF_LINE = '\u001b[K';

/**
 * Makes the process's logger. JSON lines have `time` (ISO 8601), `level` (its
 * name), the fields, and `msg`. A log that is not read, or that cannot be
 * written, costs its lines and never the process: what was lost is logged once
 * the log is read again, and counted (`droppedLogLines`).
 */
export async function createLogger(options: LoggerOptions, modules: LoggerModules = {}): Promise<Logger> {
  const level = options.level ?? 'info';
  const isPretty = options.format === 'pretty' || (options.format !== 'json' && options.isTerminal);
  const pinoOptions: PinoOptions = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: {
      paths: SECRET_FIELDS.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]),
      censor: '[redacted]',
    },
    serializers: { error: (error: unknown) => describeError(error, level === 'debug') },
    formatters: { level: (label) => ({ level: label }) },
  };
  const destination = modules.destination ?? errorOutput;
  const logger = isPretty
    ? wrap(pino(pinoOptions, await prettyStream(options, destination)), onOneLine, withoutControls)
    : wrap(pino(pinoOptions, { write: (line) => destination.write(printableJson(line)) }), (text) => text);
  if (modules.destination === undefined) errorOutput.reportLostTo((lost) => warnOfLoss(logger, lost));
  return logger;
}

/** Only a person at a terminal needs it, and loading it would cost every container its start-up time. */
async function prettyStream(
  options: LoggerOptions,
  destination: DestinationStream,
): Promise<DestinationStream> {
  const { prettyFactory } = await import('pino-pretty');
  const format = prettyFactory({
    colorize: options.colours ?? options.isTerminal,
    translateTime: 'SYS:HH:MM:ss.l',
    // One event, one line: what people read at a terminal scrolls by.
    singleLine: true,
  });
  // The formatter is called in place: pino-pretty's own stream passes lines on
  // later, and the last ones would be lost when the process ends.
  const start = options.clearsLine === true ? CLEAR_TO_END_OF_LINE : '';
  return { write: (line) => destination.write(`${start}${format(withoutControls(line))}`) };
}

function warnOfLoss(logger: Logger, { count, reason }: LostLines): void {
  const lines = countOf(count, 'line of this log was', 'lines of this log were');
  logger.warn(
    { lines: count, reason },
    `${lines} lost before this one: ${reason} (kv_accord_log_lines_dropped_total counts them)`,
  );
}

/** `clean` is for sentences; those of errors may have lines of their own, because they say what to do. */
function wrap(
  target: PinoLogger,
  clean: (text: string) => string,
  cleanError: (text: string) => string = clean,
): Logger {
  return {
    error: (fields, message) => target.error(fields, cleanError(message)),
    warn: (fields, message) => target.warn(fields, clean(message)),
    info: (fields, message) => target.info(fields, clean(message)),
    debug: (fields, message) => target.debug(fields, clean(message)),
    child: (fields) => wrap(target.child(fields), clean, cleanError),
  };
}
