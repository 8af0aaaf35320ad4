import type { YAMLMap } from 'yaml';
import type { PlacedText } from '../../pod-site.js';
import type { YamlAccess } from '../../yaml-access.js';
import { bareLaunch } from '../launches/bare-launch.js';
import { KV_SCORER } from '../launches/kv-scorer.js';
import type { EventReception, Gateway, Launch } from '../launches/launch.js';
import type { SettingValue } from '../launches/setting-value.js';
import type { Span } from '../text/span.js';
import type { PickerVersion } from './picker-choice.js';
import { askedPart, type PrecisePlugin, unaskedOf, undefinedRefOf } from './picker-profiles.js';
import { rendersByHttp, tokenizerModel } from './picker-tokenizer.js';

/** How llm-d's endpoint picker is called in messages. */
export const PICKER = 'llm-d endpoint picker';

/** That of Dynamo, whose router is set by variables of its container. */
const DYNAMO_PICKER = 'Dynamo endpoint picker';
const OF_VARIABLES = 'its KV router is set by variables of its container';

/**
 * Plugins of llm-d that look prompts up in what KV events say. The scorer had
 * keys of its own that had to be the engine's; the producer computes them from the tokens of events.
 */
const PRECISE: Readonly<Record<string, 'llm-d-scorer' | 'llm-d-producer' | undefined>> = {
  'precise-prefix-cache-scorer': 'llm-d-scorer',
  'precise-prefix-cache-producer': 'llm-d-producer',
};

/**
 * In its first releases (0.2) the scorer was a mode of the one that guesses. From 0.3 on it has a type of its own, and the one
 * that guesses takes no notice of a mode (read in llm-d-inference-scheduler of 2025-10: `pkg/plugins/register.go`).
 */
const TRACKING = 'cache_tracking';
const TRACKING_TYPE = 'precise-prefix-cache-scorer';
const isTracking = (version: PickerVersion | undefined): boolean =>
  version === undefined || (version.major === 0 && version.minor < 3);

/** Plugins that guess from their own decisions, with blocks that need not be the engine's. */
const GUESSING: readonly string[] = [
  'prefix-cache-scorer',
  'prefix-cache-plugin',
  'approx-prefix-cache-producer',
];

/** Where a configuration stands, and the release that reads it. */
export interface ConfigPlace {
  /** Where one of its texts stands in the file. */
  readonly spanOf: (text: PlacedText) => Span;
  /** All of it. */
  readonly at: Span;
  /** Undefined where no image beside it says the release. */
  readonly version: PickerVersion | undefined;
}

/** An `EndpointPickerConfig` with what reads it: a router that is compared where a plugin reads KV events, else one that is not. */
export function readPickerConfig(access: YamlAccess, config: YAMLMap, place: ConfigPlace): Launch {
  const plugins = access.maps(config, 'plugins');
  const kindOf = (plugin: YAMLMap): PrecisePlugin['kind'] => PRECISE[typeOf(access, plugin, place.version)];
  // Where both are there, the scorer's own parameters are ignored.
  const precise =
    plugins.find((one) => kindOf(one) === 'llm-d-producer') ??
    plugins.find((one) => kindOf(one) !== undefined);
  if (precise === undefined) return withoutIndex(access, plugins, place);
  const type = access.text(precise, 'type');
  const at = type === undefined ? place.at : place.spanOf(type);
  const gateway = gatewayOf(access, config, { plugin: precise, kind: kindOf(precise) }, { ...place, at });
  return bareLaunch({ role: 'gateway', program: PICKER, gateway }, at);
}

function modeOf(access: YamlAccess, plugin: YAMLMap): PlacedText | undefined {
  return access.text(access.map(plugin, 'parameters'), 'mode');
}

/** What a plugin is, in the words of newer releases. */
function typeOf(access: YamlAccess, plugin: YAMLMap, version: PickerVersion | undefined): string {
  return modeOf(access, plugin)?.value === TRACKING && isTracking(version)
    ? TRACKING_TYPE
    : (access.text(plugin, 'type')?.value ?? '');
}

