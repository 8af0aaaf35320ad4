import { basename, dirname, join } from 'node:path';
import { SettingError } from '../../app/setting-error.js';
import { explainSystemError, explainWriteError } from '../../edge/platform/files/file.js';
import { readWholeFile } from '../../edge/platform/files/file-watcher.js';
import { findFiles, kindOfPath, truePath } from '../../edge/platform/files/find-files.js';
import { replaceTextFile } from '../../edge/platform/files/write-file.js';
import { readStandardInput, STANDARD_INPUT } from '../../edge/platform/streams/standard-input.js';
import { isWorthReading, withoutSchemas } from '../../tools/manifests/lint/text/text-kinds.js';
import { MAX_FILE_BYTES } from '../../tools/manifests/source-file.js';
import { quote } from '../settings/wrong-value.js';
import { orWrongOperand, wrongOperand } from './wrong-operand.js';

const MANIFEST_EXTENSIONS = ['.yaml', '.yml', '.json'];

/** Manifests, and the scripts that start or apply what stands in none. */
export const MANIFESTS_AND_SCRIPTS: readonly string[] = [
  ...MANIFEST_EXTENSIONS,
  '.sh',
  '.bash',
  '.sbatch',
  '.slurm',
];

/** A large repository of manifests has a few thousand. */
const MAX_FILES = 10_000;

/** All files together, without those that are not kept. */
const MAX_TOTAL_BYTES = 128 * 1024 * 1024;

/** Schemas and data are nine tenths of some repositories. Of larger ones nothing is kept: an engine's own configuration has some kilobytes. */
const MAX_KEPT_UNREAD_BYTES = 64 * 1024;

/** A text that was named, or found in a folder that was named. */
export interface ManifestFile {
  /** As the operator wrote it, or below the folder that they wrote; `-` for standard input. */
  readonly file: string;
  /** Every byte of it, a byte order mark included; nothing of a large file that holds schemas or data alone. */
  readonly text: string;
}

export interface ManifestFileOptions {
  /** What is taken from folders. A file that is named itself is read whatever it is called. Default `.yaml`, `.yml`, `.json`. */
  readonly extensions?: readonly string[];
  /** What is taken from folders that have such files, beside them. Default: nothing. */
  readonly others?: readonly string[];
  /** How files begin that are taken from folders without an ending, such as scripts. Default: none is. */
  readonly firstLine?: RegExp;
  /** Largest file. Default 16 MiB. */
  readonly maxFileBytes?: number;
  /** Keeps every byte of all files, also of large ones that hold schemas or data alone. Default false. */
  readonly keepsAll?: boolean;
}

/** What the reading is done with; tests put their own in. */
export interface ManifestFileModules {
  readonly readStandardInput?: (maxBytes: number) => Promise<Buffer>;
  /** Is called for each chart in a folder: its templates are no manifests until Helm has filled them in, and are left out. */
  readonly onChart?: (chart: string) => void;
  /** Is called for a file of a folder that is no text which can be read: the others are read all the same. Without it such a file is an error. */
  readonly onUnread?: (file: string, why: string) => void;
}

/**
 * Reads files, the manifests below folders, and standard input (`-`), in the
 * order in which they were named and each one once. Throws a `SettingError`
 * that names the operand which cannot be read, and why.
 */
