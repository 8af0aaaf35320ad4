/** Packages below engines that move KV blocks: an error in one of their files is about that. */
export const TRANSFER_FILES = [
  'rdma_context.cpp:',
  'rdma_endpoint.cpp:',
  'rdma_transport.cpp:',
  'worker_pool.cpp:',
  'transfer_engine_impl.cpp:',
  'transfer_metadata.cpp:',
  'transfer_metadata_plugin.cpp:',
  'memory_location.cpp:',
  'ucx_backend.cpp:',
  'ucx_utils.cpp:',
  'nixl_agent.cpp:',
  'libfabric_rail.cpp:',
  'tcp_transport.cpp:',
  'multi_transport.cpp:',
  'transfer_engine.cpp:',
  'transfer_engine_py.cpp:',
  'direct_transport.cpp:',
  'hccl_transport.cpp:',
  'efa_transport.cpp:',
  'nvlink_transport.cpp:',
] as const;

/** Files of Mooncake's store and of its clients: an error in one of them is of blocks that are kept elsewhere. */
export const STORE_FILES = [
  ' client.cpp:',
  'transfer_task.cpp:',
  'master_service.cpp:',
  'storage_backend.cpp:',
  'file_storage.cpp:',
  'dummy_client.cpp:',
  'master_client.cpp:',
  'store_py.cpp:',
  'pybind_client.cpp:',
  'real_client.cpp:',
  'client_service.cpp:',
] as const;

/** Files of engines that move or keep KV blocks: a traceback through one of them is a failure of that part. */
export const CONNECTOR_FILES = [
  '/kv_connector/v1/',
  '/kv_transfer/kv_connector/',
  '/vllm_ascend/distributed/',
  '_connector.py", line ',
  '/srt/disaggregation/',
  '/lmcache/v1/',
  '/lmcache/integration/',
  '/v1/kv_offload/',
  '/srt/mem_cache/',
  '/trtllm_integration/connector/',
  '/vllm_integration/connector/',
  '/v1/core/kv_cache_',
  '/v1/core/single_type_kv_cache_manager',
  '/v1/core/block_pool.py',
  '/pyexecutor/kv_cache_transceiver.py',
] as const;
