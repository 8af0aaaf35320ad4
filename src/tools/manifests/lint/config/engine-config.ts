import { isMap } from 'yaml';
import { readSourceFile } from '../../source-file.js';
import { YamlAccess } from '../../yaml-access.js';
import type { Launch } from '../launches/launch.js';
import type { SettingValue } from '../launches/setting-value.js';
import { flagOf, variableOf } from '../launches/settings.js';
import { UNKNOWN } from '../shell/words.js';
import { type InnerText, textOf } from '../text/scalar-text.js';
import type { Located } from '../text/span.js';

/** What decides in an engine's own configuration, beside its flags. */
export interface EngineConfig {
  readonly tokensPerBlock: SettingValue | undefined;
  readonly enableBlockReuse: SettingValue | undefined;
  readonly kvCacheDtype: SettingValue | undefined;
  /** Of the transfers between prefill and decode: `cache_transceiver_config`. */
  readonly transferBackend: SettingValue | undefined;
  readonly maxTokensInBuffer: SettingValue | undefined;
  /** Whether a file is named whose text is not in the manifests. */
  readonly isUnseen: boolean;
  /** The flag or variable that names this file, or has the text that is not known. */
  readonly unseenFile: SettingValue | undefined;
  /** YAML or JSON as a whole, what wins first. */
  readonly texts: readonly Located[];
}

/** Flags that name a file with the engine's configuration. */
const FILE_FLAGS: readonly string[] = [
  '--extra-engine-args',
  '--extra-llm-api-options',
  '--extra-llm-api-config',
  '--config',
];

/** A line of a document whose key is not known: it may be any setting. */
const UNKNOWN_LINE = new RegExp(`^\\s*(?:-\\s*)?${UNKNOWN}`, 'm');

/** What TensorRT-LLM is configured with: overrides on the command line, then the YAML that it reads. */
export function readEngineConfig(launch: Launch): EngineConfig {
  if (launch.backend !== 'trtllm') {
    return {
      tokensPerBlock: undefined,
      enableBlockReuse: undefined,
      kvCacheDtype: undefined,
      transferBackend: undefined,
      maxTokensInBuffer: undefined,
      isUnseen: false,
      unseenFile: undefined,
      texts: [],
    };
  }
  const file = flagOf(launch, ...FILE_FLAGS) ?? variableOf(launch, 'DYN_TRTLLM_EXTRA_ENGINE_ARGS');
  const text = file === undefined || file.value === '' ? undefined : launch.fileAt(file);
  const yaml = text === undefined || UNKNOWN_LINE.test(text.value) ? undefined : readYaml(text);
  const override =
    flagOf(launch, '--override-engine-args') ?? variableOf(launch, 'DYN_TRTLLM_OVERRIDE_ENGINE_ARGS');
  const overriding =
    override?.value === undefined ? undefined : textOf({ value: override.value, span: override.span });
  const overrides = overriding === undefined ? undefined : readYaml(overriding);
  const setting = (key: string): SettingValue | undefined =>
    flagOf(launch, `--trtllm.kv-cache-config.${key.replace(/_/g, '-')}`) ??
    overrides?.get(key) ??
    yaml?.get(key);
  const transfer = (key: string): SettingValue | undefined =>
    overrides?.get(`${TRANSFER}.${key}`) ?? yaml?.get(`${TRANSFER}.${key}`);
  const isFileUnseen = file !== undefined && file.value !== '' && yaml === undefined;
  const isOverrideUnseen = override !== undefined && override.value === undefined;
  return {
    tokensPerBlock: setting('tokens_per_block'),
    enableBlockReuse: setting('enable_block_reuse'),
    kvCacheDtype: setting('dtype'),
    transferBackend: transfer('backend'),
    maxTokensInBuffer: transfer('max_tokens_in_buffer'),
    isUnseen: isFileUnseen || isOverrideUnseen,
    unseenFile: isFileUnseen ? file : isOverrideUnseen ? override : undefined,
    texts: [overriding, text].flatMap((one) =>
      one === undefined ? [] : [{ value: one.value, span: one.spanOf(0, one.value.length) }],
    ),
  };
}

/** The section of an engine's configuration about transfers between prefill and decode. */
const TRANSFER = 'cache_transceiver_config';

/** The scalars of `kv_cache_config` in an engine's YAML or JSON, and those of transfers with its name in front; undefined for what cannot be read. */
function readYaml(text: InnerText): ReadonlyMap<string, SettingValue> | undefined {
  const { documents, problems } = readSourceFile('', text.value);
  const [document] = documents;
  if (problems.length > 0) return undefined;
  if (document === undefined || !isMap(document.contents)) {
    return new Map();
  }
  const access = new YamlAccess(document);
  const root = document.contents;
  const entries = [
    ...access
      .textEntries(access.map(root, 'kv_cache_config'))
      .map((one) => ({ ...one, name: one.key.value })),
    ...access
      .textEntries(access.map(root, TRANSFER))
      .map((one) => ({ ...one, name: `${TRANSFER}.${one.key.value}` })),
  ];
  return new Map(
    entries.map(({ key, value, name }): [string, SettingValue] => [
      name,
      {
        value: value.value.includes(UNKNOWN) ? undefined : value.value,
        span: text.spanOf(value.start, value.end),
        how: 'engine-yaml',
        name: key.value,
      },
    ]),
  );
}
