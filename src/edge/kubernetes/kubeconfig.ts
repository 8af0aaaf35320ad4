import { dirname, isAbsolute, resolve } from 'node:path';
import { LineCounter, parseDocument } from 'yaml';
import { formFor, nameSome } from '../../core/text/lists.js';
import type { Clock } from '../platform/clock.js';
import { CONFIG_YAML_BOUNDS, findYamlExcess, YAML_EXCESS } from '../platform/data/yaml-bounds.js';
import { explainSystemError, readTextFile } from '../platform/files/file.js';
import type { Environment } from '../platform/processes/environment.js';
import type { RunProgram } from '../platform/processes/run-program.js';
import type { ClusterAccess } from './cluster-access.js';
import { ConfigReader } from './config-reader.js';
import type { Content } from './content.js';
import { EXEC_API_VERSIONS, ExecLogin } from './exec-login.js';
import { KubernetesError } from './kubernetes-error.js';
import { ContentLogin, type Login } from './login.js';
import { textAt, valueAt } from './read-json.js';

/** Largest kubeconfig: one with a hundred clusters and their certificates has 400 KiB. */
const MAX_FILE_BYTES = 2 * 1024 * 1024;

/** Files that KUBECONFIG may list. */
const MAX_FILES = 32;

export interface KubeconfigModules {
  readonly clock: Clock;
  readonly environment: Environment;
  readonly runProgram: RunProgram;
}

/** One kubeconfig file. */
interface ConfigFile {
  readonly path: string;
  readonly content: unknown;
}

/**
 * Reads kubeconfig files as kubectl does: what stands first counts, and paths
 * are relative to the file that names them. Rejects with a `KubernetesError`
 * that names file and field.
 */
export async function readKubeconfig(
  paths: readonly string[],
  contextName: string | undefined,
  modules: KubeconfigModules,
): Promise<ClusterAccess> {
  const files: ConfigFile[] = [];
  for (const path of paths.slice(0, MAX_FILES)) {
    const file = await readFile(path, paths.length > 1);
    if (file !== undefined) files.push(file);
  }
  if (files.length === 0) throw fault(`${paths.join(', ')}: none of these kubeconfig files is there`);
  const where = files.map(({ path }) => path).join(', ');
  const name =
    contextName ??
    files.map(({ content }) => textAt(content, 'current-context')).find((text) => text !== undefined);
  if (name === undefined)
    throw fault(
      `${where}: current-context is not set; choose by --kube-context ${namesIn(files, 'contexts')}`,
    );
  const context = entryOf(
    files,
    'contexts',
    name,
    `--kube-context or current-context names "${name}"`,
  ).reader.object('context');
  const clusterName = context.required('cluster');
  const cluster = entryOf(
    files,
    'clusters',
    clusterName,
    `the context "${name}" names the cluster "${clusterName}"`,
  );
  const userName = context.text('user');
  const user =
    userName === undefined
      ? undefined
      : entryOf(files, 'users', userName, `the context "${name}" names the user "${userName}"`);
  return {
    ...readCluster(cluster.reader.object('cluster'), cluster.folder),
    namespace: context.text('namespace') ?? 'default',
    login:
      user === undefined
        ? new ContentLogin({})
        : readUser(user.reader.object('user'), user.folder, cluster.reader.object('cluster'), modules),
  };
}

async function readFile(path: string, mayBeMissing: boolean): Promise<ConfigFile | undefined> {
  let text: string;
  try {
    text = await readTextFile(path, MAX_FILE_BYTES);
  } catch (error) {
    if (mayBeMissing && error instanceof Error && 'code' in error && error.code === 'ENOENT')
      return undefined;
    throw fault(`${path}: ${explainSystemError(error)}`, error);
  }
  const excess = findYamlExcess(text, CONFIG_YAML_BOUNDS);
  if (excess !== undefined) throw fault(`${path}: is no YAML that can be read: it ${YAML_EXCESS[excess]}`);
  let content: unknown;
  try {
    const lines = new LineCounter();
    const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, merge: false });
    const [problem] = document.errors;
    // The parser's message has no text of the file in it, which holds secrets.
    if (problem !== undefined)
      throw fault(`${path}: is no YAML (${problem.code} in line ${lines.linePos(problem.pos[0]).line})`);
    content = document.toJS({ maxAliasCount: 0 });
    if (typeof content !== 'object' || content === null || Array.isArray(content))
      throw fault(
        `${path}: is no kubeconfig: it must have clusters, contexts and users, as kubectl config view --flatten prints them`,
      );
  } catch (error) {
    if (error instanceof KubernetesError) throw error;
    throw fault(`${path}: is no YAML that can be read: it has aliases or is nested too deeply`, error);
  }
  return { path, content };
}

/** The first entry of `list` with this name, in any of the files. */
function entryOf(
  files: readonly ConfigFile[],
  list: 'clusters' | 'contexts' | 'users',
  name: string,
  why: string,
): { readonly reader: ConfigReader; readonly folder: string } {
  for (const { path, content } of files) {
    const top = new ConfigReader(content, `${path}: `);
    for (const item of top.list(list)) {
      if (valueAt(item, 'name') === name)
        return { reader: new ConfigReader(item, `${path}: ${list}[${name}]`), folder: dirname(path) };
    }
  }
  const where = files.map(({ path }) => path).join(', ');
  throw fault(`${where}: ${why}, and ${list} has no such entry: ${namesIn(files, list)}`);
}

