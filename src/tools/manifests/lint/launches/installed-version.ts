import { folderOf } from '../config/folders.js';
import type { TextSource } from '../text/span.js';
import { type DynamoVersion, readVersion } from './dynamo-version.js';

/** A line that installs one release of Dynamo: `pip install "ai-dynamo[vllm]==0.7.1"`. A range says none. */
const PINNED =
  /^(?!\s*#).*\bai-dynamo(?:-runtime)?(?:\[[^\]\n]{0,80}\])?\s*===?\s*["']?(v?\d+\.\d+[\w.+-]*)/gm;

/**
 * The release of Dynamo that a script finds installed, as far as it says so itself, or else the scripts of its folder: where they install
 * one, and no other.
 */
export function installedVersions(
  scripts: readonly TextSource[],
): (file: string) => DynamoVersion | undefined {
  const own = new Map(scripts.map(({ file, text }) => [file, pinnedIn(text)]));
  const inFolder = new Map<string, Set<string>>();
  for (const [file, versions] of own) {
    const known = inFolder.get(folderOf(file)) ?? new Set();
    for (const version of versions) known.add(version);
    inFolder.set(folderOf(file), known);
  }
  return (file) => onlyOf(own.get(file)) ?? onlyOf(inFolder.get(folderOf(file)));
}

function pinnedIn(text: string): ReadonlySet<string> {
  return new Set(
    text.includes('ai-dynamo') ? [...text.matchAll(PINNED)].map(([, version = '']) => version) : [],
  );
}

function onlyOf(versions: ReadonlySet<string> | undefined): DynamoVersion | undefined {
  return versions?.size === 1 ? readVersion([...versions][0]) : undefined;
}
