import type { KnownFault } from '../known-fault.js';

/** TensorRT-LLM's servers and executor: `serve`, `llmapi`, `_torch/pyexecutor`, 0.18 to 1.3. */
export const TRTLLM_SERVE: readonly KnownFault[] = [
  {
    id: 'trtllm_sequence_longer_than_cache',
    cause: 'cache_memory_missing',
    needles: ["exceeds the KV cache manager's maximum supported length"],
    pattern:
      /max KV cache length of input sequences \((?:tensor\()?(\d{1,9}).{0,90}?maximum supported length \((\d{1,9})\)/,
    says: 'a sequence of $1 tokens does not fit the KV cache of TensorRT-LLM, which takes $2',
    why: 'The cache is made for max_seq_len tokens a sequence, and less where its memory does not suffice. A longer one ends the whole batch.',
    cure: 'Raise max_seq_len (--max_seq_len) to more than $1, with free_gpu_memory_fraction or max_tokens of kv_cache_config where the engine lowered it at its start, or limit max_tokens of requests',
  },
  {
    id: 'trtllm_servers_not_ready',
    cause: 'role_missing',
    needles: ['Timeout waiting for context and generation servers to be ready'],
    says: 'trtllm-serve disaggregated gives up: not all of its context and generation servers got ready',
    why: 'It asks /health of each url of its file, and waits 180 seconds. Large models take longer to load.',
    cure: 'Start it with --server_start_timeout 1800, and correct the urls of context_servers and generation_servers in its file where a server is ready there and not found',
    commands: [
      'curl -s -o /dev/null -w "%{http_code}\\n" http://SERVER:PORT/health    # of each url; should be 200',
    ],
    disturbs: 'frontend',
  },
  {
    id: 'trtllm_cluster_not_ready',
    cause: 'role_missing',
    needles: ['RuntimeError: Cluster is not ready'],
    says: 'trtllm-serve disaggregated rejects requests: it has fewer servers than minimal_instances',
    why: 'With disagg_cluster servers register themselves at cluster_uri, and leave after inactive_timeout_sec without a heartbeat. Until each role has its minimum nothing is served.',
    cure: 'Start as many context and generation servers as disagg_cluster.minimal_instances demands, with the same cluster_uri and cluster_name, or lower it',
    commands: ['curl -s http://FRONTEND:8000/cluster_info'],
  },
  {
    id: 'trtllm_metadata_without_servers',
    cause: 'role_missing',
    needles: ['No servers found in metadata service'],
    says: 'trtllm-serve disaggregated finds no server in its metadata service',
    why: 'Servers write themselves into etcd under trtllm/, where they are started with the metadata server. A static list of urls is not read then.',
    cure: 'Start each context and generation server with --metadata_server_config_file of the same etcd, and its --server_role (CONTEXT or GENERATION)',
    commands: ['etcdctl --endpoints=ETCD:2379 get --prefix trtllm/ --keys-only'],
  },
  {
    id: 'trtllm_context_without_params',
    cause: 'role_missing',
    needles: [
      'Context server did not return disaggregated params',
      'Invalid disaggregated params in context phase response',
    ],
    says: 'a context server of TensorRT-LLM answers without the parameters of a transfer',
    why: 'Without cache_transceiver_config it computes the prompt and has no blocks to give; a request that failed on it looks the same in releases before 1.3.',
    cure: 'Set cache_transceiver_config with backend: DEFAULT in the engine files of context and generation servers, and read the log of the context server for the request where it is set',
    disturbs: 'all_workers',
  },
  {
    id: 'trtllm_urls_and_instances',
    cause: 'settings_refused',
    needles: [') should be equal to the number of instances ('],
    pattern:
      /Number of (?:hostnames|ports) \((\d{1,6})\) should be equal to the number of instances \((\d{1,6})\)/,
    says: 'trtllm-serve disaggregated does not start: it has $1 urls for $2 instances',
    why: 'num_instances, 1 by default, and the list of urls of a role say the same thing twice.',
    cure: 'Set num_instances: $1 beside the urls of context_servers or generation_servers in its file',
    disturbs: 'frontend',
  },
  {
    id: 'trtllm_file_contradicts_itself',
    cause: 'settings_refused',
    needles: ['is specified both in the top-level and in the '],
    pattern: /Parameter (\w{1,60}) is specified both in the top-level and in the (\w{1,60}) section/,
    says: 'trtllm-serve disaggregated does not start: $1 has two values in its file, at the top and in $2',
    why: 'Keys at the top of the file hold for both roles.',
    cure: 'Remove $1 from the top of the file and set it in context_servers and generation_servers, or the other way round',
    disturbs: 'frontend',
  },
  {
    id: 'trtllm_router_counts_no_chats',
    cause: 'not_kv_routing',
    needles: ["LoadBalancing router with tokens doesn't support ChatCompletionRequest yet"],
    says: 'the router of trtllm-serve disaggregated cannot count the tokens of chats: requests fail',
    why: 'type: load_balancing with use_tokens: true measures prompts of /v1/completions alone.',
    cure: 'Set use_tokens: false in router of context_servers and generation_servers, or type: kv_cache_aware',
    disturbs: 'frontend',
  },
];