function namesIn(files: readonly ConfigFile[], list: string): string {
  const names = files.flatMap(({ content }) => {
    const items = valueAt(content, list);
    return Array.isArray(items) ? items.flatMap((item) => textAt(item, 'name') ?? []) : [];
  });
  if (names.length === 0) return `(${list} is empty)`;
  return `(there ${formFor(names.length, 'is', 'are')} ${nameSome(names)})`;
}

function readCluster(
  cluster: ConfigReader,
  folder: string,
): Pick<ClusterAccess, 'server' | 'ca' | 'serverName' | 'skipsVerification'> {
  if (cluster.has('proxy-url'))
    throw cluster.fault('proxy-url', 'is not supported; reach the server directly');
  return {
    server: serverOf(cluster.required('server'), () =>
      cluster.fault('server', 'must be a URL such as https://10.0.0.1:6443, without user name and query'),
    ),
    ca: contentOf(cluster, folder, 'certificate-authority'),
    serverName: cluster.text('tls-server-name'),
    skipsVerification: cluster.flag('insecure-skip-tls-verify'),
  };
}

/** The server's URL without a slash at its end. Throws what `refuse` makes. */
function serverOf(text: string, refuse: () => KubernetesError): URL {
  if (!URL.canParse(text)) throw refuse();
  const url = new URL(text);
  const isPlain = url.username === '' && url.password === '' && url.search === '' && url.hash === '';
  if (!isPlain || (url.protocol !== 'https:' && url.protocol !== 'http:')) throw refuse();
  url.pathname = url.pathname.replace(/\/+$/, '');
  return url;
}

/** Fields of users that would give us another identity, or need a dialogue: ignoring them would be wrong in silence. */
const REFUSED_USER_FIELDS: Readonly<Record<string, string>> = {
  username: 'is not supported: API servers have taken no passwords since 1.19; use a token or a certificate',
  password: 'is not supported: API servers have taken no passwords since 1.19; use a token or a certificate',
  'auth-provider': 'is not supported: kubectl has dropped it with 1.26; use exec with a credential plugin',
  as: 'is not supported: nobody is impersonated; use a user of its own',
  'as-uid': 'is not supported: nobody is impersonated; use a user of its own',
  'as-groups': 'is not supported: nobody is impersonated; use a user of its own',
};

function readUser(
  user: ConfigReader,
  folder: string,
  cluster: ConfigReader,
  modules: KubeconfigModules,
): Login {
  for (const [name, problem] of Object.entries(REFUSED_USER_FIELDS))
    if (user.has(name)) throw user.fault(name, problem);
  if (user.has('exec'))
    return new ExecLogin(readExec(user.object('exec'), folder, cluster, modules), modules);
  const inlineToken = user.text('token');
  const tokenFile = user.text('tokenFile');
  const certificate = contentOf(user, folder, 'client-certificate');
  const key = contentOf(user, folder, 'client-key');
  if ((certificate === undefined) !== (key === undefined))
    throw user.fault(
      certificate === undefined ? 'client-certificate' : 'client-key',
      'is missing beside the other',
    );
  // A file outranks what stands here, as in kubectl.
  const token: Content | undefined =
    tokenFile !== undefined
      ? { file: pathIn(folder, tokenFile), from: `${user.place}.tokenFile` }
      : inlineToken === undefined
        ? undefined
        : { text: inlineToken, from: `${user.place}.token` };
  return new ContentLogin({ token, certificate, key });
}

function readExec(
  exec: ConfigReader,
  folder: string,
  cluster: ConfigReader,
  { environment }: KubeconfigModules,
): ConstructorParameters<typeof ExecLogin>[0] {
  const apiVersion = exec.required('apiVersion');
  if (!EXEC_API_VERSIONS.includes(apiVersion))
    throw exec.fault('apiVersion', `must be ${EXEC_API_VERSIONS.join(' or ')}`);
  if (exec.text('interactiveMode') === 'Always')
    throw exec.fault('interactiveMode', 'is Always: a program that asks a person cannot be used here');
  const command = exec.required('command');
  const own: Record<string, string> = {};
  for (const [index, item] of exec.list('env').entries()) {
    const variable = new ConfigReader(item, `${exec.place}.env[${index}]`);
    own[variable.required('name')] = variable.text('value') ?? '';
  }
  const args = exec.list('args').map((argument) => {
    if (typeof argument !== 'string') throw exec.fault('args', 'must be a list of texts');
    return argument;
  });
  return {
    apiVersion,
    // What has a slash in it is a path from the file's folder; what has none is looked for on PATH.
    command: command.includes('/') ? pathIn(folder, command) : command,
    args,
    environment: { ...environment, ...own },
    installHint: exec.text('installHint'),
    cluster: exec.flag('provideClusterInfo')
      ? {
          server: cluster.text('server'),
          'certificate-authority-data': cluster.text('certificate-authority-data'),
          'insecure-skip-tls-verify': cluster.flag('insecure-skip-tls-verify'),
          'tls-server-name': cluster.text('tls-server-name'),
        }
      : undefined,
    from: exec.place,
  };
}

/** `NAME-data` in base64 outranks the path in `NAME`, as in kubectl. */
function contentOf(reader: ConfigReader, folder: string, name: string): Content | undefined {
  const text = reader.decoded(`${name}-data`);
  if (text !== undefined) return { text, from: `${reader.place}.${name}-data` };
  const path = reader.text(name);
  return path === undefined ? undefined : { file: pathIn(folder, path), from: `${reader.place}.${name}` };
}

function pathIn(folder: string, path: string): string {
  return isAbsolute(path) ? path : resolve(folder, path);
}

function fault(message: string, cause?: unknown): KubernetesError {
  return new KubernetesError('no_configuration', message, cause === undefined ? {} : { cause });
}
