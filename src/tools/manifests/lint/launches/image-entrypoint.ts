import { ENGINES } from '../../../../engines/catalogue/engines.js';

/** Images whose entrypoint is known, for containers that give arguments only. */
export function entrypointOf(image: string | undefined): readonly string[] | undefined {
  const name = image
    ?.replace(/@.*$/, '')
    .replace(/:[^/:]*$/, '')
    .split('/')
    .at(-1);
  if (name === undefined) return undefined;
  if (name === 'kv-accord') return ['kv-accord'];
  const engine = ENGINES.find(({ launch }) => launch !== undefined && Object.hasOwn(launch.images, name));
  return engine?.launch?.images[name];
}
