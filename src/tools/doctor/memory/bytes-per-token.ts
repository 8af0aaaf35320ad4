import type { ModelShape } from '../evidence.js';
import type { Step } from './memory-arithmetic.js';

/** What one token of a sequence takes in the KV cache of one GPU. */
export interface TokenBytes {
  /** Of a layer that sees everything, all such layers together. */
  readonly everywhere: number;
  /** Of the layers with a window, all together; 0 without any. */
  readonly windowed: number;
  readonly windowTokens: number | undefined;
  readonly steps: readonly Step[];
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
 * 2 (key and value) x layers x KV heads x head size x bytes. Tensor parallelism
 * divides the heads, of which every GPU keeps at least one; pipeline
 * parallelism divides the layers. A latent vector is whole on every GPU.
 */
export function bytesPerToken(
  model: ModelShape,
  parallel: { readonly tensor: number; readonly pipeline: number; readonly dtypeBytes: number },
): TokenBytes {
  const { tensor, pipeline, dtypeBytes } = parallel;
  const { kvHeads, headSize, latentSize, slidingWindow, origin } = model;
  const heads = Math.max(1, Math.ceil(kvHeads / tensor));
  const layers = Math.ceil(model.layers / pipeline);
  const windowedLayers = Math.ceil((slidingWindow?.layers ?? 0) / pipeline);
  const fullLayers = layers - Math.min(windowedLayers, layers);
  const perLayer = latentSize === undefined ? 2 * heads * headSize * dtypeBytes : latentSize * dtypeBytes;
  const of = (count: number): string =>
    latentSize === undefined
      ? `2 x ${count} layers x ${heads} KV heads x ${headSize} x ${dtypeBytes} bytes`
      : `${count} layers x ${latentSize} latent values x ${dtypeBytes} bytes`;
  const steps: Step[] = [];
  const step = (says: string, expression: string, value: number): void => {
    steps.push({ says, expression, value, unit: 'bytes', origins: [origin] });
  };
  const divided = tensor > 1 && latentSize === undefined ? `, ${kvHeads} KV heads over ${tensor} GPUs` : '';
  if (slidingWindow === undefined) {
    step(`One token takes, on each GPU${divided}`, of(layers), layers * perLayer);
    return { everywhere: layers * perLayer, windowed: 0, windowTokens: undefined, steps };
  }
  const { tokens } = slidingWindow;
  step(
    `One token takes in layers that see everything, on each GPU${divided}`,
    of(fullLayers),
    fullLayers * perLayer,
  );
  step(`and in those that see ${tokens} tokens`, of(layers - fullLayers), (layers - fullLayers) * perLayer);
  return {
    everywhere: fullLayers * perLayer,
    windowed: (layers - fullLayers) * perLayer,
    windowTokens: tokens,
    steps,
  };
}
