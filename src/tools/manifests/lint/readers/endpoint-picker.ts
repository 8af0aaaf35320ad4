import { isMap, isScalar, visit, type YAMLMap } from 'yaml';
import type { PlacedText } from '../../pod-site.js';
import { readSourceFile } from '../../source-file.js';
import { placedText, placeOfNode, YamlAccess } from '../../yaml-access.js';
import { bareLaunch } from '../launches/bare-launch.js';
import type { EventReception, Launch } from '../launches/launch.js';
import type { SettingValue } from '../launches/setting-value.js';
import { scalarText } from '../text/scalar-text.js';
import type { Span, TextSource } from '../text/span.js';
import type { OpenFile } from './yaml-words.js';

/** What every such configuration says of itself, wherever it stands. */
const KIND = 'EndpointPickerConfig';

/** Configurations of one file. */
const MAX_CONFIGS = 100;

/**
 * Plugins of llm-d that look prompts up in what KV events say. The scorer had
 * keys of its own that had to be the engine's; the producer computes them from the tokens of events.
 */
const PRECISE: Readonly<Record<string, 'llm-d-scorer' | 'llm-d-producer' | undefined>> = {
  'precise-prefix-cache-scorer': 'llm-d-scorer',
  'precise-prefix-cache-producer': 'llm-d-producer',
};

/** In its first releases (0.2) the scorer was a mode of the one that guesses. */
const TRACKING = 'cache_tracking';
const TRACKING_TYPE = 'precise-prefix-cache-scorer';

/** Plugins that guess from their own decisions, with blocks that need not be the engine's. */
const GUESSING: readonly string[] = [
  'prefix-cache-scorer',
  'prefix-cache-plugin',
  'approx-prefix-cache-producer',
];

/**
 * The endpoint pickers that a file configures: a document of its own, a value of a
 * ConfigMap or of Helm's values, an argument (`--config-text`), a part of an LLMInferenceService.
 */
export function readEndpointPickers({ source, documents }: OpenFile): readonly Launch[] {
  if (!source.text.includes(KIND)) return [];
  const launches: Launch[] = [];
  for (const document of documents) {
    const access = new YamlAccess(document);
    const root = isMap(document.contents) ? (document.contents as YAMLMap) : undefined;
    const namespace = access.text(access.map(root, 'metadata'), 'namespace')?.value;
    const add = (found: Launch | undefined): void => {
      if (found !== undefined && launches.length < MAX_CONFIGS)
        launches.push({ ...found, namespace, owner: root });
    };
    visit(document, {
      Map(_key, node) {
        const map = node as YAMLMap;
        if (access.text(map, 'kind')?.value !== KIND) return undefined;
        add(
          readConfig(
            access,
            map,
            (text) => scalarText(source, text).spanOf(0, text.value.length),
            spanAt(source, map),
          ),
        );
        return visit.SKIP;
      },
      Scalar(key, node) {
        const text = key === 'key' || !isScalar(node) ? undefined : placedText(node);
        if (text?.value.includes(KIND) === true && text.value.includes('plugins'))
          add(readText(source, text));
      },
    });
  }
  return launches;
}

function spanAt(source: TextSource, map: YAMLMap): Span {
  const { start, end } = placeOfNode(map);
  return { source, start, end, isExact: false };
}

/** A configuration in a text, whose places are those of the file around it. */
function readText(source: TextSource, text: PlacedText): Launch | undefined {
  const outer = scalarText(source, text);
  const whole = outer.spanOf(0, text.value.length);
  for (const document of readSourceFile(source.file, text.value).documents) {
    const access = new YamlAccess(document);
    const root = document.contents as YAMLMap;
    if (access.text(root, 'kind')?.value === KIND)
      return readConfig(access, root, (inner) => outer.spanOf(inner.start, inner.end), whole);
  }
  return undefined;
}

