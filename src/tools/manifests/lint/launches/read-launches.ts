import { posix } from 'node:path';
import type { ContainerSite, PodSite } from '../../pod-site.js';
import type { ShellCommand } from '../shell/shell-command.js';
import { readShellCommands } from '../shell/shell-commands.js';
import { textOfWord, type Word, wordOfText } from '../shell/words.js';
import { type InnerText, locateScalar, textOf } from '../text/scalar-text.js';
import type { Located, Span, TextSource } from '../text/span.js';
import { componentDefault, variableWord } from './component-default.js';
import { withConfigFile } from './config-file.js';
import { readContainerRun } from './container-run.js';
import type { ContainerText } from './container-text.js';
import { type DynamoVersion, dynamoVersionOf } from './dynamo-version.js';
import { ENGINE_ARGUMENTS, ENGINE_FLAG } from './engine-flags.js';
import { expand, wordOf } from './expand-variables.js';
import { handedLaunches, scriptOfInput } from './handed-launches.js';
import { entrypointOf } from './image-entrypoint.js';
import type { Launch } from './launch.js';
import { presetArgs, presetWords } from './preset-words.js';
import { findProgram } from './programs.js';
import type { ScriptLibrary } from './script-commands.js';
import { innerTextOf, scriptFile, shellScript, startsElsewhere } from './shell-script.js';
import {
  fileInContainer,
  inFolder,
  type Library,
  pathOf,
  type Surroundings,
  treeFileAt,
  withWritten,
} from './surroundings.js';
import { unchecked, uncheckedContainer } from './unchecked-launches.js';
import { uncheckedCommand, uncheckedImage } from './unchecked-programs.js';
import { mayHideArgs } from './unseen-args.js';

/** Scripts in scripts that are followed: `bash -c` in a `bash -c`. */
const MAX_SHELL_DEPTH = 3;

/** The programs that a pod's containers start. */
export function readLaunches(file: TextSource, site: PodSite, library: Library): readonly Launch[] {
  const containers = [...site.initContainers, ...site.containers];
  const found = containers.flatMap((container) => {
    const launches = containerLaunches(file, site, container, library);
    return launches.length === 0 && container.list !== 'initContainers'
      ? uncheckedContainer(file, site, container)
      : launches;
  });
  return site.kind === 'DynamoGraphDeployment' && !site.containers.some(isMain)
    ? [...found, ...componentDefault(file, site, undefined, new Map(), false)]
    : found;
}

/** The programs of a shell script: those that run at one time, as far as it ends them itself. */
export function readScriptSets(
  source: TextSource,
  { tree, scripts }: ScriptLibrary,
  installed?: DynamoVersion,
): readonly (readonly Launch[])[] {
  const surroundings: Surroundings = {
    source,
    site: undefined,
    container: undefined,
    env: new Map(),
    hasUnseenEnv: false,
    image: undefined,
    installed,
    fileAt: treeFileAt(tree, source.file, true),
    imageFileAt: treeFileAt(tree, source.file, false),
    givenAt: (path) => tree.givenFor(path),
  };
  const runs = runsOf(scripts.take(source), surroundings, 0);
  const sets: (readonly Launch[])[] = [];
  let running: typeof runs = [];
  for (const run of runs) {
    const alive = running.filter(({ number }) => !run.ended.has(number));
    if (alive.length < running.length) sets.push(running.flatMap(({ launches }) => launches));
    running = [...alive, run];
  }
  return [...sets, running.flatMap(({ launches }) => launches)];
}

/** The programs of such a container. */
export function readContainer({
  imageSpan,
  entrypoint,
  command,
  isOnHostNetwork = false,
  ...given
}: ContainerText): readonly Launch[] {
  const surroundings: Surroundings = {
    fileAt: () => undefined,
    ...given,
    site: undefined,
    container: undefined,
    network: isOnHostNetwork ? undefined : {},
  };
  return startedLaunches(
    entrypoint,
    command,
    surroundings,
    (words) =>
      commandLaunches(words, surroundings, 'items', 0, (word) =>
        textOf({ value: textOfWord(word), span: word.span }),
      ),
    imageSpan,
  );
}

