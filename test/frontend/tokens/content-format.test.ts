import { describe, expect, it } from 'vitest';
import { contentFormatOf } from '../../../src/frontend/tokens/content-format.js';
import { parseTemplate } from '../../../src/frontend/tokens/jinja/parse-template.js';

const formatOf = (source: string): string => contentFormatOf(parseTemplate(source));

describe('the format in which a template takes contents', () => {
  it.each([
    ['{% for m in messages %}{{ m.content }}{% endfor %}'],
    ["{% for m in messages %}{{ m['content'] }}{% for c in m.tool_calls %}{{ c }}{% endfor %}{% endfor %}"],
    ['{% for m in messages %}{% for c in m[content] %}{{ c }}{% endfor %}{% endfor %}'],
    ['{% for a, b in messages %}{{ a }}{% endfor %}'],
    ['{% macro m(content) %}{% for c in content %}{{ c }}{% endfor %}{% endmacro %}{{ m(tools) }}'],
    [
      '{% set ns = namespace(rest=tools) %}{% for m in ns.rest %}{% for c in m.content %}{{ c }}{% endfor %}{% endfor %}',
    ],
    ['no messages at all'],
  ])('is one text: %s', (source) => {
    expect(formatOf(source)).toBe('string');
  });

  it.each([
    ["{% for m in messages %}{% for c in m['content'] %}{{ c.text }}{% endfor %}{% endfor %}"],
    [
      '{% for m in messages %}{% for c in m.content if c.type == "text" %}{{ c.text }}{% endfor %}{% endfor %}',
    ],
    [
      '{% set rest = messages[1:] %}{% for m in rest %}{% for c in m.content | list %}{{ c }}{% endfor %}{% endfor %}',
    ],
    [
      '{% for m in messages %}{% set content = m.content %}{% for c in content %}{{ c }}{% endfor %}{% endfor %}',
    ],
    [
      '{% set ns = namespace(rest=messages) %}{% for m in ns.rest %}{% for c in m.content %}{{ c }}{% endfor %}{% endfor %}',
    ],
    [
      '{% set ns = namespace(rest=1) %}{% set ns.rest = messages[1:] %}{% for m in ns.rest %}{% for c in m.content %}{{ c }}{% endfor %}{% endfor %}',
    ],
    [
      '{% macro show(x) %}{% for c in x %}{{ c }}{% endfor %}{% endmacro %}{% for m in messages %}{{ show(m.content) }}{% endfor %}',
    ],
    [
      '{% macro show(y, x) %}{% for c in x %}{{ c }}{% endfor %}{% endmacro %}{% for m in messages %}{{ show(1, x=m.content) }}{% endfor %}',
    ],
  ])('is parts: %s', (source) => {
    expect(formatOf(source)).toBe('openai');
  });
});
