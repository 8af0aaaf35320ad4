import type { LayerGroup, ModelShape } from '../evidence.js';
import type { CacheFormat } from './cache-format.js';
import type { Division } from './division.js';
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

/**
 * (Key and value) x layers x KV heads x head size x bytes, for the layers that
 * keep keys and values. Tensor parallelism divides the heads, of which every
 * GPU keeps at least one; pipeline parallelism divides the layers. A latent
 * vector is whole on every GPU, and so is what an indexer keeps. Decode context
 * parallelism divides the tokens among GPUs, in place of heads. `draft` is what speculative decoding adds.
 */
export function bytesPerToken(
  model: ModelShape,
  division: Division,
  format: CacheFormat,
  draft?: LayerGroup,
): TokenBytes {
  const groups = draft === undefined ? model.groups : [...model.groups, draft];
  const parts = groups.map((group) => partOf(group, division, format));
  const full = parts.filter(({ group }) => group.windowTokens === undefined);
  const windowed = parts.filter(({ group }) => group.windowTokens !== undefined);
  const sum = (list: typeof parts): number => list.reduce((total, { bytes }) => total + bytes, 0);
  const steps: Step[] = parts.map(({ group, expression, bytes }, at) => ({
    says:
      group === draft
        ? 'and in the layers that draft tokens'
        : sayingOf(group, division, { isFirst: at === 0, isOnly: windowed.length === 0 }),
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
  { tensor, pipeline, context }: Division,
  { valueBytes, headBytes, latentBytes }: CacheFormat,
): { readonly group: LayerGroup; readonly expression: string; readonly bytes: number } {
  const { headSize, valueSize, latentSize, indexBytes } = group;
  const layers = Math.ceil(group.layers / pipeline);
  const heads = Math.max(1, Math.ceil(group.kvHeads / Math.max(1, Math.floor(tensor / context))));
  const cached =
    latentSize === undefined
      ? heads * ((headSize + valueSize) * valueBytes + 2 * headBytes)
      : (latentBytes ?? latentSize * valueBytes);
  const bytes = Math.ceil((layers * (cached + indexBytes)) / context);
  const scale = headBytes === 0 ? '' : ` + ${2 * headBytes} bytes of scales for each head`;
  const values =
    latentSize !== undefined
      ? latentBytes === undefined
        ? `${layers} layers x ${latentSize} latent values x ${valueBytes} bytes`
        : `${layers} layers x ${latentBytes} bytes of ${latentSize} latent values with their scales`
      : headSize === valueSize
        ? `2 x ${layers} layers x ${heads} KV heads x ${headSize} x ${valueBytes} bytes${scale}`
        : `${layers} layers x ${heads} KV heads x (${headSize} + ${valueSize}) x ${valueBytes} bytes${scale}`;
  const whole = indexBytes === 0 ? values : `${values} + ${layers} x ${indexBytes} bytes of the indexer`;
  return { group, expression: context === 1 ? whole : `(${whole}) / ${context}`, bytes };
}

function sayingOf(
  { windowTokens, kvHeads, latentSize }: LayerGroup,
  { tensor, context, isKnown }: Division,
  { isFirst, isOnly }: { readonly isFirst: boolean; readonly isOnly: boolean },
): string {
  const which =
    windowTokens !== undefined
      ? ` in those that see ${windowTokens} tokens`
      : isOnly
        ? ''
        : ' in layers that see everything';
  if (!isFirst) return `and${which === '' ? ' in others' : which}`;
  const apart = context > 1 ? `, its tokens spread over ${context} GPUs` : '';
  const sharing = Math.max(1, Math.floor(tensor / context));
  const divided =
    (sharing > 1 && latentSize === undefined ? `, ${kvHeads} KV heads over ${sharing} GPUs` : '') + apart;
  return `One token takes${which}, on ${isKnown ? 'each GPU' : 'all GPUs of a worker together'}${divided}`;
}
