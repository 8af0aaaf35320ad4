/**
 * Variables that say where a worker runs. They are read beside the settings,
 * because manifests fill them from the downward API.
 */
export const PLACEMENT_VARIABLES = {
  nodeName: 'KV_ACCORD_NODE_NAME',
  zone: 'KV_ACCORD_ZONE',
  rack: 'KV_ACCORD_RACK',
  region: 'KV_ACCORD_REGION',
  gpuClique: 'KV_ACCORD_GPU_CLIQUE',
} as const;
