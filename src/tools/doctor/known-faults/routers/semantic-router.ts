import type { KnownFault } from '../known-fault.js';

/** vLLM's semantic router (vllm-sr), as it starts. */
export const SEMANTIC_ROUTER: readonly KnownFault[] = [
  {
    id: 'semantic_router_no_config',
    cause: 'settings_refused',
    needles: ['Failed to create ExtProc server'],
    pattern:
      /failed to read config file\S{0,3} ?(?:open )?([^\s:"]{1,160}): (no such file or directory|permission denied|is a directory)/,
    says: 'the semantic router does not start: it cannot read its configuration $1 ($2)',
    why: '--config names a path in its container, relative to its working directory. The ConfigMap or folder is not mounted there, or its user may not read it.',
    cure: 'Mount the configuration so that $1 exists in the container (docker -v, volumeMounts of the pod), or give --config the path at which it is',
    commands: ['kubectl exec POD -- ls -l $1; vllm-sr validate --config config.yaml'],
    disturbs: 'frontend',
  },
  {
    id: 'semantic_router_cache_backend',
    cause: 'settings_refused',
    needles: [' configuration is required for '],
    pattern:
      /\b(milvus|qdrant|redis|valkey) configuration is required for (?:Milvus|Qdrant|Redis|Valkey|hybrid) cache backend/,
    says: 'the semantic router does not start: its cache has the backend $1 without a section for it',
    why: 'backend_type of global.stores.response_cache chooses the section of the same name, which has host and port.',
    cure: 'Add the section $1 (host, port, collection or index) beside backend_type in global.stores.response_cache of config.yaml, or set backend_type: memory',
    disturbs: 'frontend',
  },
  {
    id: 'semantic_router_no_index',
    cause: 'settings_refused',
    needles: ['does not exist and auto-creation is disabled'],
    pattern: /(collection|index) ([\w.:-]{1,120}) does not exist and auto-creation/,
    says: 'the semantic router does not start: its cache has no $1 $2 in the store',
    why: 'The store answers, and nobody has made the $1. The router makes it only where it may.',
    cure: 'Create the $1 $2 in the store, or set development: { auto_create_$1: true } under the backend in global.stores.response_cache of config.yaml',
    disturbs: 'frontend',
  },
  {
    id: 'semantic_router_no_address',
    cause: 'settings_refused',
    needles: ['.backend_refs requires endpoint or base_url'],
    pattern: /providers\.models\[([^\]\s]{1,120})\]\.backend_refs requires/,
    says: 'the semantic router does not start: the model $1 has a backend without an address',
    why: 'Each entry of backend_refs says where its engine is; localhost is the container of the router itself.',
    cure: 'Give each entry of providers.models[$1].backend_refs an endpoint: HOST:8000 (with protocol: http, type: vllm), or a base_url',
    disturbs: 'frontend',
  },
  {
    id: 'semantic_router_no_models',
    cause: 'settings_refused',
    needles: ['models directory does not exist: ', ' model directory does not exist: '],
    pattern: /model(?:s)? directory does not exist: ([^\s"]{1,200})/,
    says: 'the semantic router does not start: its classifiers are not at $1',
    why: 'Models of signals and embeddings are read from a folder of its container (/app/models), which is not mounted or was not filled.',
    cure: 'Mount the folder with the models so that $1 exists in the container (./models at /app/models), with the models downloaded into it',
    commands: ['kubectl exec POD -- ls $1'],
    disturbs: 'frontend',
  },
];
