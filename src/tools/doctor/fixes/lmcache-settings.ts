import type { ProposedFix } from '../diagnosis.js';
import { type DemandedKey, lmcacheKeyIn } from '../logs/general/refused-settings.js';
import { argumentsOf, environmentOf } from './lines.js';
import { lmcachePlaceFix } from './lmcache-places.js';
import { settingFix } from './setting-fix.js';
import { refusedFeatures } from './setting-words.js';

/** What to change in the settings of LMCache; undefined for sentences of other programs. */
export function lmcacheSettings(sentence: string): ProposedFix | undefined {
  const placed = lmcachePlaceFix(sentence);
  if (placed !== undefined) return placed;
  const key = TOGETHER.some(([, pattern]) => pattern.test(sentence)) ? undefined : lmcacheKeyIn(sentence);
  if (key !== undefined && !/\brequires [a-z]+_[a-z_]+ > 0/.test(sentence)) return lmcacheKey(key);
  return OF_LMCACHE.test(sentence) ? demandedOfEngine(sentence) : undefined;
}

/** Keys of LMCache's configuration, which are no flags of an engine. */
const OF_LMCACHE =
  /lmcache\/|\blmcache\.v1|\(lmcache\b|\benable_controller|\bcontroller_\w+url|\bp2p_|\blmcache_\w+|\b(?:max_)?local_(?:cpu|disk)(?:_size)?\b|\bremote_(?:url|serde)\b|\bsave_(?:decode_cache|unfull_chunk)\b|\bcufile_buffer_size\b|\bgds_path\b/;

/** What LMCache needs together. Source: `_validate_config` of `lmcache/v1/config.py`, 0.3 to 0.4. */
const TOGETHER: readonly (readonly [feature: string, pattern: RegExp, needs: readonly string[]])[] = [
  [
    'enable_p2p',
    /enable_controller must be set|p2p_/,
    [
      'enable_controller: true',
      'controller_pull_url',
      'controller_reply_url',
      'lmcache_worker_ports',
      'p2p_host',
      'p2p_init_ports',
      'p2p_lookup_ports',
      'transfer_channel',
    ],
  ],
  [
    'enable_controller',
    /enable_controller|controller_|lmcache_(?:instance_id|worker_ports)/,
    ['lmcache_instance_id', 'controller_pull_url', 'controller_reply_url', 'lmcache_worker_ports'],
  ],
  ['enable_pd', /\bpd_/, ['pd_role', 'pd_buffer_size', 'pd_buffer_device']],
];

function demandedOfEngine(sentence: string): ProposedFix | undefined {
  const demanded = /\brequires ([a-z]+(?:_[a-z]+)+)(?: > 0)?/.exec(sentence)?.[1];
  if (demanded !== undefined)
    return settingFix(
      `Write ${demanded}: N${/ > 0/.test(sentence) ? ' (above 0)' : ''} into LMCache's configuration (LMCACHE_CONFIG_FILE) of every instance, or leave out what requires it`,
      'LMCache checks what belongs together as it starts. Each setting is a variable too, with LMCACHE_ and in capitals.',
      [environmentOf('each engine', `LMCACHE_${demanded.toUpperCase()}=N`)],
    );
  const [, name = '', must] =
    /\b([a-z][a-z0-9]*(?:_[a-z0-9]+)+)(?: must be (set|off)| (?:is|are) required|=| )/.exec(sentence) ?? [];
  // Flags are of LMCache's server, and are read as those of any program.
  if (name === '')
    return /--[a-z]/.test(sentence) || refusedFeatures(sentence, 'vllm').length > 0
      ? undefined
      : asNamed(sentence);
  const together = TOGETHER.find(([, pattern]) => pattern.test(sentence));
  const [feature, , needs = []] = together ?? [];
  const value = must === 'off' ? `${name}: false` : /^enable_/.test(name) ? `${name}: true` : name;
  const others = needs.filter((need) => !need.startsWith(name));
  const isOff = must === 'off' || /only supports \w+=False/.test(sentence);
  const leave =
    feature === undefined || isOff ? '' : `; or write ${feature}: false${others.length > 0 ? '' : ' there'}`;
  return settingFix(
    `Write ${isOff ? value.replace(': true', ': false') : value}${isOff || others.length === 0 ? '' : `, with ${others.slice(0, 8).join(', ')},`} into LMCache's configuration (LMCACHE_CONFIG_FILE) of every instance${leave}`,
    'LMCache checks what belongs together as it starts. Each setting is a variable too, with LMCACHE_ and in capitals. With enable_controller its controller has to run before the engines.',
    [environmentOf('each engine', 'LMCACHE_CONFIG_FILE=/etc/lmcache.yaml')],
  );
}

/** One key of LMCache's configuration, as its check demands it. */
function lmcacheKey({ name, isExtra, value, how }: DemandedKey): ProposedFix {
  const variable = `LMCACHE_${name.toUpperCase()}`;
  const place = `LMCache's configuration (LMCACHE_CONFIG_FILE${isExtra ? '' : `, or ${variable}`}) of every engine`;
  const key = isExtra ? `${name} under extra_config` : value === '' ? name : `${name}: ${value}`;
  const says =
    how === 'out'
      ? `Take ${key} out of ${place}`
      : how === 'in'
        ? `Write ${key} into ${place}`
        : `Correct ${key} in ${place}, as the sentence asks`;
  return settingFix(
    `${says}, and restart the engines`,
    'LMCache checks its configuration as it starts. Without LMCache the engine ends, or goes on and stores and finds nothing.',
    [
      environmentOf(
        'each engine',
        isExtra ? 'LMCACHE_CONFIG_FILE=/etc/lmcache.yaml' : `${variable}=${value === '' ? 'VALUE' : value}`,
      ),
    ],
  );
}

/** A sentence that names no key: its flag where it has one, else by its own words. */
function asNamed(sentence: string): ProposedFix {
  const [said = '', place = ''] = sentence.split(/ \((?=lmcache\/)/);
  const isLayout = /lmcache\/(?:integration\/|v1\/gpu_connector\/)/.test(place);
  const engine = /integration\/sglang/.test(place)
    ? 'SGLang without --enable-lmcache'
    : "the engine without LMCache's connector in --kv-transfer-config";
  return isLayout
    ? settingFix(
        `Start ${engine} for this model, or run a later LMCache that knows the layout of its KV cache: ${said}`,
        "LMCache reads the engine's KV cache as it lies in memory, and has a reader for each layout. This model, attention backend or combination of parallel sizes makes one that it does not take; the engine alone works with it.",
        [argumentsOf('the engine', 'without LMCache')],
      )
    : settingFix(
        `Correct in LMCache's configuration (LMCACHE_CONFIG_FILE, flags of lmcache server) what the sentence names: ${said}`,
        'LMCache checks what belongs together as it starts.',
        [environmentOf('each engine', 'LMCACHE_CONFIG_FILE=/etc/lmcache.yaml')],
      );
}
