import { SettingError } from '../app/setting-error.js';
import type { Clock } from '../edge/platform/clock.js';
import { describeError } from '../edge/platform/describe-error.js';
import { explainSystemError } from '../edge/platform/files/file.js';
import type { Logger } from '../edge/platform/logger.js';
import { type Environment, SECONDARY_PROCESS_VARIABLE } from '../edge/platform/processes/environment.js';
import { exitCodeOfSignal, StoppedBySignal } from '../edge/platform/processes/process-signals.js';
import { watchDescriptors } from '../edge/platform/streams/descriptor-watch.js';
import type { TextOutput } from '../edge/platform/streams/standard-streams.js';
import type { OpenKeys } from '../edge/platform/streams/terminal-keys.js';
import type { Command } from './command.js';
import { EXIT_FAULT, EXIT_OK, EXIT_USAGE } from './exit-codes.js';
import { invokedName, parseCommandLine, type Request, tableOf } from './program.js';
import { checkListens } from './settings/check-listens.js';
import { checkTls, type commonSettings } from './settings/common-settings.js';
import type { ConfigFile } from './settings/config-file.js';
import { readDynamoEnvironment } from './settings/dynamo-environment.js';
import { type FindPathProblem, parseValue } from './settings/parse-value.js';
import { type Resolved, type ResolvedEntry, resolve, type SettingSources } from './settings/resolve.js';
import { environmentName, type SettingsTable } from './settings/setting.js';
import { warnOfUnknownEnvironment } from './settings/unknown-environment.js';
import { describeOrigin, quote, wrongValue } from './settings/wrong-value.js';

/** What the program is built on; tests put their own in. */
export interface CliModules {
  readonly commands: readonly Command[];
  readonly clock: Clock;
  readonly environment: Environment;
  readonly stdout: TextOutput;
  readonly stderr: TextOutput;
  /** Reads keys where a person is at the terminal; default: no person is. */
  readonly openKeys?: OpenKeys;
  readonly signal: AbortSignal;
  readonly takeOverSignals: () => void;
  readonly version: string;
  readonly readTextFile: (path: string, maxBytes: number) => Promise<string>;
  readonly findPathProblem: FindPathProblem;
  /** Where the log goes; default is the process's own standard error. */
  readonly logDestination?: { write(line: string): void };
  /** Called as soon as there is one, so that faults from outside the command can be logged. */
  readonly onLogger?: (logger: Logger) => void;
  /** Called when the command is a server, which goes on when the reader of its output leaves. */
  readonly onServer?: () => void;
}

/** Largest configuration file. A list of 10,000 workers fits. */
const MAX_CONFIG_FILE_BYTES = 1024 * 1024;

/**
 * Does what a command line (without the program's own name) asks. Resolves
 * with the exit code and never rejects: any error is printed in one line.
 */
export async function runCli(argv: readonly string[], modules: CliModules): Promise<number> {
  // Known before the line is read: most that is wrong in it is wrong of one command.
  const name = invokedName(argv, modules.commands);
  let logger: Logger | undefined;
  try {
    const request = parseCommandLine(argv, {
      commands: modules.commands,
      version: modules.version,
      write: (text) => modules.stdout.write(text),
      columns: modules.stdout.columns,
    });
    if (request.type === 'answered') return EXIT_OK;
    if (request.type === 'completion') {
      const { completionScript } = await import('./completion/script.js');
      modules.stdout.write(completionScript(request.shell, modules.commands));
      return EXIT_OK;
    }
    return await runCommand(request, modules, (made) => {
      logger = made;
      modules.onLogger?.(made);
    });
  } catch (error) {
    if (error instanceof SettingError) {
      modules.stderr.write(`${name}: ${error.message}\n`);
      return EXIT_USAGE;
    }
    const { signal } = modules;
    if (signal.aborted && signal.reason instanceof StoppedBySignal && error === signal.reason) {
      return exitCodeOfSignal(signal.reason.signal);
    }
    faultReporter(modules.stderr, logger, name)(error);
    return EXIT_FAULT;
  }
}

/**
 * Makes what reports an unexpected error: in one line, through the log
 * once there is one; the stack follows at debug level.
 */
export function faultReporter(
  stderr: TextOutput,
  logger?: Logger,
  name = 'kv-accord',
): (error: unknown) => void {
  return (error) => {
    const line = `${name}: ${oneLine(describeError(error))}`;
    if (logger === undefined) stderr.write(`${line}\n`);
    else logger.error({}, line);
    logger?.debug({ error }, 'where it happened');
  };
}

