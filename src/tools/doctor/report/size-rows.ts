import { groupBy } from '../../../core/data/group-by.js';
import { andMore, nameSome } from '../../../core/text/lists.js';
import { onOneLine } from '../../../core/text/printable.js';
import type { Side, SizeBasis } from '../../../engines/diagnosis/sighting-words.js';
import type { Evidence, SizeSighting } from '../evidence.js';
import { countText } from './figures.js';
import { BASES } from './labels.js';
import { placeText } from './safe-text.js';
import { type Table, tableOf } from './table.js';

/** Those who share a block size and a way in which it is known. */
export interface SizeRow {
  readonly side: Side;
  /** `vllm-0, vllm-1 and 4 more`; `-` when nobody is named. */
  readonly who: string;
  readonly tokensPerBlock: number;
  readonly how: string;
  /** Of the first sighting, with how many more there are. */
  readonly from: string;
}

const SIDES: readonly Side[] = ['frontend', 'router', 'indexer', 'worker'];
/** From the weakest. */
const STRENGTHS: readonly SizeBasis[] = ['default', 'configured', 'declared', 'in_use', 'observed'];
/** Names in one row. */
const MAX_NAMES = 2;

/** The block sizes on every side: of several ways to know the same of the same, the strongest. */
export function sizeRows({ sizes }: Evidence): readonly SizeRow[] {
  const strongest = new Map<string, SizeSighting>();
  for (const sighting of sizes) {
    const key = JSON.stringify([sighting.side, sighting.who, sighting.tokensPerBlock]);
    const known = strongest.get(key);
    if (known === undefined || strengthOf(sighting) > strengthOf(known)) strongest.set(key, sighting);
  }
  const groups = groupBy(strongest.values(), ({ side, tokensPerBlock, basis }) =>
    JSON.stringify([side, tokensPerBlock, basis]),
  );
  return [...groups.values()]
    .sort(([a], [b]) =>
      a === undefined || b === undefined
        ? 0
        : SIDES.indexOf(a.side) - SIDES.indexOf(b.side) || strengthOf(b) - strengthOf(a),
    )
    .flatMap((group) => {
      const [first] = group;
      if (first === undefined) return [];
      return [
        {
          side: first.side,
          who: namesOf(group),
          tokensPerBlock: first.tokensPerBlock,
          how: BASES[first.basis],
          from: `${placeText(first.origin)}${andMore(group.length - 1)}`,
        },
      ];
    });
}

/** The same as a table. */
export function sizeTable(rows: readonly SizeRow[]): Table {
  return tableOf(
    ['Side', 'Who', '#Tokens/block', 'How known', 'From'],
    rows.map(({ side, who, tokensPerBlock, how, from }) => [side, who, String(tokensPerBlock), how, from]),
  );
}

function strengthOf({ basis }: SizeSighting): number {
  return STRENGTHS.indexOf(basis);
}

function namesOf(group: readonly SizeSighting[]): string {
  const names = [...new Set(group.map(({ who }) => onOneLine(who)))].filter((who) => who !== '');
  if (names.length === 0) return group.length === 1 ? '-' : `${countText(group.length)} unnamed`;
  return nameSome(names, MAX_NAMES);
}
