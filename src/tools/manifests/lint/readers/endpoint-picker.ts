import { isMap, isScalar, visit, type YAMLMap } from 'yaml';
import type { PlacedText } from '../../pod-site.js';
import { identityOf } from '../../read-pod-sites.js';
import { readSourceFile } from '../../source-file.js';
import { placedText, placeOfNode, YamlAccess } from '../../yaml-access.js';
import { bareLaunch } from '../launches/bare-launch.js';
import { KV_SCORER } from '../launches/kv-scorer.js';
import type { EventReception, Launch } from '../launches/launch.js';
import type { SettingValue } from '../launches/setting-value.js';
import { scalarText } from '../text/scalar-text.js';
import type { Span, TextSource } from '../text/span.js';
import {
  ANOTHER,
  choiceOf,
  type PickerVersion,
  pickerVersionOf,
  SEVERAL,
  type Surrounding,
  selectedBy,
  surroundingsOf,
} from './picker-choice.js';
import { askedPart, unaskedOf, undefinedRefOf } from './picker-profiles.js';
import { rendersByHttp, tokenizerModel } from './picker-tokenizer.js';
import type { OpenFile } from './yaml-words.js';

/** What every such configuration says of itself, wherever it stands. */
const KIND = 'EndpointPickerConfig';

const PICKER = 'llm-d endpoint picker';

/** That of Dynamo, whose router is set by variables of its container. */
const DYNAMO_PICKER = 'Dynamo endpoint picker';
const OF_VARIABLES = 'its KV router is set by variables of its container';

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
    const owner = root && identityOf(access, root);
    const add = (found: Launch | undefined): void => {
      if (found !== undefined && launches.length < MAX_CONFIGS) launches.push({ ...found, namespace, owner });
    };
    const versionAt = (around: readonly Surrounding[]): PickerVersion | undefined =>
      pickerVersionOf(source.text, access, around);
    visit(document, {
      Map(_key, node, path) {
        const map = node as YAMLMap;
        if (access.text(map, 'kind')?.value !== KIND) return undefined;
        add(
          readConfig(access, map, {
            spanOf: (text) => scalarText(source, text).spanOf(0, text.value.length),
            at: spanAt(source, map),
            version: versionAt(surroundingsOf(path)),
          }),
        );
        return visit.SKIP;
      },
      Scalar(key, node, path) {
        const text = key === 'key' || !isScalar(node) ? undefined : placedText(node);
        if (text === undefined || !isConfig(text.value)) return;
        const around = surroundingsOf(path);
        const choice = choiceOf(source.text, access, around, isConfig);
        if (choice !== 'read') return add(unread(source, text, choice));
        add(withSelection(readText(source, text, versionAt(around)), selectedBy(access, around)));
      },
    });
  }
  return launches;
}

function withSelection(
  launch: Launch | undefined,
  selects: ReadonlyMap<string, string> | undefined,
): Launch | undefined {
  const { gateway } = launch ?? {};
  return launch === undefined || gateway === undefined || selects === undefined
    ? launch
    : { ...launch, gateway: { ...gateway, selects } };
}

function isConfig(text: string): boolean {
  return text.includes(KIND) && text.includes('plugins');
}

/** A configuration that its picker does not read, as far as that can be seen. */
function unread(source: TextSource, text: PlacedText, choice: 'another' | 'unknown'): Launch {
  return bareLaunch(
    {
      role: 'unchecked',
      program: PICKER,
      unchecked: choice === 'another' ? ANOTHER : SEVERAL,
    },
    scalarText(source, text).spanOf(0, text.value.length),
  );
}

function spanAt(source: TextSource, map: YAMLMap): Span {
  const { start, end } = placeOfNode(map);
  return { source, start, end, isExact: false };
}

