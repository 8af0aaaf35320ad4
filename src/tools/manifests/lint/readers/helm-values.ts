import type { YAMLMap } from 'yaml';
import { findPodSpecs } from '../../find-pod-specs.js';
import type { PlacedText } from '../../pod-site.js';
import { placeOfNode, type YamlAccess } from '../../yaml-access.js';
import { bareLaunch } from '../launches/bare-launch.js';
import type { Launch } from '../launches/launch.js';
import { readContainer } from '../launches/read-launches.js';
import type { SettingValue } from '../launches/setting-value.js';
import { UNKNOWN, type Word, wordOfText } from '../shell/words.js';
import { locateScalar } from '../text/scalar-text.js';
import type { TextSource } from '../text/span.js';
import { readValues } from './release-values.js';
import { impliedWord, type OpenFile, settingAt, wordOf } from './yaml-words.js';

/** The workers of llm-d's model service. */
const SECTIONS = ['decode', 'prefill'] as const;

/** Its chart, where a release names one: other charts have such sections too. */
const MODEL_SERVICE = /modelservice|model-service|llm-d/;

/** Models of one release. */
const MAX_MODELS = 500;

/**
 * The programs that a chart makes of Helm's values: vLLM's production stack
 * (`servingEngineSpec`, `routerSpec`), and llm-d's model service (`decode`, `prefill`).
 */
export function readHelmValues(file: OpenFile): readonly (readonly Launch[])[] {
  return readValues(file).flatMap(({ access, root, source, chart }) => {
    const models = access.maps(access.map(root, 'servingEngineSpec'), 'modelSpec').slice(0, MAX_MODELS);
    if (models.length > 0) return [readStack(source, access, root, models)];
    if (chart !== undefined && !MODEL_SERVICE.test(chart)) return [];
    const parts = SECTIONS.filter((key) => access.map(root, key) !== undefined);
    return parts.length === 0
      ? []
      : [
          parts.flatMap((section) =>
            readModelService(source, access, root, section).map((launch) => ({ ...launch, section })),
          ),
        ];
  });
}

/** As the chart of production-stack writes the command of its engines (helm/templates/deployment-vllm-multi.yaml). */
function readStack(
  source: TextSource,
  access: YamlAccess,
  root: YAMLMap,
  models: readonly YAMLMap[],
): readonly Launch[] {
  const workers = models.flatMap((model): readonly Launch[] => {
    const name = access.text(model, 'modelURL') ?? access.text(model, 'name');
    if (name === undefined) return [];
    const config = access.map(model, 'vllmConfig');
    const lmcache = access.map(model, 'lmcacheConfig');
    const launches = readContainer({
      source,
      image: undefined,
      imageSpan: undefined,
      entrypoint: [],
      command: [
        ...['vllm', 'serve'].map((word) => impliedWord(word, wordOf(source, name))),
        wordOf(source, name),
        ...cachingFlag(source, access.text(config, 'enablePrefixCaching')),
        ...dtypeFlag(source, access.text(config, 'dtype')),
        ...access.texts(config, 'extraArgs').flatMap((text) => splitWord(wordOf(source, text))),
        ...transferFlag(source, access, lmcache),
      ],
      env: readEnvironment(source, access, model),
      hasUnseenEnv: access.get(model, 'envFromSecret') !== undefined,
    });
    const reports = ['enabled', 'enableController'].every(
      (key) => access.text(lmcache, key)?.value === 'true',
    );
    return launches.map((launch) =>
      reports || !mayReport(launch) ? { ...launch, reportsToLmcache: reports } : launch,
    );
  });
  const router = access.map(root, 'routerSpec');
  const logic = access.get(router, 'routingLogic');
  const routing = settingAt(source, logic, 'routingLogic');
  if (routing === undefined || !['kvaware', 'prefixaware'].includes(routing.value ?? ''))
    return router === undefined || access.text(router, 'enableRouter')?.value === 'false'
      ? workers
      : [...workers, routerByLoad(source, router, routing)];
  return [
    ...workers,
    bareLaunch(
      {
        role: 'gateway',
        program: 'production-stack router',
        gateway: {
          kind: routing.value === 'kvaware' ? 'lmcache' : 'own-blocks',
          blockSize: undefined,
          defaultBlockSize: undefined,
          hashSeed: undefined,
          usesEvents: false,
        },
      },
      routing.span,
    ),
  ];
}

/** The stack's router with a logic that looks at no blocks: by default it takes one after the other. */
function routerByLoad(source: TextSource, router: YAMLMap, routing: SettingValue | undefined): Launch {
  const { start, end } = placeOfNode(router);
  return bareLaunch(
    {
      role: 'unchecked',
      program: 'production-stack router',
      isGuessing: true,
      unchecked: `its routing logic (${routing?.value ?? 'roundrobin by default'}) looks at no blocks`,
    },
    routing?.span ?? { source, start, end, isExact: false },
  );
}

