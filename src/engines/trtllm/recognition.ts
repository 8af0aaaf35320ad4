import type { Recognition } from '../probing/recognition.js';

/** The owner is the constant in TensorRT-LLM's `openai_protocol.py`. */
export const TRTLLM_RECOGNITION: Recognition = {
  owners: ['tensorrt_llm'],
  paths: [
    {
      path: '/server_info',
      recognise: (answer) =>
        ['tokens_per_block', 'disaggregated_params']
          .filter((field) => field in answer)
          .map((field) => `has ${field}`)[0],
    },
  ],
};
