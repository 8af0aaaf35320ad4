import { posix } from 'node:path';
import { isMap, isSeq, type Node, type YAMLMap } from 'yaml';
import { readSourceFile } from '../../source-file.js';
import { placedText, YamlAccess } from '../../yaml-access.js';
import { readEnvFile } from '../config/env-file.js';
import { interpolate } from '../config/interpolate.js';
import type { TreeFiles } from '../config/tree-files.js';
import type { Launch, PathSetting } from '../launches/launch.js';
import { readContainer } from '../launches/read-launches.js';
import { readShellCommands } from '../shell/shell-commands.js';
import type { Word } from '../shell/words.js';
import { type InnerText, locateScalar } from '../text/scalar-text.js';
import type { TextSource } from '../text/span.js';
import { type OpenFile, plainDocuments, wordOf, wordsAt } from './yaml-words.js';

/** Services of one file; large ones have some dozens. */
const MAX_SERVICES = 500;

/** What Compose reads beside its file for the variables in it. */
const ENV_FILE = '.env';

/** Profiles of one file, each of which is a fleet with the services that need none. */
const MAX_PROFILES = 20;

/**
 * The programs of a compose file, one list for each set of services that run
 * together: those without a profile, with those of one profile. Variables have the values of the `.env` file
 * beside it, else the defaults of the file (`${SIZE:-32}`); one without either is known only at run time.
 */
export function readCompose(file: OpenFile, tree: TreeFiles): readonly (readonly Launch[])[] {
  const surroundings = new ComposeFile(file.source, tree);
  return plainDocuments(file).flatMap(({ access, root }) => {
    const services = [...access.entries(access.map(root, 'services'))].slice(0, MAX_SERVICES);
    const read = services.flatMap(([, node]) => {
      const service = isMap(node) ? (node as YAMLMap) : undefined;
      return service === undefined || !isService(access, service)
        ? []
        : [
            {
              profiles: access.texts(service, 'profiles').map(({ value }) => value),
              launches: surroundings.readService(access, service),
            },
          ];
    });
    const always = read.filter(({ profiles }) => profiles.length === 0);
    const names = [...new Set(read.flatMap(({ profiles }) => profiles))].slice(0, MAX_PROFILES);
    const sets = names.map((name) => [...always, ...read.filter(({ profiles }) => profiles.includes(name))]);
    return (sets.length === 0 ? [always] : sets).map((set) => set.flatMap(({ launches }) => launches));
  });
}

/** Environment files of one compose file that are looked for. */
const MAX_ENV_FILES = 50;

/**
 * The environment files that a text names if it is a compose file, relative to it: `.env`, and those of
 * `env_file`. Paths that lead out of its folder are left out: such a file is somebody else's.
 */
