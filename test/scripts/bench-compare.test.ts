import { fileURLToPath, pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';

interface Figure {
  readonly number: number;
  readonly unit: string;
  readonly ratio: number | undefined;
}

const FILE = fileURLToPath(new URL('../../scripts/bench-compare/figures.mjs', import.meta.url));
const { figuresOf, sideBySide, tableOf } = (await import(pathToFileURL(FILE).href)) as {
  figuresOf(bench: string, output: string): Map<string, Figure>;
  sideBySide(
    before: readonly Map<string, Figure>[],
    after: readonly Map<string, Figure>[],
  ): { readonly name: string; readonly verdict: string }[];
  tableOf(rows: readonly object[]): string;
};

/** As `title`, `ratio` and `figure` of bench/support/figures.ts print it. */
const output = (adding: string, hash: string): string => `Node v20

the mirror of 100,000 blocks, 1 rounds
  adding a block, against a map of bigints     ${adding.padStart(10)}  floor     100 ns  3.18x (aim 1.00x, MISSED)
  both hashes of a block                       ${hash.padStart(10)}
  peer: not run
`;

describe('the figures of two revisions', () => {
  it('are read by title and name, with the floor of the same run', () => {
    const figures = figuresOf('block-mirror', output('318 ns', '1,234 us'));
    expect([...figures]).toEqual([
      [
        'block-mirror: the mirror of 100,000 blocks: adding a block, against a map of bigints',
        { number: 318, unit: 'ns', ratio: 3.18 },
      ],
      [
        'block-mirror: the mirror of 100,000 blocks: both hashes of a block',
        { number: 1_234, unit: 'us', ratio: undefined },
      ],
    ]);
  });

  it('differ only where they differ by more than the runs of one side', () => {
    const runs = (...values: readonly string[]) =>
      values.map((value) => figuresOf('b', output(value, '20.0 us')));
    const verdicts = (before: Map<string, Figure>[], after: Map<string, Figure>[]) =>
      sideBySide(before, after).map(({ verdict }) => verdict);
    expect(verdicts(runs('100 ns'), runs('110 ns'))).toEqual(['within noise', 'within noise']);
    expect(verdicts(runs('100 ns', '105 ns'), runs('150 ns', '155 ns'))).toEqual([
      '**higher**',
      'within noise',
    ]);
    expect(verdicts(runs('100 ns', '160 ns'), runs('150 ns'))).toEqual(['within noise', 'within noise']);
    expect(verdicts(runs('100 ns'), runs('50.0 ns'))).toEqual(['**lower**', 'within noise']);
    expect(tableOf(sideBySide(runs('100 ns'), runs('110 ns')))).toContain(
      '| 100 ns | 110 ns | 1.10x of the floor |',
    );
  });
});
