import type { InnerText } from '../text/scalar-text.js';
import type { TextSource } from '../text/span.js';
import { namesProgram } from '../text/text-kinds.js';
import { type Applied, objectsIn } from './applied-objects.js';
import type { Material } from './material.js';
import { type OverlayPrograms, programsOf } from './overlays.js';

/** What the text of a script has that gives files to a cluster; its commands say whether it does. */
const APPLIES_FILES: readonly RegExp[] = [
  /\b(?:kubectl|oc)\b/,
  /\b(?:apply|create|replace)\b/,
  /\.(?:ya?ml|json)\b/,
];

/** Names at the end of a path that have to be those of a file which does not stand beside its script. */
const MIN_COMMON = 2;

/** Characters of a file that is looked at with others: a larger one installs an operator with its schemas, and takes much memory. */
const MAX_FILE_LENGTH = 256 * 1024;

/**
 * Files of the set that a script applies one after the other (`kubectl apply -f a/worker.yaml`): they serve together, wherever they
 * stand, up to a point where the script takes something away or applies an object for the second time. They are looked at in their own
 * places, too, and graphs of Dynamo there alone.
 */
export function readAppliedFiles(
  scripts: readonly TextSource[],
  material: Material,
): readonly OverlayPrograms[] {
  const fileAt = (script: TextSource, path: string): InnerText | undefined => {
    const text = material.tree.find(script.file, path, MIN_COMMON, 'whole');
    return text !== undefined && text.value.length <= MAX_FILE_LENGTH ? text : undefined;
  };
  return scripts
    .filter(({ text }) => APPLIES_FILES.every((sign) => sign.test(text)))
    .flatMap((script) =>
      objectsIn(script, material.scripts, (path) => fileAt(script, path))
        .filter(isOfFiles)
        .map(({ source, objects }): OverlayPrograms => {
          const loose = objects.filter(({ kind }) => !kind.startsWith('Dynamo'));
          const { file, views } = programsOf({ source, objects: loose, outside: [], refusals: [] }, material);
          // Pools and whole objects are read where they stand.
          const none = { sets: [], sites: [], pools: [], networks: [], refusals: [] };
          return { file, views, ...none, isWhole: false, isScript: true };
        }),
    );
}

/** Whether objects come of several texts, and an engine or its router of a file that is there. */
function isOfFiles({ source, objects }: Applied): boolean {
  const origins = new Set(objects.map(({ object }) => source.placeOf(object.range?.[0] ?? 0).file));
  return origins.size > 1 && namesProgram(source.text);
}
