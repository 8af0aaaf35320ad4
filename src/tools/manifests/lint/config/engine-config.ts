import { isMap, type YAMLMap } from 'yaml';
import { readSourceFile } from '../../source-file.js';
import { YamlAccess } from '../../yaml-access.js';
import type { Launch } from '../launches/launch.js';
import { flagOf, type SettingValue, variableOf } from '../launches/settings.js';
import { type InnerText, scalarText } from '../text/scalar-text.js';
import type { Located } from '../text/span.js';
import type { ConfigMaps } from './config-maps.js';

/** What decides in an engine's own configuration, beside its flags. */
export interface EngineConfig {
  readonly tokensPerBlock: SettingValue | undefined;
  readonly enableBlockReuse: SettingValue | undefined;
  /** Whether a file is named whose text is not in the manifests. */
  readonly isUnseen: boolean;
  /** YAML or JSON as a whole, what wins first. */
  readonly texts: readonly Located[];
}

/** Flags that name a file with the engine's configuration. */
const FILE_FLAGS: readonly string[] = ['--extra-engine-args', '--extra-llm-api-options', '--config'];

/** What TensorRT-LLM is configured with: overrides on the command line, then the YAML that a ConfigMap has. */
export function readEngineConfig(launch: Launch, configMaps: ConfigMaps): EngineConfig {
  if (launch.backend !== 'trtllm') {
    return { tokensPerBlock: undefined, enableBlockReuse: undefined, isUnseen: false, texts: [] };
  }
  const file = flagOf(launch, ...FILE_FLAGS) ?? variableOf(launch, 'DYN_TRTLLM_EXTRA_ENGINE_ARGS');
  const text = file?.value === undefined ? undefined : findFile(launch, configMaps, file.value);
  const yaml = text === undefined ? undefined : readYaml(text);
  const override =
    flagOf(launch, '--override-engine-args') ?? variableOf(launch, 'DYN_TRTLLM_OVERRIDE_ENGINE_ARGS');
  const overriding = override?.value === undefined ? undefined : wholeText(override);
  const overrides = overriding === undefined ? undefined : readYaml(overriding);
  const setting = (key: string): SettingValue | undefined =>
    flagOf(launch, `--trtllm.kv-cache-config.${key.replace(/_/g, '-')}`) ??
    overrides?.get(key) ??
    yaml?.get(key);
  return {
    tokensPerBlock: setting('tokens_per_block'),
    enableBlockReuse: setting('enable_block_reuse'),
    isUnseen:
      (file !== undefined && yaml === undefined) || (override !== undefined && override.value === undefined),
    texts: [overriding, text].flatMap((one) =>
      one === undefined ? [] : [{ value: one.value, span: one.spanOf(0, one.value.length) }],
    ),
  };
}

function findFile({ site, container }: Launch, configMaps: ConfigMaps, path: string): InnerText | undefined {
  if (site === undefined || container === undefined) {
    return undefined;
  }
  const found = configMaps.fileOf(
    new YamlAccess(site.document),
    site.spec,
    container.node,
    site.namespace,
    path,
  );
  return found === undefined ? undefined : scalarText(found.source, found.text);
}

function wholeText(setting: SettingValue): InnerText {
  const { value = '', span } = setting;
  return {
    value,
    spanOf: (start, end) =>
      span.isExact ? { ...span, start: span.start + start, end: span.start + end } : span,
  };
}

/** The scalars of `kv_cache_config` in an engine's YAML or JSON. */
function readYaml(text: InnerText): ReadonlyMap<string, SettingValue> {
  const [document] = readSourceFile('', text.value).documents;
  if (document === undefined || !isMap(document.contents)) {
    return new Map();
  }
  const access = new YamlAccess(document);
  const entries = access.textEntries(access.map(document.contents as YAMLMap, 'kv_cache_config'));
  return new Map(
    entries.map(({ key, value }): [string, SettingValue] => [
      key.value,
      {
        value: value.value,
        span: text.spanOf(value.start, value.end),
        how: 'engine-yaml',
        name: key.value,
      },
    ]),
  );
}
