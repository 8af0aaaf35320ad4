import { basename } from 'node:path';
import { ADDRESS_FORMS } from '../../../edge/platform/address.js';
import { readFileStart } from '../../../edge/platform/files/file-start.js';
import { findFiles, kindOfPath } from '../../../edge/platform/files/find-files.js';
import { STANDARD_INPUT, standardInputStart } from '../../../edge/platform/streams/standard-input.js';
import {
  FILE_START_BYTES,
  type FileKind,
  fileKindOf,
  isEvidenceName,
} from '../../../tools/doctor/gather/file-kinds.js';
import { MANIFESTS_AND_SCRIPTS } from '../../shared/manifest-files.js';
import { orWrongOperand, wrongOperand } from '../../shared/wrong-operand.js';

/** Files of a folder that are read one by one. A dump of a large namespace has some hundred containers. */
const MAX_FILES = 2_000;

/** Places of files, each under what it is read as. */
export type PlacesByKind = Readonly<Record<FileKind, readonly string[]>>;

/**
 * Finds out what the files are that were named without a flag, and those below folders that were: logs, saved pages of
 * metrics, listings of GPUs, models' `config.json`, and manifests, for which a folder is read as a whole; of standard input
 * (`-`) the first bytes are waited for. Throws a
 * `SettingError` that names the one which cannot be read, or has nothing of these in it.
 */
export async function sortPaths(paths: readonly string[], signal: AbortSignal): Promise<PlacesByKind> {
  const sorted: Record<FileKind, string[]> = {
    log: [],
    metrics: [],
    manifests: [],
    engine_config: [],
    model: [],
    gpu: [],
  };
  for (const path of paths) {
    if (path === STANDARD_INPUT) {
      const start = await standardInputStart(signal);
      sorted[fileKindOf('', start.subarray(0, FILE_START_BYTES)) ?? 'log'].push(path);
      continue;
    }
    const kind = await orWrongOperand(path, `a file, a folder, ${ADDRESS_FORMS}, or a URL`, () =>
      kindOfPath(path),
    );
    // A pipe gives its beginning once: the reader of logs recognises a page of metrics itself.
    if (kind === 'other') sorted.log.push(path);
    else if (kind === 'folder') await sortFolder(path, sorted);
    else {
      const start = await orWrongOperand(path, 'a file that can be read', () =>
        readFileStart(path, FILE_START_BYTES),
      );
      // What is no text, the reader of logs says why: it knows packers and archives.
      sorted[fileKindOf(basename(path), start) ?? 'log'].push(path);
    }
  }
  return sorted;
}

async function sortFolder(folder: string, sorted: Record<FileKind, string[]>): Promise<void> {
  const all = await orWrongOperand(folder, 'a folder that can be searched', () => findFiles(folder, ['']));
  // Manifests belong together by their folders and by what names them: their own reader takes the folder.
  const hasManifests = all.some((file) => MANIFESTS_AND_SCRIPTS.some((ending) => file.endsWith(ending)));
  if (hasManifests) sorted.manifests.push(folder);
  const files = all.filter((file) => isEvidenceName(basename(file)));
  if (files.length > MAX_FILES)
    throw wrongOperand(folder, `a folder with at most ${MAX_FILES} logs and saved pages; name parts of it`);
  for (const file of files) {
    const kind = await readFileStart(file, FILE_START_BYTES).then(
      (start) => (start.length === 0 ? undefined : fileKindOf(basename(file), start)),
      // Its reader says why it cannot be read.
      () => 'log' as const,
    );
    if (kind !== undefined && kind !== 'manifests') sorted[kind].push(file);
  }
  if (!hasManifests && files.length === 0)
    throw wrongOperand(folder, 'a folder with logs, saved pages of metrics or manifests, and there are none');
}
