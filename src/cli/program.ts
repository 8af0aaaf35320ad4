import { Command as Commander, type CommanderError, Help } from 'commander';
import { SettingError } from '../app/setting-error.js';
import type { Command, CommandDescription } from './command.js';
import { commonSettings } from './settings/common-settings.js';
import { addFlags, givenFlags } from './settings/flags.js';
import { parseValue } from './settings/parse-value.js';
import type { GivenFlags } from './settings/resolve.js';
import type { Setting, SettingsTable } from './settings/setting.js';
import { nearest, quote } from './settings/wrong-value.js';

/** The shells that `kv-accord completion` writes for. */
export const COMPLETION_SHELLS: readonly string[] = ['bash', 'zsh', 'fish'];

/** What a command line asks for. */
export type Request =
  | {
      readonly type: 'command';
      readonly command: Command;
      readonly flags: GivenFlags;
      readonly operands: string[];
    }
  | { readonly type: 'completion'; readonly shell: string }
  /** Help or the version was asked for, and has been written. */
  | { readonly type: 'answered' };

/** What `parseCommandLine` needs. */
export interface ProgramModules {
  readonly commands: readonly Command[];
  readonly version: string;
  /** Takes help and the version. */
  readonly write: (text: string) => void;
  /** Width for help in characters; undefined for 80. */
  readonly columns: number | undefined;
}

/** A command's own settings, then the common ones. */
export function tableOf(command: Command): SettingsTable {
  return { ...command.description.settings, ...commonSettings };
}

/** The command line as commander knows it: for parsing, help and completion. */
function buildProgram(
  argv: readonly string[],
  modules: ProgramModules,
  onRequest: (request: Request) => void,
): Commander {
  const program = new Commander('kv-accord')
    .description('Every worker, every router, one KV block size.')
    .usage('COMMAND [flags]')
    .version(modules.version, '-V, --version', 'Print the version.')
    .helpOption('-h, --help', 'Print this help.')
    .helpCommand('help [command]', 'Print the help of a command')
    .enablePositionalOptions()
    .exitOverride()
    // Our own text lists the choices; commander would add them once more.
    .configureHelp({
      optionDescription: (option) => option.description,
      subcommandTerm: (sub) => termOf(sub, modules.commands),
      formatItem,
    })
    .configureOutput({
      writeOut: modules.write,
      // Errors are printed once, by our own messages.
      writeErr: () => {},
      ...(modules.columns === undefined ? {} : { getOutHelpWidth: () => modules.columns ?? 80 }),
    });
  for (const command of modules.commands) {
    const { description } = command;
    const sub = program
      .command(description.name)
      .summary(description.summary)
      .description(description.description)
      .helpOption('-h, --help', 'Print this help.')
      .allowExcessArguments()
      .passThroughOptions(description.operands?.passesThrough === true);
    const { operands } = description;
    // Optional here: what is missing is reported later, when it is known that the command is to run.
    if (operands !== undefined) sub.argument(operands.syntax.replace(/^<(.*)>$/, '[$1]'), operands.help);
    // Only for the commands that are named: making every flag of all of them would be felt at each start.
    if (argv.includes(description.name)) addFlags(sub, tableOf(command), description.unread);
    sub.usage(`[flags]${operands === undefined ? '' : ` ${usageOf(description)}`}`);
    sub.addHelpText('after', helpAfter(description, modules.columns));
    sub.action(() => {
      const flags = givenFlags(sub, tableOf(command));
      checkValues(flags, tableOf(command));
      onRequest({ type: 'command', command, flags, operands: sub.args });
    });
  }
  const completion = program
    .command('completion')
    .summary('Print the completion script of a shell')
    .description('Prints a script that completes commands, flags and their values.')
    .helpOption('-h, --help', 'Print this help.')
    .allowExcessArguments()
    .addHelpText('after', COMPLETION_HELP);
  const shell = completion.createArgument('[shell]', 'bash, zsh or fish');
  shell.argChoices = [...COMPLETION_SHELLS];
  completion
    .addArgument(shell)
    .action((name?: string) =>
      onRequest({ type: 'completion', shell: checkShell(name, completion.args[1]) }),
    );
  return program;
}