/** A configuration in a text, whose places are those of the file around it. */
function readText(
  source: TextSource,
  text: PlacedText,
  version: PickerVersion | undefined,
): Launch | undefined {
  const outer = scalarText(source, text);
  const whole = outer.spanOf(0, text.value.length);
  for (const document of readSourceFile(source.file, text.value).documents) {
    const access = new YamlAccess(document);
    const root = document.contents as YAMLMap;
    if (access.text(root, 'kind')?.value === KIND)
      return readConfig(access, root, {
        spanOf: (inner) => outer.spanOf(inner.start, inner.end),
        at: whole,
        version,
      });
  }
  return undefined;
}

/** Where a configuration stands, and the release that reads it. */
interface Place {
  readonly spanOf: (text: PlacedText) => Span;
  readonly at: Span;
  readonly version: PickerVersion | undefined;
}

function readConfig(access: YamlAccess, config: YAMLMap, { spanOf, at, version }: Place): Launch | undefined {
  const plugins = access.maps(config, 'plugins');
  const modeOf = (plugin: YAMLMap): PlacedText | undefined =>
    access.text(access.map(plugin, 'parameters'), 'mode');
  const typeOf = (plugin: YAMLMap): string =>
    modeOf(plugin)?.value === TRACKING && isTracking(version)
      ? TRACKING_TYPE
      : (access.text(plugin, 'type')?.value ?? '');
  // Where both are there, the scorer's own parameters are ignored.
  const precise =
    plugins.find((one) => PRECISE[typeOf(one)] === 'llm-d-producer') ??
    plugins.find((one) => PRECISE[typeOf(one)] !== undefined);
  if (precise === undefined) {
    const ignored = plugins.map(modeOf).find((mode) => mode?.value === TRACKING);
    if (ignored !== undefined && version !== undefined)
      return bareLaunch(
        {
          role: 'gateway',
          program: PICKER,
          gateway: {
            kind: 'own-blocks',
            blockSize: undefined,
            defaultBlockSize: undefined,
            hashSeed: undefined,
            usesEvents: false,
            ignoredMode: {
              value: ignored.value,
              span: spanOf(ignored),
              how: 'engine-yaml',
              name: 'mode',
              version: version.text,
            },
          },
        },
        spanOf(ignored),
      );
    if (plugins.some((one) => KV_SCORER.test(typeOf(one))))
      return bareLaunch({ role: 'unchecked', program: DYNAMO_PICKER, unchecked: OF_VARIABLES }, at);
    const isGuessing = plugins.some((one) => GUESSING.includes(typeOf(one)));
    return bareLaunch(
      {
        role: 'unchecked',
        program: PICKER,
        isGuessing: true,
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
  const own = { plugin: precise, kind: PRECISE[typeOf(precise)] };
  const unnamed = undefinedRefOf(access, config);
  const unasked = unnamed === undefined ? unaskedOf(access, config, own) : undefined;
  const asks = askedPart(access, config, own);
  const tokenizer = tokenizerModel(access, plugins, parameters);
  const filter =
    access.text(access.map(parameters, 'kvEventsConfig'), 'topicFilter') ??
    access.text(access.map(parameters, 'indexerConfig', 'kvEventsConfig'), 'topicFilter');
  return bareLaunch(
    {
      role: 'gateway',
      program: PICKER,
      gateway: {
        kind: own.kind ?? 'llm-d-scorer',
        blockSize: setting('blockSizeTokens', 'blockSize'),
        defaultBlockSize: 16,
        hashSeed: setting('hashSeed'),
        usesEvents: true,
        ...(asks === undefined ? {} : { asks }),
        ...(reception === undefined ? {} : { reception }),
        ...(version === undefined ? {} : { release: version }),
        ...(tokenizer === undefined
          ? {}
          : {
              tokenizerModel: {
                value: tokenizer.value,
                span: spanOf(tokenizer),
                how: 'engine-yaml' as const,
                name: 'modelName',
                isRendered: rendersByHttp(access, plugins, version),
              },
            }),
        ...(unnamed === undefined
          ? {}
          : {
              undefinedRef: {
                value: unnamed.value,
                span: spanOf(unnamed),
                how: 'engine-yaml' as const,
                name: 'pluginRef',
              },
            }),
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
