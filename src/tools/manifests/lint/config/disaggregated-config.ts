import { isMap, type YAMLMap } from 'yaml';
import { TRTLLM_DEFAULT_TOKENS } from '../../../../engines/trtllm/default-sizes.js';
import type { PlacedText } from '../../pod-site.js';
import { readSourceFile } from '../../source-file.js';
import { YamlAccess } from '../../yaml-access.js';
import type { DisaggregatedServers, Gateway } from '../launches/launch.js';
import type { SettingValue } from '../launches/setting-value.js';
import type { InnerText } from '../text/scalar-text.js';
import type { Span } from '../text/span.js';

/**
 * The configuration of `trtllm-serve disaggregated`: context and generation
 * servers, and how their routers choose. Undefined for every other mapping.
 */
export function readDisaggregatedConfig(
  access: YamlAccess,
  root: YAMLMap,
  spanOf: (text: PlacedText) => Span,
): Gateway | undefined {
  const context = access.map(root, 'context_servers');
  const generation = access.map(root, 'generation_servers');
  if (context === undefined || generation === undefined) return undefined;
  const read = (servers: YAMLMap): DisaggregatedServers => readServers(access, root, servers, spanOf);
  return {
    kind: 'trtllm-disaggregated',
    blockSize: undefined,
    defaultBlockSize: TRTLLM_DEFAULT_TOKENS,
    hashSeed: undefined,
    usesEvents: false,
    context: read(context),
    generation: read(generation),
  };
}

/** The same of the text of a file. */
export function readDisaggregatedText(text: InnerText): Gateway | undefined {
  const { documents, problems } = readSourceFile('', text.value);
  const [document] = documents;
  return problems.length > 0 || document === undefined || !isMap(document.contents)
    ? undefined
    : readDisaggregatedConfig(new YamlAccess(document), document.contents, ({ start, end }) =>
        text.spanOf(start, end),
      );
}

function readServers(
  access: YamlAccess,
  root: YAMLMap,
  servers: YAMLMap,
  spanOf: (text: PlacedText) => Span,
): DisaggregatedServers {
  // What stands at the top holds for both; a section's own wins.
  const caches = [access.map(servers, 'kv_cache_config'), access.map(root, 'kv_cache_config')];
  const setting = (map: YAMLMap | undefined, name: string): SettingValue | undefined => {
    const text = access.text(map, name);
    return text === undefined
      ? undefined
      : { value: text.value, span: spanOf(text), how: 'engine-yaml', name };
  };
  const cached = (name: string): SettingValue | undefined =>
    setting(
      caches.find((cache) => access.get(cache, name) !== undefined),
      name,
    );
  const router = access.map(servers, 'router');
  return {
    tokensPerBlock: cached('tokens_per_block'),
    blockReuse: cached('enable_block_reuse'),
    eventBuffer: cached('event_buffer_max_size'),
    hasCacheConfig: caches.some((cache) => cache !== undefined),
    routerType: setting(router, 'type'),
    routerTokensPerBlock: setting(router, 'tokens_per_block'),
  };
}