async function runCommand(
  request: Request & { type: 'command' },
  modules: CliModules,
  onLogger: (logger: Logger) => void,
): Promise<number> {
  const { command, flags, operands } = request;
  const { description } = command;
  const table = tableOf(command);
  const environment = modules.environment;
  const configFile = await loadConfigFile(table, { flags, environment }, modules);
  const resolved = resolve(table, { flags, environment, configFile }, modules.findPathProblem);
  // Every table holds the common settings; the types of a table that is only known here cannot say so.
  const typed = resolved as unknown as Resolved<typeof commonSettings>;
  const settings = typed.values;
  if (settings.printConfig) {
    const { printConfig, printConfigJson } = await import('./settings/print-config.js');
    const text = settings.json
      ? printConfigJson(resolved.entries)
      : printConfig(description.name, resolved.entries);
    modules.stdout.write(text);
    for (const warning of unknownVariables(modules))
      modules.stderr.write(`kv-accord ${description.name}: ${warning}\n`);
  }
  checkTls(settings, typed.reject);
  checkListens(resolved.entries, resolved.reject);
  // A command without its operands is a question of what it is for, before one of how.
  if (!settings.printConfig) checkOperands(command, operands);
  description.check?.(settings, typed.reject, new Set(flags.keys()));
  if (settings.printConfig) return EXIT_OK;
  if (description.isServer === true) modules.onServer?.();

  const isTerminal = modules.stderr.isTerminal;
  const { createLogger } = await import('../edge/platform/logger.js');
  const logger = await createLogger(
    {
      level: settings.logLevel,
      format: settings.logFormat,
      isTerminal,
      clearsLine: isTerminal,
      colours: isTerminal && (environment['NO_COLOR'] ?? '') === '',
    },
    modules.logDestination === undefined ? {} : { destination: modules.logDestination },
  );
  onLogger(logger);
  if (environment[SECONDARY_PROCESS_VARIABLE] === undefined) warnOfEnvironment(command, modules, logger);
  const run = await command.load();
  const stopWatching =
    description.isServer === true ? watchDescriptors({ clock: modules.clock, logger }) : () => undefined;
  return run(settings, {
    clock: modules.clock,
    logger,
    signal: modules.signal,
    takeOverSignals: modules.takeOverSignals,
    stdout: modules.stdout,
    stderr: modules.stderr,
    openKeys: modules.openKeys ?? (() => undefined),
    environment,
    isTerminal,
    operands,
    version: modules.version,
    reject: typed.reject,
  })
    .catch((error: unknown) => {
      throw error instanceof SettingError ? withOrigin(error, resolved.entries) : error;
    })
    .finally(stopWatching);
}

/** Parts of the program name a setting and its value, and cannot know where it was given. */
function withOrigin(error: SettingError, entries: readonly ResolvedEntry[]): SettingError {
  const { message } = error;
  const named = /^--([a-z0-9-]+)\b/.exec(message)?.[1];
  const origin = entries.find(({ name }) => name === named)?.origin;
  if (origin === undefined || origin.type === 'default') return error;
  const where = origin.type === 'flag' ? 'on the command line' : `from ${describeOrigin(origin)}`;
  if (message.includes(`(${where})`)) return error;
  // As of a value that is wrong by itself.
  const given = /^--[a-z0-9-]+ "(?:[^"\\]|\\.)*"(?= must )/.exec(message)?.[0];
  if (given !== undefined) return new SettingError(`${given} (${where}):${message.slice(given.length)}`);
  return origin.type === 'flag' ? error : new SettingError(`${message} (--${named} is ${where})`);
}

function unknownVariables({ commands, environment }: CliModules): readonly string[] {
  return warnOfUnknownEnvironment(
    environment,
    commands.flatMap((command) => Object.keys(tableOf(command))),
  );
}

/** Says which variables are set and have no effect. */
function warnOfEnvironment(command: Command, modules: CliModules, logger: Logger): void {
  const { commands, environment } = modules;
  const tables = commands.map(tableOf);
  for (const warning of unknownVariables(modules)) logger.warn({}, warning);
  // What another program is started with may well be meant for that program.
  if (command.description.operands?.passesThrough === true) return;
  const { warnings, notes } = readDynamoEnvironment(environment, tables);
  const table = tableOf(command);
  // Only who routes is expected to obey, and only who serves is asked why it does not.
  for (const warning of warnings) logger['router-mode' in table ? 'warn' : 'debug']({}, warning);
  for (const note of notes) logger['http-listen' in table ? 'info' : 'debug']({}, note);
}

function checkOperands(command: Command, operands: readonly string[]): void {
  const { syntax, passesThrough } = command.description.operands ?? {};
  if (syntax?.startsWith('<') && operands.length === 0) {
    throw new SettingError(
      `${syntax.replace(/[<>]/g, '')} (on the command line): must be given${passesThrough === true ? ', after --' : `; see kv-accord ${command.description.name} --help`}`,
    );
  }
  const most = syntax === undefined ? 0 : syntax.includes('...') ? Number.POSITIVE_INFINITY : 1;
  const excess = operands[most];
  if (excess !== undefined) {
    throw new SettingError(
      `${quote(excess)} (on the command line): must be left out; lists are separated by commas without spaces, or their flag is repeated`,
    );
  }
}

/** Finds and reads the configuration file: it is itself a setting, of the flag and the environment alone. */
async function loadConfigFile(
  table: SettingsTable,
  sources: SettingSources,
  modules: CliModules,
): Promise<ConfigFile | undefined> {
  const setting = table['config'];
  const variable = environmentName('config');
  const flag = sources.flags.get('config');
  const text = flag?.at(-1) ?? sources.environment[variable];
  if (setting === undefined || text === undefined || text === '') return undefined;
  const origin =
    flag === undefined ? ({ type: 'environment', variable } as const) : ({ type: 'flag' } as const);
  const parsed = parseValue(setting, [text], modules.findPathProblem);
  if (!parsed.ok) throw wrongValue('config', text, origin, parsed.allowed);
  const path = String(parsed.value);
  let content: string;
  try {
    content = await modules.readTextFile(path, MAX_CONFIG_FILE_BYTES);
  } catch (error) {
    throw wrongValue('config', path, origin, `a file that can be read, and it ${explainSystemError(error)}`);
  }
  const { parseConfigFile } = await import('./settings/config-file.js');
  return parseConfigFile(path, content);
}

function oneLine(text: string): string {
  return text.replace(/\s*\n\s*/g, ' ');
}