function containerLaunches(
  file: TextSource,
  site: PodSite,
  container: ContainerSite,
  { configMaps, tree }: Library,
): readonly Launch[] {
  const asking = { file: file.file, namespace: site.namespace };
  const env = new Map<string, Word>();
  const known = new Map<string, Located | undefined>();
  const given = configMaps.environmentOf(container.envFrom, asking);
  for (const [name, located] of given.entries) {
    env.set(name, wordOfText(located.value, located.span, false));
    known.set(name, located);
  }
  // Of two with one name the last counts, and what a value names has to stand in front of it.
  for (const entry of container.env) {
    const { name, value } = entry;
    const located = value === undefined ? configMaps.valueOf(entry.key, asking) : locateScalar(file, value);
    const expanded = located && expand(located.value, known);
    const filled = located && expanded !== undefined ? { value: expanded, span: located.span } : undefined;
    known.set(name, filled);
    env.set(name, variableWord(file, entry, filled && wordOfText(filled.value, filled.span, false)));
  }
  // A container without an image is one part of a patch, and its variables are merged with those of the whole.
  const isPatch = container.image === undefined && site.kind !== 'DynamoGraphDeployment';
  const surroundings: Surroundings = {
    source: file,
    site,
    container,
    env,
    hasUnseenEnv: given.hasUnseen || isPatch || site.hasBase,
    image: container.image?.value,
    scriptAt: ({ value }) =>
      value === undefined ? undefined : configMaps.fileOf(site.volumes, container.mounts, asking, value).text,
    fileAt: inFolder(container.workingDir?.value, (path) => {
      if (path.value === undefined) return treeFileAt(tree, file.file, false)(path);
      const { text, isMounted, key } = configMaps.fileOf(site.volumes, container.mounts, asking, path.value);
      if (text !== undefined) return text;
      if (!isMounted) return treeFileAt(tree, file.file, false)(path);
      const given = tree.givenFor(path.value);
      return (
        given ?? (key === undefined ? undefined : tree.textAt(posix.join(posix.dirname(file.file), key)))
      );
    }),
  };
  const texts = [...container.command, ...container.args];
  const own = texts.map((text) => wordOf(file, text, known));
  const words = [...own, ...presetArgs(file, site, container)];
  const scripts = new Map(own.map((word, index) => [word, texts[index]]));
  if (container.command.length === 0) {
    if (site.kind === 'DynamoGraphDeployment' && isMain(container) && !isCommand(words, surroundings)) {
      return componentDefault(file, site, container, env, given.hasUnseen, words);
    }
    const preset = presetWords(file, site, container);
    if (preset !== undefined) {
      return commandLaunches([...preset, ...words], surroundings, 'items', 0, () => undefined);
    }
    const entrypoint = entrypointOf(container.image?.value);
    if (entrypoint !== undefined) {
      const at = container.image ?? container.args[0];
      const span = at === undefined ? undefined : locateScalar(file, at).span;
      return span === undefined
        ? []
        : commandLaunches(
            [...entrypoint.map((value) => ({ value, span, mayBeMore: false })), ...words],
            surroundings,
            'items',
            0,
            (word) => innerTextOf(file, scripts.get(word), word),
          );
    }
  }
  return commandLaunches(words, surroundings, 'items', 0, (word) =>
    innerTextOf(file, scripts.get(word), word),
  );
}

/** Whether Dynamo's operator takes a container for the one that runs its component. */
function isMain({ list, name }: ContainerSite): boolean {
  return list === 'mainContainer' || name === 'main';
}

function isCommand(words: readonly Word[], surroundings: Surroundings): boolean {
  return (
    commandLaunches(words, surroundings, 'items', MAX_SHELL_DEPTH, () => undefined).length > 0 ||
    shellScript(words) !== undefined
  );
}

/** What one command of a script starts. */
interface ScriptRun extends Pick<ShellCommand, 'number' | 'ended'> {
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

function runsOf(
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
        : commandLaunches(command.words, around, 'script', depth, (word) =>
            textOf({ value: textOfWord(word), span: word.span }),
          );
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
function startedLaunches(
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

function commandLaunches(
  words: readonly Word[],
  surroundings: Surroundings,
  argsAre: Launch['argsAre'],
  depth: number,
  innerText: (word: Word) => InnerText | undefined,
): readonly Launch[] {
  const run = readContainerRun(words);
  if (run !== undefined) {
    const { image, entrypoint, command, env, hasUnseenEnv, isOnHostNetwork } = run;
    const fileAt = fileInContainer(surroundings, run);
    const inside = {
      ...surroundings,
      env,
      hasUnseenEnv,
      image: image?.value,
      network: isOnHostNetwork ? surroundings.network : {},
      installed: undefined,
      fileAt,
      scriptAt: () => undefined,
    };
    const started = startedLaunches(entrypoint === undefined ? [] : [entrypoint], command, inside, (inner) =>
      commandLaunches(inner, inside, argsAre, depth + 1, innerText),
    );
    const flag = command.find(({ value }) => ENGINE_FLAG.test(value ?? ''));
    return started.length > 0 || flag === undefined || shellScript(command) !== undefined
      ? started
      : [unchecked(ENGINE_ARGUMENTS, flag.span, surroundings.site, surroundings.container)];
  }
  const network = startsElsewhere(words) ? {} : surroundings.network;
  const shell = shellScript(words);
  if (shell !== undefined) {
    const script = innerText(shell);
    return depth >= MAX_SHELL_DEPTH || script === undefined
      ? []
      : scriptLaunches(script, { ...surroundings, network }, depth + 1);
  }
  const handed = handedLaunches(words, surroundings, {
    command: (inner, there) => commandLaunches(inner, there, argsAre, depth, innerText),
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
      : [unchecked(other, at.span, surroundings.site, surroundings.container)];
  }
  const { program, isGated, inFront, args, at } = found;
  const first = at[0]?.span;
  const last = at.at(-1)?.span;
  if (first === undefined || last === undefined) {
    return [];
  }
  const { role, backend, isDynamo } = program;
  // Written out: objects that are spread into one share no shape, and there are thousands of these.
  const launch: Launch = {
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
    network,
    service: surroundings.service,
  };
  if (found.child === undefined) {
    return [withConfigFile(launch)];
  }
  const inner = commandLaunches(found.child, surroundings, argsAre, depth, innerText);
  return [launch, ...inner.map((one) => ({ ...one, isGated: true }))];
}
