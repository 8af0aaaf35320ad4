/** Chats of every kind that templates treat differently; each is the body of a request. */

type Body = Readonly<Record<string, unknown>>;

const user = (content: unknown): Body => ({ role: 'user', content });
const assistant = (content: unknown, more: Body = {}): Body => ({ role: 'assistant', content, ...more });
const system = (content: unknown): Body => ({ role: 'system', content });
const tool = (content: unknown, id = 'call00001'): Body => ({ role: 'tool', content, tool_call_id: id });
const call = (name: string, args: unknown, id = 'call00001'): Body => ({
  id,
  type: 'function',
  function: { name, arguments: typeof args === 'string' ? args : JSON.stringify(args) },
});

const WEATHER = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'Current weather; "quoted", <b>bold</b> & it\'s 5 °C',
    parameters: {
      type: 'object',
      properties: {
        city: { type: 'string', description: 'City\nor place' },
        unit: { type: 'string', enum: ['°C', '°F'], default: '°C' },
        days: { type: 'integer', minimum: 1, maximum: 14, default: null },
      },
      required: ['city'],
    },
  },
};
const NESTED = {
  type: 'function',
  function: {
    name: 'search',
    description: '',
    parameters: {
      type: 'object',
      additionalProperties: false,
      $defs: { Point: { type: 'array', items: { type: 'number' }, minItems: 2 } },
      properties: {
        query: {
          type: ['string', 'null'],
          description: 'what to look for: \'a\' or "b"',
          examples: [true, null, 1.5],
        },
        filter: {
          anyOf: [
            { type: 'string' },
            { type: 'object', properties: { min: { type: 'number', default: 1e-7 } } },
          ],
        },
        at: { $ref: '#/$defs/Point' },
        items: {
          type: 'array',
          items: { type: 'object', properties: { id: { type: 'integer', const: -3 } } },
        },
        get: { type: 'boolean', default: true, nullable: true },
      },
    },
  },
};
const BARE = { type: 'function', function: { name: 'now' } };

const HI = [user('Hello, how are you?')];
const TURNS = [
  system('You are terse.'),
  user('What is 2+2?'),
  assistant('4'),
  user('  And times 3?\n\n'),
  assistant('\n12 \n'),
  user('Thanks!'),
];
const CALLS = [
  user('Weather in Köln and Rome?'),
  assistant('', { tool_calls: [call('get_weather', { city: 'Köln', days: 3 })] }),
  tool('{"temp": 3, "rain": true}'),
  assistant('It is 3 °C.'),
  user('And Rome?'),
];
const TYPED = {
  a: true,
  b: null,
  c: [1, 'x', { d: false }],
  e: 'it\'s "so"\n',
  f: 0.25,
  g: {},
  h: [],
  i: -7,
  'k é': '<&>',
};

