import { describe, expect, it } from 'vitest';
import { vllmChat } from '../../../src/engines/vllm/as-chat.js';

const chatOf = (kind: 'messages' | 'responses', body: Record<string, unknown>): unknown =>
  vllmChat({ kind, body, isPlain: true })?.body;

const SCHEMA = { type: 'object', properties: { place: { type: 'string' } } };
const CALL = { id: 'c1', type: 'function', function: { name: 'weather', arguments: '{"place":"Zürich"}' } };

describe("the chat that vLLM makes of Anthropic's messages", () => {
  it('begins with what the system says, without the lines of single requests', () => {
    const system = [
      { type: 'text', text: 'x-anthropic-billing-header: 1' },
      { type: 'text', text: 'Be' },
      { type: 'text', text: ' kind' },
    ];
    expect(chatOf('messages', { system, messages: [{ role: 'user', content: 'hi' }] })).toEqual({
      messages: [
        { role: 'system', content: 'Be kind' },
        { role: 'user', content: 'hi' },
      ],
    });
  });

  it('has calls, thoughts and results of tools as messages of their own', () => {
    const messages = [
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'hm', signature: 's' },
          { type: 'text', text: 'Let me see.' },
          { type: 'tool_use', id: 'c1', name: 'weather', input: { place: 'Zürich' } },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'c1', content: [{ type: 'text', text: 'sun' }] },
          { type: 'text', text: 'So?' },
          { type: 'text', text: 'Well?' },
        ],
      },
    ];
    expect(chatOf('messages', { messages, tools: [{ name: 'weather', input_schema: SCHEMA }] })).toEqual({
      messages: [
        { role: 'assistant', reasoning: 'hm', tool_calls: [CALL], content: 'Let me see.' },
        { role: 'tool', tool_call_id: 'c1', content: 'sun' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'So?' },
            { type: 'text', text: 'Well?' },
          ],
        },
      ],
      tools: [{ type: 'function', function: { name: 'weather', parameters: SCHEMA } }],
    });
  });

  it.each([
    { messages: [{ role: 'system', content: 'in between' }] },
    { messages: [{ role: 'user', content: 'x' }], thinking: { type: 'disabled' } },
    { messages: [{ role: 'user', content: [{ type: 'image', source: {} }] }] },
    {
      messages: [{ role: 'user', content: 'x' }],
      tools: [{ type: 'web_search_20250305', name: 'web_search' }],
    },
    { messages: [{ role: 'user', content: 'x' }], system: [{ type: 'text', text: 5 }] },
    { messages: 'x' },
  ])('is not known for %j', (body) => {
    expect(chatOf('messages', body)).toBeUndefined();
  });
});

describe("the chat that vLLM makes of OpenAI's responses", () => {
  it('has instructions, turns and calls in the order of the input', () => {
    const input = [
      { role: 'user', content: [{ type: 'input_text', text: 'weather?' }] },
      { type: 'reasoning', id: 'r', summary: [], content: [{ type: 'reasoning_text', text: 'hm' }] },
      {
        type: 'message',
        id: 'm',
        role: 'assistant',
        content: [{ type: 'output_text', text: 'Let me see.' }],
      },
      { type: 'function_call', call_id: 'c1', name: 'weather', arguments: '{"place":"Zürich"}' },
      { type: 'function_call_output', call_id: 'c1', output: 'sun' },
    ];
    const tools = [
      { type: 'function', name: 'weather', description: null, parameters: SCHEMA, strict: true },
    ];
    expect(
      chatOf('responses', { instructions: 'Be brief.', input, tools, reasoning: { effort: 'low' } }),
    ).toEqual({
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: [{ type: 'text', text: 'weather?' }] },
        { role: 'assistant', reasoning: 'hm', content: 'Let me see.', tool_calls: [CALL] },
        { role: 'tool', content: 'sun', tool_call_id: 'c1' },
      ],
      tools: [{ type: 'function', function: { name: 'weather', parameters: SCHEMA, strict: true } }],
      reasoning_effort: 'low',
    });
  });

  it.each([
    { input: 'x', previous_response_id: 'resp_1' },
    { input: 'x', truncation: 'auto' },
    { input: 'x', tools: [{ type: 'web_search' }] },
    { input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'x' }] }] },
    { input: [{ role: 'assistant', content: 'half', status: 'incomplete' }] },
    { input: [{ type: 'item_reference', id: 'x' }] },
    { input: [{ type: 'reasoning', summary: [], encrypted_content: 'x' }] },
    { input: 5 },
  ])('is not known for %j', (body) => {
    expect(chatOf('responses', body)).toBeUndefined();
  });
});
