import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../../src/tools/doctor/diagnose.js';
import { summaryOf } from '../logs/summaries.js';
import { joined } from '../support/evidence.js';

async function reportOf(...lines: readonly string[]) {
  return diagnose(joined({ logs: [await summaryOf(`${lines.join('\n')}\n`)] }));
}

const VLLM =
  "(APIServer pid=1) vllm.exceptions.VLLMValidationError: This model's maximum context length is 8192 tokens. However, you requested 512 output tokens and your prompt contains at least 7681 input tokens, for a total of at least 8193 tokens. Please reduce the length of the input prompt or the number of requested output tokens.";
const STATE =
  '(APIServer pid=1) INFO 06-18 10:02:48 [loggers.py:271] Engine 000: Avg prompt throughput: 401.7 tokens/s, Avg generation throughput: 1185.5 tokens/s, Running: 15 reqs, Waiting: 0 reqs, GPU KV cache usage: 9.7%, Prefix cache hit rate: 99.5%';
const HEADING = '(APIServer pid=1) ERROR:    Exception in ASGI application';
const TRACE = '(APIServer pid=1) Traceback (most recent call last):';
const FRAME =
  '(APIServer pid=1)   File "/usr/lib/python3.12/site-packages/uvicorn/protocols/http/httptools_impl.py", line 421, in run_asgi';

describe('requests that are longer than an engine takes', () => {
  it('are no finding, and are named with what vLLM takes and its flag', async () => {
    const { verdict, headline, advice } = await reportOf(STATE, HEADING, TRACE, FRAME, VLLM, STATE);
    expect(verdict).toBe('unknown');
    expect(headline).toContain('refused requests that are longer than it takes (8192 tokens)');
    expect(advice).toContain('raise --max-model-len');
  });

  it.each([
    [2048, "The input (4096 tokens) is longer than the model's context length (2048 tokens)."],
    [
      2042,
      'Input length (4096 tokens) exceeds the maximum allowed length (2042 tokens). Use a shorter input or enable --allow-auto-truncate.',
    ],
    [
      2048,
      "Requested token count exceeds the model's maximum context length of 2048 tokens. You requested a total of 4096 tokens.",
    ],
    [
      8192,
      'The decoder prompt (length 8357) is longer than the maximum model length of 8192. Make sure that `max_model_len` is no smaller than the number of text tokens.',
    ],
    [
      4096,
      'The sum of prompt length (4000), query length (0) and max_tokens (2048) should not exceed max_seq_len (4096)',
    ],
    [32768, 'The sum of prompt length (38049.0), query length (0) should not exceed max_num_tokens (32768)'],
  ])('are known by the number that the engine takes, %d, in its words', async (most, sentence) => {
    expect((await reportOf(`[2026-06-18 10:02:48] ValueError: ${sentence}`)).headline).toContain(
      `longer than it takes (${most} tokens)`,
    );
  });

  it('leave a fault beside them the headline', async () => {
    const { headline } = await reportOf(
      HEADING,
      TRACE,
      FRAME,
      VLLM,
      STATE,
      '(APIServer pid=1) ERROR 06-18 10:03:00 [core.py:1] the frobnicator is gone',
    );
    expect(headline).toContain('frobnicator');
  });
});

describe('an exception of one request', () => {
  it('leaves the line above it the headline where the log ends before it', async () => {
    expect((await reportOf(STATE, HEADING, TRACE, FRAME)).headline).toContain(
      'Exception in ASGI application',
    );
  });

  it("is quoted itself, and not the line of vLLM's logger above it", async () => {
    const head = '(APIServer pid=7) ERROR 06-16 14:16:20 [serving_chat.py:251] ';
    const { headline } = await reportOf(
      STATE,
      `${head}Error in preprocessing prompt inputs`,
      `${head}Traceback (most recent call last):`,
      `${head}  File "/usr/lib/python3.12/site-packages/vllm/entrypoints/openai/serving_chat.py", line 230, in create_chat_completion`,
      `${head}ValueError: the frobnicator is gone`,
      STATE,
    );
    expect(headline).toContain('the frobnicator is gone');
  });

  it('is quoted itself, and not the heading of uvicorn above it', async () => {
    const { headline } = await reportOf(
      STATE,
      HEADING,
      TRACE,
      FRAME,
      "(APIServer pid=1) KeyError: 'choices'",
      STATE,
    );
    expect(headline).toContain("KeyError: 'choices'");
  });
});

describe('requests for a model that an engine does not serve', () => {
  it.each([
    "(APIServer pid=7) ERROR 04-21 02:56:16 [serving.py:193] Error with model error=ErrorInfo(message='The model `Qwen3-8B` does not exist.', type='NotFoundError', param='model', code=404)",
    "ERROR 05-12 02:47:14 [serving_chat.py:136] Error with model object='error' message='The model `Qwen3-8B` does not exist.' type='NotFoundError' param=None code=404",
  ])('are named, and are no finding: %s', async (line) => {
    const { verdict, headline, advice } = await reportOf(STATE, line, STATE);
    expect(verdict).toBe('unknown');
    expect(headline).toContain('requests for a model that it does not serve (Qwen3-8B)');
    expect(advice).toContain('--served-model-name NAME Qwen3-8B');
  });

  it('are not what another try got from the hub', async () => {
    const line =
      "(APIServer pid=7) ERROR 09-10 23:26:29 [config.py:130] Error retrieving safetensors: 'gpt-oss-120b' is not a safetensors repo, retrying 1 of 2";
    const { headline } = await reportOf(STATE, line, STATE);
    expect(headline).not.toContain('at error level');
  });
});

describe('chats of a model without a chat template', () => {
  const HEAD = '(APIServer pid=7) ERROR 10-15 11:58:26 [serving_chat.py:256] ';
  const PREPROCESSING = `${HEAD}Error in preprocessing prompt inputs`;

  it.each([
    'ValueError: As of transformers v4.44, default chat template is no longer allowed, so you must provide a chat template if the tokenizer does not define one.',
    'ValueError: Cannot use chat template functions because tokenizer.chat_template is not set and no template argument was passed! For information about writing templates and setting the tokenizer.chat_template attribute, please see the documentation',
  ])('are named, and are no finding: %s', async (exception) => {
    const { verdict, headline, advice } = await reportOf(
      STATE,
      PREPROCESSING,
      `${HEAD}Traceback (most recent call last):`,
      `${HEAD}  File "/usr/lib/python3.12/site-packages/vllm/entrypoints/chat_utils.py", line 1535, in apply_hf_chat_template`,
      `${HEAD}    raise ValueError(`,
      `${HEAD}${exception}`,
      STATE,
    );
    expect(verdict).toBe('unknown');
    expect(headline).toContain('refused chats, as its model has no chat template');
    expect(advice).toContain('--chat-template FILE.jinja');
  });
});
