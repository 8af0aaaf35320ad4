import type { JsonScan } from '../../edge/platform/data/json-scan.js';

/** What is wrong with a JSON text that is larger than what is taken. */
export type JsonExcess = 'too_deep' | 'too_many_values';

/** Deepest nesting; tools with JSON schemas in them come to about twenty. */
export const MAX_JSON_DEPTH = 128;

/** Arrays and objects: each takes about a hundred bytes once it is parsed, from as few as two in the text. */
const MAX_CONTAINERS = 262_144;
/** Members of objects. */
const MAX_MEMBERS = 1_048_576;
/** Elements of arrays and members of objects: a batch of prompts as token ids has millions. */
const MAX_ELEMENTS = 8_388_608;

/** Why a request's body is not taken, so far as it has come; undefined when it is. */
export function findJsonExcess(scan: JsonScan): JsonExcess | undefined {
  if (scan.depth > MAX_JSON_DEPTH) return 'too_deep';
  const isTooMany =
    scan.containers > MAX_CONTAINERS ||
    scan.members > MAX_MEMBERS ||
    scan.elements > MAX_ELEMENTS ||
    scan.hasTooManyFields;
  return isTooMany ? 'too_many_values' : undefined;
}
