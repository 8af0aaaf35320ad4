import { isMap, isScalar, isSeq, visit, type YAMLMap } from 'yaml';
import type { YamlAccess } from '../../yaml-access.js';
import { scalarOf, setValue } from './yaml-nodes.js';

/** Puts another name, tag or digest into the images of an object's containers: `images` of a kustomization. */
export function setImages(object: YAMLMap, images: readonly YAMLMap[], access: YamlAccess): void {
  visit(object, {
    Pair(_key, { key, value }) {
      if (!isScalar(key) || !/^(?:initC|c)ontainers$/.test(String(key.value)) || !isSeq(value)) return;
      for (const container of value.items)
        if (isMap(container)) for (const image of images) setImage(container, image, access);
    },
  });
}

function setImage(container: YAMLMap, entry: YAMLMap, access: YamlAccess): void {
  const current = access.text(container, 'image');
  const name = access.text(entry, 'name');
  if (current === undefined || name === undefined) return;
  const { path, rest } = divided(current.value);
  if (path !== name.value) return;
  const newName = access.text(entry, 'newName');
  const newTag = access.text(entry, 'newTag');
  const digest = access.text(entry, 'digest');
  const given = digest ?? newTag;
  const tail = digest === undefined ? (newTag === undefined ? rest : `:${newTag.value}`) : `@${digest.value}`;
  setValue(
    container,
    'image',
    scalarOf({ ...(given ?? newName ?? name), value: `${newName?.value ?? path}${tail}` }),
  );
}

/** An image without its tag and digest, and these. */
function divided(image: string): { readonly path: string; readonly rest: string } {
  const rest = /(?::[^:/@]*)?(?:@.*)?$/.exec(image)?.[0] ?? '';
  return { path: image.slice(0, image.length - rest.length), rest };
}
