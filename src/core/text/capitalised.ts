/** Names that are written with a small letter, also at the beginning of a sentence: "vLLM", "llm-d", "kv-accord". */
const SMALL = /^(?:vLLM|llm-d|kv-accord)\b/;

/** A text with a capital, for the beginning of a sentence. */
export function capitalised(text: string): string {
  return SMALL.test(text) ? text : text.charAt(0).toUpperCase() + text.slice(1);
}
