import { golden, type TokenizerName } from '../../frontend/tokens/support/tokenizers.js';

type Request = Readonly<Record<string, unknown>>;

const WEATHER = {
  type: 'function',
  function: {
    parameters: { type: 'object', properties: { place: { type: 'string' }, days: { type: 'integer' } } },
    strict: true,
    description: 'The weather "now" & <later>.',
    name: 'get_weather',
    of_nobody: 1,
  },
};
const CALL = {
  type: 'function',
  id: 'call_1',
  function: { arguments: '{"place":"Zürich","days":2}', name: 'get_weather' },
};
const ASK = { role: 'user', content: 'What is the weather?' };

/** Requests in which an engine prepares messages before its template sees them. */
const PREPARED: readonly Request[] = [
  { messages: [{ role: 'user', content: 'hi', name: 'Ann', of_nobody: 1 }] },
  { messages: [{ role: 'user', content: ['one', { type: 'text', text: 'two' }] }] },
  { messages: [{ role: 'user', content: [{ type: 'text', text: 'a', of_nobody: 1 }] }] },
  { messages: [{ role: 'developer', content: 'Be brief.' }, ASK] },
  {
    messages: [{ role: 'system', content: 'x-anthropic-billing-header: cch=1\nBe brief.' }, ASK],
  },
  { messages: [ASK, { role: 'assistant', content: null, tool_calls: [CALL] }], tools: [WEATHER] },
  {
    messages: [ASK, { role: 'assistant', content: 'Let me see.', tool_calls: [CALL, CALL] }, ASK],
    tools: [WEATHER, WEATHER],
    tool_choice: 'none',
  },
  {
    messages: [ASK, { role: 'assistant', tool_calls: [{ ...CALL, function: { name: 'f', arguments: '' } }] }],
  },
  {
    messages: [
      ASK,
      {
        role: 'assistant',
        content: '',
        tool_calls: [{ ...CALL, function: { name: 'f', arguments: '{"x": 1.0}' } }],
      },
    ],
  },
  { messages: [ASK, { role: 'assistant', content: 'no calls', tool_calls: [] }, ASK] },
  { messages: [ASK, { role: 'assistant', reasoning_content: 'hm', content: 'Yes.' }, ASK] },
  { messages: [ASK], chat_template_kwargs: { enable_thinking: false } },
  { messages: [ASK], chat_template_kwargs: { enable_thinking: null } },
  { messages: [ASK], reasoning_effort: 'none' },
  { messages: [ASK], reasoning_effort: 'high' },
  { messages: [ASK], reasoning_effort: 'none', chat_template_kwargs: { enable_thinking: true } },
  { messages: [ASK], documents: [{ title: 'Foxes', text: 'They are quick.' }] },
  { messages: [ASK], add_special_tokens: true },
  { messages: [ASK, { role: 'assistant', content: 'It is' }], add_generation_prompt: false },
  {
    messages: [ASK, { role: 'assistant', content: 'It is ' }],
    add_generation_prompt: false,
    continue_final_message: true,
  },
  {
    messages: [ASK],
    stop: ['x'],
    n: 1,
    seed: 7,
    temperature: 0.5,
    top_p: 0.9,
    user: 'me',
    metadata: { a: 'b' },
  },
  { prompt: 'hello  world ', add_special_tokens: false },
  { prompt: ['a list of one text'] },
  { prompt: [5, 6, 7, 8] },
  { prompt: [[5, 6, 7, 8]] },
];

/** All that a test with that tokenizer asks. */
export function tokenRequests(name: TokenizerName): readonly Request[] {
  return [...golden(name).map(({ request }) => request), ...PREPARED];
}
