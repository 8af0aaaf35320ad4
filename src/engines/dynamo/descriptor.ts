import { engineKindName, engineWordOf } from '../../core/contract/wire/engine-kinds.js';
import { EngineKind } from '../../gen/kvaccord/v1/capabilities.js';
import type { EngineDescriptor } from '../descriptor/engine-descriptor.js';
import { DYNAMO_DEFAULT_SIZES } from './default-sizes.js';
import { DYNAMO_PAGES } from './pages.js';
import { DYNAMO_RECOGNITION } from './recognition.js';

/** A Dynamo worker, by its system port and its model card; the engine inside is one of the others. */
export const DYNAMO: EngineDescriptor = {
  kind: EngineKind.DYNAMO,
  word: engineWordOf(EngineKind.DYNAMO),
  displayName: engineKindName(EngineKind.DYNAMO),
  recognition: DYNAMO_RECOGNITION,
  // The system port in its documentation of different years.
  ports: { http: [8081, 9090], grpc: [], variable: 'DYN_SYSTEM_PORT' },
  targetOf({ DYN_FILE_KV: folder }) {
    return folder === undefined || folder === '' ? {} : { dynamoFileKv: folder };
  },
  loadProbing: async () => (await import('./probes.js')).DYNAMO_PROBING,
  tokenEndpoints: [],
  promptPaths: [],
  kvEvents: {
    howToPublish: 'start it with --kv-events-config, or name the sources with --kv-event-sources',
  },
  defaultSizes: DYNAMO_DEFAULT_SIZES,
  pages: DYNAMO_PAGES,
  loadDiagnosis: async () => (await import('./diagnosis.js')).DYNAMO_DIAGNOSIS,
  runsOtherEngines: true,
};