/** By a name for the report. */
export const CHAT_REQUESTS: Readonly<Record<string, Body>> = {
  hello: { messages: HI },
  'without a prompt for more': { messages: TURNS, add_generation_prompt: false },
  turns: { messages: TURNS },
  'many turns': {
    messages: Array.from({ length: 21 }, (_, i) =>
      i % 2 === 0 ? user(`question ${i}`) : assistant(`answer ${i}\n`),
    ),
  },
  'system alone': { messages: [system('Only this.')] },
  'two systems': { messages: [system('One.'), system('Two.'), ...HI] },
  'system in between': { messages: [...HI, assistant('yes'), system('Be kind.'), user('go on')] },
  blanks: { messages: [system(' \n s \t'), user('\u00a0 x \u2003'), assistant('\u3000'), user('\n')] },
  'odd blanks': {
    messages: [
      user('\ufeff\u0085 x \u0085\ufeff'),
      assistant('\u001c\u2028y\u2029\u001f'),
      user('\v\fz\u200b'),
    ],
  },
  empty: { messages: [user(''), assistant(''), user('x')] },
  scripts: {
    messages: [
      user('Ünïcödé 你好，世界 こんにちは 한국어 العربية हिन्दी 😀👩‍👩‍👧 𝒳 e\u0301 1234567890 12,345.678'),
    ],
  },
  code: {
    messages: [user('```py\ndef f(x):\n\treturn {"a": [1,   2]}\n```\n    \\n \\" </s> {{ x }} {% y %}')],
  },
  'control tokens': {
    messages: [
      system('<|im_start|>system\nx<|im_end|>'),
      user(
        '<|im_end|><|eot_id|></s><s>[INST] <start_of_turn><|endoftext|><｜User｜> <|begin_of_text|> <bos>',
      ),
    ],
  },
  thinking: {
    messages: [
      user('Think.'),
      assistant('<think>\n  so\n</think>\n\nDone.'),
      user('<think>not me</think>'),
      assistant('</think>\n\nx<think>'),
      user('?'),
    ],
  },
  reasoning: {
    messages: [user('Think.'), assistant('Done.', { reasoning_content: '\n because \n' }), user('Why?')],
  },
  'parts of contents': {
    messages: [
      system([{ type: 'text', text: 'S' }]),
      user([
        { type: 'text', text: ' one ' },
        { type: 'text', text: 'two' },
      ]),
      assistant([{ type: 'text', text: 'three' }]),
      user('four'),
    ],
  },
  names: { messages: [{ ...user('hi'), name: 'Ann' }, assistant('hello', { name: 'Bot' }), user('again')] },
  developer: { messages: [{ role: 'developer', content: 'Be brief.' }, ...HI] },
  'unknown role': { messages: [{ role: 'critic', content: 'Bad.' }, ...HI] },
  'assistant first': { messages: [assistant('Welcome.'), ...HI] },
  'ends with assistant': { messages: [...HI, assistant('I am')] },
  continued: {
    messages: [...HI, assistant('I am fine and')],
    add_generation_prompt: false,
    continue_final_message: true,
  },
  'continued blanks': {
    messages: [...HI, assistant(' I am \n')],
    add_generation_prompt: false,
    continue_final_message: true,
  },
  tools: { messages: HI, tools: [WEATHER] },
  'tools, system': { messages: TURNS, tools: [WEATHER, NESTED, BARE] },
  'nested tools': { messages: HI, tools: [NESTED] },
  'tool calls': { messages: CALLS, tools: [WEATHER] },
  'tool calls without tools': { messages: CALLS },
  'typed arguments': {
    messages: [
      user('go'),
      assistant(null, { tool_calls: [call('search', TYPED)] }),
      tool('ok'),
      user('more'),
    ],
    tools: [NESTED],
  },
  'several calls': {
    messages: [
      user('go'),
      assistant('On it.', {
        tool_calls: [call('get_weather', { city: 'A' }, 'call00001'), call('now', {}, 'call00002')],
        reasoning_content: 'two of them',
      }),
      tool('1', 'call00001'),
      tool([{ type: 'text', text: '{"x": [true, null]}' }], 'call00002'),
      assistant('Both.'),
      user('ok'),
    ],
    tools: [WEATHER, BARE],
  },
  'call at the end': {
    messages: [user('go'), assistant(null, { tool_calls: [call('now', '')] }), tool('12:00')],
    tools: [BARE],
  },
  'thinking off': { messages: TURNS, chat_template_kwargs: { enable_thinking: false, thinking: false } },
  'thinking on': {
    messages: TURNS,
    chat_template_kwargs: { enable_thinking: true, thinking: true },
    tools: [BARE],
  },
  effort: { messages: HI, chat_template_kwargs: { reasoning_effort: 'high', thinking_mode: 'thinking' } },
  'values of a template': {
    messages: HI,
    chat_template_kwargs: {
      date_string: '1 Jan 2026',
      documents: [{ title: 'T é', text: 'line\n"q"' }],
      builtin_tools: ['code_interpreter', 'brave_search'],
      model_identity: 'You are <b>.',
      thinking_budget: 512,
      keep_all_reasoning: true,
      custom: { a: true, b: [null, 0.5] },
    },
  },
};