export async function readManifestFiles(
  operands: readonly string[],
  modules: ManifestFileModules = {},
  {
    extensions = MANIFEST_EXTENSIONS,
    others = [],
    firstLine,
    keepsAll = false,
    maxFileBytes = MAX_FILE_BYTES,
  }: ManifestFileOptions = {},
): Promise<readonly ManifestFile[]> {
  const files: ManifestFile[] = [];
  const known = new Set<string>();
  let total = 0;
  const { onUnread } = modules;
  const add = async (file: string, isNamed: boolean, read: () => Promise<Buffer>): Promise<void> => {
    if (files.length >= MAX_FILES) throw wrongOperand(file, `one of at most ${MAX_FILES} files`);
    let bytes: Buffer;
    try {
      bytes = await read();
    } catch (error) {
      const why = explainSystemError(error);
      if (isNamed || onUnread === undefined)
        throw wrongOperand(
          file,
          `text of at most ${maxFileBytes / 1024 / 1024} MiB that can be read, and it ${why}`,
        );
      onUnread(file, `it ${why}`);
      return;
    }
    const text = decode(bytes);
    if (text === undefined) {
      if (isNamed || onUnread === undefined) throw wrongOperand(file, 'text in UTF-8');
      onUnread(file, 'it is no text in UTF-8');
      return;
    }
    const isKept =
      keepsAll || bytes.length <= MAX_KEPT_UNREAD_BYTES || isWorthReading(file, withoutSchemas(text));
    total += isKept ? bytes.length : 0;
    if (total > MAX_TOTAL_BYTES) throw wrongOperand(file, 'within 128 MiB of all files together; name fewer');
    files.push({ file, text: isKept ? text : '' });
  };
  for (const operand of operands) {
    if (operand === STANDARD_INPUT) {
      if (known.has(STANDARD_INPUT)) continue;
      known.add(STANDARD_INPUT);
      await add(operand, true, () => (modules.readStandardInput ?? readStandardInput)(maxFileBytes));
      continue;
    }
    for (const file of await filesOf(
      operand,
      { extensions, others, firstLine },
      modules.onChart ?? (() => undefined),
    )) {
      const path = await orWrongOperand(file, 'a file or a folder', () => truePath(file));
      if (known.has(path)) continue;
      known.add(path);
      await add(file, file === operand, () => readWholeFile(file, maxFileBytes));
    }
  }
  return files;
}

/** Replaces a file's text in one step. Throws a `SettingError` that names the file, and why it stays as it is. */
export async function writeManifestFile(file: string, text: string): Promise<void> {
  try {
    await replaceTextFile(file, text);
  } catch (error) {
    throw new SettingError(
      `${quote(file)} (on the command line): cannot be written: ${whyNotWritten(error)}`,
    );
  }
}

/** The new text is written beside the old one, which it then replaces. */
function whyNotWritten(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'EACCES' || code === 'EPERM') return 'this user may not write into its folder';
  if (code === 'EROFS') return 'its file system is read-only';
  return `it ${explainWriteError(error)}`;
}

/** What is taken from a folder. */
interface Wanted {
  readonly extensions: readonly string[];
  readonly others: readonly string[];
  readonly firstLine: RegExp | undefined;
}

/** What an operand stands for: itself, or the manifests in a folder. */
async function filesOf(
  operand: string,
  { extensions, others, firstLine }: Wanted,
  onChart: (chart: string) => void,
): Promise<readonly string[]> {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(operand))
    throw wrongOperand(
      operand,
      'a file, a folder or -, as no address is fetched: curl -fsS URL | kv-accord … -',
    );
  const kind = await orWrongOperand(operand, 'a file or a folder', () => kindOfPath(operand));
  if (kind !== 'folder') return [operand];
  const found = await orWrongOperand(operand, 'a folder that can be searched', () =>
    findFiles(operand, [...extensions, ...others], firstLine),
  );
  // What has no ending was taken for its first line.
  const isWanted = (file: string): boolean =>
    extensions.some((extension) => file.endsWith(extension)) || !basename(file).includes('.');
  const names = extensions.map((extension) => `*${extension}`).join(', ');
  if (!found.some(isWanted))
    throw wrongOperand(operand, `a folder with manifests (${names}), and there are none`);
  const charts = found.filter((file) => basename(file) === 'Chart.yaml').map((file) => dirname(file));
  const isTemplate = (file: string): boolean =>
    charts.some((chart) => file.startsWith(join(chart, 'templates', '/')));
  for (const chart of charts) onChart(chart);
  return found.filter((file) => !isTemplate(file));
}

/** Bytes that are no UTF-8 would not come back when the text is written. */
function decode(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    // The caller says that the file is no UTF-8: the decoder knows no more.
    return undefined;
  }
}
