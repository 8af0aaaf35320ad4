import { parse } from 'yaml';
import { countOf } from '../../../core/text/lists.js';
import { isJsonObject } from '../../../edge/platform/data/json-object.js';
import { CONFIG_YAML_BOUNDS, findYamlExcess, YAML_EXCESS } from '../../../edge/platform/data/yaml-bounds.js';
import { messageOf } from '../../../edge/platform/describe-error.js';
import { ENGINES } from '../../../engines/catalogue/engines.js';
import type { EvidencePart, SettingSighting } from '../evidence.js';
import { engineFacts } from './engine-facts.js';
import { notRead, outcome } from './outcomes.js';
import { readText } from './read-text.js';

const MAX_CONFIG_BYTES = 4 * 1024 * 1024;
/** Aliases may not blow a small file up. */
const MAX_ALIASES = 100;

/** Reads an engine's configuration file: TensorRT-LLM's `--extra-llm-api-options`, the `--config` of vLLM or SGLang. Never rejects. */
export async function gatherEngineConfig(file: string): Promise<EvidencePart> {
  try {
    const config = parseConfig(await readText(file, MAX_CONFIG_BYTES));
    if (!isJsonObject(config))
      return notRead('engine', file, 'is no YAML or JSON object, as engines take for their configuration');
    const facts = engineFacts(config, { who: '', place: file, basis: 'configured' });
    const { sizes } = facts;
    const settings = [...facts.settings, ...reuseByDefault(config, facts.settings, file)];
    const known = sizes.length + settings.length;
    if (known === 0)
      return notRead(
        'engine',
        file,
        'has no setting of vLLM, SGLang or TensorRT-LLM that concerns the KV cache',
      );
    return { source: outcome('engine', file, 'read', countOf(known, 'setting')), sizes, settings };
  } catch (error) {
    return notRead('engine', file, error);
  }
}

/** Where an engine's own section for the cache switches no reuse off, its default holds: only that file can set it. */
function reuseByDefault(
  config: unknown,
  settings: readonly SettingSighting[],
  place: string,
): readonly SettingSighting[] {
  const name = 'prefix_caching';
  if (!isJsonObject(config) || settings.some((one) => one.name === name)) return [];
  const owner = ENGINES.find(({ launch }) =>
    Object.entries(launch?.configKeys ?? {}).some(
      ([key, meaning]) => meaning.name === name && isJsonObject(config[key.split('.')[0] ?? '']),
    ),
  );
  const value = owner?.launch?.defaultSettings?.[name];
  if (owner === undefined || value === undefined) return [];
  const text = `${name} is not set: ${value} is ${owner.displayName}'s default`;
  return [{ side: 'worker', who: '', name, value, isDefault: true, origin: { place, text } }];
}

/** YAML, of which JSON is a part. Throws what the parser says, on one line. */
export function parseConfig(text: string): unknown {
  const excess = findYamlExcess(text, CONFIG_YAML_BOUNDS);
  if (excess !== undefined) throw new Error(YAML_EXCESS[excess]);
  try {
    return parse(text, { maxAliasCount: MAX_ALIASES, prettyErrors: false, logLevel: 'error' });
  } catch (error) {
    throw new Error(`cannot be read: ${messageOf(error)}`, {
      cause: error,
    });
  }
}
