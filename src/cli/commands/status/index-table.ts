import { countOf } from '../../../core/text/lists.js';
import { onOneLine } from '../../../core/text/printable.js';
import { workerName } from '../../../core/text/worker-name.js';
import { plainTable, pushRow } from '../../../edge/platform/data/plain-table.js';
import type { DumpStart } from '../../../gen/kvaccord/v1/indexer.js';
import { CACHE_VIEW_TITLE, cacheViewText } from './cache-view-cell.js';

/** Who holds how many blocks, for a person. */
export function renderIndex({ group, epoch, tokensPerBlock, holders }: DumpStart): string {
  const headline = `${onOneLine(group)}: ${countOf(holders.length, 'holder')}, ${tokensPerBlock} tokens per block, epoch ${epoch}`;
  if (holders.length === 0) return `${headline}\n`;
  // Models with full attention alone have one group, which needs no name.
  const hasGroups = holders.some(({ cacheGroup }) => cacheGroup !== undefined);
  const groupColumn = hasGroups ? ['GROUP'] : [];
  const table = plainTable([
    'WORKER',
    'RANK',
    ...groupColumn,
    CACHE_VIEW_TITLE,
    'DEVICE',
    'HOST',
    'DISK',
    'EXTERNAL',
  ]);
  const sorted = [...holders].sort((a, b) => {
    const [one, other] = [workerName(a), workerName(b)];
    if (one !== other) return one < other ? -1 : 1;
    return a.dataParallelRank - b.dataParallelRank || (a.cacheGroup ?? -1) - (b.cacheGroup ?? -1);
  });
  for (const holder of sorted) {
    pushRow(table, [
      onOneLine(workerName(holder)),
      String(holder.dataParallelRank),
      ...(hasGroups ? [holder.cacheGroup === undefined ? 'main' : String(holder.cacheGroup)] : []),
      cacheViewText(holder.picture),
      String(holder.deviceBlocks),
      String(holder.hostBlocks),
      String(holder.diskBlocks),
      String(holder.externalBlocks),
    ]);
  }
  return `${headline}\n${table.toString()}\n`;
}
