import { isJsonObject } from '../../../edge/platform/data/json-object.js';
import { ENGINES } from '../../../engines/catalogue/engines.js';
import { isMetricsText } from '../metrics/metrics-text.js';
import { readGpuListing } from './gpu-listings.js';
import { unpackedStart } from './read-text.js';

/** What a file is to the doctor. */
export type FileKind = 'log' | 'metrics' | 'manifests' | 'engine_config' | 'model' | 'gpu';

/** Bytes of a file's beginning that tell what it is. */
export const FILE_START_BYTES: number = 16 * 1024;

/** Shell scripts are read as manifests are. */
const SCRIPT_NAME = /\.(?:sh|bash|sbatch|slurm)$/i;
const SCRIPT_START = /^#! ?\S*(?:\/env )?(?:\S*\/)?(?:ba|z|da|k)?sh\b/;
const YAML_NAME = /\.ya?ml$/i;
const JSON_NAME = /\.json$/i;

/** How the first line begins of an object, a list or a compose file whose name has no ending, as in a pipe. */
const MANIFEST_START = /^(?:---\s+)?(?:apiVersion|kind|items|services): ?/;
/** The same of one in JSON, as `kubectl get -o json` prints it. */
const JSON_MANIFEST_START = /^\{\s*"(?:apiVersion|kind|items)"\s*:/;
/** A line at the margin that no YAML of such keys has. */
const NO_YAML_LINE = /^(?![\w-]+:(?: |$)|[#\s-]|$)/m;

/** What every object of Kubernetes, every compose file and every list of either has at its margin. */
const MANIFEST_KEY = /^(?:apiVersion|kind|services|items):/m;
/** A key at the margin of a YAML file. */
const TOP_KEY = /^([\w-]+):/gm;

/** What every `config.json` of a model has, and no configuration of a program. */
const MODEL_KEY = /"(?:architectures|model_type)"\s*:/;

/** Names of files that are read out of a folder: what logs, saved pages and listings are called, and what has no ending. */
const EVIDENCE_NAME =
  /^[^.]+$|\.(?:log|txt|csv|out|err|stdout|stderr|json|jsonl|ndjson|prom|metrics|gz)$|\.log[.-][\w.-]+$/i;

/** Keys of the configuration files of engines, at their margin: `kv_cache_config`, `block-size`, … */
const ENGINE_KEYS: ReadonlySet<string> = new Set(
  ENGINES.flatMap(({ launch }) => Object.keys(launch?.configKeys ?? {})).map((path) =>
    (path.split('.')[0] ?? path).replaceAll('_', '-'),
  ),
);

/** Whether a file of a folder may be evidence, by its name; manifests are found by names of their own. */
export function isEvidenceName(name: string): boolean {
  return EVIDENCE_NAME.test(name);
}

/**
 * What a file is, by its name, which is empty for standard input, and its first `FILE_START_BYTES`, packed by gzip or
 * plain. Undefined for what is no text; any other text is a log.
 */
export function fileKindOf(name: string, bytes: Uint8Array): FileKind | undefined {
  const start = unpackedStart(bytes);
  const text = textOf(start);
  if (text === undefined) return undefined;
  if (SCRIPT_NAME.test(name) || SCRIPT_START.test(text)) return 'manifests';
  if (YAML_NAME.test(name)) return isEngineConfig(text) ? 'engine_config' : 'manifests';
  if (JSON_NAME.test(name) && !isJsonLine(text)) return MODEL_KEY.test(text) ? 'model' : 'manifests';
  if (isMetricsText(text)) return 'metrics';
  if (isManifestText(text)) return 'manifests';
  return readGpuListing(name, text).length > 0 ? 'gpu' : 'log';
}

/** A text in UTF-8, or in UTF-16 with its mark; undefined for what has the zero bytes that no text has. */
function textOf(start: Uint8Array): string | undefined {
  const isUtf16 = (start[0] === 0xff && start[1] === 0xfe) || (start[0] === 0xfe && start[1] === 0xff);
  if (isUtf16) return new TextDecoder(start[0] === 0xff ? 'utf-16le' : 'utf-16be').decode(start);
  return start.includes(0) ? undefined : new TextDecoder().decode(start);
}

/** Whether a text without a telling name is manifests from its first line on; its last line may be cut off. */
function isManifestText(text: string): boolean {
  const lines = text.replace(/^(?:#.*)?\n/gm, '');
  if (JSON_MANIFEST_START.test(lines)) return !isJsonLine(text);
  return MANIFEST_START.test(lines) && !NO_YAML_LINE.test(lines.slice(0, lines.lastIndexOf('\n')));
}

/** Whether a YAML file is one that an engine takes for its configuration. */
function isEngineConfig(text: string): boolean {
  if (MANIFEST_KEY.test(text)) return false;
  return [...text.matchAll(TOP_KEY)].some(([, key = '']) => ENGINE_KEYS.has(key.replaceAll('_', '-')));
}

/** Whether a text begins with a line that is an object of JSON: a log that a program writes so. */
function isJsonLine(text: string): boolean {
  const end = text.indexOf('\n');
  if (end < 0 || text.slice(end).trim() === '') return false;
  try {
    return isJsonObject(JSON.parse(text.slice(0, end)));
  } catch {
    return false;
  }
}
