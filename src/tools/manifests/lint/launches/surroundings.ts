import { posix } from 'node:path';
import type { ContainerSite, PodSite } from '../../pod-site.js';
import type { ConfigMaps } from '../config/config-maps.js';
import type { TreeFiles } from '../config/tree-files.js';
import { textOfWord, UNKNOWN, type Word } from '../shell/words.js';
import { pathIn } from '../shell/working-folder.js';
import { asWritten, type WrittenFiles } from '../shell/written-files.js';
import type { InnerText } from '../text/scalar-text.js';
import { type TextSource, textAt } from '../text/span.js';
import type { ContainerRun } from './container-run.js';
import type { DynamoVersion } from './dynamo-version.js';
import type { PathSetting } from './launch.js';

/** What the reading of programs may look up. */
export interface Library {
  readonly configMaps: ConfigMaps;
  readonly tree: TreeFiles;
}

/** All that the programs of one container, or of one script, have in common. */
export interface Surroundings {
  readonly source: TextSource;
  readonly site: PodSite | undefined;
  readonly container: ContainerSite | undefined;
  readonly env: ReadonlyMap<string, Word>;
  readonly hasUnseenEnv: boolean;
  readonly image: string | undefined;
  /** See `Launch`. */
  readonly network?: object | undefined;
  readonly service?: string | undefined;
  /** The release of Dynamo that is installed where no image says one. */
  readonly installed?: DynamoVersion | undefined;
  /** The files of the container or beside the script. */
  readonly fileAt: (path: PathSetting) => InnerText | undefined;
  /** The scripts that are written for it alone: of a ConfigMap that a container mounts, or of a script that has written them itself. */
  readonly scriptAt?: (path: PathSetting) => InnerText | undefined;
  /** The files of an image that a script starts. */
  readonly imageFileAt?: (path: PathSetting) => InnerText | undefined;
  /** Files that the operator names for a path. */
  readonly givenAt?: (path: string) => InnerText | undefined;
}

/** Names that a path in an image and one in a repository have to share at their ends to mean one file. */
const MIN_COMMON_IN_IMAGE = 3;
const MIN_COMMON_OF_SCRIPT = 2;

/** The files of a repository that a script or a container means. */
export function treeFileAt(
  tree: TreeFiles,
  from: string,
  isScript: boolean,
): (path: PathSetting) => InnerText | undefined {
  return ({ value, known }) => {
    if (value !== undefined)
      return tree.find(from, value, isScript ? MIN_COMMON_OF_SCRIPT : MIN_COMMON_IN_IMAGE, 'whole');
    // `$ROOT/examples/agg.yaml`: the end of the path is known.
    const tail = known?.prefix === '' && known.suffix.startsWith('/') ? known.suffix : undefined;
    if (tail === undefined) return undefined;
    return isScript ? tree.find(from, tail, MIN_COMMON_OF_SCRIPT, 'tail') : tree.givenFor(tail);
  };
}

/** The same for a command of a script: from the folder that it runs in, and behind the files that the script has written itself. */
export function withWritten(
  surroundings: Surroundings,
  { files, folder }: { readonly files: WrittenFiles; readonly folder: string },
): Surroundings {
  if (files.size === 0 && folder === '.') return surroundings;
  return {
    ...surroundings,
    scriptAt: ({ value }) => (value === undefined ? undefined : files.get(pathIn(folder, value))?.text),
    fileAt: (path) => {
      const name = pathIn(folder, textOfWord(path));
      const written = files.get(name);
      if (written === undefined) return surroundings.fileAt(folder === '.' ? path : pathOf(name));
      const isSame =
        !name.includes(UNKNOWN) ||
        path.span === undefined ||
        asWritten(textAt(path.span)).includes(written.written);
      return isSame ? written.text : undefined;
    },
  };
}

/** The files of a container that a script starts: what it mounts, with the deepest path first, and else those of its image. */
export function fileInContainer(
  { fileAt, imageFileAt, givenAt }: Surroundings,
  { mounts, hasUnseenMounts }: Pick<ContainerRun, 'mounts' | 'hasUnseenMounts'>,
): Surroundings['fileAt'] {
  const deepest = mounts
    .map(({ inside, host }) => ({ host, inside: inside.replace(/\/+$/, '') }))
    .sort((a, b) => b.inside.length - a.inside.length);
  return (path) => {
    const wanted = posix.normalize(textOfWord(path));
    const mount = deepest.find(({ inside }) => wanted === inside || wanted.startsWith(`${inside}/`));
    if (mount?.host !== undefined) {
      const found = fileAt(pathOf(`${textOfWord(mount.host)}${wanted.slice(mount.inside.length)}`));
      return found ?? givenAt?.(wanted);
    }
    return mount === undefined && !hasUnseenMounts ? imageFileAt?.(path) : givenAt?.(wanted);
  };
}

/** Files of a container whose command runs in a folder: relative paths begin there. */
export function inFolder(folder: string | undefined, fileAt: Surroundings['fileAt']): Surroundings['fileAt'] {
  return (path) => {
    const isWithin = folder !== undefined && path.value !== undefined && !path.value.startsWith('/');
    const within = isWithin ? fileAt(pathOf(posix.join(folder, path.value))) : undefined;
    return within ?? fileAt(path);
  };
}

/** A path as a text, in which parts may not be known. */
export function pathOf(text: string): PathSetting {
  const first = text.indexOf(UNKNOWN);
  if (first === -1) return { value: text };
  const suffix = text.slice(text.lastIndexOf(UNKNOWN) + 1);
  return { value: undefined, known: { prefix: text.slice(0, first), suffix } };
}
