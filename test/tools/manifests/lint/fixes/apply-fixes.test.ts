import { describe, expect, it } from 'vitest';
import type { Finding } from '../../../../../src/tools/manifests/lint/findings/finding.js';
import { fixAll } from '../../../../../src/tools/manifests/lint/fixes/apply-fixes.js';

function finding(file: string, edits: NonNullable<Finding['fix']>['edits']): Finding {
  return {
    ruleId: 'rule',
    severity: 'error',
    file,
    line: 1,
    column: 1,
    message: '',
    consequence: '',
    advice: '',
    fix: { says: '', file, edits },
  };
}

/** Finds every `x` and would have it `y`. */
function everyX(file: string, text: string): Finding[] {
  return [...text.matchAll(/x/g)].map(({ index }) =>
    finding(file, [{ start: index, end: index + 1, text: 'y' }]),
  );
}

describe('fixing all that can be fixed', () => {
  it('changes every file, and every place of it', () => {
    const texts = [
      { file: 'a', text: '-x-x-' },
      { file: 'b', text: 'x' },
      { file: 'c', text: 'z' },
    ];
    const fixed = fixAll(texts, (now) => now.flatMap(({ file, text }) => everyX(file, text)));
    expect(fixed.texts.map(({ text }) => text)).toEqual(['-y-y-', 'y', 'z']);
    expect(fixed).toMatchObject({ findings: [], applied: 3 });
  });

  it('leaves fixes of the same place to the next round, by what is found then', () => {
    const lint = (now: readonly { file: string; text: string }[]): Finding[] => {
      const text = now[0]?.text ?? '';
      const insert = (word: string): Finding[] =>
        text.includes(word) ? [] : [finding('a', [{ start: 0, end: 0, text: word }])];
      return [...insert('one '), ...insert('two ')];
    };
    const fixed = fixAll([{ file: 'a', text: 'end' }], lint);
    expect(fixed.texts[0]?.text).toBe('two one end');
    expect(fixed.findings).toEqual([]);
  });

  it('ends although a fix repairs nothing', () => {
    const fixed = fixAll([{ file: 'a', text: '' }], () => [finding('a', [{ start: 0, end: 0, text: '.' }])]);
    expect(fixed.texts[0]?.text).toBe('.'.repeat(10));
    expect(fixed.findings).toHaveLength(1);
  });

  it('keeps what needs a decision, and leaves files alone that it was not given', () => {
    const { fix: _, ...undecided } = finding('a', []);
    const fixed = fixAll([{ file: 'a', text: 'x' }], () => [
      undecided,
      finding('other', [{ start: 0, end: 9, text: '' }]),
    ]);
    expect(fixed).toMatchObject({ applied: 0, texts: [{ text: 'x' }] });
    expect(fixed.findings).toHaveLength(2);
  });
});
