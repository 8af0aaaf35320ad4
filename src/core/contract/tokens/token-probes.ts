/**
 * Prompts by which workers show whether their tokenizers and chat templates
 * are the same. Names and prompts are part of the protocol: a prompt never
 * changes under its name, because sidecars of two versions compare by it.
 */

/** A prompt and who may be compared by it. */
export interface ProbePrompt {
  readonly name: string;
  /** The fields of an OpenAI request, without the model. */
  readonly body: Readonly<Record<string, unknown>>;
  /**
   * True where engines of different kinds prepare a request differently before
   * the template sees it (tools, contents in parts): such tokens are compared
   * among engines of one kind, and a difference between kinds is a remark.
   */
  readonly isShapedByEngine: boolean;
}

/** Texts in which tokenizers are known to differ: blanks, digits, other scripts, combined characters. */
const TEXT =
  "Hello, world!  Two  blanks,\ttabs\n\n\nand lines: don't, it's 12345 + 67.89 = ? 你好，世界 नमस्ते é\u0301 👩‍🚀 [end]";

/** What common tokenizers take for special tokens, or for text. */
const SPECIAL_TEXT = '<s>a</s><|im_start|>b<|im_end|><|endoftext|><|eot_id|>[INST]c[/INST]<unk><bos>';

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

/**
 * Llama's templates write the day of the request where this variable is not
 * given; then a probe of today would differ from one of yesterday.
 */
const FIXED_DATE = { chat_template_kwargs: { date_string: '26 Jul 2024' } };

const user = (content: string): Readonly<Record<string, unknown>> => ({ role: 'user', content });

/** Every probe, in the order in which a difference is named: a tokenizer's before a template's. */
export const PROBE_PROMPTS: readonly ProbePrompt[] = [
  { name: 'text', body: { prompt: TEXT }, isShapedByEngine: false },
  {
    name: 'text_without_special_tokens',
    body: { prompt: ` ${TEXT} `, add_special_tokens: false },
    isShapedByEngine: false,
  },
  { name: 'special_tokens', body: { prompt: SPECIAL_TEXT }, isShapedByEngine: false },
  { name: 'message', body: { messages: [user(TEXT)], ...FIXED_DATE }, isShapedByEngine: false },
  {
    name: 'system_message',
    body: {
      messages: [{ role: 'system', content: 'You are brief.' }, user('Why?')],
      ...FIXED_DATE,
    },
    isShapedByEngine: false,
  },
  {
    name: 'conversation',
    body: {
      messages: [
        { role: 'system', content: 'You are brief.' },
        user(`${TEXT}\n`),
        { role: 'assistant', content: 'Certainly.' },
        user(' Go on… '),
      ],
      ...FIXED_DATE,
    },
    isShapedByEngine: false,
  },
  {
    name: 'no_generation_prompt',
    body: { messages: [user('Why?')], add_generation_prompt: false, ...FIXED_DATE },
    isShapedByEngine: true,
  },
  {
    name: 'message_in_parts',
    body: {
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'First part.' },
            { type: 'text', text: 'Second part.' },
          ],
        },
      ],
      ...FIXED_DATE,
    },
    isShapedByEngine: true,
  },
  {
    name: 'tools',
    body: {
      messages: [
        user('What is the weather in Zürich?'),
        { role: 'assistant', content: null, tool_calls: [CALL] },
        { role: 'tool', tool_call_id: 'call_1', content: '{"sky": "clear", "degrees": 21}' },
      ],
      tools: [WEATHER_TOOL],
      ...FIXED_DATE,
    },
    isShapedByEngine: true,
  },
];

/** The first position at which two lists of tokens differ; undefined when they are the same. */
export function firstDifferentToken(a: ArrayLike<number>, b: ArrayLike<number>): number | undefined {
  const length = Math.max(a.length, b.length);
  for (let i = 0; i < length; i += 1) if (a[i] !== b[i]) return i;
  return undefined;
}

/** Token ids as `TokenProbe.token_ids` carries them: u32, little-endian. */
export function packTokenIds(ids: Uint32Array): Uint8Array {
  const packed = new Uint8Array(ids.length * 4);
  const view = new DataView(packed.buffer);
  for (const [at, id] of ids.entries()) view.setUint32(at * 4, id, true);
  return packed;
}

/** The ids of `TokenProbe.token_ids`; an incomplete one at the end is left out. */
export function unpackTokenIds(packed: Uint8Array): Uint32Array {
  const view = new DataView(packed.buffer, packed.byteOffset, packed.byteLength);
  return Uint32Array.from({ length: packed.byteLength >> 2 }, (_, at) => view.getUint32(at * 4, true));
}
