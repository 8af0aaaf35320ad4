import { describe, expect, it } from 'vitest';
import { cutLines, hang, readingWidth, wrap } from '../../../src/tools/demo/layout.js';

describe('text for reading', () => {
  it('is as wide as the terminal within bounds', () => {
    expect([80, 20, 400, 0, undefined].map(readingWidth)).toEqual([80, 60, 110, 110, 110]);
  });

  it('breaks at spaces, keeps line feeds, and continues an indented line below its first word', () => {
    expect(wrap('one two three\n  16: worker-a worker-b\n', 12)).toEqual([
      'one two',
      'three',
      '  16:',
      '  worker-a',
      '  worker-b',
      '',
    ]);
  });

  it('leaves a word that is too long in one piece', () => {
    expect(wrap('see http://127.0.0.1:8000/metrics now', 10)).toEqual([
      'see',
      'http://127.0.0.1:8000/metrics',
      'now',
    ]);
  });

  it('hangs lines below the first, without spaces at their ends', () => {
    expect(hang('✓ ', ['one', '', 'two'])).toEqual(['✓ one', '', '  two']);
  });

  it('shortens a table to the width and shows that it did', () => {
    expect(cutLines('WORKER  WHY\na       because it is so\n', 12)).toEqual(['WORKER  WHY', 'a       bec…']);
  });
});
