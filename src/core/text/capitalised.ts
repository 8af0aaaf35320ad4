/** Names that are written with a small letter, also at the beginning of a sentence: "vLLM", "dynamo.vllm", "mooncake_master". */
const SMALL = /^(?:(?:vLLM|vllm-ascend|llm-d|kv-accord|trtllm-serve)\b|\w+\.\w|[a-z]+_[a-z])/;

/** A text with a capital, for the beginning of a sentence. */
export function capitalised(text: string): string {
  return SMALL.test(text) ? text : text.charAt(0).toUpperCase() + text.slice(1);
}

/** A text with a small letter, for the middle of a sentence. */
export function uncapitalised(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