function readConfig(
  access: YamlAccess,
  config: YAMLMap,
  spanOf: (text: PlacedText) => Span,
  at: Span,
): Launch | undefined {
  const plugins = access.maps(config, 'plugins');
  const typeOf = (plugin: YAMLMap): string =>
    access.text(access.map(plugin, 'parameters'), 'mode')?.value === TRACKING
      ? TRACKING_TYPE
      : (access.text(plugin, 'type')?.value ?? '');
  // Where both are there, the scorer's own parameters are ignored.
  const precise =
    plugins.find((one) => PRECISE[typeOf(one)] === 'llm-d-producer') ??
    plugins.find((one) => PRECISE[typeOf(one)] !== undefined);
  if (precise === undefined) {
    const isGuessing = plugins.some((one) => GUESSING.includes(typeOf(one)));
    return bareLaunch(
      {
        role: 'unchecked',
        program: 'llm-d endpoint picker',
        unchecked: isGuessing
          ? 'it guesses from its own decisions, with blocks of its own'
          : 'it has no plugin that reads KV events',
      },
      at,
    );
  }
  const parameters = access.map(precise, 'parameters');
  const tokens =
    access.map(parameters, 'tokenProcessorConfig') ??
    access.map(parameters, 'indexerConfig', 'tokenProcessorConfig') ??
    access.map(parameters, 'kvCacheIndexConfig', 'tokenProcessorConfig');
  const setting = (...names: readonly string[]): SettingValue | undefined => {
    for (const name of names) {
      const text = access.text(tokens, name);
      if (text !== undefined) return { value: text.value, span: spanOf(text), how: 'engine-yaml', name };
    }
    return undefined;
  };
  const type = access.text(precise, 'type');
  const events =
    access.map(parameters, 'kvEventsConfig') ?? access.map(parameters, 'indexerConfig', 'kvEventsConfig');
  const eventSetting = (map: YAMLMap | undefined, name: string): SettingValue | undefined => {
    const text = access.text(map, name);
    return text === undefined
      ? undefined
      : { value: text.value, span: spanOf(text), how: 'engine-yaml', name };
  };
  const discovers = access.text(events, 'discoverPods')?.value;
  const reception: EventReception | undefined =
    events === undefined
      ? undefined
      : {
          endpoint: eventSetting(events, 'zmqEndpoint'),
          discoversPods: discovers === undefined ? undefined : discovers === 'true',
          podPort: eventSetting(access.map(events, 'podDiscoveryConfig'), 'socketPort'),
          at: type === undefined ? at : spanOf(type),
        };
  const unasked = isUnasked(access, config, precise) ? type : undefined;
  const filter =
    access.text(access.map(parameters, 'kvEventsConfig'), 'topicFilter') ??
    access.text(access.map(parameters, 'indexerConfig', 'kvEventsConfig'), 'topicFilter');
  return bareLaunch(
    {
      role: 'gateway',
      program: 'llm-d endpoint picker',
      gateway: {
        kind: PRECISE[typeOf(precise)] ?? 'llm-d-scorer',
        blockSize: setting('blockSizeTokens', 'blockSize'),
        defaultBlockSize: 16,
        hashSeed: setting('hashSeed'),
        usesEvents: true,
        ...(reception === undefined ? {} : { reception }),
        ...(unasked === undefined
          ? {}
          : {
              unaskedPlugin: {
                value: unasked.value,
                span: spanOf(unasked),
                how: 'engine-yaml' as const,
                name: 'type',
              },
            }),
        ...(filter === undefined
          ? {}
          : {
              topicFilter: {
                value: filter.value,
                span: spanOf(filter),
                how: 'engine-yaml',
                name: 'topicFilter',
              },
            }),
      },
    },
    type === undefined ? at : spanOf(type),
  );
}

/**
 * Whether profiles are written and none of them asks the scorer: it has an index
 * that decides nothing. A producer is asked by other plugins; and without profiles llm-d makes one of all plugins.
 */
function isUnasked(access: YamlAccess, config: YAMLMap, plugin: YAMLMap): boolean {
  const type = access.text(plugin, 'type')?.value ?? '';
  const name = access.text(plugin, 'name')?.value ?? type;
  const profiles = access.maps(config, 'schedulingProfiles');
  const references = profiles.flatMap((profile) =>
    access.maps(profile, 'plugins').map((one) => access.text(one, 'pluginRef')?.value),
  );
  return PRECISE[type] === 'llm-d-scorer' && references.length > 0 && !references.includes(name);
}
