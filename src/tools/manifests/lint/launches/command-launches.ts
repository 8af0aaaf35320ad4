import type { ShellCommand } from '../shell/shell-command.js';
import { readShellCommands } from '../shell/shell-commands.js';
import { textOfWord, type Word } from '../shell/words.js';
import { type InnerText, textOf } from '../text/scalar-text.js';
import type { Span } from '../text/span.js';
import { withConfigFile } from './config-file.js';
import { type ContainerRun, readContainerRun } from './container-run.js';
import { dynamoVersionOf } from './dynamo-version.js';
import { ENGINE_ARGUMENTS, ENGINE_FLAG } from './engine-flags.js';
import { handedLaunches, scriptOfInput } from './handed-launches.js';
import { entrypointOf } from './image-entrypoint.js';
import type { Launch } from './launch.js';
import { type FoundProgram, findProgram } from './programs.js';
import { scriptFile, shellScript, startsElsewhere } from './shell-script.js';
import { fileInContainer, pathOf, type Surroundings, withWritten } from './surroundings.js';
import { unchecked } from './unchecked-launches.js';
import { uncheckedCommand, uncheckedImage } from './unchecked-programs.js';
import { mayHideArgs } from './unseen-args.js';

/** Scripts in scripts that are followed: `bash -c` in a `bash -c`. */
export const MAX_SHELL_DEPTH = 3;

/** How a command line is read. */
export interface CommandReading {
  readonly argsAre: Launch['argsAre'];
  /** Scripts and containers around it. */
  readonly depth: number;
  /** The text of a word that is a script; undefined where its place is not known. */
  readonly innerText: (word: Word) => InnerText | undefined;
}

/** A word of a script as the text of a script in it. */
export const textInWord: CommandReading['innerText'] = (word) =>
  textOf({ value: textOfWord(word), span: word.span });

/** What one command of a script starts. */
export interface ScriptRun extends Pick<ShellCommand, 'number' | 'ended'> {
  readonly launches: readonly Launch[];
}

function scriptLaunches(...asked: Parameters<typeof scriptRuns>): readonly Launch[] {
  return scriptRuns(...asked).flatMap(({ launches }) => launches);
}

function scriptRuns(
  script: InnerText,
  surroundings: Surroundings,
  depth: number,
  args?: readonly Word[],
): readonly ScriptRun[] {
  const env = new Map(
    [...surroundings.env].map(([name, { value, span }]) => [
      name,
      value === undefined ? undefined : { value, span },
    ]),
  );
  const library = { fileAt: (path: string) => surroundings.fileAt(pathOf(path)), args };
  return runsOf(readShellCommands(script, env, library), surroundings, depth);
}

/** What the commands of a script start, one run for each command that starts something. */
export function runsOf(
  commands: readonly ShellCommand[],
  surroundings: Surroundings,
  depth: number,
): readonly ScriptRun[] {
  return commands.flatMap((command) => {
    const all = new Map([...surroundings.env, ...command.env]);
    const hasUnseenEnv = surroundings.hasUnseenEnv || command.hasUnseenEnv;
    const around = withWritten({ ...surroundings, env: all, hasUnseenEnv }, command);
    const read = scriptOfInput(command, around);
    const launches =
      read !== undefined && depth < MAX_SHELL_DEPTH
        ? scriptLaunches(read.script, read.around, depth + 1)
        : commandLaunches(command.words, around, { argsAre: 'script', depth, innerText: textInWord });
    const { number, ended, branch } = command;
    // Of two branches one is taken, and which is not known: their programs never meet.
    const placed =
      branch.length === 0
        ? launches
        : launches.map((one) => ({ ...one, branch: [...branch, ...(one.branch ?? [])] }));
    return launches.length === 0 ? [] : [{ launches: placed, number, ended }];
  });
}

/**
 * What a container starts that is given an entrypoint or none, and a command or none;
 * `start` reads a command line.
 */
export function startedLaunches(
  entrypoint: readonly Word[],
  command: readonly Word[],
  { image, source, site, container }: Pick<Surroundings, 'image' | 'source' | 'site' | 'container'>,
  start: (words: readonly Word[]) => readonly Launch[],
  imageSpan?: Span,
): readonly Launch[] {
  const [first] = [...entrypoint, ...command];
  const own = entrypoint.length > 0 ? undefined : entrypointOf(image);
  const span = imageSpan ?? first?.span ?? { source, start: 0, end: 0, isExact: false };
  // What an image starts by itself is found where its own command begins, or nowhere.
  const before = (own ?? []).map((value): Word => ({ value, span, mayBeMore: false }));
  const words = [...before, ...entrypoint, ...command];
  const isCommand = own !== undefined && start([...entrypoint, ...command]).length > 0;
  const started = start(isCommand ? [...entrypoint, ...command] : words);
  // `-lc SCRIPT` alone is for an image whose entrypoint is a shell.
  const isShell = image !== undefined && own === undefined && entrypoint.length === 0;
  const isScript = isShell && /^-[a-z]*c$/.test(first?.value ?? '');
  const found =
    started.length === 0 && isScript ? start([{ value: 'sh', span, mayBeMore: false }, ...command]) : started;
  const seen = found.length > 0 ? undefined : uncheckedImage(image, shellScript(words) ? undefined : words);
  return seen === undefined ? found : [unchecked(seen, span, site, container)];
}

