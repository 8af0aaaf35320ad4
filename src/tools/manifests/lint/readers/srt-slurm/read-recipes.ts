import { isMap, isScalar, YAMLMap } from 'yaml';
import { engineOfWord } from '../../../../../engines/catalogue/engines.js';
import type { PlacedText } from '../../../pod-site.js';
import { argsOfMap } from '../../config/config-args.js';
import { type DynamoVersion, dynamoVersionOf, readVersion } from '../../launches/dynamo-version.js';
import type { Launch } from '../../launches/launch.js';
import { readContainer } from '../../launches/read-launches.js';
import { unchecked } from '../../launches/unchecked-launches.js';
import type { Word } from '../../shell/words.js';
import { type InnerText, partOf, wholeText } from '../../text/scalar-text.js';
import type { Span, TextSource } from '../../text/span.js';
import { type OpenFile, wordOf } from '../yaml-words.js';
import { keyIn, pairOf, type Recipe, type RecipeRole, readRecipes } from './recipe.js';

/** Connectors that a recipe has a short name for. */
const CONNECTORS: Readonly<Record<string, string>> = {
  nixl: '{"kv_connector":"NixlConnector","kv_role":"kv_both"}',
  lmcache: '{"kv_connector":"LMCacheConnectorV1","kv_role":"kv_both"}',
  kvbm: '{"kv_connector":"DynamoConnector","kv_role":"kv_both"}',
};

/** Variables that srtctl gives a worker, with values of the run. */
const OF_THE_RUN: readonly string[] = ['VLLM_NIXL_SIDE_CHANNEL_HOST', 'VLLM_NIXL_SIDE_CHANNEL_PORT'];

const NO_RULE = 'no rule knows it';

/**
 * What srtctl starts on a cluster of Slurm: the frontend with its arguments, and workers of one engine
 * (src/srtctl/frontends and backends of NVIDIA/srt-slurm, `c88ef73`). Each recipe, and each variant of one, is a deployment.
 */
export function readSrtSlurm(file: OpenFile): readonly (readonly Launch[])[] {
  return readRecipes(file).map((recipe) => {
    const frontend = frontendOf(file.source, recipe);
    const workers = recipe.roles.flatMap((role) => workersOf(file.source, recipe, role));
    return [...frontend, ...workers];
  });
}

function frontendOf(source: TextSource, recipe: Recipe): readonly Launch[] {
  const { access, root, frontend } = recipe;
  const map = access.map(root, 'frontend');
  const near = keyIn(access, root, 'frontend') ?? keyIn(access, root, 'model');
  if (near === undefined) return [];
  const span = placeOf(source, near);
  const command = FRONTENDS[frontend];
  if (command === undefined)
    return ROUTERLESS.includes(frontend)
      ? []
      : [unchecked({ program: `frontend ${frontend} of srtctl`, reason: NO_RULE }, span)];
  const args = access.map(map, 'args');
  const plane = access.text(access.map(root, 'dynamo'), 'event_plane');
  const env = new Map([
    ...(plane === undefined ? [] : [['DYN_EVENT_PLANE', wordOf(source, plane)] as const]),
    ...variables(source, recipe, access.map(root, 'environment')),
    ...variables(source, recipe, access.map(map, 'env')),
  ]);
  const words = args === undefined ? [] : argsOfMap(resolved(recipe, args), wholeText(source));
  return started(source, recipe, span, [...command.map((word) => implied(word, span)), ...words], env);
}

/** The programs of frontends, by their type. */
const FRONTENDS: Readonly<Record<string, readonly string[] | undefined>> = {
  dynamo: ['python3', '-m', 'dynamo.frontend'],
  'sglang-router': ['python3', '-m', 'sglang_router.launch_router'],
};

/** Frontends that are the one worker itself. */
const ROUTERLESS: readonly string[] = ['vllm', 'sglang'];

/** What starts an engine without Dynamo. */
const PLAIN: Readonly<Record<string, readonly string[] | undefined>> = {
  vllm: ['vllm', 'serve'],
  sglang: ['python3', '-m', 'sglang.launch_server'],
  trtllm: ['trtllm-serve'],
};

