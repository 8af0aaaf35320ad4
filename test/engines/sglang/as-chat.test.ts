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
    const tools = [{ name: 'f', input_schema: { type: 'object' } }];
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
          function: { name: 'f', description: '', parameters: { type: 'object' }, strict: null },
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

it('no chat is known of what SGLang makes of responses', () => {
  expect(sglangChat({ kind: 'responses', body: { input: 'x' }, isPlain: true })).toBeUndefined();
});
