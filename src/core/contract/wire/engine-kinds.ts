import { EngineKind } from '../../../gen/kvaccord/v1/capabilities.js';

/** An engine in settings (`--engine-kind`), in names of fields and in JSON. */
export type EngineWord = 'vllm' | 'sglang' | 'trtllm' | 'dynamo' | 'other';

/** What the words of agreement need of one kind of engine. All else is in its descriptor (`src/engines`). */
interface EngineNames {
  readonly word: EngineWord;
  /** As its makers write it. */
  readonly displayName: string;
  /** Where an operator sets its block size: `--block-size 32`. */
  readonly sizeSetting: (size: string | number) => string;
  /** Where a worker declares a size that its engine may contradict, where that is no setting of this product. */
  readonly declarationSetting?: (size: string | number) => string;
}

const NAMES: Readonly<Partial<Record<EngineKind, EngineNames>>> = {
  [EngineKind.VLLM]: {
    word: 'vllm',
    displayName: 'vLLM',
    sizeSetting: (size) => `--block-size ${size}`,
  },
  [EngineKind.SGLANG]: {
    word: 'sglang',
    displayName: 'SGLang',
    sizeSetting: (size) => `--page-size ${size}`,
  },
  [EngineKind.TENSORRT_LLM]: {
    word: 'trtllm',
    displayName: 'TensorRT-LLM',
    sizeSetting: (size) => `kv_cache_config.tokens_per_block: ${size}`,
  },
  [EngineKind.DYNAMO]: {
    word: 'dynamo',
    displayName: 'Dynamo',
    sizeSetting: (size) => `--kv-block-size ${size} (the worker's model card)`,
    declarationSetting: (size) => `--kv-block-size=${size}`,
  },
  [EngineKind.OTHER]: {
    word: 'other',
    displayName: 'other engine',
    sizeSetting: (size) => `tokens_per_block ${size}`,
  },
};

/** The words of all kinds, in the order of the wire. */
export const ENGINE_WORDS: readonly EngineWord[] = Object.values(NAMES).map(({ word }) => word);

/** `vllm` of `EngineKind.VLLM`; `other` for a kind that this version does not know. */
export function engineWordOf(kind: EngineKind): EngineWord {
  return NAMES[kind]?.word ?? 'other';
}

/** `vLLM`, `SGLang`, … as their makers write them; `unknown (17)` for a number of a newer peer. */
export function engineKindName(kind: EngineKind): string {
  return kind === EngineKind.UNSPECIFIED
    ? 'unknown engine'
    : (NAMES[kind]?.displayName ?? `unknown (${kind})`);
}

/** Where an operator sets the size of an engine; `tokens_per_block 32` where the kind is not known. */
export function sizeSettingOf(kind: EngineKind, size: string | number): string {
  return NAMES[kind]?.sizeSetting(size) ?? `tokens_per_block ${size}`;
}

/** Where a worker's declaration is set to another size: the engine's own flag, or this product's declared value. */
export function declarationSettingOf(kind: EngineKind, size: string | number): string {
  return NAMES[kind]?.declarationSetting?.(size) ?? `the declared value to ${size}`;
}
