import type { Address } from '../../edge/platform/address.js';

/** What every setting has, whatever its kind. */
interface Described {
  /** One or two sentences for `--help`; the default is added by itself. */
  readonly help: string;
  /** Heading in `--help`: `Engine`. Default `Options`. */
  readonly group?: string;
  /**
   * Dynamo's variables for the same thing, read after `KV_ACCORD_…`; the first
   * that is set is used. Names of 1.x stand before older ones.
   */
  readonly dynamo?: readonly string[];
  /** What stands for the value in `--help`, in place of the kind's own word. */
  readonly placeholder?: string;
  /** What holds when nothing is given, for settings whose default is found later. */
  readonly defaultHelp?: string;
  /** False for what steers the reading of the configuration itself. Default true. */
  readonly inConfigFile?: boolean;
  /** False where the variable of its name means something else to another command in the same container. Default true. */
  readonly inEnvironment?: boolean;
}

/** `500ms`, `30s`, `5m`, `1h`, `1m30s`; `0` alone needs no unit. The value is in milliseconds. */
export interface DurationSetting extends Described {
  readonly kind: 'duration';
  readonly default?: string;
  /** Shortest that is allowed. Default `0`. */
  readonly min?: string;
  /** Longest that is allowed. Default 24 days, the longest timer. */
  readonly max?: string;
}

/** `64KiB`, `16MiB`, `1GiB`; `0` alone needs no unit. The value is in bytes. */
export interface SizeSetting extends Described {
  readonly kind: 'size';
  readonly default?: string;
  readonly min?: string;
  readonly max?: string;
}

/** A whole number in decimal digits. */
export interface IntegerSetting extends Described {
  readonly kind: 'integer';
  readonly default?: number;
  readonly min: number;
  readonly max: number;
  /** Words that stand for a number that is found later: `auto`. */
  readonly words?: readonly string[];
}

/** A number in decimal digits: `1`, `0.75`, `2.5e-3`. */
export interface NumberSetting extends Described {
  readonly kind: 'number';
  readonly default?: number;
  readonly min: number;
  /** Whether `min` itself is already too little. Default false. */
  readonly isMinExcluded?: boolean;
  readonly max: number;
}

/** One of a few words. */
export interface EnumSetting extends Described {
  readonly kind: 'enum';
  readonly default?: string;
  readonly choices: readonly string[];
  /** Other spellings that people know, and the choice that each one means. */
  readonly aliases?: Readonly<Record<string, string>>;
}

/** Several values, separated by commas or by repeating the flag. */
export interface ListSetting extends Described {
  readonly kind: 'list';
  readonly default?: readonly string[];
  /** What each one must look like. */
  readonly item: ListItem;
  /** Words that stand for a whole list and so stand alone: `auto`. */
  readonly words?: readonly string[];
}

/**
 * `url`: http or https, kept without a trailing slash. `target`: the form is
 * checked by discovery, which knows the schemes. `env-name`: a name that an
 * environment variable can have. `zmq`: `tcp://HOST:PORT` or `ipc://PATH`, with
 * an `@` in front where the socket is to be bound. `object-name`: a Kubernetes
 * object or, behind a slash, a part of it. `source`: a path or a URL, which its reader
 * checks. `model`: the name of a served model, any text without a comma.
 */
export type ListItem = 'url' | 'target' | 'env-name' | 'zmq' | 'object-name' | 'source' | 'model';

/** `HOST:PORT`, `[::1]:PORT` or `unix:/path`. */
export interface AddressSetting extends Described {
  readonly kind: 'address';
  readonly default?: string;
  /** Port 0 (any free one) makes sense only where the process listens. */
  readonly use: 'listen' | 'dial';
}

/** A path. The value is as given. */
export interface FileSetting extends Described {
  readonly kind: 'file';
  readonly default?: string;
  /** What must be there at the start; left out where it may come later. */
  readonly mustBe?: 'file' | 'folder';
  /** Words that are taken as they are, not as a path: `auto`. */
  readonly words?: readonly string[];
  /** True where people put the secret itself by mistake: a path that is not there is then not shown. */
  readonly holdsSecret?: boolean;
}

/** Whether a path is that of a folder, also of one that may come later. */
export function isFolderSetting({ mustBe, placeholder }: FileSetting): boolean {
  return mustBe === 'folder' || placeholder === 'DIR';
}

/** On or off: `--name`, `--no-name`; `true`, `false`, `1`, `0`, `yes`, `no`, `on`, `off` elsewhere. Default false. */
export interface BooleanSetting extends Described {
  readonly kind: 'boolean';
  readonly default?: boolean;
}

/** Text that is not empty, without control characters. */
export interface StringSetting extends Described {
  readonly kind: 'string';
  readonly default?: string;
  /** Longest that is allowed, in characters. Default 1024. */
  readonly maxLength?: number;
}

/** What a command says of one of its settings; help, environment variables, completion and `docs/commands.md` follow from it. */
export type Setting =
  | DurationSetting
  | SizeSetting
  | IntegerSetting
  | NumberSetting
  | EnumSetting
  | ListSetting
  | AddressSetting
  | FileSetting
  | BooleanSetting
  | StringSetting;

/**
 * The settings of one command by their names (`probe-interval`). Flags, help,
 * environment variables, configuration keys, completion and `--print-config`
 * all follow from it. Write tables as `{ … } as const`: the types of the
 * values follow too.
 */
export type SettingsTable = Readonly<Record<string, Setting>>;

type CamelCase<Name extends string> = Name extends `${infer Head}-${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Name;

type Unit<S> = S extends { readonly kind: 'duration' }
  ? 'Ms'
  : S extends { readonly kind: 'size' }
    ? 'Bytes'
    : '';

type GivenValue<S> = S extends { readonly kind: 'integer'; readonly words: readonly (infer Word)[] }
  ? number | Word
  : S extends { readonly kind: 'duration' | 'size' | 'integer' | 'number' }
    ? number
    : S extends { readonly kind: 'enum'; readonly choices: readonly (infer Choice)[] }
      ? Choice
      : S extends { readonly kind: 'address' }
        ? Address
        : string;

type ValueOf<S> = S extends { readonly kind: 'list' }
  ? readonly string[]
  : S extends { readonly kind: 'boolean' }
    ? boolean
    : S extends { readonly default: string | number }
      ? GivenValue<S>
      : GivenValue<S> | undefined;

/**
 * The values that follow from a table: `probe-interval`, a duration, becomes
 * `probeIntervalMs: number`; a size ends in `Bytes`; what has no default may
 * be undefined; a list may be empty.
 */
export type SettingsOf<Table extends SettingsTable> = {
  readonly [Name in keyof Table & string as `${CamelCase<Name>}${Unit<Table[Name]>}`]: ValueOf<Table[Name]>;
};

/** `probe-interval` and its kind to `probeIntervalMs`. */
export function propertyName(name: string, kind: Setting['kind']): string {
  const camel = name.replace(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
  return camel + (kind === 'duration' ? 'Ms' : kind === 'size' ? 'Bytes' : '');
}

/** What all environment variables of the product begin with. */
export const ENVIRONMENT_PREFIX = 'KV_ACCORD_';

/** The variables that a setting is read from, the first that is set. */
export function variablesOf(name: string, { inEnvironment = true, dynamo = [] }: Setting): readonly string[] {
  return [...(inEnvironment ? [environmentName(name)] : []), ...dynamo];
}

/** `probe-interval` to `KV_ACCORD_PROBE_INTERVAL`. */
export function environmentName(name: string): string {
  return ENVIRONMENT_PREFIX + name.toUpperCase().replaceAll('-', '_');
}
