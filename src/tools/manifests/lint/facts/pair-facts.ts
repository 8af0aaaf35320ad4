import { parseJson } from '../../../../edge/platform/data/bounded-json.js';
import { TRTLLM } from '../../../../engines/trtllm/descriptor.js';
import type { Launch } from '../launches/launch.js';
import type { SettingValue } from '../launches/setting-value.js';
import { flagOf } from '../launches/settings.js';
import type { WorkerFacts } from './worker-facts.js';

/** How a worker exchanges KV blocks with another one, as far as its command says. */
export interface PairFacts {
  readonly worker: WorkerFacts;
  /** Undefined where nothing says which part of a request it computes. */
  readonly role: 'prefill' | 'decode' | undefined;
  /** The plain connector that moves its blocks; undefined for none, and for one that combines or wraps others. */
  readonly connector: string | undefined;
  /** Whether NIXL moves its blocks, alone or below another connector. */
  readonly usesNixl: boolean;
  readonly kvRole: string | undefined;
  /** Where the connector is set. */
  readonly setting: SettingValue | undefined;
}

/** Connectors that send blocks themselves: two of them with different names have no common form. */
const DIRECT: ReadonlySet<string> = new Set([
  'NixlConnector',
  'NixlPushConnector',
  'MooncakeConnector',
  'MooncakeConnectorV1',
  'MoRIIOConnector',
  'P2pNcclConnector',
]);

/** SGLang's own default since it has disaggregation. */
const SGLANG_DEFAULT = 'mooncake';

/** Reads how a worker takes part in a pair; undefined for one that does not. */
export function readPairFacts(worker: WorkerFacts): PairFacts | undefined {
  const { backend } = worker.launch;
  return backend === 'sglang'
    ? ofSglang(worker)
    : backend === TRTLLM.word
      ? ofTrtllm(worker)
      : ofVllm(worker);
}

function ofVllm(worker: WorkerFacts): PairFacts | undefined {
  const { launch, phase } = worker;
  if (launch.backend !== 'vllm') return undefined;
  const setting = flagOf(launch, '--kv-transfer-config');
  const phaseRole = phase === 'aggregated' ? roleByLabels(launch) : phase;
  if (setting?.value === undefined)
    return phaseRole === undefined
      ? undefined
      : { worker, role: phaseRole, connector: undefined, usesNixl: false, kvRole: undefined, setting };
  const config = configOf(setting.value);
  const named = config['kv_connector'];
  const kvRole = typeof config['kv_role'] === 'string' ? config['kv_role'] : undefined;
  const role = ROLES.get(kvRole ?? '') ?? phaseRole;
  return {
    worker,
    role,
    connector: typeof named === 'string' && DIRECT.has(named) ? named : undefined,
    usesNixl: setting.value.includes('NixlConnector') || setting.value.includes('NixlPushConnector'),
    kvRole,
    setting,
  };
}

/** Its connector is its own, and the same for both roles. */
function ofTrtllm(worker: WorkerFacts): PairFacts {
  const role = worker.phase === 'aggregated' ? undefined : worker.phase;
  return { worker, role, connector: undefined, usesNixl: false, kvRole: undefined, setting: undefined };
}

const ROLES: ReadonlyMap<string, 'prefill' | 'decode'> = new Map([
  ['kv_producer', 'prefill'],
  ['kv_consumer', 'decode'],
]);

function ofSglang(worker: WorkerFacts): PairFacts | undefined {
  const { launch } = worker;
  const role = flagOf(launch, '--disaggregation-mode')?.value;
  if (role !== 'prefill' && role !== 'decode') return undefined;
  const setting = flagOf(launch, '--disaggregation-transfer-backend');
  const byDefault = setting === undefined && !launch.hasUnseenArgs ? SGLANG_DEFAULT : undefined;
  return {
    worker,
    role,
    connector: setting?.value ?? byDefault,
    usesNixl: false,
    kvRole: undefined,
    setting,
  };
}

/**
 * What a worker computes by the name of its role in an object, or as the template beside an LLMInferenceService's `prefill`. What
 * the controller adds to it is not seen.
 */
export function roleByPlace({ launch }: WorkerFacts): 'prefill' | 'decode' | undefined {
  const { site } = launch;
  const role = site?.part?.split('/').at(-1);
  if (role === undefined && site?.kind.startsWith('LLMInferenceService') === true) return 'decode';
  return role === 'prefill' || role === 'decode' ? role : undefined;
}

/** llm-d's label for what a pod does. */
function roleByLabels({ site }: Launch): 'prefill' | 'decode' | undefined {
  const role = site?.labels.get('llm-d.ai/role');
  return role === 'prefill' || role === 'decode' ? role : undefined;
}

function configOf(json: string): Readonly<Record<string, unknown>> {
  try {
    const config: unknown = parseJson(json);
    return typeof config === 'object' && config !== null ? (config as Record<string, unknown>) : {};
  } catch {
    // A template, or something that the engine itself refuses.
    return {};
  }
}
