import type { Evidence, Origin } from '../evidence.js';

/**
 * Says what only stands in a manifest. A folder may hold several deployments
 * that never meet: what their programs are to each other, `lint` says.
 */
export function ofManifests(
  manifests: Evidence['manifests'],
): (sighting: { readonly origin: Origin }) => boolean {
  const files = manifests.map(({ file }) => file);
  return ({ origin: { place } }) => files.some((file) => place === file || place.startsWith(`${file}:`));
}
