import type { YAMLMap } from 'yaml';
import { placeOfNode, type YamlAccess } from '../../yaml-access.js';
import { bareLaunch } from '../launches/bare-launch.js';
import type { DisaggregatedServers, Launch } from '../launches/launch.js';
import type { SettingValue } from '../launches/setting-value.js';
import type { TextSource } from '../text/span.js';
import { type OpenFile, plainDocuments, settingAt } from './yaml-words.js';

/** The configuration of `trtllm-serve disaggregated`: context and generation servers, and how their routers choose. */
export function readDisaggregated(file: OpenFile): readonly Launch[] {
  return plainDocuments(file).flatMap(({ access, root }) => {
    const context = access.map(root, 'context_servers');
    const generation = access.map(root, 'generation_servers');
    if (context === undefined || generation === undefined) return [];
    const { start, end } = placeOfNode(context);
    const read = (servers: YAMLMap): DisaggregatedServers => readServers(file.source, access, root, servers);
    return [
      bareLaunch(
        {
          role: 'gateway',
          program: 'trtllm-serve disaggregated',
          gateway: {
            kind: 'trtllm-disaggregated',
            blockSize: undefined,
            defaultBlockSize: 32,
            hashSeed: undefined,
            usesEvents: false,
            context: read(context),
            generation: read(generation),
          },
        },
        { source: file.source, start, end, isExact: false },
      ),
    ];
  });
}

function readServers(
  source: TextSource,
  access: YamlAccess,
  root: YAMLMap,
  servers: YAMLMap,
): DisaggregatedServers {
  // What stands at the top holds for both; a section's own wins.
  const caches = [access.map(servers, 'kv_cache_config'), access.map(root, 'kv_cache_config')];
  const cached = (name: string): SettingValue | undefined =>
    settingAt(
      source,
      caches.map((cache) => access.get(cache, name)).find((node) => node !== undefined),
      name,
    );
  const router = access.map(servers, 'router');
  return {
    tokensPerBlock: cached('tokens_per_block'),
    blockReuse: cached('enable_block_reuse'),
    eventBuffer: cached('event_buffer_max_size'),
    hasCacheConfig: caches.some((cache) => cache !== undefined),
    routerType: settingAt(source, access.get(router, 'type'), 'type'),
    routerTokensPerBlock: settingAt(source, access.get(router, 'tokens_per_block'), 'tokens_per_block'),
  };
}
