import type { CatalogueWorker } from '../catalogue.js';
import type { EngineTokenizer } from './engine-tokenizer.js';
import type { LocalTokenizer } from './local-tokenizer.js';
import { DEFAULT_PROMPT_LIMITS, readPrompt, type TextPrompt } from './read-prompt.js';

/** What became of comparing the tokens made here with an engine's. */
export type CheckResult =
  | { readonly kind: 'same' /** Probes that both tokenised. */; readonly probes: number }
  /** The engine has no `/tokenize`, or no probe could be compared. */
  | { readonly kind: 'unknown' }
  /** It did not answer; it is asked again. */
  | { readonly kind: 'failed' }
  | {
      readonly kind: 'different';
      readonly probe: string;
      /** Where they part. */
      readonly position: number;
      /** Undefined where one side has no more. */
      readonly ours: number | undefined;
      readonly engines: number | undefined;
    };

const WEATHER_TOOL = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'Current weather of a place.',
    parameters: { type: 'object', properties: { place: { type: 'string' } }, required: ['place'] },
  },
};

const CALL = {
  id: 'call_1',
  type: 'function',
  function: { name: 'get_weather', arguments: '{"place": "Zürich", "days": 2}' },
};

/** Texts in which tokenizers are known to part: blanks, digits, other scripts, combined characters. */
const TEXT =
  "Hello, world!  Two  blanks,\ttabs\n\n\nand lines: don't, it's 12345 + 67.89 = ? 你好，世界 नमस्ते é\u0301 👩‍🚀 [end]";

/** Prompts by name, each for what an engine may do otherwise. */
const PROBES: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  'a text': { prompt: TEXT },
  'a text without special tokens': { prompt: ` ${TEXT} `, add_special_tokens: false },
  'a user message': { messages: [{ role: 'user', content: TEXT }] },
  'a conversation': {
    messages: [
      { role: 'system', content: 'You are brief.' },
      { role: 'user', content: `${TEXT}\n` },
      { role: 'assistant', content: 'Certainly.' },
      { role: 'user', content: ' Go on… ' },
    ],
  },
  'a message in two parts': {
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'First part.' },
          { type: 'text', text: 'Second part.' },
        ],
      },
    ],
  },
  'a conversation with tools': {
    messages: [
      { role: 'user', content: 'What is the weather in Zürich?' },
      { role: 'assistant', content: null, tool_calls: [CALL] },
      { role: 'tool', tool_call_id: 'call_1', content: '{"sky": "clear", "degrees": 21}' },
    ],
    tools: [WEATHER_TOOL],
  },
};

/**
 * Compares the tokens of some prompts. What one side will not take (a template
 * without system messages, say) is left out: of such requests the engine is
 * asked anyway.
 */
export async function checkTokenizer(
  local: LocalTokenizer,
  engine: EngineTokenizer,
  worker: CatalogueWorker,
  model: string,
  signal: AbortSignal,
): Promise<CheckResult> {
  let probes = 0;
  for (const [probe, body] of Object.entries(PROBES)) {
    const prompt = readPrompt(
      { kind: 'messages' in body ? 'chat' : 'completion', body },
      DEFAULT_PROMPT_LIMITS,
    ) as TextPrompt;
    const engines = await engine.askWorker(worker, prompt, model, signal);
    if (engines.reason === 'no_tokenizer') return { kind: 'unknown' };
    if (engines.reason === 'failed' || engines.reason === 'timeout') return { kind: 'failed' };
    if (engines.tokens === undefined) continue;
    const { tokens: ours, reason } = await local.tokensOf(prompt, signal);
    if (reason === 'timeout') return { kind: 'failed' };
    if (ours === undefined) continue;
    probes += 1;
    const position = firstDifference(ours, engines.tokens);
    if (position !== undefined)
      return { kind: 'different', probe, position, ours: ours[position], engines: engines.tokens[position] };
  }
  return probes > 0 ? { kind: 'same', probes } : { kind: 'unknown' };
}

function firstDifference(a: Uint32Array, b: Uint32Array): number | undefined {
  const length = Math.max(a.length, b.length);
  for (let i = 0; i < length; i += 1) if (a[i] !== b[i]) return i;
  return undefined;
}
