import type { LayerGroup, ModelShape } from '../evidence.js';
import type { Step } from './memory-arithmetic.js';

/** What one token of a sequence takes in the KV cache of one GPU, or of all of a worker. */
export interface TokenBytes {
  /** In layers that see everything, all such layers together. */
  readonly everywhere: number;
  /** In the layers with a window, all together; 0 without any. */
  readonly windowed: number;
  readonly windowTokens: number | undefined;
  readonly steps: readonly Step[];
}

/** How a worker is divided among GPUs; one and one stands for all of them together. */
export interface Division {
  readonly tensor: number;
  readonly pipeline: number;
  readonly dtypeBytes: number;
  /** False where it was not seen how many GPUs there are. */
  readonly isKnown: boolean;
}

/** Bytes of one value, by the names that engines have for dtypes of the cache. */
const CACHE_DTYPE_BYTES: readonly (readonly [RegExp, number])[] = [
  [/^(?:fp8|float8|int8|uint8)/i, 1],
  [/^(?:nvfp4|fp4|int4)/i, 0.5],
  [/^(?:float32|fp32|float)$/i, 4],
  [/^(?:float16|bfloat16|fp16|bf16|half)$/i, 2],
];

/** Bytes of one cached value; the model's own dtype where the engine is given none that is known here. */
export function cacheDtypeBytes(given: string | undefined, model: ModelShape): number {
  return CACHE_DTYPE_BYTES.find(([pattern]) => pattern.test(given ?? ''))?.[1] ?? model.dtypeBytes;
}

/**
 * (Key and value) x layers x KV heads x head size x bytes, for the layers that
 * keep keys and values. Tensor parallelism divides the heads, of which every
 * GPU keeps at least one; pipeline parallelism divides the layers. A latent
 * vector is whole on every GPU, and so is what an indexer keeps.
 */
export function bytesPerToken(model: ModelShape, division: Division): TokenBytes {
  const parts = model.groups.map((group) => partOf(group, division));
  const full = parts.filter(({ group }) => group.windowTokens === undefined);
  const windowed = parts.filter(({ group }) => group.windowTokens !== undefined);
  const sum = (list: typeof parts): number => list.reduce((total, { bytes }) => total + bytes, 0);
  const steps: Step[] = parts.map(({ group, expression, bytes }, at) => ({
    says: sayingOf(group, division, { isFirst: at === 0, isOnly: windowed.length === 0 }),
    expression,
    value: bytes,
    unit: 'bytes',
    origins: [model.origin],
  }));
  return {
    everywhere: sum(full),
    windowed: sum(windowed),
    windowTokens: windowed[0]?.group.windowTokens,
    steps,
  };
}

function partOf(
  group: LayerGroup,
  { tensor, pipeline, dtypeBytes }: Division,
): { readonly group: LayerGroup; readonly expression: string; readonly bytes: number } {
  const { headSize, valueSize, latentSize, indexBytes } = group;
  const layers = Math.ceil(group.layers / pipeline);
  const heads = Math.max(1, Math.ceil(group.kvHeads / tensor));
  const cached = latentSize === undefined ? heads * (headSize + valueSize) : latentSize;
  const bytes = layers * (cached * dtypeBytes + indexBytes);
  const values =
    latentSize !== undefined
      ? `${layers} layers x ${latentSize} latent values x ${dtypeBytes} bytes`
      : headSize === valueSize
        ? `2 x ${layers} layers x ${heads} KV heads x ${headSize} x ${dtypeBytes} bytes`
        : `${layers} layers x ${heads} KV heads x (${headSize} + ${valueSize}) x ${dtypeBytes} bytes`;
  return {
    group,
    expression: indexBytes === 0 ? values : `${values} + ${layers} x ${indexBytes} bytes of the indexer`,
    bytes,
  };
}

function sayingOf(
  { windowTokens, kvHeads, latentSize }: LayerGroup,
  { tensor, isKnown }: Division,
  { isFirst, isOnly }: { readonly isFirst: boolean; readonly isOnly: boolean },
): string {
  const which =
    windowTokens !== undefined
      ? ` in those that see ${windowTokens} tokens`
      : isOnly
        ? ''
        : ' in layers that see everything';
  if (!isFirst) return `and${which === '' ? ' in others' : which}`;
  const divided = tensor > 1 && latentSize === undefined ? `, ${kvHeads} KV heads over ${tensor} GPUs` : '';
  return `One token takes${which}, on ${isKnown ? 'each GPU' : 'all GPUs of a worker together'}${divided}`;
}
