import { isMap, isSeq, type Node, type YAMLMap } from 'yaml';
import { placedText, type YamlAccess } from '../../yaml-access.js';
import type { Launch } from '../launches/launch.js';
import { readContainer } from '../launches/read-launches.js';
import { readShellCommands } from '../shell/shell-commands.js';
import type { Word } from '../shell/words.js';
import { type InnerText, locateScalar } from '../text/scalar-text.js';
import type { TextSource } from '../text/span.js';
import { type OpenFile, plainDocuments, wordOf, wordsAt } from './yaml-words.js';

/** Services of one file; large ones have some dozens. */
const MAX_SERVICES = 500;

/** Profiles of one file, each of which is a fleet with the services that need none. */
const MAX_PROFILES = 20;

/** What Compose puts in for a variable: https://docs.docker.com/reference/compose-file/interpolation/ */
const VARIABLE = /\$\$|\$\{([A-Za-z_]\w*)(?:(:?[-+?])([^}]*))?\}|\$([A-Za-z_]\w*)/g;

/**
 * The programs of a compose file, one list for each set of services that run
 * together: those without a profile, with those of one profile. Variables have the defaults of the
 * file (`${SIZE:-32}`); one without a default is known only at run time.
 */
export function readCompose(file: OpenFile): readonly (readonly Launch[])[] {
  return plainDocuments(file).flatMap(({ access, root }) => {
    const services = [...access.entries(access.map(root, 'services'))].slice(0, MAX_SERVICES);
    const read = services.flatMap(([, node]) => {
      const service = isMap(node) ? (node as YAMLMap) : undefined;
      return service === undefined || !isService(access, service)
        ? []
        : [
            {
              profiles: access.texts(service, 'profiles').map(({ value }) => value),
              launches: readService(file.source, access, service),
            },
          ];
    });
    const always = read.filter(({ profiles }) => profiles.length === 0);
    const names = [...new Set(read.flatMap(({ profiles }) => profiles))].slice(0, MAX_PROFILES);
    const sets = names.map((name) => [...always, ...read.filter(({ profiles }) => profiles.includes(name))]);
    return (sets.length === 0 ? [always] : sets).map((set) => set.flatMap(({ launches }) => launches));
  });
}

function isService(access: YamlAccess, service: YAMLMap): boolean {
  return ['image', 'build', 'command', 'entrypoint'].some((key) => access.get(service, key) !== undefined);
}

function readService(source: TextSource, access: YamlAccess, service: YAMLMap): readonly Launch[] {
  const image = access.text(service, 'image');
  const isPart =
    access.get(service, 'extends') !== undefined ||
    (image === undefined && access.get(service, 'build') === undefined);
  return readContainer({
    source,
    image: image === undefined ? undefined : interpolate(image.value),
    imageSpan: image === undefined ? undefined : locateScalar(source, image).span,
    entrypoint: readWords(source, access.get(service, 'entrypoint')),
    command: readWords(source, access.get(service, 'command')),
    env: readEnvironment(source, access, access.get(service, 'environment')),
    hasUnseenEnv: isPart || access.get(service, 'env_file') !== undefined,
  });
}

function readWords(source: TextSource, node: Node | undefined): readonly Word[] {
  if (!isSeq(node)) return wordsAt(source, node, splitLikeShell);
  return wordsAt(source, node, () => []).map(interpolated);
}

/** A command in one text is split as a shell does it, at line ends too; nothing else of a shell happens to it. */
function splitLikeShell(text: InnerText): readonly Word[] {
  const value = text.value.replace(/\\?\n/g, (end) => ' '.repeat(end.length));
  const [first] = readShellCommands({ ...text, value, spanOf: text.spanOf }, new Map());
  return first?.words ?? [];
}

function readEnvironment(
  source: TextSource,
  access: YamlAccess,
  node: Node | undefined,
): ReadonlyMap<string, Word> {
  const env = new Map<string, Word>();
  if (isMap(node)) {
    for (const [name, value] of access.entries(node as YAMLMap)) {
      const text = placedText(value);
      if (text !== undefined) env.set(name, interpolated(wordOf(source, text)));
    }
  } else if (isSeq(node)) {
    for (const word of wordsAt(source, node, () => [])) {
      const match = /^([A-Za-z_]\w*)=(.*)$/s.exec(word.value ?? '');
      const [, name, value] = match ?? [];
      if (name === undefined || value === undefined) continue;
      const { span } = word;
      const start = span.start + name.length + 1;
      env.set(name, interpolated({ ...word, value, span: span.isExact ? { ...span, start } : span }));
    }
  }
  return env;
}

function interpolated(word: Word): Word {
  const value = word.value === undefined ? undefined : interpolate(word.value);
  return value === word.value ? word : { ...word, value, span: { ...word.span, isExact: false } };
}

/** The text with the defaults of its variables; undefined where one has none. */
function interpolate(text: string): string | undefined {
  let isKnown = true;
  const result = text.replace(
    VARIABLE,
    (whole, name: string | undefined, operator: string | undefined, operand: string | undefined) => {
      if (whole === '$$') return '$';
      if (name !== undefined && operator?.endsWith('-')) return operand ?? '';
      // `${NAME:+other}` is empty where nothing is set.
      if (name !== undefined && operator?.endsWith('+')) return '';
      isKnown = false;
      return '';
    },
  );
  return isKnown ? result : undefined;
}