function workersOf(source: TextSource, recipe: Recipe, role: RecipeRole): readonly Launch[] {
  const { access, root, engine, knobs } = recipe;
  const near = role.at ?? keyIn(access, root, recipe.isSecond ? 'roles' : 'backend');
  if (near === undefined) return [];
  const span = placeOf(source, near);
  const isDynamo = recipe.frontend === 'dynamo';
  const command = isDynamo ? ['python3', '-m', `dynamo.${engine}`] : PLAIN[engine];
  const isKnown = engine === 'mocker' ? isDynamo : engineOfWord(engine)?.launch !== undefined;
  if (command === undefined || !isKnown)
    return [unchecked({ program: `engine ${engine} of srtctl`, reason: NO_RULE }, span)];
  const model = access.text(access.map(root, 'model'), 'path')?.value ?? '';
  const name = servedName(recipe) ?? model.split('/').at(-1) ?? model;
  const isTrtllm = engine === 'trtllm';
  const words = [
    ...(isDynamo && engine === 'vllm' ? connectorOf(recipe, role) : []),
    ...(engine === 'mocker' ? simulated(recipe) : []),
    ...eventsOf(engine, role, access.text(knobs, 'publish_events_and_metrics')?.value === 'true'),
  ].map((value) => implied(value, span));
  // What srtctl writes itself wins, and stands behind what the recipe has.
  const last = [
    ...[engine === 'vllm' ? '--model' : '--model-path', model, '--served-model-name', name],
    ...(role.mode === 'agg' || (!isDynamo && engine !== 'sglang')
      ? []
      : ['--disaggregation-mode', role.mode]),
    ...(isTrtllm ? [isDynamo ? '--extra-engine-args' : '--config', OWN_FILE] : []),
  ].map((value) => implied(value, span));
  const { args } = role;
  const flags = args === undefined || isTrtllm ? [] : argsOfMap(resolved(recipe, args), wholeText(source));
  const env = new Map([
    ...(engine === 'vllm' ? OF_THE_RUN.map((one) => [one, unknown(span)] as const) : []),
    ...variables(source, recipe, access.map(root, 'environment')),
    ...variables(source, recipe, role.env),
  ]);
  const text = isTrtllm ? yamlOf(source, recipe, args, span) : undefined;
  const launches = started(
    source,
    recipe,
    span,
    [...command.map((word) => implied(word, span)), ...words, ...flags, ...last],
    env,
    text,
  );
  const key = role.mode === 'agg' ? 'aggregated' : role.mode;
  return launches.map((launch) => ({
    ...launch,
    ...(role.count === undefined ? {} : { count: role.count }),
    ...(!isDynamo && role.mode !== 'agg' ? { section: role.mode } : {}),
    eventsCure: isTrtllm
      ? `Set publish_events_and_metrics: true below ${recipe.isSecond ? 'engine' : 'backend'}.`
      : recipe.isSecond
        ? `Set kv_events: true below roles.${role.mode}.`
        : `Set kv_events_config: {${key}: true} below backend.`,
  }));
}

const OWN_FILE = '/logs/trtllm_config.yaml';

/** The YAML that a worker of TensorRT-LLM reads: as it stands in the recipe, or made of several parts of it. */
function yamlOf(source: TextSource, recipe: Recipe, own: YAMLMap | undefined, span: Span): InnerText {
  const [start, end] = own?.range ?? [];
  if (own === undefined) return { value: '{}', spanOf: () => span };
  if (start !== undefined && end !== undefined) {
    const line = source.text.lastIndexOf('\n', start - 1) + 1;
    const from = own.flow === true || source.text.slice(line, start).trim() !== '' ? start : line;
    const text = source.text.slice(from, end);
    // What an anchor elsewhere stands for is not in this part.
    if (!/[*<]/.test(text)) return partOf(wholeText(source), from, end);
  }
  const place = { ...span, isExact: false };
  return { value: JSON.stringify(plain(recipe, own)), spanOf: () => place };
}

/** A mapping as the values that it has, aliases and merges followed. */
function plain(recipe: Recipe, map: YAMLMap): Record<string, unknown> {
  return Object.fromEntries(
    [...recipe.access.entries(map)].map(([key, value]) => [
      key,
      isMap(value) ? plain(recipe, value) : isScalar(value) ? value.value : [],
    ]),
  );
}

