import type { KnownFault } from '../known-fault.js';

/** Names of connectors that are no part of vLLM: it finds them by `kv_connector_module_path` alone. */
export const CONNECTOR_NAMES: readonly KnownFault[] = [
  {
    id: 'connector_without_module',
    cause: 'settings_refused',
    needles: [
      'Unsupported connector type: UCMConnector',
      'Unsupported connector type: PegaKVConnector',
      'Unsupported connector type: DynamoConnector',
      'Unsupported connector type: LMCacheAscendConnector',
      'Unsupported connector type: LMCacheConnectorV1Dynamic',
    ],
    pattern: /Unsupported connector type: (\w{1,80})/,
    says: 'vLLM does not find the connector $1: it is no part of vLLM, and its module is not given',
    why: 'vLLM knows its own connectors by name. Those of other packages are imported from kv_connector_module_path, which stands beside kv_connector.',
    cure: 'Add "kv_connector_module_path" beside kv_connector in --kv-transfer-config: ucm.integration.vllm.ucm_connector (UCMConnector), pegaflow.connector (PegaKVConnector), kvbm.vllm_integration.connector (DynamoConnector), lmcache.integration.vllm.lmcache_connector_v1 (LMCacheConnectorV1Dynamic), lmcache_ascend.integration.vllm.lmcache_ascend_connector_v1 (LMCache-Ascend)',
    commands: [
      'kubectl exec WORKER -- pip list | grep -iE "uc-manager|pegaflow|kvbm|lmcache"    # the package is there',
    ],
  },
  {
    id: 'aibrix_connector_without_module',
    cause: 'settings_refused',
    needles: ['Unsupported connector type: AIBrix'],
    pattern: /Unsupported connector type: (AIBrix\w{1,80})/,
    says: 'vLLM does not find $1: it is no part of vLLM, and its module is not given',
    why: 'aibrix-kvcache alone does not add its connectors to vLLM. Until 0.5 its images had a vLLM with a patch; later ones import the connector from the package.',
    cure: 'Run the image aibrix/vllm-openai of AIBrix, which has the patch; or pip install aibrix-kvcache beside vLLM and write "kv_connector_module_path":"aibrix_kvcache.integration.vllm.kv_connector.aibrix_offloading_connector_type1" beside it (the end is _type2 or aibrix_pd_reuse_connector for those)',
    commands: ['kubectl exec WORKER -- pip list | grep -iE "aibrix|vllm"'],
  },
];
