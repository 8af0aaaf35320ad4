import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { PAGE_STYLE } from '../../../src/edge/http/page-style.js';
import { CHART_COLORS } from '../../../src/page/model/palette.js';
import { contrast, distance, type Vision } from '../support/colour-vision.js';

const STATES = ['good', 'warn', 'bad'] as const;
const TEXTS = ['ink', 'dim', 'accent', ...STATES] as const;
const BACKGROUNDS = ['bg', 'panel', 'good-bg', 'warn-bg', 'bad-bg'] as const;
const VISIONS: readonly Vision[] = ['full', 'protanopia', 'deuteranopia'];

/** Signs and words beside them say the same; these say how much the colours alone do. */
const LEAST = { states: 20, backgrounds: 7, lines: 20, drawings: 12 };
/** WCAG 2, level AA: of text, and of what is drawn. */
const AA = { text: 4.5, drawn: 3 };

/** The variables of one theme, by their order in the style: light, dark by the system, dark by choice. */
const THEMES = [...PAGE_STYLE.matchAll(/\{[^{}]*--bg:[^{}]*\}/g)].map(
  ([rule]) =>
    new Map(
      [...rule.matchAll(/--([\w-]+):\s*(#[0-9a-f]{3,6})/g)].map(([, name = '', color = '']) => [name, color]),
    ),
);
const [LIGHT, DARK, CHOSEN_DARK] = THEMES as [Map<string, string>, Map<string, string>, Map<string, string>];

const STYLES = new URL('../../../src/page/styles/', import.meta.url);
/** Colours of drawings, which are the same in both themes; half transparent ones stand behind others. */
const DRAWN = new Set(
  readdirSync(STYLES).flatMap((file) =>
    [...readFileSync(new URL(file, STYLES), 'utf8').matchAll(/(?:fill|stroke):\s*(#[0-9a-f]{6})\b/g)].map(
      ([, color = '']) => color,
    ),
  ),
);

function pairsOf<T>(all: readonly T[]): [T, T][] {
  return all.flatMap((one, at) => all.slice(at + 1).map((other): [T, T] => [one, other]));
}

it('the dark theme is the same by choice as by the system', () => {
  expect(THEMES).toHaveLength(3);
  expect(CHOSEN_DARK).toEqual(DARK);
});

describe.each([
  ['light', LIGHT],
  ['dark', DARK],
] as const)('the colours of the %s page', (theme, colors) => {
  const named = (name: string): string => colors.get(name) ?? `no --${name}`;

  it.each(VISIONS)('tell states from each other, with %s vision', (vision) => {
    for (const [a, b] of pairsOf(STATES)) {
      expect([a, b, distance(named(a), named(b), vision)]).toEqual([
        a,
        b,
        expect.toSatisfy(atLeast(LEAST.states)),
      ]);
      const apart = distance(named(`${a}-bg`), named(`${b}-bg`), vision);
      expect([a, b, apart]).toEqual([a, b, expect.toSatisfy(atLeast(LEAST.backgrounds))]);
    }
  });

  it('are read on every background', () => {
    for (const text of TEXTS)
      for (const background of BACKGROUNDS)
        expect([text, background, contrast(named(text), named(background))]).toEqual([
          text,
          background,
          expect.toSatisfy(atLeast(AA.text)),
        ]);
  });

  it.each([...VISIONS, 'tritanopia'] as const)(
    'tell the lines of a chart from each other, with %s vision',
    (vision) => {
      for (const [a, b] of pairsOf(CHART_COLORS[theme]))
        expect([a, b, distance(a, b, vision)]).toEqual([a, b, expect.toSatisfy(atLeast(LEAST.lines))]);
    },
  );

  it('are seen on a panel, in charts and drawings', () => {
    for (const color of [...CHART_COLORS[theme], ...DRAWN])
      expect([color, contrast(color, named('panel'))]).toEqual([color, expect.toSatisfy(atLeast(AA.drawn))]);
  });

  it.each(VISIONS)('tell links and tiers from each other in drawings, with %s vision', (vision) => {
    expect(DRAWN.size).toBeGreaterThan(3);
    for (const [a, b] of pairsOf([...DRAWN]))
      expect([a, b, distance(a, b, vision)]).toEqual([a, b, expect.toSatisfy(atLeast(LEAST.drawings))]);
  });
});

function atLeast(least: number): (value: number) => boolean {
  return (value) => value >= least;
}
