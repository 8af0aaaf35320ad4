import type { LayerGroup, ModelShape } from '../evidence.js';

/** Layers that draft tokens for speculative decoding: what they keep of a token, and whether there are others that are not counted. */
export interface DraftLayers {
  readonly group: LayerGroup | undefined;
  readonly isUnknown: boolean;
}

/** Drafts without a cache of their own: from the text itself, or of heads alone. */
const WITHOUT_CACHE = /^(?:\[?ngram\w*|suffix|medusa|mlp_speculator|none|null|false)\b/i;
/** vLLM's methods, and SGLang's, which takes the model's own layers for EAGLE where the model has them; EAGLE3 has others. */
const OWN_LAYERS = /mtp|nextn|^eagle$/i;

/** What the method of drafting adds to the model: its own layers of multi-token prediction, or a model whose shape was not seen. */
export function draftLayersOf(given: string | undefined, { nextTokenLayers }: ModelShape): DraftLayers {
  // As a flag has it: `{"method": "mtp", "num_speculative_tokens": 2}`.
  const method = /"method"\s{0,4}:\s{0,4}"([\w.-]{1,40})"/.exec(given ?? '')?.[1] ?? given;
  if (method === undefined || WITHOUT_CACHE.test(method)) return { group: undefined, isUnknown: false };
  const group = OWN_LAYERS.test(method) ? nextTokenLayers : undefined;
  return { group, isUnknown: group === undefined };
}