/** Reads a command line (without the program's own name). Throws a `SettingError` when it is wrong. */
export function parseCommandLine(argv: readonly string[], modules: ProgramModules): Request {
  let request: Request = { type: 'answered' };
  const program = buildProgram(argv, modules, (asked) => {
    request = asked;
  });
  if (argv.length === 0) {
    throw new SettingError(
      `a command must be given: ${modules.commands.map(nameOf).join(', ')} (kv-accord --help)`,
    );
  }
  try {
    program.parse(argv, { from: 'user' });
  } catch (error) {
    if (!isCommanderError(error)) throw error;
    if (error.exitCode !== 0) throw explain(error, argv, modules.commands);
  }
  return request;
}

/** What a message of this command line begins with: the program, and the command where it names one. */
export function invokedName(argv: readonly string[], commands: readonly Command[]): string {
  const [word = ''] = argv;
  return [...commands.map(nameOf), 'completion', 'help'].includes(word) ? `kv-accord ${word}` : 'kv-accord';
}

/** A command in the list of commands: its name and its operands; that it has flags goes without saying. */
function termOf(command: Commander, commands: readonly Command[]): string {
  const name = command.name();
  const described = commands.find((candidate) => nameOf(candidate) === name)?.description;
  const needsOperand = name === 'completion' || described?.operands?.syntax.startsWith('<') === true;
  return [name, ...command.registeredArguments.map((a) => (needsOperand ? a.name() : `[${a.name()}]`))].join(
    ' ',
  );
}

/** A flag in place of a value: the value was forgotten, or came from a variable that is empty. */
function checkValues(flags: GivenFlags, table: SettingsTable): void {
  for (const [name, texts] of flags) {
    const next = texts.find((text) => isFlag(text, table));
    if (next !== undefined)
      throw new SettingError(
        `--${name} (on the command line): must be followed by its value, not by ${next.split('=')[0]}; if it came from a variable, that is empty`,
      );
  }
}

function isFlag(text: string, table: SettingsTable): boolean {
  const [flag = ''] = text.split('=');
  return flag.startsWith('--') && (flag.slice(2) in table || flag.replace(/^--no-/, '') in table);
}

const nameOf = (command: Command): string => command.description.name;

function checkShell(name: string | undefined, excess: string | undefined): string {
  if (excess !== undefined)
    throw new SettingError(`${quote(excess)} (on the command line): must be left out; one shell at a time`);
  if (name !== undefined && COMPLETION_SHELLS.includes(name)) return name;
  const hint = name === undefined ? '' : ` ${quote(name)}`;
  throw new SettingError(`shell${hint} (on the command line): must be bash, zsh or fish`);
}

function usageOf(description: CommandDescription<SettingsTable>): string {
  const { operands } = description;
  if (operands === undefined) return '';
  return operands.passesThrough === true ? `-- ${operands.syntax.replace(/[<>]/g, '')}` : operands.syntax;
}

function helpAfter(description: CommandDescription<SettingsTable>, columns: number | undefined): string {
  // A command line is there to be copied, so it stays whole.
  const examples = description.examples.map(({ says, line }) => `  # ${says}\n  ${line}`).join('\n');
  return `
Examples:
${examples}

${new Help().boxWrap(ABOUT_SETTINGS, columns ?? DEFAULT_COLUMNS)}`;
}

const ABOUT_SETTINGS = `Every flag --some-flag is also the variable KV_ACCORD_SOME_FLAG and the name some-flag in the --config file.
Order: flag, KV_ACCORD_…, DYN_…, file, default. Every switch has a --no-… form. Lists take commas or repeated flags.`;

/** Width of help where there is no terminal. */
const DEFAULT_COLUMNS = 80;

/** Beside its term a text that is narrower than this is no longer read with ease; it then stands below. */
const MIN_BESIDE_COLUMNS = 40;

const INDENT_BELOW = '      ';

/** One flag or command of the help: its text beside it where there is room, else below it, wrapped either way. */
function formatItem(this: Help, term: string, termWidth: number, text: string, helper: Help): string {
  const columns = helper.helpWidth ?? DEFAULT_COLUMNS;
  if (text === '' || columns - termWidth - 4 >= MIN_BESIDE_COLUMNS)
    return Help.prototype.formatItem.call(helper, term, termWidth, text, helper);
  const below = helper.boxWrap(text, columns - INDENT_BELOW.length);
  return `  ${term}\n${INDENT_BELOW}${below.replaceAll('\n', `\n${INDENT_BELOW}`)}`;
}

