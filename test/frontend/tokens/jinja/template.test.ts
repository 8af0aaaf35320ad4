import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { InexactError } from '../../../../src/frontend/tokens/jinja/errors.js';
import { ChatTemplate } from '../../../../src/frontend/tokens/jinja/template.js';

const NOON_MS = Date.UTC(2026, 10, 22, 12);

/** Of 1,690: rounding, parts of words, identity, remainders of floats, and filters that no chat template uses. */
const MAX_DECLINED = 120;

interface Recorded {
  readonly variables: Readonly<Record<string, unknown>>;
  /** A template and what Python prints, null where it raises. */
  readonly cases: readonly (readonly [string, string | null])[];
}

function render(
  template: string,
  variables: Readonly<Record<string, unknown>> = {},
): string | null | 'declined' {
  try {
    return new ChatTemplate(template, () => NOON_MS).render(variables);
  } catch (error) {
    return error instanceof InexactError ? 'declined' : null;
  }
}

describe('a template', () => {
  it("comes out as from Python's Jinja2 in the environment of transformers, or is declined", () => {
    const { variables, cases } = JSON.parse(
      readFileSync(new URL('../../../fixtures/jinja/cases.json', import.meta.url), 'utf8'),
    ) as Recorded;
    const results = cases.map(([template, expected]) => ({
      template,
      expected,
      made: render(template, variables),
    }));
    const wrong = results.filter(({ expected, made }) => made !== 'declined' && made !== expected);
    expect(wrong).toEqual([]);
    const declined = results.filter(({ expected, made }) => made === 'declined' && expected !== null);
    // What no chat template is known to need; a template that is rendered today must not be declined tomorrow.
    expect(declined.length).toBeLessThanOrEqual(MAX_DECLINED);
  });

  it.each([
    [
      'a list without bound',
      "{% set ns = namespace(x=['a']) %}{% for i in range(40) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
    ],
    [
      'a text without bound',
      "{% set ns = namespace(x='a') %}{% for i in range(99) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
    ],
    ['a text that is repeated', "{{ 'abc' * 100000000 }}"],
    ['an output without bound', "{% set x = 'a' * 60000000 %}{{ x }}{{ x }}"],
    ['a macro that calls itself', '{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}'],
    ['a deep expression', `{{ ${'('.repeat(50_000)}1${')'.repeat(50_000)} }}`],
    ['half a surrogate pair', '{{ x }}'],
  ])('does not render %s', (_, template) => {
    expect([null, 'declined']).toContain(render(template, { x: '\ud83d' }));
  });

  it.each([
    ['{{ x.a }}{{ x["a"] }}{{ x.get("a", 5) }}', 'NoneNoneNone'],
    ['{% macro m(v) %}{{ v }}{% endmacro %}{{ m(none) }}', 'None'],
    ['{% set ns = namespace(v=none) %}{{ ns.v }}{{ ns.v is defined }}', 'NoneTrue'],
    ['{{ [none]|last }}{{ [none]|first }}', 'NoneNone'],
  ])('takes None for a value: %s', (template, expected) => {
    expect(render(template, { x: { a: null } })).toBe(expected);
  });

  it.each(['none', '0', "''", '[]', 'missing', 'false'])('maps and selects nothing of %s', (nothing) => {
    const filters = [
      "selectattr('a')",
      "rejectattr('a')",
      'select',
      "reject('odd')",
      "map('upper')",
      "map(attribute='a')",
    ];
    for (const filter of filters)
      expect([filter, render(`{{ ${nothing}|${filter}|list }}`)]).toEqual([filter, '[]']);
    expect(render(`{{ ${nothing}|map|list }}{{ ${nothing}|selectattr|list }}`)).toBe('[][]');
  });

  it('refuses to map and select what is true and cannot be gone through', () => {
    for (const value of ['1', 'true', '0.5']) expect(render(`{{ ${value}|select|list }}`)).toBe(null);
    for (const filter of ['list', 'join', 'first', 'sort', 'sum', 'length', 'unique|list', 'max'])
      expect([filter, render(`{{ none|${filter} }}`)]).toEqual([filter, null]);
  });
});
