import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ScrollView } from '../../../../src/cli/commands/status/scroll-view.js';

const linesOf = (count: number): string =>
  Array.from({ length: count }, (_, at) => `line ${at + 1}`).join('\n');

function make(count: number, rows = 5) {
  const view = new ScrollView();
  const screen = { columns: 80, rows };
  view.setText(linesOf(count));
  return {
    view,
    screen,
    shown: () => view.draw(screen).split('\n').slice(0, -1),
    press: (...keys: string[]) => keys.map((key) => view.press(key, screen)),
  };
}

describe('a text that is longer than its terminal', () => {
  it('shows its beginning, and in the last line which lines these are and how to see the others', () => {
    const { view, screen } = make(20);
    expect(view.draw(screen).split('\n')).toEqual([
      'line 1',
      'line 2',
      'line 3',
      'line 4',
      'lines 1-4 of 20: arrows, PgUp, PgDn, Home, End; q ends',
    ]);
  });

  it('moves by lines, by pages, to the end and back', () => {
    const { shown, press } = make(20);
    press('down', 'j', 'up');
    expect(shown()[0]).toBe('line 2');
    press('pagedown');
    expect(shown()[0]).toBe('line 6');
    press('space', 'b', 'pageup', 'k');
    expect(shown()[0]).toBe('line 1');
    press('end');
    expect(shown()).toEqual(['line 17', 'line 18', 'line 19', 'line 20']);
    press('home', 'shift+g', 'g');
    expect(shown()[0]).toBe('line 1');
  });

  it('says which keys have moved it, so that nothing is drawn for others', () => {
    const { press } = make(20);
    expect(press('up', 'x', 'escape', 'down', 'end', 'end', 'pagedown')).toEqual([
      false,
      false,
      false,
      true,
      true,
      false,
      false,
    ]);
  });

  it('keeps its place when the text changes, as far as there is one', () => {
    const { view, shown, press } = make(20);
    press('pagedown');
    view.setText(linesOf(30));
    expect(shown()[0]).toBe('line 5');
    view.setText(linesOf(7));
    expect(shown()).toEqual(['line 4', 'line 5', 'line 6', 'line 7']);
    view.setText('all well');
    expect(view.draw({ columns: 80, rows: 5 })).toBe('all well\n');
  });

  it('never has more lines or columns than the terminal, and every line of it can be reached', () => {
    const keys = fc.constantFrom('up', 'down', 'pageup', 'pagedown', 'home', 'end', 'x');
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 60 }),
        fc.integer({ min: 2, max: 20 }),
        fc.integer({ min: 20, max: 90 }),
        fc.array(keys),
        (count, rows, columns, pressed) => {
          const view = new ScrollView();
          const screen = { columns, rows };
          view.setText(linesOf(count));
          for (const key of pressed) view.press(key, screen);
          const drawn = view.draw(screen).split('\n');
          expect(drawn.length).toBeLessThanOrEqual(rows);
          expect(Math.max(...drawn.map((line) => line.length))).toBeLessThan(columns);
          view.press('home', screen);
          const seen = new Set<string>();
          for (let at = 0; at <= count; at += 1) {
            for (const line of view.draw(screen).split('\n')) seen.add(line);
            view.press('down', screen);
          }
          for (const line of linesOf(count).split('\n')) expect(seen).toContain(line);
        },
      ),
    );
  });
});
