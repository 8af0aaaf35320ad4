import type { ContainerSite, EnvEntry, PodSite } from '../../pod-site.js';
import type { Word } from '../shell/words.js';
import type { TextSource } from '../text/span.js';
import { dynamoVersionOf } from './dynamo-version.js';
import { wordOf } from './expand-variables.js';
import type { Launch } from './launch.js';
import type { Program } from './programs.js';

/** Components whose program the operator knows by their type. */
const DEFAULT_PROGRAMS: Readonly<Record<string, Program | undefined>> = {
  frontend: { role: 'frontend', program: 'dynamo.frontend', backend: undefined, isDynamo: true },
  epp: { role: 'picker', program: 'endpoint picker', backend: undefined, isDynamo: true },
};

/** The container of a component, where its manifest has one. */
export interface ComponentContainer {
  readonly container: ContainerSite;
  readonly env: ReadonlyMap<string, Word>;
  readonly hasUnseenEnv: boolean;
  readonly args: readonly Word[];
}

/** What Dynamo's operator starts for a component that names no program. */
export function componentDefault(
  source: TextSource,
  site: PodSite,
  given?: ComponentContainer,
): readonly Launch[] {
  const program = DEFAULT_PROGRAMS[site.componentType?.value ?? ''];
  if (program === undefined) {
    return [];
  }
  const env = new Map(given?.env);
  for (const entry of given === undefined ? site.componentEnv : []) {
    const { name, value } = entry;
    env.set(name, variableWord(source, entry, value && wordOf(source, value, new Map())));
  }
  const { start, end } = site.at;
  return [
    {
      ...program,
      args: given?.args ?? [],
      env,
      hasUnseenArgs: false,
      hasUnseenEnv: given?.hasUnseenEnv ?? false,
      at: { source, start, end, isExact: false },
      source,
      site,
      container: given?.container,
      version: dynamoVersionOf(given?.container.image?.value),
      isGated: false,
      argsAre: 'items',
      fileAt: () => undefined,
    },
  ];
}

/** A variable of a container; its value is undefined where the manifest does not have it. */
export function variableWord(
  source: TextSource,
  { start, end }: Pick<EnvEntry, 'start' | 'end'>,
  located: Pick<Word, 'value' | 'span' | 'known'> | undefined,
): Word {
  if (located === undefined)
    return { value: undefined, span: { source, start, end, isExact: false }, mayBeMore: false };
  const { value, span, known } = located;
  return { value, span, mayBeMore: false, ...(known === undefined ? {} : { known }) };
}