/** Whether the variables of a model switch LMCache's controller on, or name a file that may. */
function mayReport({ env, hasUnseenEnv }: Launch): boolean {
  const isOn = /^(?:true|1|yes)$/i.test(env.get('LMCACHE_ENABLE_CONTROLLER')?.value ?? '');
  return isOn || hasUnseenEnv || env.has('LMCACHE_CONFIG_FILE');
}

/** A value of the chart that becomes a flag. */
function cachingFlag(source: TextSource, text: PlacedText | undefined): readonly Word[] {
  if (text === undefined) return [];
  const flag = text.value === 'true' ? '--enable-prefix-caching' : '--no-enable-prefix-caching';
  return [impliedWord(flag, wordOf(source, text))];
}

function dtypeFlag(source: TextSource, text: PlacedText | undefined): readonly Word[] {
  if (text === undefined) return [];
  const word = wordOf(source, text);
  return [impliedWord('--dtype', word), word];
}

/** LMCache's connector, which the chart adds where it is enabled: with the part that the model says, else with both. */
function transferFlag(source: TextSource, access: YamlAccess, lmcache: YAMLMap | undefined): readonly Word[] {
  const enabled = access.text(lmcache, 'enabled');
  if (enabled?.value !== 'true') return [];
  const role = access.text(lmcache, 'kvRole');
  const config = { kv_connector: 'LMCacheConnectorV1', kv_role: role?.value ?? 'kv_both' };
  return ['--kv-transfer-config', JSON.stringify(config)].map((word) =>
    impliedWord(word, wordOf(source, role ?? enabled)),
  );
}

/** An item with a flag and its value in one text: the shell of the chart splits it. */
function splitWord(word: Word): readonly Word[] {
  const match = /^(--[\w-]+)\s+(\S+)$/.exec(word.value ?? '');
  const [, flag, value] = match ?? [];
  if (flag === undefined || value === undefined) return [word];
  const at = (word.value ?? '').lastIndexOf(value);
  const { span } = word;
  const valueSpan = span.isExact ? { ...span, start: span.start + at } : span;
  return [
    { ...word, value: flag, span: { ...span, isExact: false } },
    { ...word, value, span: valueSpan },
  ];
}

/** A word in which the chart fills in what stands in double braces. */
function templateWordOf(source: TextSource, text: PlacedText): Word {
  const word = wordOf(source, text);
  const filled = word.value?.replace(/\{\{.*?\}\}/gs, UNKNOWN);
  return filled === undefined || filled === word.value ? word : wordOfText(filled, word.span, false);
}

function readEnvironment(source: TextSource, access: YamlAccess, map: YAMLMap): ReadonlyMap<string, Word> {
  return new Map(
    access.maps(map, 'env').flatMap((entry): readonly [string, Word][] => {
      const name = access.text(entry, 'name');
      const value = access.text(entry, 'value');
      if (name === undefined) return [];
      const word = wordOf(source, value ?? name);
      // Of `valueFrom` the value is not in these files.
      return [[name.value, value === undefined ? { ...word, value: undefined } : word]];
    }),
  );
}

/** The chart llm-d-modelservice writes the command itself, unless `modelCommand` says that the container's own is used. */
function readModelService(
  source: TextSource,
  access: YamlAccess,
  root: YAMLMap,
  key: string,
): readonly Launch[] {
  const part = access.map(root, key);
  if (part === undefined) return [];
  return findPodSpecs(access, part, key).flatMap(({ spec }) =>
    access.maps(spec, 'containers').flatMap((container) => {
      const image = access.text(container, 'image');
      const given = access.text(container, 'modelCommand');
      const texts = [...access.texts(container, 'command'), ...access.texts(container, 'args')];
      const model = access.text(access.map(root, 'modelArtifacts'), 'name');
      const words = texts.map((text) => templateWordOf(source, text));
      const near = given ?? texts[0];
      const isServe = given?.value === 'vllmServe' && near !== undefined;
      const start = isServe
        ? [
            ...['vllm', 'serve'].map((word) => impliedWord(word, wordOf(source, near))),
            ...(model === undefined ? [] : [wordOf(source, model)]),
          ]
        : [];
      return readContainer({
        source,
        image: image?.value,
        imageSpan: image === undefined ? undefined : locateScalar(source, image).span,
        entrypoint: start,
        command: words,
        env: readEnvironment(source, access, container),
        hasUnseenEnv: access.get(container, 'envFrom') !== undefined,
      });
    }),
  );
}
