import { describe, expect, it } from 'vitest';
import { ChatTemplates } from '../../../src/frontend/tokens/chat-template.js';

const NOON_MS = Date.UTC(2026, 10, 22, 12);

/** The text of a chat by a template, or why there is none. */
function render(template: string, messages: readonly object[]): string | undefined {
  const { text, reason } = new ChatTemplates({ default: template }, {}, () => NOON_MS).render({ messages });
  return text ?? reason;
}

describe('chat templates, for messages with reasoning', () => {
  const ask = { role: 'user', content: 'why?' };
  const reasoned = { role: 'assistant', content: 'so', reasoning_content: 'hm' };

  it.each([
    '{% for m in messages %}{{ m.thinking }}{% endfor %}',
    '{% for m in messages %}{% if m["thinking"] is defined %}t{% endif %}{% endfor %}',
    '{% for m in messages %}{% if "thinking" in m %}t{% endif %}{% endfor %}',
    '{% for m in messages %}{{ m.get("thinking", "") }}{% endfor %}',
    '{% for m in messages %}{{ m }}{% endfor %}',
    '{{ messages }}',
    '{{ messages | tojson }}',
    '{% for m in messages %}{% for key in m %}{{ key }}{% endfor %}{% endfor %}',
    '{% for m in messages %}{{ m | length }}{{ m.items() | list }}{% endfor %}',
    '{{ messages | selectattr("thinking", "defined") | list | length }}',
    '{{ messages | map(attribute="thinking") | join }}',
  ])('decline what versions of transformers differ in: %s', (template) => {
    expect(render(template, [ask, reasoned])).toBe('unsure');
    expect(render(template, [ask, { role: 'assistant', content: 'so' }])).not.toBe('unsure');
  });

  it.each([
    ['{% for m in messages %}{{ m.reasoning_content }}{{ m["reasoning"] }}{% endfor %}', 'hmhm'],
    [
      '{% for m in messages %}{% if m and m.role == "assistant" %}{{ m.content }}{% endif %}{% endfor %}',
      'so',
    ],
    ['{{ messages[-1] == messages | last }}', 'True'],
    ['{{ messages | map(attribute="role") | join(",") }}', 'user,assistant'],
  ])('render what is the same in all: %s', (template, text) => {
    expect(render(template, [ask, reasoned])).toBe(text);
  });
});
