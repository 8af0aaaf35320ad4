import { posix } from 'node:path';
import type { ContainerSite, PodSite } from '../../pod-site.js';
import { type Word, wordOfText } from '../shell/words.js';
import { locateScalar } from '../text/scalar-text.js';
import type { Located, TextSource } from '../text/span.js';
import {
  type CommandReading,
  commandLaunches,
  MAX_SHELL_DEPTH,
  runsOf,
  startedLaunches,
  textInWord,
} from './command-launches.js';
import { componentDefault, variableWord } from './component-default.js';
import type { ContainerText } from './container-text.js';
import type { DynamoVersion } from './dynamo-version.js';
import { expand, wordOf } from './expand-variables.js';
import { entrypointOf } from './image-entrypoint.js';
import type { Launch } from './launch.js';
import { presetArgs, presetWords } from './preset-words.js';
import type { ScriptLibrary } from './script-commands.js';
import { innerTextOf, shellScript } from './shell-script.js';
import { inFolder, type Library, type Surroundings, treeFileAt } from './surroundings.js';
import { uncheckedContainer } from './unchecked-launches.js';

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
    ? [...found, ...componentDefault(file, site)]
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
    (words) => commandLaunches(words, surroundings, { argsAre: 'items', depth: 0, innerText: textInWord }),
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
  const reading: CommandReading = {
    argsAre: 'items',
    depth: 0,
    innerText: (word) => innerTextOf(file, scripts.get(word), word),
  };
  if (container.command.length === 0) {
    if (site.kind === 'DynamoGraphDeployment' && isMain(container) && !isCommand(words, surroundings)) {
      return componentDefault(file, site, { container, env, hasUnseenEnv: given.hasUnseen, args: words });
    }
    const preset = presetWords(file, site, container);
    if (preset !== undefined) {
      return commandLaunches([...preset, ...words], surroundings, { ...reading, innerText: () => undefined });
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
            reading,
          );
    }
  }
  return commandLaunches(words, surroundings, reading);
}

/** Whether Dynamo's operator takes a container for the one that runs its component. */
function isMain({ list, name }: ContainerSite): boolean {
  return list === 'mainContainer' || name === 'main';
}

function isCommand(words: readonly Word[], surroundings: Surroundings): boolean {
  return (
    commandLaunches(words, surroundings, {
      argsAre: 'items',
      depth: MAX_SHELL_DEPTH,
      innerText: () => undefined,
    }).length > 0 || shellScript(words) !== undefined
  );
}
