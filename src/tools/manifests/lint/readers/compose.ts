import { posix } from 'node:path';
import { isMap, isSeq, type Node, type YAMLMap } from 'yaml';
import { readSourceFile } from '../../source-file.js';
import { placedText, YamlAccess } from '../../yaml-access.js';
import { readEnvFile } from '../config/env-file.js';
import { interpolate } from '../config/interpolate.js';
import type { TreeFiles } from '../config/tree-files.js';
import type { DynamoVersion } from '../launches/dynamo-version.js';
import { builtVersion } from '../launches/installed-version.js';
import type { Launch, PathSetting } from '../launches/launch.js';
import { readContainer } from '../launches/read-launches.js';
import { readShellCommands } from '../shell/shell-commands.js';
import { UNKNOWN, type Word, wordOfText } from '../shell/words.js';
import { type InnerText, locateScalar, scalarText, textOf } from '../text/scalar-text.js';
import type { TextSource } from '../text/span.js';
import { buildFile } from './compose-builds.js';
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
  // What Compose puts over another file is read with that.
  if (besideOf(file.source.file, tree, OVERRIDE, '') !== undefined) return [];
  const surroundings = new ComposeFile(file.source, tree);
  const override = overrideOf(file.source.file, tree);
  return plainDocuments(file).flatMap(({ access, root }) => {
    const services = [...access.entries(access.map(root, 'services'))].slice(0, MAX_SERVICES);
    const read = services.flatMap(([name, node]) => {
      const service = isMap(node) ? node : undefined;
      return service === undefined || !isService(access, service)
        ? []
        : [
            {
              profiles: access.texts(service, 'profiles').map(({ value }) => value),
              launches: surroundings.readService({ access, root, service }, override?.(name), name),
            },
          ];
    });
    const always = read.filter(({ profiles }) => profiles.length === 0);
    const names = [...new Set(read.flatMap(({ profiles }) => profiles))].slice(0, MAX_PROFILES);
    const sets = names.map((name) => [...always, ...read.filter(({ profiles }) => profiles.includes(name))]);
    return (sets.length === 0 ? [always] : sets).map((set) => set.flatMap(({ launches }) => launches));
  });
}

/** A service of a compose file. */
interface Service {
  readonly access: YamlAccess;
  readonly root: YAMLMap;
  readonly service: YAMLMap;
}

/** The same with the file that it is in. */
interface PlacedService extends Service {
  readonly file: ComposeFile;
}

/** The names that Compose looks for: `compose.yaml`, and the one that it puts over it, `compose.override.yaml`. */
const BASE = /^((?:.*\/)?(?:docker-)?compose)\.ya?ml$/;
const OVERRIDE = /^((?:.*\/)?(?:docker-)?compose)\.override\.ya?ml$/;

/** The file that belongs to another one of such a name, and is among the files. */
function besideOf(file: string, tree: TreeFiles, pattern: RegExp, middle: string): TextSource | undefined {
  const stem = pattern.exec(file)?.[1];
  for (const end of stem === undefined ? [] : ['yaml', 'yml']) {
    const path = `${stem}${middle}.${end}`;
    const text = tree.textAt(path);
    if (text !== undefined) return text.spanOf(0, text.value.length).source;
  }
  return undefined;
}

/** The services that Compose puts over those of a file by itself, by their names. */
function overrideOf(
  file: string,
  tree: TreeFiles,
): ((name: string) => PlacedService | undefined) | undefined {
  const source = besideOf(file, tree, BASE, '.override');
  const [document] = source === undefined ? [] : readSourceFile(source.file, source.text).documents;
  if (source === undefined || document === undefined || !isMap(document.contents)) return undefined;
  const access = new YamlAccess(document);
  const root = document.contents;
  const own = new ComposeFile(source, tree);
  return (name) => {
    const service = access.map(root, 'services', name);
    return service === undefined ? undefined : { file: own, access, root, service };
  };
}

