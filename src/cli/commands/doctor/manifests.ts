import { SettingError } from '../../../app/setting-error.js';
import type { EvidencePart } from '../../../tools/doctor/evidence.js';
import { manifestsPart } from '../../../tools/doctor/gather/manifests.js';
import { notRead } from '../../../tools/doctor/gather/outcomes.js';
import { readFilesBeside } from '../../shared/files-beside.js';
import { MANIFESTS_AND_SCRIPTS, type ManifestFile, readManifestFiles } from '../../shared/manifest-files.js';

/** What manifests say, those that were named and those of a namespace's objects. */
export async function gatherManifests(
  places: readonly string[],
  namespace: string | undefined,
  objects: readonly ManifestFile[],
): Promise<readonly EvidencePart[]> {
  const read = await readManifests(places);
  const files = [...read.files, ...objects];
  // All manifests are one view of a deployment, wherever they came from.
  const name = [...places, ...(namespace === undefined ? [] : [`namespace ${namespace}`])].join(', ');
  const environments = await readFilesBeside(read.files);
  return [...read.failed, ...(files.length === 0 ? [] : [manifestsPart(name, files, environments)])];
}

/** Each operand by itself: one that cannot be read does not hide the others. */
async function readManifests(
  places: readonly string[],
): Promise<{ readonly files: readonly ManifestFile[]; readonly failed: readonly EvidencePart[] }> {
  const files = new Map<string, ManifestFile>();
  const failed: EvidencePart[] = [];
  for (const place of places) {
    try {
      const found = await readManifestFiles([place], {}, { extensions: MANIFESTS_AND_SCRIPTS });
      for (const one of found) files.set(one.file, one);
    } catch (error) {
      if (!(error instanceof SettingError)) throw error;
      failed.push(notRead('manifests', place, error.message.replace(/^.*\(on the command line\): /, '')));
    }
  }
  return { files: [...files.values()], failed };
}
