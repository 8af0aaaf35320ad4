import { isTokensPerBlock } from '../../../core/contract/evidence/tokens-per-block.js';
import { isJsonObject } from '../../../edge/platform/data/json-object.js';
import { ENGINES } from '../../../engines/catalogue/engines.js';
import type { KeyMeaning } from '../../../engines/descriptor/engine-launch.js';

/**
 * Keys of all engines as their configuration files have them and, with `--` in
 * front and dashes, their command lines. What stands inside of TensorRT-LLM's
 * `kv_cache_config` has that in front of it.
 */
export const ENGINE_KEYS: ReadonlyMap<string, KeyMeaning> = new Map(
  ENGINES.flatMap(({ launch }) => Object.entries(launch?.configKeys ?? {})),
);

/** Sections of a configuration whose keys are looked at as if they stood outside; `kv_cache_config` keeps its name. */
const SECTIONS: ReadonlySet<string> = new Set([
  'cache_config',
  'parallel_config',
  'scheduler_config',
  'model_config',
  'vllm_config',
  'server_args',
  'llm_args',
  'engine_args',
  'config',
]);

/** A key that means something, as it was found. */
export interface FoundKey {
  /** As it is written: `kv_cache_config.tokens_per_block`. */
  readonly path: string;
  readonly meaning: KeyMeaning;
  readonly value: string;
}

const MAX_DEPTH = 4;
/** Keys of one object; SGLang's `/server_info` has about 800. */
const MAX_KEYS = 5_000;
const MAX_VALUE_CHARS = 128;

/** The keys in an engine's configuration that are known here. Values are scalars; all others are passed over. */
export function findEngineKeys(config: unknown, at: readonly string[] = []): readonly FoundKey[] {
  if (!isJsonObject(config) || at.length > MAX_DEPTH) return [];
  return Object.entries(config)
    .slice(0, MAX_KEYS)
    .flatMap(([written, value]) => {
      const key = written.replace(/-/g, '_');
      const path = [...at, written];
      if (typeof value === 'object' && value !== null) {
        return key === 'kv_cache_config' || SECTIONS.has(key) ? findEngineKeys(value, path) : [];
      }
      const inCache = at.at(-1)?.replace(/-/g, '_') === 'kv_cache_config';
      const meaning = ENGINE_KEYS.get(inCache ? `kv_cache_config.${key}` : key);
      if (meaning === undefined || value === null || value === undefined || value === '') return [];
      return [{ path: path.join('.'), meaning, value: String(value).slice(0, MAX_VALUE_CHARS) }];
    });
}

/** The value that a setting has by this key. */
export function settingValueOf({ isOpposite }: KeyMeaning, value: string): string {
  if (isOpposite !== true) return value;
  return /^(?:true|1|yes|on)$/i.test(value) ? 'false' : 'true';
}

/** A block size that an engine could use. */
export function blockSizeOf(value: string): number | undefined {
  const tokens = Number(value);
  return /^\d{1,7}$/.test(value) && isTokensPerBlock(tokens) ? tokens : undefined;
}
