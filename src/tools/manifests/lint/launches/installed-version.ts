import { posix } from 'node:path';
import { folderOf } from '../config/folders.js';
import type { TreeFiles } from '../config/tree-files.js';
import type { TextSource } from '../text/span.js';
import { SHELL_LINE } from '../text/text-kinds.js';
import { type DynamoVersion, dynamoVersionOf, readVersion } from './dynamo-version.js';

/**
 * A line that installs one release of Dynamo: `pip install "ai-dynamo[vllm]==0.7.1"`, also as requirements and projects have it. A range
 * says none, but for `~=0.7.1`, which stays in 0.7.
 */
const PINNED =
  /^(?!\s*#).*\bai-dynamo(?:-runtime)?(?:\[[^\]\n]{0,80}\])?\s*(?:===?|~=(?=\s*["']?v?\d+\.\d+\.\d))\s*["']?(v?\d+\.\d+[\w.+-]*)/gm;

/** The same in a table of Poetry: `ai-dynamo = "0.7.1"`, `ai-dynamo = { version = "0.7.1", extras = ["vllm"] }`. */
const IN_TABLE =
  /^\s*["']?ai-dynamo(?:-runtime)?["']?\s*=\s*(?:\{[^}\n]*\bversion\s*=\s*)?["'](?:==)?(v?\d+\.\d+[\w.+-]*)["']/gm;

/** Dynamo's own project. */
const OWN_PROJECT = /^name\s*=\s*["']ai-dynamo["'][^[]*?^version\s*=\s*["']([^"'\n]+)["']/gm;

/** Where a container file begins, and the defaults of what it is built with. */
const FROM = /^\s*FROM\s+(?:--\S+\s+)*(\S+)/gim;
const ARG = /^\s*ARG\s+(\w+)=["']?([^"'\s]+)/gim;

/** Files in which a repository says what it installs. */
const INSTALL_FILES: readonly string[] = [
  'requirements.txt',
  'pyproject.toml',
  'Dockerfile',
  'Containerfile',
];

/** Folders above a script that are looked through. */
const MAX_FOLDERS_ABOVE = 6;

/** The paths of files that may say which release of Dynamo a script finds, from its folder up to `top`; none for all other files. */
export function installFilesOf(
  { file, text }: Pick<TextSource, 'file' | 'text'>,
  top: string,
): readonly string[] {
  const isScript = /\.(?:sh|bash|sbatch|slurm)$/.test(file) || SHELL_LINE.test(text);
  return isScript && /\bdynamo\.\w/.test(text)
    ? foldersFrom(posix.dirname(file), top).flatMap((folder) =>
        INSTALL_FILES.map((name) => posix.join(folder, name)),
      )
    : [];
}

/**
 * The release of Dynamo that a script finds installed, as far as it says so itself, or else the scripts of its folder, or else the nearest files
 * that say what is installed: where they install one, and no other.
 */
export function installedVersions(
  scripts: readonly TextSource[],
  tree: TreeFiles,
): (file: string) => DynamoVersion | undefined {
  const own = new Map(scripts.map(({ file, text }) => [file, pinnedIn(text)]));
  const inFolder = new Map<string, Set<string>>();
  for (const [file, versions] of own) {
    const known = inFolder.get(folderOf(file)) ?? new Set();
    for (const version of versions) known.add(version);
    inFolder.set(folderOf(file), known);
  }
  return (file) =>
    onlyOf(own.get(file)) ??
    onlyOf(inFolder.get(folderOf(file))) ??
    (inFolder.get(folderOf(file))?.size === 0 ? nearestInstalled(posix.dirname(file), tree) : undefined);
}

/** The release that a container file builds on or installs; undefined where it says none, or two. */
export function builtVersion(text: string): DynamoVersion | undefined {
  return onlyOf(installedIn(text));
}

function nearestInstalled(folder: string, tree: TreeFiles): DynamoVersion | undefined {
  for (const one of foldersFrom(folder, '')) {
    const versions = new Set(
      INSTALL_FILES.flatMap((name) => [...installedIn(tree.besideAt(posix.join(one, name))?.value ?? '')]),
    );
    if (versions.size > 0) return onlyOf(versions);
  }
  return undefined;
}

/** A folder and those above it, up to `top`. */
function foldersFrom(folder: string, top: string): readonly string[] {
  const folders = [folder];
  for (let at = folder; at !== top && folders.length <= MAX_FOLDERS_ABOVE; ) {
    const above = posix.dirname(at);
    if (above === at) break;
    folders.push(above);
    at = above;
  }
  return folders;
}

function pinnedIn(text: string): ReadonlySet<string> {
  return new Set(
    text.includes('ai-dynamo') ? [...text.matchAll(PINNED)].map(([, version = '']) => version) : [],
  );
}

/** What a file installs or builds on. */
function installedIn(text: string): ReadonlySet<string> {
  const args = new Map([...text.matchAll(ARG)].map(([, name = '', value = '']) => [name, value]));
  const images = [...text.matchAll(FROM)].flatMap(([, image = '']) => {
    const filled = image.replace(/\$\{?(\w+)\}?/g, (whole, name: string) => args.get(name) ?? whole);
    return dynamoVersionOf(filled)?.text ?? [];
  });
  return new Set([
    ...pinnedIn(text),
    ...[IN_TABLE, OWN_PROJECT].flatMap((pattern) =>
      [...text.matchAll(pattern)].map(([, version = '']) => version),
    ),
    ...images,
  ]);
}

/** The release that all of them are of. */
function onlyOf(versions: ReadonlySet<string> | undefined): DynamoVersion | undefined {
  const [first, ...rest] = [...(versions ?? [])].map((one) => readVersion(one));
  return first !== undefined && rest.every((one) => one?.major === first.major && one.minor === first.minor)
    ? first
    : undefined;
}
