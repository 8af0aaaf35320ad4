import { EngineKind } from '../../gen/kvaccord/v1/capabilities.js';

/** A word of `--engine-kind`. */
export type EngineKindName = 'auto' | 'vllm' | 'sglang' | 'trtllm' | 'dynamo';

/** The engines by these words; undefined asks the engine. */
export const ENGINE_KINDS: Readonly<Record<EngineKindName, EngineKind | undefined>> = {
  auto: undefined,
  vllm: EngineKind.VLLM,
  sglang: EngineKind.SGLANG,
  trtllm: EngineKind.TENSORRT_LLM,
  dynamo: EngineKind.DYNAMO,
};
