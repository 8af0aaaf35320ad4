import type { Recognition } from '../probing/recognition.js';

/** vLLM, and its Rust frontend: both were seen to name themselves as owners. */
export const VLLM_RECOGNITION: Recognition = {
  owners: ['vllm', 'vllm-frontend-rs'],
  paths: [
    {
      path: '/version',
      // TensorRT-LLM too answers {"version": …}; only vLLM's Rust frontend adds a field of its own.
      recognise: (answer) =>
        typeof answer['rust_frontend_version'] === 'string' ? 'has rust_frontend_version' : undefined,
    },
    {
      path: '/server_info',
      recognise: (answer) => ('vllm_config' in answer ? 'has vllm_config' : undefined),
    },
  ],
  metricFamily: { name: 'vllm:cache_config_info', words: "vLLM's cache configuration" },
};
