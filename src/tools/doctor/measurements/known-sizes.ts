import type { Measurements } from './measurements.js';
import type { SizeRow } from './sizes.js';

/** The number of all engines that were asked or whose events were seen, where it is one. */
export function enginesNumber({ sizes }: Pick<Measurements, 'sizes'>): number | undefined {
  return onlyNumber(
    sizes.rows.filter(({ side, basis }) => side === 'worker' && (basis === 'in_use' || basis === 'observed')),
  );
}

/** The number that all routers and indexes that were asked run with, where it is one. */
export function routersOwnNumber({ sizes }: Pick<Measurements, 'sizes'>): number | undefined {
  return onlyNumber(sizes.rows.filter(({ side, basis }) => side !== 'worker' && basis === 'in_use'));
}

function onlyNumber(rows: readonly SizeRow[]): number | undefined {
  const [first, ...others] = rows.map(({ tokensPerBlock }) => tokensPerBlock);
  return others.every((number) => number === first) ? first : undefined;
}
