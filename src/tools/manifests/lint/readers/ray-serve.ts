import { isMap, type YAMLMap } from 'yaml';
import type { PlacedText } from '../../pod-site.js';
import { readSourceFile } from '../../source-file.js';
import { YamlAccess } from '../../yaml-access.js';
import { argsOfMap } from '../config/config-args.js';
import { bareLaunch } from '../launches/bare-launch.js';
import type { Launch } from '../launches/launch.js';
import type { Word } from '../shell/words.js';
import { type InnerText, scalarText, wholeText } from '../text/scalar-text.js';
import type { Span } from '../text/span.js';
import type { OpenFile } from './yaml-words.js';

/** What every such configuration has, wherever it stands. */
const SIGN = /llm_configs|(?:prefill|decode)_config/;

/** The arguments of `build_pd_openai_app`: one configuration for each part of a request. */
const PARTS = ['prefill', 'decode'] as const;

/** Models of one configuration. */
const MAX_MODELS = 200;

/**
 * The engines that Ray Serve LLM starts: `serveConfigV2` of a RayService, or a Serve
 * configuration of its own. `engine_kwargs` are vLLM's arguments by their names in Python
 * (https://docs.ray.io/en/latest/serve/llm/serving-llms.html).
 */
export function readRayServe({ source, documents }: OpenFile): readonly Launch[] {
  if (!SIGN.test(source.text)) return [];
  return documents.flatMap((document) => {
    const access = new YamlAccess(document);
    const root = isMap(document.contents) ? document.contents : undefined;
    const namespace = access.text(access.map(root, 'metadata'), 'namespace')?.value;
    const inner = access.text(access.map(root, 'spec'), 'serveConfigV2');
    const launches =
      inner !== undefined
        ? readInner(scalarText(source, inner), inner)
        : access.get(root, 'kind') === undefined && root !== undefined
          ? readConfig(access, root, wholeText(source))
          : [];
    return launches.map((launch) => ({ ...launch, namespace }));
  });
}

function readInner(text: InnerText, { value }: PlacedText): readonly Launch[] {
  const [document] = readSourceFile('', value).documents;
  return document === undefined || !isMap(document.contents)
    ? []
    : readConfig(new YamlAccess(document), document.contents, text);
}

function readConfig(access: YamlAccess, root: YAMLMap, text: InnerText): readonly Launch[] {
  return access.maps(root, 'applications').flatMap((application) => {
    const env = variablesOf(access, access.map(application, 'runtime_env', 'env_vars'), text);
    const given = access.map(application, 'args');
    const pair = PARTS.flatMap((section) => {
      const model = access.map(given, `${section}_config`);
      return model === undefined ? [] : [{ model, section }];
    });
    return [...access.maps(given, 'llm_configs').map((model) => ({ model, section: undefined })), ...pair]
      .slice(0, MAX_MODELS)
      .map(({ model, section }) => {
        const own = variablesOf(access, access.map(model, 'runtime_env', 'env_vars'), text);
        const args = access.map(model, 'engine_kwargs');
        const loading = access.map(model, 'model_loading_config');
        const name = access.text(loading, 'model_id') ?? access.text(loading, 'model_source');
        const served: readonly Word[] =
          name === undefined
            ? []
            : ['--served-model-name', name.value].map((value) => ({
                value,
                span: { ...text.spanOf(name.start, name.end), isExact: false },
                mayBeMore: false,
              }));
        const [start = 0, end = start] = model.range ?? [];
        const span = text.spanOf(start, Math.min(end, start + 1));
        return bareLaunch(
          {
            role: 'worker',
            program: 'Ray Serve LLM (vLLM)',
            backend: 'vllm',
            args: [...(args === undefined ? [] : argsOfMap(args, text)), ...served],
            env: new Map([...ofTheRun(span), ...env, ...own]),
            hasUnseenArgs: false,
            hasUnseenEnv: false,
            ...(section === undefined ? {} : { section }),
          },
          span,
        );
      });
  });
}

/** Where a replica is asked for its blocks: Ray sets both, unless they are set (`NixlConnectorBackend.setup`). */
function ofTheRun(span: Span): readonly (readonly [string, Word])[] {
  const names = ['VLLM_NIXL_SIDE_CHANNEL_HOST', 'VLLM_NIXL_SIDE_CHANNEL_PORT'];
  return names.map((name) => [name, { value: undefined, span, mayBeMore: false }]);
}

function variablesOf(
  access: YamlAccess,
  map: YAMLMap | undefined,
  text: InnerText,
): ReadonlyMap<string, Word> {
  return new Map(
    access
      .textEntries(map)
      .map(({ key, value }): [string, Word] => [
        key.value,
        { value: value.value, span: text.spanOf(value.start, value.end), mayBeMore: false },
      ]),
  );
}
