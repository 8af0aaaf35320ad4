import type { KnownFault } from '../known-fault.js';
import { SHOW_PICKER_CONFIG } from './commands.js';

/** The configuration of an endpoint picker (llm-d's, the Gateway API Inference Extension's): types of plugins, fields and their parameters. */
export const LLM_D_PLUGINS: readonly KnownFault[] = [
  {
    id: 'epp_plugin_of_llm_d',
    cause: 'settings_refused',
    needles: ['is not found in registry', "' is not registered"],
    pattern:
      /plugin type '(precise-prefix-cache-scorer|pd-profile-handler|prefill-header-handler|by-label|by-label-selector|decode-filter|prefill-filter|encode-filter|load-aware-scorer|active-request-scorer|session-affinity-scorer|no-hit-lru-scorer|data-parallel-profile-handler|prefix-based-pd-decider|always-disagg-pd-decider|context-length-aware)' is not (?:found in registry|registered)/,
    says: "the endpoint picker does not know plugin type $1: it is not llm-d's image, or an older one",
    why: "Filters and scorers for prefill and decode, and the precise prefix cache, are llm-d's own: the picker of the Gateway API Inference Extension has none of them, and ends at its start.",
    cure: "Run llm-d's picker in the Deployment of the endpoint picker: image ghcr.io/llm-d/llm-d-router-endpoint-picker (before 0.9 ghcr.io/llm-d/llm-d-inference-scheduler), of a version that has $1",
    commands: [
      "kubectl get deploy PICKER -o jsonpath='{.spec.template.spec.containers[*].image}'",
      SHOW_PICKER_CONFIG,
    ],
    disturbs: 'frontend',
  },
  {
    id: 'epp_plugin_since_0_7',
    cause: 'settings_refused',
    needles: ['is not found in registry', "' is not registered"],
    pattern:
      /plugin type '(disagg-profile-handler|disagg-headers-handler|always-disagg-multimodal-decider)' is not (?:found in registry|registered)/,
    says: 'the endpoint picker is older than plugin type $1, which llm-d 0.7 brought',
    why: 'Versions before 0.7 divide requests with pd-profile-handler and prefill-header-handler; their successors $1 and the like are not in them, and the picker ends at its start.',
    cure: "Run llm-d's picker 0.7 or later, or write pd-profile-handler for disagg-profile-handler and prefill-header-handler for disagg-headers-handler",
    commands: [SHOW_PICKER_CONFIG],
    disturbs: 'frontend',
  },
  {
    id: 'epp_plugin_since_0_9',
    cause: 'settings_refused',
    needles: ["' is not registered", 'is not found in registry'],
    pattern:
      /plugin type '(token-producer|precise-prefix-cache-producer|label-selector-filter|session-id-producer|mm-embeddings-cache-(?:producer|scorer)|vllmhttp-parser|anthropic-parser|file-discovery|burst-prefix-cache-producer|p2p-source-producer|header-profile-handler)' is not (?:found in registry|registered)/,
    says: 'the endpoint picker is older than plugin type $1, which llm-d-router 0.9 brought',
    why: 'From 0.9 on producers make what scorers read: token-producer the tokens, precise-prefix-cache-producer the blocks of KV events. Before, precise-prefix-cache-scorer does both itself (indexerConfig with tokenizersPoolConfig, kvEventsConfig).',
    cure: 'Run ghcr.io/llm-d/llm-d-router-endpoint-picker 0.9 or later, or configure precise-prefix-cache-scorer alone, with tokenizersPoolConfig and kvEventsConfig in its parameters',
    commands: [SHOW_PICKER_CONFIG],
    disturbs: 'frontend',
  },
  {
    id: 'epp_plugin_renamed',
    cause: 'settings_refused',
    needles: ['is not found in registry', "' is not registered", "' not found in registry"],
    pattern:
      /plugin type '(kv-cache-scorer|(?:low|least)-queue-filter|least-kv-cache-filter|lora-affinity-filter|decision-tree-filter|model-server-protocol-(?:metrics|models)|slo-aware-routing|slo-aware-profile-handler|predicted-latency-scorer|tokenizer)' (?:is )?not /,
    says: 'the endpoint picker has no plugin type $1 any more: it was renamed or removed',
    why: 'Types change with versions: kv-cache-scorer is kv-cache-utilization-scorer since 1.0, which also dropped the filters of queues and caches; model-server-protocol-metrics is core-metrics-extractor (1.5, llm-d 0.8); slo-aware-routing is predicted-latency-producer; tokenizer is token-producer (llm-d 0.9).',
    cure: 'Replace $1 in the EndpointPickerConfig by its successor (kv-cache-utilization-scorer, queue-scorer, core-metrics-extractor, predicted-latency-producer, token-producer)',
    commands: [SHOW_PICKER_CONFIG],
    disturbs: 'frontend',
  },
  {
    id: 'epp_plugin_type_wrong',
    cause: 'settings_refused',
    needles: ['is not found in registry', "' is not registered", "' not found in registry"],
    pattern:
      /plugin type '(?!precise-prefix-cache-scorer'|pd-profile-handler'|prefill-header-handler'|by-label'|by-label-selector'|decode-filter'|prefill-filter'|encode-filter'|load-aware-scorer'|active-request-scorer'|session-affinity-scorer'|no-hit-lru-scorer'|data-parallel-profile-handler'|prefix-based-pd-decider'|always-disagg-pd-decider'|context-length-aware'|disagg-|always-disagg|token-producer|precise-prefix|label-selector-filter|session-id-|mm-embeddings|vllmhttp-parser|anthropic-parser|file-discovery|burst-prefix|p2p-source|header-profile-handler|kv-cache-scorer|low-queue|least-|lora-affinity-filter|decision-tree|model-server-protocol|slo-aware|predicted-latency-scorer|tokenizer')([\w./-]{1,80})' (?:is )?not (?:found in registry|registered)/,
    says: 'the endpoint picker has no plugin type $1',
    why: "Each type under plugins has to be one that this version of the picker registers, letter by letter. A type of one's own needs a picker that is built with it; the picker ends at its start.",
    cure: "Correct type: $1 under plugins of the EndpointPickerConfig: take the name from the plugin's README in the sources of the version that runs",
    commands: [SHOW_PICKER_CONFIG],
    disturbs: 'frontend',
  },
  {
    id: 'epp_config_api_version',
    cause: 'settings_refused',
    needles: ['is registered for version'],
    pattern: /EndpointPickerConfig\\{0,3}" is registered for version \\{0,3}"([\w./-]{1,80})/,
    says: 'the endpoint picker does not read an EndpointPickerConfig of apiVersion $1',
    why: 'The group of this file changed: inference.networking.x-k8s.io/v1alpha1 in the Gateway API Inference Extension and in llm-d before 0.9, llm-d.ai/v1alpha1 from llm-d-router 0.9 on. A picker that does not know it ends at its start.',
    cure: 'Write apiVersion: inference.networking.x-k8s.io/v1alpha1 (pickers before llm-d-router 0.9) or llm-d.ai/v1alpha1 (from 0.9 on) in the EndpointPickerConfig',
    commands: [SHOW_PICKER_CONFIG],
    disturbs: 'frontend',
  },
  {
    id: 'epp_config_data_section',
    cause: 'settings_refused',
    needles: ['strict decoding error: unknown field'],
    pattern:
      /(?<!cannot be handled as an? \w{1,80}: )strict decoding error: unknown field \\{0,3}"(data|dataLayer)\\{0,3}"/,
    says: 'the endpoint picker does not know $1 in its EndpointPickerConfig',
    why: 'The section of data sources is called data in 1.3 and 1.4 of the Gateway API Inference Extension, and dataLayer from 1.5 and in llm-d-router. Fields are checked strictly, so that the picker ends at its start.',
    cure: 'Rename the section in the EndpointPickerConfig: data for a picker of 1.3 or 1.4, dataLayer for 1.5 and llm-d-router',
    commands: [SHOW_PICKER_CONFIG],
    disturbs: 'frontend',
  },
  {
    id: 'epp_config_unknown_field',
    cause: 'settings_refused',
    needles: ['strict decoding error: unknown field'],
    pattern:
      /(?<!cannot be handled as an? \w{1,80}: )strict decoding error: unknown field \\{0,3}"(?!data\\{0,3}"|dataLayer\\{0,3}")([\w.[\]-]{1,80})/,
    says: 'the endpoint picker does not know the field $1 in its EndpointPickerConfig',
    why: 'Fields are checked strictly. This one is misspelt, stands on the wrong level (parameters of a plugin belong below its parameters), or is of a later version: featureGates and saturationDetector came with 1.2, flowControl with 1.4, parser and dataLayer with 1.5, requestHandler with llm-d-router 0.9.',
    cure: 'Move $1 below the parameters of its plugin or delete it from the EndpointPickerConfig; where it is of a later version, run that version of the picker',
    commands: [SHOW_PICKER_CONFIG],
    disturbs: 'frontend',
  },
  {
    id: 'epp_parameter_hash_block_size',
    cause: 'settings_refused',
    needles: ['hashBlockSize'],
    pattern: /unknown field \\{0,3}"hashBlockSize/,
    says: 'the endpoint picker does not know the parameter hashBlockSize any more',
    why: 'hashBlockSize was a number of characters and is gone; the block size of the prefix plugin is in tokens now. The picker checks parameters strictly and ends at its start.',
    cure: 'Delete hashBlockSize from the prefix plugin and set blockSizeTokens to the block size of the engines (on approx-prefix-cache-producer from llm-d-router 0.9 on)',
    commands: [SHOW_PICKER_CONFIG],
    disturbs: 'frontend',
  },
  {
    id: 'epp_prefix_scorer_parameters',
    cause: 'settings_refused',
    needles: ['failed to decode prefix cache scorer parameters'],
    pattern:
      /failed to decode prefix cache scorer parameters: json: unknown field \\{0,3}"(?!hashBlockSize)(\w{1,60})/,
    says: 'prefix-cache-scorer does not take the parameter $1 any more',
    why: 'From llm-d-router 0.9 on the scorer only reads what a producer left: block size, lengths and capacity are parameters of approx-prefix-cache-producer. Parameters are checked strictly, and the picker ends at its start.',
    cure: 'Move $1 to a plugin of type approx-prefix-cache-producer, and leave the scorer prefixMatchInfoProducerName alone',
    commands: [
      '# plugins: [{ type: approx-prefix-cache-producer, parameters: { blockSizeTokens: 16, maxPrefixBlocksToMatch: 256, lruCapacityPerServer: 31250 } }, { type: prefix-cache-scorer }]',
    ],
    disturbs: 'frontend',
  },
];
