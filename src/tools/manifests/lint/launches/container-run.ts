import { cutParts, textOfWord, UNKNOWN, type Word, wordOfText } from '../shell/words.js';

/** Programs that start a container from a command line with the options of `docker run`. */
const ENGINES: readonly string[] = ['docker', 'podman', 'nerdctl', 'finch', 'docker-compose'];

/** Options in front of the verb that take a value. */
const GLOBAL_OPTIONS: readonly string[] = [
  ...[
    '--context',
    '-c',
    '--host',
    '-H',
    '--config',
    '--log-level',
    '-l',
    '--tlscacert',
    '--tlscert',
    '--tlskey',
  ],
  ...['--connection', '--url', '--identity', '--root', '--runroot', '--namespace', '-n', '--address', '-a'],
  ...['--file', '-f', '--project-name', '-p', '--project-directory', '--profile', '--env-file'],
];

/** Verbs of which one takes an image, the other a container that is there already. */
const STARTING: readonly string[] = ['run', 'create'];
const ENTERING: readonly string[] = ['exec'];

/** Options of `docker run` that take no value; every other one takes one (docs.docker.com/reference/cli/docker/container/run). */
const SWITCHES: readonly string[] = [
  ...['--detach', '--disable-content-trust', '--help', '--init', '--interactive', '--no-healthcheck'],
  ...['--oom-kill-disable', '--privileged', '--publish-all', '--quiet', '--read-only', '--rm'],
  ...['--sig-proxy', '--tty', '--use-api-socket', '--replace', '--tls-verify', '--rmi'],
];

/** The same in one letter; several may stand together (`-itd`). */
const LETTERS = /^-[ditPq]+$/;

/** Words in front of the verb. */
const MAX_GLOBAL = 20;

/** Words in front of the image: more are no command line of a person. */
const MAX_OPTIONS = 400;

/** A container that a command line starts. */
export interface ContainerRun {
  /** Undefined where it is known only at run time. */
  readonly image: Word | undefined;
  /** Undefined where the image's own is used. */
  readonly entrypoint: Word | undefined;
  readonly command: readonly Word[];
  readonly env: ReadonlyMap<string, Word>;
  /** Whether it gets variables from a file or from options that are not seen. */
  readonly hasUnseenEnv: boolean;
  /** The folders and files of the host that it sees, by their paths inside; the host's is undefined where it is a volume. */
  readonly mounts: readonly { readonly inside: string; readonly host: Word | undefined }[];
  /** Whether it may see others. */
  readonly hasUnseenMounts: boolean;
  /** Whether it uses the network of its host. */
  readonly isOnHostNetwork: boolean;
}

/** The container of `docker run …` or `docker exec …`, behind `sudo` and the like; undefined for every other command. */
export function readContainerRun(words: readonly Word[]): ContainerRun | undefined {
  const at = words.findIndex(({ value }) => ENGINES.includes(value?.split('/').at(-1) ?? ''));
  if (at === -1 || at > 4) return undefined;
  const { verb, isCompose } = verbOf(words, at);
  const isEntering = ENTERING.includes(words[verb]?.value ?? '');
  if (!isEntering && !STARTING.includes(words[verb]?.value ?? '')) return undefined;
  // A container that is there already, and a service of a compose file, have what is not said here.
  const isPart = isEntering || isCompose;
  const env = new Map<string, Word>();
  const mounts: { readonly inside: string; readonly host: Word | undefined }[] = [];
  let hasUnseenEnv = isPart;
  let hasUnseenMounts = isPart;
  let entrypoint: Word | undefined;
  let isOnHostNetwork = false;
  let index = verb + 1;
  for (; index < words.length && index <= verb + MAX_OPTIONS; index += 1) {
    const word = words[index];
    if (word === undefined) break;
    if (word.value === undefined && !/^-./.test(word.known?.prefix ?? '')) {
      // Options in a variable are followed by further ones, an image is not.
      if (!word.mayBeMore || !/^-/.test(words[index + 1]?.value ?? '')) break;
      hasUnseenEnv = true;
      hasUnseenMounts = true;
      continue;
    }
    if (word.value === '--') {
      index += 1;
      break;
    }
    if (!textOfWord(word).startsWith('-')) break;
    const option = readOption(words, index);
    index = option.last;
    if (option.name === '--entrypoint') entrypoint = option.value;
    if (option.name === '--env-file') hasUnseenEnv = true;
    const gpus =
      option.name === '--gpus' ? /device=([\w,-]+)/.exec(option.value?.value ?? '')?.[1] : undefined;
    // As Docker hands them on.
    if (gpus !== undefined)
      env.set('NVIDIA_VISIBLE_DEVICES', {
        value: gpus,
        span: { ...word.span, isExact: false },
        mayBeMore: false,
      });
    if (/^--net(?:work)?$/.test(option.name)) isOnHostNetwork = option.value?.value === 'host';
    if (option.name === '--env' || option.name === '-e')
      hasUnseenEnv = !addVariable(env, option.value) || hasUnseenEnv;
    if (/^(?:-v|--volume|--mount)$/.test(option.name)) {
      const mount = readMount(option.value, option.name === '--mount');
      if (mount === undefined) hasUnseenMounts = true;
      else mounts.push(mount);
    }
    if (option.name === '--volumes-from') hasUnseenMounts = true;
  }
  const image = words[index];
  return image === undefined
    ? undefined
    : {
        image: isPart || image.value === undefined ? undefined : image,
        entrypoint,
        command: words.slice(index + 1),
        env,
        hasUnseenEnv,
        mounts,
        hasUnseenMounts,
        isOnHostNetwork,
      };
}

