import type { YAMLMap } from 'yaml';
import type { PlacedText } from '../../pod-site.js';
import type { YamlAccess } from '../../yaml-access.js';
import type { Gateway } from '../launches/launch.js';

/** The plugin of llm-d's picker that has the index, and what it is. */
export interface PrecisePlugin {
  readonly plugin: YAMLMap;
  readonly kind: Gateway['kind'] | undefined;
}

/**
 * The plugin that profiles have to ask and that none of them does: an index then decides nothing. A producer is asked by the scorers that
 * name it; and without profiles llm-d makes one of all plugins.
 */
export function unaskedOf(
  access: YamlAccess,
  config: YAMLMap,
  { plugin, kind }: PrecisePlugin,
): PlacedText | undefined {
  const references = profilesOf(access, config).flatMap(({ plugins }) => plugins);
  const isAsked = (one: YAMLMap): boolean => references.includes(nameOfPlugin(access, one));
  if (references.length === 0) return undefined;
  if (kind === 'llm-d-scorer') return isAsked(plugin) ? undefined : access.text(plugin, 'type');
  const own = nameOfPlugin(access, plugin);
  const readers = access
    .maps(config, 'plugins')
    .filter((one) => access.text(access.map(one, 'parameters'), PRODUCER)?.value === own);
  // What decides for a handler of profiles is in no profile.
  const areScorers = readers.every((one) => access.text(one, 'type')?.value === 'prefix-cache-scorer');
  return areScorers && !readers.some(isAsked) ? access.text(readers[0], 'type') : undefined;
}

/** Plugins that the picker makes by itself where none is written. */
const MADE_BY_ITSELF = /-(?:picker|handler)$/;

/** A reference of a profile to a plugin that is not there: the picker refuses such a configuration and ends (`undefined plugin`). */
export function undefinedRefOf(access: YamlAccess, config: YAMLMap): PlacedText | undefined {
  const names = access.maps(config, 'plugins').map((plugin) => nameOfPlugin(access, plugin));
  // A template, or a plugin whose name is not written as a text.
  if (names.length === 0 || !names.every((name) => PLAIN_NAME.test(name))) return undefined;
  return access
    .maps(config, 'schedulingProfiles')
    .flatMap((profile) => access.maps(profile, 'plugins'))
    .flatMap((plugin) => access.text(plugin, 'pluginRef') ?? [])
    .find(({ value }) => PLAIN_NAME.test(value) && !names.includes(value) && !MADE_BY_ITSELF.test(value));
}

const PLAIN_NAME = /^[\w.-]+$/;

/** By which a plugin names the producer whose matches it reads (`prefix-cache-scorer` of llm-d-router 0.8). */
const PRODUCER = 'prefixMatchInfoProducerName';

function nameOfPlugin(access: YamlAccess, plugin: YAMLMap): string {
  return (access.text(plugin, 'name') ?? access.text(plugin, 'type'))?.value ?? '';
}

/** The scheduling profiles with the plugins that they ask. */
function profilesOf(
  access: YamlAccess,
  config: YAMLMap,
): readonly { readonly name: string; readonly plugins: readonly (string | undefined)[] }[] {
  return access.maps(config, 'schedulingProfiles').map((profile) => ({
    name: access.text(profile, 'name')?.value ?? '',
    plugins: access.maps(profile, 'plugins').map((one) => access.text(one, 'pluginRef')?.value),
  }));
}

/** The part of a request whose profiles alone ask the scorer, by the names that the handler of both parts gives them. */
export function askedPart(
  access: YamlAccess,
  config: YAMLMap,
  { plugin, kind }: PrecisePlugin,
): 'prefill' | 'decode' | undefined {
  const own = nameOfPlugin(access, plugin);
  const asking = profilesOf(access, config).filter(({ plugins }) => plugins.includes(own));
  const [name, ...others] = new Set(asking.map((profile) => profile.name));
  const isPart = name === 'prefill' || name === 'decode';
  return kind === 'llm-d-scorer' && isPart && others.length === 0 ? name : undefined;
}