/** A picker none of whose plugins reads KV events. */
function withoutIndex(
  access: YamlAccess,
  plugins: readonly YAMLMap[],
  { spanOf, at, version }: ConfigPlace,
): Launch {
  const ignored = plugins
    .map((one) => modeOf(access, one))
    .find((mode): mode is PlacedText => mode?.value === TRACKING);
  if (ignored !== undefined && version !== undefined) {
    const span = spanOf(ignored);
    const gateway: Gateway = {
      kind: 'own-blocks',
      blockSize: undefined,
      defaultBlockSize: undefined,
      hashSeed: undefined,
      usesEvents: false,
      ignoredMode: { value: ignored.value, span, how: 'engine-yaml', name: 'mode', version: version.text },
    };
    return bareLaunch({ role: 'gateway', program: PICKER, gateway }, span);
  }
  const types = plugins.map((one) => typeOf(access, one, version));
  if (types.some((type) => KV_SCORER.test(type)))
    return bareLaunch({ role: 'unchecked', program: DYNAMO_PICKER, unchecked: OF_VARIABLES }, at);
  const unchecked = types.some((type) => GUESSING.includes(type))
    ? 'it guesses from its own decisions, with blocks of its own'
    : 'it has no plugin that reads KV events';
  return bareLaunch({ role: 'unchecked', program: PICKER, isGuessing: true, unchecked }, at);
}

/** What a picker with an index compares; `at` is its plugin's type. */
function gatewayOf(
  access: YamlAccess,
  config: YAMLMap,
  own: PrecisePlugin,
  { spanOf, at, version }: ConfigPlace,
): Gateway {
  const plugins = access.maps(config, 'plugins');
  const parameters = access.map(own.plugin, 'parameters');
  const tokens =
    access.map(parameters, 'tokenProcessorConfig') ??
    access.map(parameters, 'indexerConfig', 'tokenProcessorConfig') ??
    access.map(parameters, 'kvCacheIndexConfig', 'tokenProcessorConfig');
  const setting = (name: string, text: PlacedText | undefined): SettingValue | undefined =>
    text && { value: text.value, span: spanOf(text), how: 'engine-yaml', name };
  const textIn = (map: YAMLMap | undefined, name: string): SettingValue | undefined =>
    setting(name, access.text(map, name));
  const unnamed = undefinedRefOf(access, config);
  const events = access.map(parameters, 'kvEventsConfig');
  const inIndexer = access.map(parameters, 'indexerConfig', 'kvEventsConfig');
  const tokenizer = setting('modelName', tokenizerModel(access, plugins, parameters));
  return {
    kind: own.kind ?? 'llm-d-scorer',
    blockSize: textIn(tokens, 'blockSizeTokens') ?? textIn(tokens, 'blockSize'),
    defaultBlockSize: 16,
    hashSeed: textIn(tokens, 'hashSeed'),
    usesEvents: true,
    asks: askedPart(access, config, own),
    reception: receptionOf(access, events ?? inIndexer, textIn, at),
    release: version,
    tokenizerModel: tokenizer && { ...tokenizer, isRendered: rendersByHttp(access, plugins, version) },
    undefinedRef: setting('pluginRef', unnamed),
    // Of a configuration that is refused, nothing else is said of its profiles.
    unaskedPlugin: unnamed === undefined ? setting('type', unaskedOf(access, config, own)) : undefined,
    topicFilter: textIn(events, 'topicFilter') ?? textIn(inIndexer, 'topicFilter'),
  };
}

/** How KV events reach a picker, as far as `kvEventsConfig` says it. */
function receptionOf(
  access: YamlAccess,
  events: YAMLMap | undefined,
  textIn: (map: YAMLMap | undefined, name: string) => SettingValue | undefined,
  at: Span,
): EventReception | undefined {
  if (events === undefined) return undefined;
  const discovers = access.text(events, 'discoverPods')?.value;
  return {
    endpoint: textIn(events, 'zmqEndpoint'),
    discoversPods: discovers === undefined ? undefined : discovers === 'true',
    podPort: textIn(access.map(events, 'podDiscoveryConfig'), 'socketPort'),
    at,
  };
}
