import type { ProposedFix } from '../diagnosis.js';
import { argumentsOf } from './lines.js';
import { settingFix } from './setting-fix.js';

const WHY_SERVER =
  'The server of LMCache reads its flags before it listens, and ends at the first that it does not take. Engines wait for it, or start without their cache.';

/** What a program of LMCache refuses, by the place that reads it: its settings are written in another way in each. */
export function lmcachePlaceFix(sentence: string): ProposedFix | undefined {
  return adapterOfServer(sentence) ?? flagOfServer(sentence) ?? keyOfStore(sentence) ?? autostart(sentence);
}

/** `--l2-adapter #1 ('fs'): base_path must be a non-empty string`, or the file of that adapter's configuration. */
function adapterOfServer(sentence: string): ProposedFix | undefined {
  const [, number, named] = /--l2-adapter #(\d{1,3}) \('(\w{1,40})'\): /.exec(sentence) ?? [];
  const file = /\(lmcache\/v1\/distributed\/l2_adapters\/(\w{1,60})\.py in /.exec(sentence)?.[1];
  if (named === undefined && file === undefined) return undefined;
  const type = named ?? file?.replace(/_l2_adapter$|^config$/, '');
  const said = wordsOf(sentence).replace(/^.*\('\w{1,40}'\): /, '');
  const which = number === undefined ? '' : ` (number ${number})`;
  return settingFix(
    `${demandOf(said)} in the JSON of --l2-adapter '{"type": "${type || 'TYPE'}", …}' of lmcache server${which}, and start it again`,
    `${WHY_SERVER} The help of this type of adapter stands in its log above the error.`,
    [
      argumentsOf('lmcache server', `--l2-adapter '{"type": "${type || 'TYPE'}", …}'`),
      'kubectl logs LMCACHE_SERVER --previous | grep -A30 "Adapter config help"',
    ],
  );
}

/** `lmcache/v1/distributed/config.py`: what the server's own flags have, each `l1_…` as `--l1-…` or as a field of `--l1-manager`. */
function flagOfServer(sentence: string): ProposedFix | undefined {
  const [, file = '', place] =
    /\(lmcache\/v1\/(distributed\/config|multiprocess\/(?:server|http_server|config)|mp_coordinator\/config)\.py in (\w{1,60})\)/.exec(
      sentence,
    ) ?? [];
  if (place === undefined) return undefined;
  const program = file.startsWith('mp_') ? 'lmcache coordinator' : 'lmcache server';
  const said = wordsOf(sentence);
  const asked = /\bset (--[a-z][\w-]{2,60})(?: "")?/.exec(said)?.[0].replace(/^set /, '');
  const isManager = /^_(?:parse_)?l1_|^from_dict$/.test(place);
  const change =
    asked !== undefined
      ? `Start ${program} with ${asked}`
      : isManager
        ? `${demandOf(said)} in the JSON of --l1-manager of lmcache server`
        : `Correct the flags of ${program} (${flagged(said)}), and start it again`;
  return settingFix(`${change}${asked === undefined && !isManager ? '' : ', then the engines'}`, WHY_SERVER, [
    argumentsOf(program, asked ?? (isManager ? "--l1-manager '{…}'" : 'as the sentence asks')),
  ]);
}

/** Adapters of stores in the engine: keys below `extra_config`, or `remote_url` itself. */
function keyOfStore(sentence: string): ProposedFix | undefined {
  const [, file, of] =
    /\(lmcache\/v1\/(storage_backend\/connector|storage_backend\/plugins|lookup_client)\/(\w{1,40})\.py in /.exec(
      sentence,
    ) ?? [];
  if (file === undefined || of === undefined) return undefined;
  const said = wordsOf(sentence);
  if (/external lookup client/.test(said))
    return settingFix(
      /Asynchronous/.test(said)
        ? "Write enable_async_loading: false into LMCache's configuration (LMCACHE_ENABLE_ASYNC_LOADING=False), or take external_lookup_client out of it"
        : "Write external_lookup_client: mooncakestore://HOST:PORT into LMCache's configuration of every engine (LMCACHE_EXTERNAL_LOOKUP_CLIENT), or take it out",
      'Who looks up what the store has is chosen as the engine starts: LMCache itself, which also loads asynchronously, or Mooncake, the only other one.',
      [argumentsOf('each engine', 'LMCACHE_EXTERNAL_LOOKUP_CLIENT=mooncakestore://HOST:PORT')],
    );
  const store = of.replace(/_(?:adapter|connector|backend)$/, '');
  const isAddress = /\b(?:url|host|hosts|netloc|query parameters|base_path via URL)\b/i.test(said);
  return settingFix(
    `${demandOf(said)} ${isAddress ? 'in remote_url (LMCACHE_REMOTE_URL)' : `below extra_config in LMCACHE_CONFIG_FILE, for the store ${store}`}, in every engine, and restart them`,
    'LMCache reads the settings of a store as it connects to it: what belongs to the store alone stands below extra_config, its address in remote_url. The engine ends, or goes on without the store.',
    [
      argumentsOf(
        'each engine',
        isAddress ? `LMCACHE_REMOTE_URL=${store}://…` : 'LMCACHE_CONFIG_FILE=/etc/lmcache.yaml',
      ),
    ],
  );
}

/** The server that an engine starts by itself, or connects to: keys of `kv_connector_extra_config`. */
function autostart(sentence: string): ProposedFix | undefined {
  if (!/\(lmcache\/integration\/vllm\/mp_server_launcher\.py in /.test(sentence)) return undefined;
  const said = wordsOf(sentence);
  const key =
    /\blmcache\.mp\.\w{2,40}/.exec(said)?.[0] ??
    (/\bport\b/.test(said)
      ? 'lmcache.mp.port'
      : /\bhost|URL|IPv6/.test(said)
        ? 'lmcache.mp.host'
        : 'lmcache.mp.…');
  return settingFix(
    `Correct "${key}" in kv_connector_extra_config of --kv-transfer-config (${said.slice(0, 100)}), and start the engine again`,
    'Where the LMCache server is, and whether the engine starts it, stands in the JSON of the connector; host and port are two keys, and lmcache.mp.server_urls lists whole addresses (tcp://HOST:PORT).',
    [argumentsOf('the engine', `--kv-transfer-config '{…,"kv_connector_extra_config":{"${key}":…}}'`)],
  );
}

/** The sentence without its place. */
function wordsOf(sentence: string): string {
  return sentence.replace(/ \(lmcache\/[^)]{1,160}\)$/, '');
}

/** `Correct "pool_size" (it must be a positive integer)` of "pool_size must be a positive integer, got 0"; the sentence itself where it has another form. */
function demandOf(said: string): string {
  const [, key, demand] =
    /^(?:\w{1,30} )?([a-z]\w{1,40}(?:\.\w{1,40}|\[\w{1,20}\])?) (must (?:be|include) .{2,120}?)(?:, got .*)?$/.exec(
      said,
    ) ??
    /^([a-z]\w{1,40}) (?:requires|does not exist|is not a directory|may be|cannot|is not)\b/.exec(said) ??
    [];
  const [, other, value] = / requires (\w{1,40}) ?(?:=|>=) ?'?(\w{1,40})/.exec(said) ?? [];
  if (other !== undefined) return `Set "${other}" to ${value} (${said})`;
  const quoted = /must include (?:a \w{1,10} )?'(\w{1,40})'/.exec(said)?.[1];
  if (quoted !== undefined) return `Write "${quoted}" (${said})`;
  if (key === undefined) return `Correct what the sentence names (${said})`;
  return `Correct "${key}" (${demand === undefined ? said : `it ${demand}`})`;
}

/** Fields of the server's memory whose flags have other names: `MemoryConfig` and `GDSL1Config` of `distributed/config.py`. */
const FLAGS: Readonly<Record<string, string>> = {
  align_bytes: '--l1-align-bytes',
  devdax_path: '--l1-devdax-path',
  devdax_size_in_bytes: '--l1-size-gb',
  size_gb: '--l1-size-gb',
  size_in_bytes: '--l1-size-gb',
  gds_path: '--gds-l1-path',
};
/** Words of sentences that are names of nothing. */
const NO_FLAGS =
  /^(?:non|pre|host|cache)-|^lmcache_driven|^engine_driven|^(?:adapter|mp)_config$|^nr_hugepages$/;

/** Names of settings as the flags that they have: `supported_transfer_mode` is `--supported-transfer-mode`. */
function flagged(said: string): string {
  return said.replace(/(?<![\w'"-])([a-z][a-z0-9]*(?:[_-][a-z0-9]+){1,4})(?=[ =,.]|$)/g, (name) =>
    NO_FLAGS.test(name) ? name : (FLAGS[name] ?? `--${name.replaceAll('_', '-')}`),
  );
}
