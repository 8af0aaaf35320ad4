import { describe, expect, it } from 'vitest';
import { sglangChat } from '../../../src/engines/sglang/as-chat.js';

const chatOf = (body: Record<string, unknown>): unknown =>
  sglangChat({ kind: 'messages', body, isPlain: true })?.body;

describe("the chat that SGLang makes of Anthropic's messages", () => {
  it('joins what the system says by lines, and keeps the order of texts and results', () => {
    const messages = [
      { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'f', input: {} }] },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'before' },
          { type: 'tool_result', tool_use_id: 'c1', content: 'sun' },
          { type: 'text', text: 'after' },
        ],
      },
      { role: 'assistant', content: [] },
    ];
    const system = [
      { type: 'text', text: 'Be' },
      { type: 'text', text: 'kind' },
    ];
    const tools = [{ name: 'f', input_schema: { properties: {} } }];
    expect(chatOf({ system, messages, tools })).toEqual({
      messages: [
        { role: 'system', content: 'Be\nkind' },
        {
          role: 'assistant',
          tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }],
        },
        { role: 'user', content: 'before' },
        { role: 'tool', tool_call_id: 'c1', content: 'sun' },
        { role: 'user', content: 'after' },
        { role: 'assistant', content: '' },
      ],
      tools: [
        {
          type: 'function',
          function: {
            name: 'f',
            description: '',
            parameters: { properties: {}, type: 'object' },
            strict: false,
          },
        },
      ],
    });
  });

  it.each([
    { messages: [{ role: 'user', content: 'x' }], thinking: { type: 'enabled', budget_tokens: 1_024 } },
    { messages: [{ role: 'assistant', content: [{ type: 'thinking', thinking: 'hm' }] }] },
    { messages: [{ role: 'system', content: 'x' }] },
    { messages: [{ role: 'user', content: 'x' }], tools: [{ type: 'bash_20250124', name: 'bash' }] },
    { messages: [{ role: 'user', content: 'x' }], tools: [], tool_choice: { type: 'any' } },
  ])('is not known for %j', (body) => {
    expect(chatOf(body)).toBeUndefined();
  });
});

const chatOfResponse = (body: Record<string, unknown>): unknown =>
  sglangChat({ kind: 'responses', body, isPlain: true })?.body;

describe("the chat that SGLang makes of OpenAI's responses", () => {
  it('joins what the assistant said, called and thought into one message', () => {
    const parameters = { type: 'object' };
    const tools = [{ type: 'function', name: 'f', description: 'does', parameters }];
    const input = [
      { role: 'developer', content: [{ type: 'input_text', text: 'Be brief.' }] },
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }] },
      { id: 'm1', status: 'completed', role: 'assistant', content: [{ type: 'output_text', text: 'so' }] },
      { type: 'message', role: 'assistant', content: 'it is' },
      { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{"a": 1}' },
      { type: 'custom_tool_call', call_id: 'c2', name: 'g', input: 'a "b"' },
      { type: 'function_call_output', call_id: 'c1', output: 'sun' },
      { type: 'custom_tool_call_output', call_id: 'c2', output: [{ type: 'input_text', text: 'rain' }] },
    ];
    expect(chatOfResponse({ input, tools, reasoning: { summary: 'auto' }, max_output_tokens: 5 })).toEqual({
      messages: [
        { role: 'system', content: 'Developer instructions:\nBe brief.' },
        { role: 'user', content: [{ type: 'text', text: 'hi' }] },
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'so' },
            { type: 'text', text: 'it is' },
          ],
          tool_calls: [
            { id: 'c1', type: 'function', function: { name: 'f', arguments: '{"a": 1}' } },
            { id: 'c2', type: 'function', function: { name: 'g', arguments: '{"input": "a \\"b\\""}' } },
          ],
        },
        { role: 'tool', tool_call_id: 'c1', content: 'sun' },
        { role: 'tool', tool_call_id: 'c2', content: 'rain' },
      ],
      tools: [{ type: 'function', function: { name: 'f', description: 'does', parameters, strict: false } }],
      reasoning_effort: 'medium',
    });
    expect(chatOfResponse({ instructions: 'Be kind.', input: 'hi', reasoning: { effort: 'none' } })).toEqual({
      messages: [
        { role: 'system', content: 'Be kind.' },
        { role: 'user', content: 'hi' },
      ],
      reasoning_effort: 'none',
    });
  });

  it.each([
    { input: 'x', previous_response_id: 'resp_1' },
    { input: 'x', text: { format: { type: 'json_object' } } },
    { input: 'x', instructions: 7 },
    { input: [{ role: 'user', content: 'x' }, 7] },
    { input: [{ type: 'reasoning', summary: [] }] },
    { input: [{ type: 'web_search_call', id: 'w' }] },
    { input: [{ role: 'user', content: 'x', phase: 'commentary' }] },
    { input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'x' }] }] },
    { instructions: 'a', input: [{ role: 'developer', content: 'b' }] },
    {
      input: [
        { role: 'user', content: 'x' },
        { role: 'system', content: 'b' },
      ],
    },
    { input: [{ type: 'function_call', call_id: 'c', name: 'f', arguments: '[1]' }] },
    { input: [{ type: 'function_call', call_id: 'c', name: 'f', arguments: '{"a": "\\ud800"}' }] },
    { input: [{ type: 'function_call', name: 'f', arguments: '{}' }] },
    { input: [{ type: 'function_call_output', call_id: 'c' }] },
    { input: 'x', tools: [{ type: 'function', name: 'f', parameters: {} }] },
    { input: 'x', tools: [{ type: 'web_search' }] },
    {
      input: 'x',
      tools: [{ type: 'function', name: 'f', description: 'd', parameters: {} }],
      tool_choice: 'none',
    },
  ])('is not known for %j', (body) => {
    expect(chatOfResponse(body)).toBeUndefined();
  });
});