/** The tag or digest of an image that has a part which is not known. */
const UNKNOWN_TAG = new RegExp(`[:@][^/]*${UNKNOWN}[^/]*$`);

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
    const root = isMap(document.contents) ? document.contents : undefined;
    const services = [...access.entries(access.map(root, 'services'))].slice(0, MAX_SERVICES);
    return services.flatMap(([, node]) => (isMap(node) ? envFilesOf(access, node) : []));
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

  /** The programs of a service; `over` is what Compose puts over it. */
  readService(
    { access, root, service }: Service,
    over: PlacedService | undefined,
    name: string,
  ): readonly Launch[] {
    const image = access.text(service, 'image');
    const mounts = this.#mounts({ access, root, service });
    const other = over === undefined ? undefined : over.file.#partOf(over);
    const isPart =
      access.get(service, 'extends') !== undefined ||
      (image === undefined && access.get(service, 'build') === undefined);
    const files = envFilesOf(access, service).map((path) => this.#fileBeside(path));
    const given = files.flatMap((text) => (text === undefined ? [] : [...readEnvFile(text)]));
    return readContainer({
      source: this.#source,
      image: other?.image ?? (image === undefined ? undefined : this.#image(image.value)),
      imageSpan: image === undefined ? undefined : locateScalar(this.#source, image).span,
      entrypoint: other?.entrypoint ?? this.#words(access.get(service, 'entrypoint')),
      command: other?.command ?? this.#words(access.get(service, 'command')),
      env: new Map([
        ...given,
        ...(other?.given ?? []),
        ...this.#environment(access, access.get(service, 'environment')),
        ...(other?.environment ?? []),
      ]),
      installed: this.#installed(access, service),
      service: name,
      isOnHostNetwork: access.text(service, 'network_mode')?.value === 'host',
      hasUnseenEnv: isPart || files.includes(undefined) || other?.hasUnseen === true,
      fileAt: (path) => (over === undefined ? undefined : over.file.#mounts(over)(path)) ?? mounts(path),
    });
  }

  /** What a service of an override file says. */
  #partOf({ access, service }: Service): {
    readonly image: string | undefined;
    readonly entrypoint: readonly Word[] | undefined;
    readonly command: readonly Word[] | undefined;
    readonly given: readonly (readonly [string, Word])[];
    readonly environment: ReadonlyMap<string, Word>;
    readonly hasUnseen: boolean;
  } {
    const words = (key: string): readonly Word[] | undefined =>
      access.get(service, key) === undefined ? undefined : this.#words(access.get(service, key));
    const image = access.text(service, 'image');
    const files = envFilesOf(access, service).map((path) => this.#fileBeside(path));
    return {
      image: image === undefined ? undefined : this.#image(image.value),
      entrypoint: words('entrypoint'),
      command: words('command'),
      given: files.flatMap((text) => (text === undefined ? [] : [...readEnvFile(text)])),
      environment: this.#environment(access, access.get(service, 'environment')),
      hasUnseen: files.includes(undefined),
    };
  }

  /** The files that a service sees at its paths: those beside the compose file that it mounts. */
  #mounts({ access, root, service }: Service): (path: PathSetting) => InnerText | undefined {
    const configs = this.#configs({ access, root, service });
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
      if (configs.has(value)) return configs.get(value);
      for (const [host = '', inside = ''] of pairs) {
        const folder = inside.replace(/\/+$/, '');
        const isInside = folder !== '' && (value === folder || value.startsWith(`${folder}/`));
        if (isInside && host !== '' && !host.startsWith('/'))
          return this.#fileBeside(`${host}${value.slice(folder.length)}`);
      }
      return undefined;
    };
  }

  /** The files that `configs` gives a service, by their paths: with a text of their own, or one beside the compose file. */
  #configs({ access, root, service }: Service): ReadonlyMap<string, InnerText | undefined> {
    const short = access.texts(service, 'configs').map(({ value }) => [value, `/${value}`] as const);
    const long = access.maps(service, 'configs').map((one) => {
      const source = access.text(one, 'source')?.value ?? '';
      return [source, access.text(one, 'target')?.value ?? `/${source}`] as const;
    });
    return new Map(
      [...short, ...long].map(([name, target]) => {
        const config = access.map(root, 'configs', name);
        const content = access.text(config, 'content');
        const file = access.text(config, 'file')?.value;
        if (content === undefined) return [target, file === undefined ? undefined : this.#fileBeside(file)];
        const text = this.#put(content.value);
        if (text === content.value) return [target, scalarText(this.#source, content)];
        const { span } = locateScalar(this.#source, content);
        return [
          target,
          text === undefined ? undefined : textOf({ value: text, span: { ...span, isExact: false } }),
        ];
      }),
    );
  }

  /** The release of Dynamo in an image that is built beside the compose file. */
  #installed(access: YamlAccess, service: YAMLMap): DynamoVersion | undefined {
    const path = buildFile(access, service);
    const text = path === undefined ? undefined : this.#fileBeside(path);
    return text === undefined ? undefined : builtVersion(text.value);
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

  /** A text with its variables; undefined where one of them is not known. */
  #put(text: string): string | undefined {
    const value = this.#filled(text);
    return value.includes(UNKNOWN) ? undefined : value;
  }

  /** An image, without a tag that is not known. */
  #image(text: string): string {
    return this.#filled(text).replace(UNKNOWN_TAG, '');
  }

  #filled(text: string): string {
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
      for (const [name, value] of access.entries(node)) {
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
    const value = word.value === undefined ? undefined : this.#filled(word.value);
    return value === undefined || value === word.value
      ? word
      : wordOfText(value, { ...word.span, isExact: false }, word.mayBeMore);
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