export function envFilesIn(text: string): readonly string[] {
  if (!/^services:/m.test(text) || !/\$\{?[A-Za-z_]|^\s+env_file:/m.test(text)) return [];
  const documents = readSourceFile('', text).documents;
  const named = documents.flatMap((document) => {
    const access = new YamlAccess(document);
    const root = isMap(document.contents) ? (document.contents as YAMLMap) : undefined;
    const services = [...access.entries(access.map(root, 'services'))].slice(0, MAX_SERVICES);
    return services.flatMap(([, node]) => (isMap(node) ? envFilesOf(access, node as YAMLMap) : []));
  });
  const inside = named.filter((path) => !posix.isAbsolute(path) && !/(?:^|\/)\.\.(?:\/|$)/.test(path));
  return [...new Set([ENV_FILE, ...inside])].slice(0, MAX_ENV_FILES);
}

function isService(access: YamlAccess, service: YAMLMap): boolean {
  return ['image', 'build', 'command', 'entrypoint'].some((key) => access.get(service, key) !== undefined);
}

/** A file with what is beside it. */
class ComposeFile {
  readonly #source: TextSource;
  readonly #tree: TreeFiles;
  #own: ReadonlyMap<string, Word> | undefined;

  constructor(source: TextSource, tree: TreeFiles) {
    this.#source = source;
    this.#tree = tree;
  }

  readService(access: YamlAccess, service: YAMLMap): readonly Launch[] {
    const image = access.text(service, 'image');
    const isPart =
      access.get(service, 'extends') !== undefined ||
      (image === undefined && access.get(service, 'build') === undefined);
    const files = envFilesOf(access, service).map((path) => this.#fileBeside(path));
    const given = files.flatMap((text) => (text === undefined ? [] : [...readEnvFile(text)]));
    return readContainer({
      source: this.#source,
      image: image === undefined ? undefined : this.#put(image.value),
      imageSpan: image === undefined ? undefined : locateScalar(this.#source, image).span,
      entrypoint: this.#words(access.get(service, 'entrypoint')),
      command: this.#words(access.get(service, 'command')),
      env: new Map([...given, ...this.#environment(access, access.get(service, 'environment'))]),
      hasUnseenEnv: isPart || files.includes(undefined),
      fileAt: this.#mounts(access, service),
    });
  }

  /** The files that a service sees at its paths: those beside the compose file that it mounts. */
  #mounts(access: YamlAccess, service: YAMLMap): (path: PathSetting) => InnerText | undefined {
    const pairs = [
      ...access.texts(service, 'volumes').map(({ value }) => this.#put(value)?.split(':') ?? []),
      ...access
        .maps(service, 'volumes')
        .map((one) => ['source', 'target'].map((key) => this.#put(access.text(one, key)?.value ?? '') ?? '')),
    ];
    return ({ value }) => {
      if (value === undefined) return undefined;
      const given = this.#tree.givenFor(value);
      if (given !== undefined) return given;
      for (const [host = '', inside = ''] of pairs) {
        const folder = inside.replace(/\/+$/, '');
        const isInside = folder !== '' && (value === folder || value.startsWith(`${folder}/`));
        if (isInside && host !== '' && !host.startsWith('/'))
          return this.#fileBeside(`${host}${value.slice(folder.length)}`);
      }
      return undefined;
    };
  }

  #fileBeside(path: string): InnerText | undefined {
    const wanted = this.#put(path);
    if (wanted === undefined) return undefined;
    const beside = wanted.startsWith('/') ? wanted : posix.join(posix.dirname(this.#source.file), wanted);
    return this.#tree.besideAt(beside);
  }

  /** The variables of the `.env` file, which are put into the compose file itself. */
  #variable(name: string): string | undefined {
    this.#own ??= this.#readOwn();
    return this.#own.get(name)?.value;
  }

  #readOwn(): ReadonlyMap<string, Word> {
    const beside = posix.join(posix.dirname(this.#source.file), ENV_FILE);
    const text = this.#tree.besideAt(beside);
    return text === undefined ? new Map() : readEnvFile(text);
  }

  #put(text: string): string | undefined {
    return interpolate(text, (name) => this.#variable(name));
  }

  #words(node: Node | undefined): readonly Word[] {
    if (!isSeq(node)) return wordsAt(this.#source, node, (text) => this.#split(text));
    return wordsAt(this.#source, node, () => []).map((word) => this.#interpolated(word));
  }

  /** A command in one text is split as a shell does it, at line ends too; nothing else of a shell happens to it. */
  #split(text: InnerText): readonly Word[] {
    this.#own ??= this.#readOwn();
    const value = text.value.replace(/\\?\n/g, (end) => ' '.repeat(end.length));
    const variables = [...this.#own].map(
      ([name, word]) =>
        [name, word.value === undefined ? undefined : { value: word.value, span: word.span }] as const,
    );
    const [first] = readShellCommands({ ...text, value, spanOf: text.spanOf }, new Map(variables));
    return first?.words ?? [];
  }

  #environment(access: YamlAccess, node: Node | undefined): ReadonlyMap<string, Word> {
    const env = new Map<string, Word>();
    if (isMap(node)) {
      for (const [name, value] of access.entries(node as YAMLMap)) {
        const text = placedText(value);
        if (text !== undefined) env.set(name, this.#interpolated(wordOf(this.#source, text)));
      }
    } else if (isSeq(node)) {
      for (const word of wordsAt(this.#source, node, () => [])) {
        const match = /^([A-Za-z_]\w*)(?:=(.*))?$/s.exec(word.value ?? '');
        const [, name, value] = match ?? [];
        if (name === undefined) continue;
        const { span } = word;
        const start = span.start + name.length + 1;
        // `- NAME` alone takes the value of the shell, or of the `.env` file.
        if (value === undefined)
          env.set(name, { ...word, value: this.#variable(name), span: { ...span, isExact: false } });
        else
          env.set(
            name,
            this.#interpolated({ ...word, value, span: span.isExact ? { ...span, start } : span }),
          );
      }
    }
    return env;
  }

  #interpolated(word: Word): Word {
    const value = word.value === undefined ? undefined : this.#put(word.value);
    return value === word.value ? word : { ...word, value, span: { ...word.span, isExact: false } };
  }
}

/** The files of a service's variables, the last of which wins. */
function envFilesOf(access: YamlAccess, service: YAMLMap): readonly string[] {
  const one = placedText(access.get(service, 'env_file'))?.value;
  const listed = access.texts(service, 'env_file').map(({ value }) => value);
  const described = access
    .maps(service, 'env_file')
    .flatMap((entry) => access.text(entry, 'path')?.value ?? []);
  return one === undefined ? [...listed, ...described] : [one];
}
