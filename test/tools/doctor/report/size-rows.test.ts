import { expect, it } from 'vitest';
import { joinEvidence, type SizeSighting } from '../../../../src/tools/doctor/evidence.js';
import { sizeRows } from '../../../../src/tools/doctor/report/size-rows.js';

function rowsOf(sizes: readonly SizeSighting[]): unknown {
  const source = { kind: 'log', name: 'a.log', status: 'read', detail: '' } as const;
  return sizeRows(joinEvidence([{ source, sizes }]));
}

function worker(
  who: string,
  tokensPerBlock: number,
  basis: SizeSighting['basis'],
  place: string,
): SizeSighting {
  return { side: 'worker', who, tokensPerBlock, basis, origin: { place, text: '' } };
}

it('keeps the strongest of several ways to know the same', () => {
  expect(
    rowsOf([
      worker('w', 32, 'default', 'a'),
      worker('w', 32, 'observed', 'b'),
      worker('w', 32, 'declared', 'c'),
    ]),
  ).toEqual([{ side: 'worker', who: 'w', tokensPerBlock: 32, how: 'seen in events', from: 'b' }]);
});

it('keeps both numbers of who has two', () => {
  expect(rowsOf([worker('w', 16, 'declared', 'a'), worker('w', 32, 'observed', 'b')])).toMatchObject([
    { tokensPerBlock: 32, how: 'seen in events' },
    { tokensPerBlock: 16, how: 'declared' },
  ]);
});

it('names two of many, and begins with those who ask', () => {
  const workers = ['a', 'b', 'c', 'd'].map((who) => worker(who, 32, 'in_use', `${who}.log`));
  const frontend: SizeSighting = { ...worker('', 16, 'default', 'graph.yaml'), side: 'frontend' };
  expect(rowsOf([...workers, frontend])).toMatchObject([
    { side: 'frontend', who: '-' },
    { side: 'worker', who: 'a, b and 2 more', from: 'a.log and 3 more' },
  ]);
});