/** Where the verb stands, behind the options of the program itself. */
function verbOf(
  words: readonly Word[],
  engine: number,
): { readonly verb: number; readonly isCompose: boolean } {
  let isCompose = words[engine]?.value?.endsWith('docker-compose') === true;
  let verb = engine + 1;
  for (; verb < words.length && verb < engine + MAX_GLOBAL; verb += 1) {
    const text = words[verb]?.value ?? '';
    if (text === 'compose') isCompose = true;
    else if (GLOBAL_OPTIONS.includes(text)) verb += 1;
    else if (text !== 'container' && !text.startsWith('-')) break;
  }
  return { verb, isCompose };
}

/** `HOST:INSIDE[:ro]`, or `type=bind,source=HOST,target=INSIDE`; undefined where the path inside is not known. */
function readMount(
  word: Word | undefined,
  isLong: boolean,
): { readonly inside: string; readonly host: Word | undefined } | undefined {
  if (word === undefined) return undefined;
  const text = textOfWord(word);
  const field = (names: string): string | undefined =>
    new RegExp(`(?:^|,)(?:${names})=([^,]*)`).exec(text)?.[1];
  const [host, inside] = isLong
    ? [field('source|src'), field('target|destination|dst')]
    : text.includes(':')
      ? text.split(':')
      : [undefined, text];
  if (inside === undefined || inside === '' || inside.includes(UNKNOWN)) return undefined;
  // A name without a slash is a volume.
  const isPath = host !== undefined && /^[./~\uE000]/.test(host);
  return { inside, host: isPath ? wordOfText(host, word.span, false) : undefined };
}

/** One option, with its value from the same word or from the next. */
function readOption(
  words: readonly Word[],
  index: number,
): { readonly name: string; readonly value: Word | undefined; readonly last: number } {
  const word = words[index];
  const text = word === undefined ? '' : textOfWord(word);
  const equals = text.indexOf('=');
  if (text.startsWith('--') && equals !== -1)
    return { name: text.slice(0, equals), value: cut(word, equals + 1), last: index };
  // `-eNAME=value`, as `-p8000:8000`.
  if (/^-[eplvwuhm]./.test(text)) return { name: text.slice(0, 2), value: cut(word, 2), last: index };
  if (SWITCHES.includes(text) || LETTERS.test(text)) return { name: text, value: undefined, last: index };
  return { name: text, value: words[index + 1], last: index + 1 };
}

function cut(word: Word | undefined, from: number): Word | undefined {
  if (word === undefined) return undefined;
  if (word.value === undefined) return { ...word, known: cutParts(word.known, from) };
  const { span } = word;
  return {
    ...word,
    value: word.value.slice(from),
    span: span.isExact ? { ...span, start: span.start + from } : span,
  };
}

/** False where not even the name is known. A name without a value has the shell's, and a value may be known only at run time: `HF_TOKEN=$TOKEN`. */
function addVariable(env: Map<string, Word>, word: Word | undefined): boolean {
  if (word === undefined) return false;
  const text = word.value ?? word.known?.prefix ?? '';
  const equals = text.indexOf('=');
  if (word.value === undefined && equals === -1) return false;
  const name = equals === -1 ? text : text.slice(0, equals);
  const value = equals === -1 ? { ...word, value: undefined } : cut(word, equals + 1);
  if (value !== undefined) env.set(name, value);
  return true;
}