/** The programs that a command line starts, by itself, in a container, or by a script. */
export function commandLaunches(
  words: readonly Word[],
  surroundings: Surroundings,
  reading: CommandReading,
): readonly Launch[] {
  const { depth, innerText } = reading;
  const run = readContainerRun(words);
  if (run !== undefined) return runLaunches(run, surroundings, reading);
  const network = startsElsewhere(words) ? {} : surroundings.network;
  const shell = shellScript(words);
  if (shell !== undefined) {
    const script = innerText(shell);
    return depth >= MAX_SHELL_DEPTH || script === undefined
      ? []
      : scriptLaunches(script, { ...surroundings, network }, depth + 1);
  }
  const handed = handedLaunches(words, surroundings, {
    command: (inner, there) => commandLaunches(inner, there, reading),
    script: (script, there) => (depth < MAX_SHELL_DEPTH ? scriptLaunches(script, there, depth + 1) : []),
    innerText,
  });
  if (handed.length > 0) return handed;
  const file = scriptFile(words);
  const written = file === undefined ? undefined : surroundings.scriptAt?.(file.path);
  if (written !== undefined && depth < MAX_SHELL_DEPTH)
    return scriptLaunches(written, surroundings, depth + 1, file?.args);
  const found = findProgram(words);
  if (found === undefined) {
    const other = uncheckedCommand(words);
    const [at] = words;
    return other === undefined || at === undefined
      ? []
      : [
          {
            ...unchecked(other, at.span, surroundings.site, surroundings.container),
            args: words.slice(1),
            network,
          },
        ];
  }
  const launch = launchOf(found, { ...surroundings, network }, reading.argsAre);
  if (launch === undefined) return [];
  if (found.child === undefined) return [withConfigFile(launch)];
  const inner = commandLaunches(found.child, surroundings, reading);
  return [launch, ...inner.map((one) => ({ ...one, isGated: true }))];
}

/** What `docker run` and its like start. */
function runLaunches(
  run: ContainerRun,
  surroundings: Surroundings,
  reading: CommandReading,
): readonly Launch[] {
  const { image, entrypoint, command, env, hasUnseenEnv, isOnHostNetwork } = run;
  const inside: Surroundings = {
    ...surroundings,
    env,
    hasUnseenEnv,
    image: image?.value,
    network: isOnHostNetwork ? surroundings.network : {},
    installed: undefined,
    fileAt: fileInContainer(surroundings, run),
    scriptAt: () => undefined,
  };
  const deeper = { ...reading, depth: reading.depth + 1 };
  const started = startedLaunches(entrypoint === undefined ? [] : [entrypoint], command, inside, (inner) =>
    commandLaunches(inner, inside, deeper),
  );
  const flag = command.find(({ value }) => ENGINE_FLAG.test(value ?? ''));
  return started.length > 0 || flag === undefined || shellScript(command) !== undefined
    ? started
    : [unchecked(ENGINE_ARGUMENTS, flag.span, surroundings.site, surroundings.container)];
}

/** A program with what is around it; undefined where its words have no place. */
function launchOf(
  { program, isGated, inFront, args, at }: FoundProgram,
  surroundings: Surroundings,
  argsAre: Launch['argsAre'],
): Launch | undefined {
  const first = at[0]?.span;
  const last = at.at(-1)?.span;
  if (first === undefined || last === undefined) return undefined;
  const { role, backend, isDynamo } = program;
  // Written out: objects that are spread into one share no shape, and there are thousands of these.
  return {
    role,
    program: program.program,
    backend,
    isDynamo,
    args,
    env: new Map([...(inFront.isCleared ? [] : surroundings.env), ...inFront.env]),
    hasUnseenArgs: args.some((word, at) => mayHideArgs(word, args[at - 1], argsAre)),
    hasUnseenEnv: surroundings.hasUnseenEnv || inFront.hasUnseen,
    at: argsAre === 'items' || last.end < first.start ? last : { ...first, end: last.end },
    source: surroundings.source,
    site: surroundings.site,
    container: surroundings.container,
    version: dynamoVersionOf(surroundings.image) ?? surroundings.installed,
    isGated,
    argsAre,
    fileAt: surroundings.fileAt,
    network: surroundings.network,
    service: surroundings.service,
  };
}
