import type { Command } from '../command.js';
import { COMPLETION_SHELLS, tableOf } from '../program.js';
import { completionWords } from '../settings/flags.js';
import { isFolderSetting, type Setting } from '../settings/setting.js';

/** One flag as shells complete it. */
export interface CompletionFlag {
  /** With its dashes: `--listen`. */
  readonly flag: string;
  readonly help: string;
  /** What can follow; undefined for a switch. */
  readonly value?: CompletionValue;
}

/** What can be typed for a value. */
export interface CompletionValue {
  readonly words: readonly string[];
  /** Whether paths are offered too. */
  readonly path: 'file' | 'folder' | undefined;
  /** Whether the flag may be given again. */
  readonly repeats: boolean;
  /** Stands for the value where a shell shows one: `URL,…`. */
  readonly placeholder: string;
}

/** One command as shells complete it. */
export interface CompletionCommand {
  readonly name: string;
  readonly summary: string;
  readonly flags: readonly CompletionFlag[];
  /** Words that can stand beside the flags. */
  readonly operands: readonly string[];
  /** Whether files and folders can stand beside the flags. */
  readonly takesFiles: boolean;
  /** True when what follows `--` is another program with its arguments. */
  readonly passesThrough: boolean;
}

const HELP_FLAG: CompletionFlag = { flag: '--help', help: 'Print this help.' };

/** Flags that stand before any command. */
export const PROGRAM_FLAGS: readonly CompletionFlag[] = [
  HELP_FLAG,
  { flag: '--version', help: 'Print the version.' },
];

/** Everything that can be completed: it follows from the tables, and nothing else is asked for it. */
export function completionModel(commands: readonly Command[]): CompletionCommand[] {
  const listed = commands.map((command): CompletionCommand => {
    const { description } = command;
    return {
      name: description.name,
      summary: description.summary,
      flags: [
        ...Object.entries(tableOf(command))
          .filter(([name]) => !isUnread(command, name))
          .flatMap(flagsOf),
        HELP_FLAG,
      ],
      operands: [],
      takesFiles: description.operands?.syntax.includes('FILE') === true,
      passesThrough: description.operands?.passesThrough === true,
    };
  });
  return [
    ...listed,
    {
      name: 'completion',
      summary: 'Print the completion script of a shell',
      flags: [HELP_FLAG],
      operands: COMPLETION_SHELLS,
      takesFiles: false,
      passesThrough: false,
    },
    {
      name: 'help',
      summary: 'Print the help of a command',
      flags: [],
      operands: listed.map(({ name }) => name),
      takesFiles: false,
      passesThrough: false,
    },
  ];
}

function isUnread({ description: { unread = [] } }: Command, name: string): boolean {
  return (unread as readonly string[]).includes(name);
}

function flagsOf([name, setting]: [string, Setting]): CompletionFlag[] {
  const help = setting.help;
  if (setting.kind === 'boolean') {
    const flag = setting.default === true ? `--no-${name}` : `--${name}`;
    return [{ flag, help }];
  }
  const isFolder = setting.kind === 'file' && isFolderSetting(setting);
  const value: CompletionValue = {
    words: completionWords(setting),
    path: !takesPath(setting) ? undefined : isFolder ? 'folder' : 'file',
    repeats: setting.kind === 'list',
    placeholder: setting.kind,
  };
  return [{ flag: `--${name}`, help, value }];
}

function takesPath(setting: Setting): boolean {
  return setting.kind === 'file' || (setting.kind === 'list' && setting.item === 'source');
}
