import { isBefore } from '../../../../engines/descriptor/default-size.js';
import { TRTLLM } from '../../../../engines/trtllm/descriptor.js';
import { jsonObjectIn } from '../config/json-object.js';
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
  if (setting?.value === undefined) {
    const usesNixl = setting === undefined && wrapperConnectorOf(launch) === 'nixl';
    return phaseRole === undefined
      ? undefined
      : { worker, role: phaseRole, connector: undefined, usesNixl, kvRole: undefined, setting };
  }
  const config = jsonObjectIn(setting.value) ?? {};
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

/** Llumnix's connector, whose backends hand blocks over (`kvt`), keep them in a store (`kvs`), or both. */
const HYBRID = 'HybridConnector';

/** Whether the connector of a vLLM only hands blocks over, by the names that its router gives: nobody looks a block up by its hash. */
export function onlyHandsOver(launch: Launch): boolean {
  const config = jsonObjectIn(flagOf(launch, '--kv-transfer-config')?.value ?? '') ?? {};
  const { kv_connector: named, kv_connector_extra_config: extra } = config;
  if (typeof named !== 'string') return false;
  const backend = (extra as { readonly backend?: unknown } | undefined)?.backend;
  return DIRECT.has(named) || (named === HYBRID && backend === 'kvt');
}

/** The first release of Dynamo whose vLLM has no connector but that of `--kv-transfer-config`; before, `--connector` was `nixl` where it was not given. */
const WITHOUT_CONNECTOR = { major: 1, minor: 0 };

/** What moves blocks where Dynamo's wrapper chooses it: NIXL, nothing, or something that is not known. */
function wrapperConnectorOf({ args, backend, isDynamo, version }: Launch): 'nixl' | 'none' | undefined {
  if (!isDynamo || backend !== 'vllm') return undefined;
  const at = args.findLastIndex(({ value }) => value === '--connector' || value?.startsWith('--connector='));
  if (at === -1) return version === undefined || isBefore(version, WITHOUT_CONNECTOR) ? 'nixl' : undefined;
  const behind = args.slice(at + 1).map(({ value }) => value ?? '-');
  const end = behind.findIndex((word) => word.startsWith('-'));
  const names = [
    ...(args[at]?.value?.split('=').slice(1) ?? []),
    ...behind.slice(0, end === -1 ? undefined : end),
  ];
  if (names.some((name) => /^(?:none|null)$/i.test(name))) return 'none';
  return names.some((name) => /^nixl$/i.test(name)) ? 'nixl' : undefined;
}

/** Whether a worker is started without anything that moves blocks to another one. */
export function movesNothing({ launch }: WorkerFacts): boolean {
  return flagOf(launch, '--kv-transfer-config') === undefined && wrapperConnectorOf(launch) === 'none';
}

/**
 * A vLLM of Dynamo without a flag for its part: beside a prefill worker of its model it computes the rest of each request, and fetches
 * the blocks of the first part. From 1.0 on `--disaggregation-mode decode` says so.
 */
export function besidePrefill(worker: WorkerFacts): PairFacts | undefined {
  const usesNixl = flagOf(worker.launch, '--kv-transfer-config') === undefined;
  return worker.phase === 'aggregated' && wrapperConnectorOf(worker.launch) === 'nixl' && usesNixl
    ? { worker, role: 'decode', connector: undefined, usesNixl, kvRole: undefined, setting: undefined }
    : undefined;
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
