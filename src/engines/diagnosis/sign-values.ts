/** Values of signs by which a reader of the signs decides something: who writes and who reads them takes them from here. */
export const SIGN_VALUES = {
  /** `events_unreachable`. */
  severalPublishers: 'several publishers of one worker',
  /** `transfer_unreachable`. */
  anotherEngineAnswers: 'another engine answers',
  /** `transfer_unreachable`: the beginning, before the engine's name. */
  noHandshake: 'no handshake with the engine ',
  /** `transfer_recomputed`. */
  noConnector: 'the engine has no KV connector',
  /** `offload_failed`. */
  lmcacheFull: 'LMCache has no room',
  /** `cache_memory_missing`: the beginning, before the numbers. */
  littleForTensorrt: 'next to nothing of its GPU is left for the cache of TensorRT-LLM',
  /** Of room facts: what turned the hybrid KV cache manager off. */
  kvEvents: 'KV events',
} as const;