function started(
  source: TextSource,
  recipe: Recipe,
  span: Span,
  command: readonly Word[],
  env: ReadonlyMap<string, Word>,
  file?: InnerText,
): readonly Launch[] {
  const version = versionOf(recipe);
  return readContainer({
    source,
    image: undefined,
    imageSpan: span,
    entrypoint: [],
    command,
    env,
    hasUnseenEnv: false,
    fileAt: ({ value }) => (value === OWN_FILE ? file : undefined),
  }).map((launch) => ({ ...launch, version }));
}

/** What `dynamo` installs, or what the container has where it installs nothing. */
function versionOf({ access, root }: Recipe): DynamoVersion | undefined {
  const dynamo = access.map(root, 'dynamo');
  const from = access.map(dynamo, 'source');
  if (access.text(dynamo, 'install')?.value === 'false')
    // A script may install another one.
    return access.get(root, 'setup_script') === undefined
      ? dynamoVersionOf(access.text(access.map(root, 'model'), 'container')?.value)
      : undefined;
  const text =
    access.text(dynamo, 'version') ??
    access.text(dynamo, 'wheel') ??
    access.text(from, 'pypi') ??
    access.text(from, 'wheel') ??
    // Of a commit the recipe may say the release, by which srtctl proves what runs.
    access.text(access.map(root, 'identity', 'frameworks'), 'dynamo');
  return readVersion(text?.value);
}

/** The first name that a role gives to the model counts for all. */
function servedName({ access, roles }: Recipe): string | undefined {
  for (const { args } of roles) {
    const name = access.text(args, 'served-model-name') ?? access.text(args, 'served_model_name');
    if (name !== undefined) return name.value;
  }
  return undefined;
}

function connectorOf({ access, knobs }: Recipe, { args }: RecipeRole): readonly string[] {
  const set = access.get(args, 'connector') ?? access.get(knobs, 'connector');
  const value = set === undefined ? 'nixl' : isScalar(set) && set.value !== null ? String(set.value) : 'null';
  return ['null', 'none', ''].includes(value)
    ? []
    : ['--kv-transfer-config', CONNECTORS[value.toLowerCase()] ?? value];
}

/** What the simulated engine has as knobs of its own. */
function simulated({ access, knobs }: Recipe): readonly string[] {
  return ['engine_type', 'block_size'].flatMap((name) => {
    const text = access.text(knobs, name);
    return text === undefined ? [] : [`--${name.replace('_', '-')}`, text.value];
  });
}

function eventsOf(engine: string, { events }: RecipeRole, publishes: boolean): readonly string[] {
  if (engine === 'trtllm') return publishes || events !== undefined ? ['--publish-events-and-metrics'] : [];
  if (events === undefined || engine === 'mocker') return [];
  const enabled = engine === 'vllm' ? { enable_kv_cache_events: true } : {};
  const own = isMap(events) ? (events.toJSON() as Record<string, unknown>) : {};
  return [
    '--kv-events-config',
    JSON.stringify({ publisher: 'zmq', topic: 'kv-events', ...enabled, ...own, endpoint: 'tcp://*:0' }),
  ];
}

/** A mapping with aliases followed and with what its merge keys add, without the key that is srtctl's own. */
function resolved({ access }: Recipe, map: YAMLMap): YAMLMap {
  const result = new YAMLMap();
  result.items = [...access.entries(map)]
    .filter(([name]) => name !== 'connector')
    .map(([name, value]) => pairOf(map, name, value));
  return result;
}

function variables(
  source: TextSource,
  { access }: Recipe,
  map: YAMLMap | undefined,
): readonly (readonly [string, Word])[] {
  return access.textEntries(map).map(({ key, value }) => [key.value, wordOf(source, value)]);
}

function placeOf(source: TextSource, { start, end }: PlacedText): Span {
  return { source, start, end, isExact: false };
}

function implied(value: string, span: Span): Word {
  return { value, span, mayBeMore: false };
}

function unknown(span: Span): Word {
  return { value: undefined, span, mayBeMore: false };
}
