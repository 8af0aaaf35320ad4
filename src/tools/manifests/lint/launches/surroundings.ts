import type { ContainerSite, PodSite } from '../../pod-site.js';
import type { ConfigMaps } from '../config/config-maps.js';
import type { TreeFiles } from '../config/tree-files.js';
import { textOfWord, type Word } from '../shell/words.js';
import type { WrittenFiles } from '../shell/written-files.js';
import type { InnerText } from '../text/scalar-text.js';
import type { TextSource } from '../text/span.js';
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
  /** The files of the container or beside the script. */
  readonly fileAt: (path: PathSetting) => InnerText | undefined;
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

/** The same behind the files that the script has written itself. */
export function withWritten(surroundings: Surroundings, files: WrittenFiles): Surroundings {
  if (files.size === 0) return surroundings;
  return {
    ...surroundings,
    fileAt: (path) => {
      const name = textOfWord(path);
      return files.has(name) ? files.get(name) : surroundings.fileAt(path);
    },
  };
}