const COMPLETION_HELP = `
Examples:
  # bash, for this session; put it into ~/.bashrc to keep it
  source <(kv-accord completion bash)
  # zsh, likewise with ~/.zshrc
  source <(kv-accord completion zsh)
  # fish, kept
  kv-accord completion fish > ~/.config/fish/completions/kv-accord.fish`;

function isCommanderError(error: unknown): error is CommanderError {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('commander.');
}

/** Puts commander's refusal into our own one line, with the nearest known name. */
function explain(error: CommanderError, argv: readonly string[], commands: readonly Command[]): SettingError {
  // commander says what it met in the message alone, between quotes.
  const met = /'(.*)'/s.exec(error.message)?.[1] ?? '';
  const command = commands.find((candidate) => nameOf(candidate) === argv[0]);
  switch (error.code) {
    case 'commander.unknownOption':
      return explainUnknownFlag(met, command, commands);
    case 'commander.optionMissingArgument': {
      const [flag = met, placeholder = 'value'] = met.split(' ');
      const setting = command === undefined ? undefined : tableOf(command)[flag.slice(2)];
      const value = (setting === undefined ? undefined : expectedOf(setting)) ?? placeholder;
      return new SettingError(`${flag} (on the command line): must be followed by its value, ${value}`);
    }
    case 'commander.unknownCommand': {
      const names = [...commands.map(nameOf), 'completion', 'help'];
      const word = met === 'version' ? '--version' : nearest(met, names);
      const hint = word === undefined ? '' : `; did you mean ${word}?`;
      return new SettingError(`unknown command ${quote(met)}: must be one of ${names.join(', ')}${hint}`);
    }
    case 'commander.help': {
      // What `help NAME` does with a name that is none.
      const asked = argv[1] ?? '';
      const word = nearest(asked, commands.map(nameOf));
      const hint = word === undefined ? '' : `; did you mean ${word}?`;
      return new SettingError(
        `unknown command ${quote(asked)}: must be one of ${commands.map(nameOf).join(', ')}, completion${hint}`,
      );
    }
    default:
      return new SettingError(
        `${error.message.replace(/^error: /, '').replace(/\s+/g, ' ')} (kv-accord --help)`,
      );
  }
}

/** What a value must be, in the words of a wrong one; undefined where its placeholder says more. */
function expectedOf(setting: Setting): string | undefined {
  if (setting.kind === 'string' || setting.placeholder !== undefined) return undefined;
  const parsed = parseValue(setting, [''], () => undefined);
  return parsed.ok ? undefined : parsed.allowed;
}

function explainUnknownFlag(
  met: string,
  command: Command | undefined,
  commands: readonly Command[],
): SettingError {
  const [flag = met, ...value] = met.split('=');
  const where = '(on the command line)';
  if (command === undefined) {
    const isKnown = commands.some((candidate) =>
      Object.keys(tableOf(candidate)).some((name) => flag === `--${name}`),
    );
    const names = ['--help', '--version'];
    const word = flag === '-v' ? '--version' : nearest(flag, names);
    const hint = isKnown
      ? `; it must stand after the command`
      : word === undefined
        ? ''
        : `; did you mean ${word}?`;
    return new SettingError(`unknown flag ${quote(flag)} ${where}: must be ${names.join(' or ')}${hint}`);
  }
  const table = tableOf(command);
  const name = nameOf(command);
  if (value.length > 0 && table[flag.replace(/^--(no-)?/, '')]?.kind === 'boolean') {
    return new SettingError(
      `${flag} ${quote(value.join('='))} ${where}: must be ${flag} alone, it takes no value`,
    );
  }
  const flags = Object.entries(table).flatMap(([known, setting]) =>
    setting.kind === 'boolean' ? [`--${known}`, `--no-${known}`] : [`--${known}`],
  );
  const word = nearest(flag, [...flags, '--help']);
  const hint = word === undefined ? '' : `; did you mean ${word}?`;
  const owners = commands.filter((candidate) => flag.startsWith('--') && flag.slice(2) in tableOf(candidate));
  const other = owners.length === 0 ? '' : `; it belongs to ${owners.map(nameOf).join(', ')}`;
  return new SettingError(
    `unknown flag ${quote(flag)} ${where}: must be one that kv-accord ${name} --help lists${hint || other}`,
  );
}
