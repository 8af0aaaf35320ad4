import { existsSync } from 'node:fs';

/** The folder of the product's `package.json`: the next one above this file, in the sources and in the build alike. */
export function packageRoot(): URL {
  let folder = new URL('.', import.meta.url);
  while (!existsSync(new URL('package.json', folder))) {
    const above = new URL('..', folder);
    if (above.href === folder.href) throw new Error(`no package.json stands above ${import.meta.url}`);
    folder = above;
  }
  return folder;
}
