import { type LogRule, rule } from '../../../../engines/diagnosis/log-rule.js';

/** How engines refuse a prompt, with its answer, that is longer than they take; the number is what they take. */
const REFUSALS: readonly (readonly [needle: string, most: RegExp])[] = [
  // vLLM: "This model's maximum context length is 8192 tokens. However, you requested 512 output tokens …".
  ["This model's maximum context length is ", /maximum context length is (\d{1,9}) tokens\. However/],
  // vLLM: "The decoder prompt (length 8357) is longer than the maximum model length of 8192."
  ['longer than the maximum model length of ', /maximum model length of (\d{1,9})/],
  // SGLang: "The input (4096 tokens) is longer than the model's context length (2048 tokens)."
  ["is longer than the model's context length (", /context length \((\d{1,9}) tokens\)/],
  // SGLang: "Input length (4096 tokens) exceeds the maximum allowed length (2042 tokens)."
  [
    'exceeds the maximum allowed length (',
    /Input length .{1,40} exceeds the maximum allowed length \((\d{1,9}) tokens\)/,
  ],
  // SGLang: "Requested token count exceeds the model's maximum context length of 2048 tokens."
  ["exceeds the model's maximum context length of ", /maximum context length of (\d{1,9}) tokens/],
  // TensorRT-LLM: "The sum of prompt length (4000), query length (0) and max_tokens (2048) should not exceed max_seq_len (4096)".
  ['should not exceed max_seq_len (', /should not exceed max_seq_len \((\d{1,9})\)/],
  // The same of a prompt that one step of it has no place for: "…, query length (0) should not exceed max_num_tokens (32768)".
  ['should not exceed max_num_tokens (', /should not exceed max_num_tokens \((\d{1,9})\)/],
  // SGLang with --allow-auto-truncate, which cuts the prompt: "… the max context length. Truncated. len(req.origin_input_ids)=25000, max_req_input_len=20000."
  ['KV cache pool size or the max context length', /max_req_input_len=(\d{1,9})/],
  // Its C++: "Prompt length (5000) exceeds maximum input length (4096). Set log level to info and check TRTLLM logs …".
  [
    ') exceeds maximum input length (',
    /Prompt length \(\d{1,9}\) exceeds maximum input length \((\d{1,9})\)/,
  ],
];

/** vLLM: "Error with model error=ErrorInfo(message='The model `Qwen3-8B` does not exist.', type='NotFoundError', …". */
const UNKNOWN_MODEL = /\b[Ee]rror\b.{0,120}The model `([^`\s]{1,160})` does not exist\./i;

/** How transformers refuses chats of a model that has no chat template: of 4.44, and later. */
const NO_TEMPLATE: readonly string[] = [
  'default chat template is no longer allowed',
  'tokenizer.chat_template is not set and no template argument was passed',
];

/** Requests that an engine refuses because they are too long, ask for another model, or are chats of a model without a template: nothing is wrong with the fleet. */
export const REFUSED_REQUEST_RULES: readonly LogRule[] = [
  ...REFUSALS.map(([needle, most]) =>
    rule(needle, (line, found) => {
      const value = most.exec(line.text)?.[1];
      if (value !== undefined) found.addSignal('request_too_long', line, { value, about: needle.trim() });
    }),
  ),
  rule('` does not exist.', (line, found) => {
    const value = UNKNOWN_MODEL.exec(line.text)?.[1];
    if (value !== undefined) found.addSignal('model_not_served', line, { value, about: 'The model ' });
  }),
  ...NO_TEMPLATE.map((needle) =>
    rule(needle, (line, found) => found.addSignal('chat_template_missing', line, { about: needle })),
  ),
];
