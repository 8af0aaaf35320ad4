import { describe, expect, it } from 'vitest';
import { patternTexts } from '../../../../../src/tools/manifests/lint/changes/pattern-texts.js';
import {
  type LineEdit,
  perlEdits,
  sedEdits,
} from '../../../../../src/tools/manifests/lint/changes/sed-edits.js';
import { UNKNOWN } from '../../../../../src/tools/manifests/lint/shell/words.js';

const edit = (parts: readonly string[], adds: string, isWhole = false): LineEdit => ({
  parts,
  isWhole,
  adds,
});

describe('a program of sed', () => {
  it.each<readonly [string, readonly LineEdit[]]>([
    ['s/a b/c/g', [edit(['a b'], 'c')]],
    ['s|a/b|c/d|; s,e,f,', [edit(['a/b'], 'c/d'), edit(['e'], 'f')]],
    ['s/a\\/b/c\\/d/', [edit(['a/b'], 'c/d')]],
    ['s/x[/]y/z/', [edit(['x', 'y'], 'z')]],
    ['s/args: .*/args: []/', [edit(['args: '], 'args: []', true)]],
    ['/image:/s/.*/b/', [edit(['image:'], 'b', true)]],
    ['/image:/d', [edit(['image:'], '', true)]],
    ['\\,a/b,d', [edit(['a/b'], '', true)]],
    ['/a/,/b/d', [edit([], '', true)]],
    ['/a/!d', [edit([], '', true)]],
    ['5d;$d;2,4s/a/b/', [edit([], '', true), edit([], '', true), edit(['a'], 'b')]],
    ['/a/{ s/b/c/; s/d/e/ }', [edit(['b'], 'c'), edit(['d'], 'e')]],
    ['/a/a\\      - b', [edit(['a'], '- b')]],
    ['/a/i\\\n  b\\\n  c\ns/d/e/', [edit(['a'], 'b\\\n  c'), edit(['d'], 'e')]],
    ['/a/c b', [edit(['a'], 'b', true)]],
    ['/a/r more.yaml', [edit(['a'], UNKNOWN)]],
    [':a;N;$!ba;s/\\n/,/g', [edit([], ',')]],
    ['/a/w cards.txt\ns/b/c/', [edit(['b'], 'c')]],
    ['# d is nothing\np;n;s/a/b/', [edit(['a'], 'b')]],
    ['s/a', [edit(['a'], '')]],
    ['y/abc/xyz/', [edit([], 'xyz', true)]],
  ])('%j', (program, edits) => {
    expect(sedEdits(program, false)).toEqual(edits);
  });

  it('reads an end of what is longer than anybody writes', () => {
    expect(sedEdits('s/a/b/;'.repeat(100_000), false)).toHaveLength(100);
    expect(sedEdits(`s/${'['.repeat(1_000_000)}/b/`, true)).toHaveLength(1);
  });
});

describe('a program of Perl', () => {
  it.each<readonly [string, readonly LineEdit[]]>([
    ['s/a/b/g', [edit(['a'], 'b')]],
    ['BEGIN{$o=$ENV{OLD}} s/\\Q$o\\E: c/d/', [edit([': c'], 'd')]],
    ['s{a{2}b}{c}g; tr/a/b/', [edit(['b'], 'c'), edit([], 'b', true)]],
    ['(my $a = $b) =~ s(x)\n(y)', [edit(['x'], 'y')]],
    ['$size = 16; print if /s/', []],
  ])('%j', (program, edits) => {
    expect(perlEdits(program)).toEqual(edits);
  });
});

describe('the texts of a pattern', () => {
  it.each<readonly [string, boolean, readonly string[]]>([
    ['a.b', false, ['a', 'b']],
    ['a\\.b', false, ['a.b']],
    ['ab*c', false, ['a', 'c']],
    ['a\\(b\\)c', false, ['a', 'b', 'c']],
    ['a(b)c', false, ['a(b)c']],
    ['a(b)+c', true, ['a', 'b', 'c']],
    ['[0-9]\\{4\\}-x', false, ['-x']],
    ['[[:space:]]]x', false, [']x']],
    ['{{ .V }}{2}', true, ['{{ ', 'V }']],
    ['a\\|b', false, []],
    ['a|b', true, []],
    ['(?!a)b', true, []],
  ])('%j', (pattern, isExtended, texts) => {
    expect(patternTexts(pattern, isExtended)).toEqual(texts);
  });
});
