import type { PodSite } from '../../pod-site.js';
import { folderOf } from '../config/folders.js';
import { isLlmdPicker, type Launch } from '../launches/launch.js';
import { hasLabels, isSelected, type PoolSite } from '../readers/inference-pool.js';

/**
 * The programs of a fleet, and apart from them those workers of others than Dynamo that no pool beside its picker selects: their requests never
 * come to it. A fleet without a picker of llm-d, and one without a pool in the folder of the picker, stays as it is.
 */
export function apartByPools(
  launches: readonly Launch[],
  pools: readonly PoolSite[],
): readonly (readonly Launch[])[] {
  const [picker, ...others] = launches.filter(({ gateway }) => isLlmdPicker(gateway));
  if (picker === undefined || others.length > 0) return [launches];
  const folder = folderOf(picker.at.source.file);
  const near = pools.filter(({ source }) => folderOf(source.file) === folder);
  const placed = launches.filter(
    ({ role, isDynamo, site }) => role === 'worker' && !isDynamo && site !== undefined,
  );
  const { selects } = picker.gateway ?? {};
  const isMember = (site: PodSite): boolean =>
    near.some((pool) => isSelected(pool, site)) || (selects !== undefined && hasLabels(site, selects));
  const outside = placed.filter(({ site }) => site !== undefined && !isMember(site));
  // Where nobody is selected, the labels may be written where these files do not show it.
  if (outside.length === 0 || outside.length === placed.length) return [launches];
  return [launches.filter((one) => !outside.includes(one)), outside];
}
