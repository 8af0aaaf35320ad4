import { describe, expect, test } from 'vitest';
import { ProbeBoard } from '../../../src/edge/http/probe-board.js';

describe('the probe board', () => {
  test('begins alive, and neither started nor ready', () => {
    const board = new ProbeBoard();
    expect(
      ['livez', 'startupz', 'readyz'].map((probe) => board.answer(probe as 'livez', false).status),
    ).toEqual([200, 503, 503]);
    expect(board.answer('readyz', false).body).toContain('[-]start not done yet');
  });

  test('G4: the startup probe, once passed, stays passed; readiness does not', () => {
    const board = new ProbeBoard();
    for (const probe of ['startupz', 'readyz'] as const) {
      board.set(probe, [{ name: 'gate', ok: false, text: 'closed' }]);
      expect(board.passes(probe)).toBe(false);
      board.set(probe, [{ name: 'gate', ok: true }]);
      expect(board.passes(probe)).toBe(true);
      board.set(probe, [{ name: 'gate', ok: false, text: 'closed' }]);
      expect(board.passes(probe)).toBe(probe === 'startupz');
    }
  });

  test('puts what is wrong first and never answers without bound', () => {
    const board = new ProbeBoard();
    const good = Array.from({ length: 10_000 }, (_, i) => ({ name: `w-${i}`, ok: true }));
    board.set('readyz', [...good, { name: 'last', ok: false, text: 'x'.repeat(100_000) }]);
    const { body } = board.answer('readyz', true);
    expect(body.startsWith('[-]last xxx')).toBe(true);
    expect(body.length).toBeLessThan(10_000);
    expect(body).toContain('and 9901 more\nreadyz check failed\n');
  });

  test('keeps one check on one line', () => {
    const board = new ProbeBoard();
    board.set('livez', [{ name: 'engine', ok: false, text: 'says\r\n[+]all ok\u2028yes' }]);
    expect(board.answer('livez', false).body).toBe('[-]engine says [+]all ok yes\nlivez check failed\n');
  });

  test('hands out what was prepared: the same object for every caller', () => {
    const board = new ProbeBoard();
    board.set('readyz', [{ name: 'gate', ok: true }]);
    expect(board.answer('readyz', true)).toBe(board.answer('readyz', true));
  });
});
