import type { MediaItem } from '../../core/blocks/media-identity.js';
import { isJsonObject } from '../../edge/platform/data/json-object.js';
import { readAnswerField } from '../descriptor/token-answer.js';

/**
 * The media of a rendered request, by `MultiModalFeatures` of vLLM 0.32
 * (`entrypoints/scale_out/token_in_token_out/protocol.py`): for each modality
 * the hashes of its items and, in the same order, where they stand. A hash is
 * the identifier in KV events, but where an adapter changes what the model sees
 * (`enable_tower_connector_lora`): such blocks are not found then.
 */
export function readFeatures(answer: unknown): readonly MediaItem[] | undefined {
  const features = readAnswerField(answer, 'features');
  if (!isJsonObject(features)) return undefined;
  const { mm_hashes: hashes, mm_placeholders: placeholders } = features;
  if (!isJsonObject(hashes) || !isJsonObject(placeholders)) return undefined;
  const items: MediaItem[] = [];
  for (const [modality, identifiers] of Object.entries(hashes)) {
    const places = placeholders[modality];
    if (!Array.isArray(identifiers) || !Array.isArray(places) || identifiers.length !== places.length)
      return undefined;
    for (const [at, identifier] of identifiers.entries()) {
      const place: unknown = places[at];
      if (typeof identifier !== 'string' || !isJsonObject(place)) return undefined;
      const { offset, length } = place;
      if (typeof offset !== 'number' || typeof length !== 'number') return undefined;
      items.push({ identifier, offset, length });
    }
  }
  return items.sort((a, b) => a.offset - b.offset);
}
