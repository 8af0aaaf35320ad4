import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { WholeEvents } from '../../../../src/frontend/proxy/answers/whole-events.js';

const END = /(?:\n\n|\r\n\r\n)$/;

/** What is passed on of each piece, and what is left at the end. */
function pass(pieces: readonly string[]): {
  readonly passed: string[];
  readonly rest: string;
  readonly isWithin: boolean;
} {
  const events = new WholeEvents();
  const passed: string[] = [];
  for (const piece of pieces) {
    const now = events.take(Buffer.from(piece, 'latin1'));
    if (now !== undefined) passed.push(now.toString('latin1'));
  }
  const { isWithin } = events;
  return { passed, rest: events.flush()?.toString('latin1') ?? '', isWithin };
}

describe('events of a stream', () => {
  it('go on whole, and all their bytes do, wherever the pieces are cut', () => {
    const parts = fc.constantFrom('\n', '\r\n', '\n\n', '\r\n\r\n', '\r', 'data: {"a":1}', ': ping', 'é');
    const pieces = fc.array(
      fc.array(parts, { maxLength: 4 }).map((all) => all.join('')),
      { maxLength: 30 },
    );
    void fc.assert(
      fc.property(pieces, (all) => {
        const { passed, rest } = pass(all);
        expect(passed.join('') + rest).toBe(all.join(''));
        for (const part of passed) expect(part).toMatch(END);
        expect(rest).not.toMatch(/\n\n|\r\n\r\n/);
      }),
    );
  });

  it('go on as soon as they end, in pieces of one byte', () => {
    const { passed, rest } = pass([...'data: a\r\n\r\ndata: b\n\nda']);
    expect(passed).toEqual(['data: a\r\n\r\n', 'data: b\n\n']);
    expect(rest).toBe('da');
  });

  it('that are too long to be held go on in parts, until their end', () => {
    const long = 'x'.repeat(70_000);
    expect(pass(['data: 1\n\ndata: ', long])).toEqual({
      passed: ['data: 1\n\n', `data: ${long}`],
      rest: '',
      isWithin: true,
    });
    expect(pass([long, 'y\n', '\ndata: 2\n\n']).isWithin).toBe(false);
    expect(pass([`data: 1\n\n${long}`])).toEqual({
      passed: [`data: 1\n\n${long}`],
      rest: '',
      isWithin: true,
    });
  });
});
