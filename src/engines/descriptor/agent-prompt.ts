import { isGiven, isJsonObject, type JsonObject } from '../../edge/platform/data/json-object.js';

/** Small readers for the bodies of OpenAI's Responses and Anthropic's Messages. */

/** A list of objects; undefined where it is none. */
export function objectsIn(value: unknown): readonly JsonObject[] | undefined {
  return Array.isArray(value) && value.every(isJsonObject) ? value : undefined;
}

/** The texts of a field that is one text or a list of blocks of text; none where it is absent, undefined where something else stands in it. */
export function textsOf(value: unknown): readonly string[] | undefined {
  if (!isGiven(value)) return [];
  if (typeof value === 'string') return [value];
  const texts = objectsIn(value)?.map(({ type, text }) => (type === 'text' ? text : undefined));
  return texts?.every((text) => typeof text === 'string') === true ? texts : undefined;
}

/** What `instructions` of OpenAI's Responses become in front of a chat; undefined where they are no text. */
export function systemMessages(instructions: unknown): JsonObject[] | undefined {
  if (isGiven(instructions) && typeof instructions !== 'string') return undefined;
  return typeof instructions === 'string' && instructions !== ''
    ? [{ role: 'system', content: instructions }]
    : [];
}

/** A call of a tool, as Anthropic's clients send it back, in a chat; undefined where a field is missing. */
export function toolCallOf({ id, name, input }: JsonObject): JsonObject | undefined {
  if (typeof id !== 'string' || id === '' || typeof name !== 'string') return undefined;
  if (isGiven(input) && !isJsonObject(input)) return undefined;
  return { id, type: 'function', function: { name, arguments: JSON.stringify(input ?? {}) } };
}
