import { existsSync, readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { KubernetesError } from '../../../src/edge/kubernetes/kubernetes-error.js';
import { openCluster } from '../../../src/edge/kubernetes/open-cluster.js';
import type { Environment } from '../../../src/edge/platform/processes/environment.js';
import { FakeApiServer } from '../../support/fake-api-server.js';
import { FakeClock } from '../../support/fake-clock.js';
import { OpenThings } from '../../support/open-things.js';
import { RecordingLogger } from '../../support/recording-logger.js';
import { turns } from '../../support/turns.js';
import { TestFolder } from '../rpc/certificates.js';

const open = new OpenThings();
let folder: TestFolder;

beforeEach(() => {
  folder = new TestFolder();
});

afterEach(() => open.close());

const modules = (
  environment: Environment = {},
  clock = new FakeClock(),
): { clock: FakeClock; logger: RecordingLogger; environment: Environment } => ({
  clock,
  logger: new RecordingLogger(),
  environment,
});

const cluster = (name: string, host = name): string =>
  `{name: ${name}, cluster: {server: "https://${host}:6443"}}`;
const context = (name: string, more = ''): string => `{name: ${name}, context: {cluster: ${name}${more}}}`;

async function refusalOf(opening: Promise<unknown>): Promise<string> {
  const error = await opening.then(
    () => new Error('nothing was refused'),
    (reason: unknown) => reason,
  );
  if (!(error instanceof KubernetesError)) throw error;
  expect(error.code).toBe('no_configuration');
  return error.message;
}

describe('the API server', () => {
  it('is that of --kubeconfig, else of KUBECONFIG, else of the pod, else of the home folder', async () => {
    const file = (name: string): string =>
      folder.write(
        name,
        `{clusters: [${cluster(name)}], contexts: [${context(name)}], current-context: ${name}}`,
      );
    const account = new TestFolder();
    account.write('token', 'secret');
    account.write('namespace', 'inference\n');
    const home = new TestFolder();
    const environment: Record<string, string> = { HOME: home.path('.') };
    const nameOf = async (options: { kubeconfig?: string; context?: string }): Promise<string> => {
      const api = await openCluster(
        { ...options, serviceAccountFolder: account.path('.') },
        modules(environment),
      );
      return `${api.name} ${api.namespace}`;
    };
    expect(await refusalOf(nameOf({}))).toMatch(
      /^no Kubernetes API server is known: there is no --kubeconfig, KUBECONFIG is not set, this is no pod \(KUBERNETES_SERVICE_HOST is not set\), and .*\/\.kube\/config does not exist$/,
    );
    environment['KUBERNETES_SERVICE_HOST'] = 'fd00::1';
    environment['KUBERNETES_SERVICE_PORT'] = '6443';
    expect(await nameOf({})).toBe('https://[fd00::1]:6443 inference');
    environment['KUBECONFIG'] = `${folder.path('missing')}:${file('env')}`;
    expect(await nameOf({})).toBe('https://env:6443 default');
    expect(await nameOf({ kubeconfig: file('flag') })).toBe('https://flag:6443 default');
  });

  it('of a pod without a token says what to change', async () => {
    expect(
      await refusalOf(
        openCluster(
          { serviceAccountFolder: folder.path('nowhere') },
          modules({ KUBERNETES_SERVICE_HOST: '10.0.0.1' }),
        ),
      ),
    ).toContain('/nowhere/token does not exist: this pod has no service account token; leave automount');
  });

  it('is asked in plaintext only with a warning', async () => {
    const path = folder.write(
      'plain',
      '{clusters: [{name: c, cluster: {server: "http://h:1"}}], contexts: [{name: c, context: {cluster: c}}], current-context: c}',
    );
    const its = modules();
    await openCluster({ kubeconfig: path }, its);
    expect(its.logger.messages('warn')).toEqual([expect.stringContaining('is asked in plaintext')]);
  });
});

describe('a kubeconfig', () => {
  it('has contexts; several files count as one, the first entry of a name before the others', async () => {
    const first = folder.write('first', `{clusters: [${cluster('a', 'one')}], contexts: [${context('b')}]}`);
    const second = folder.write(
      'second',
      `{clusters: [${cluster('a', 'two')}, ${cluster('b', 'three')}], contexts: [${context('a', ', namespace: ns')}], current-context: a}`,
    );
    const its = modules({ KUBECONFIG: `${first}:${second}` });
    const api = await openCluster({}, its);
    expect([api.name, api.namespace]).toEqual(['https://one:6443', 'ns']);
    expect((await openCluster({ context: 'b' }, its)).name).toBe('https://three:6443');
    expect(await refusalOf(openCluster({ context: 'c' }, its))).toContain(
      '--kube-context or current-context names "c", and contexts has no such entry: (there are b, a)',
    );
  });

  const USER = (user: string): string =>
    `{clusters: [${cluster('c')}], users: [{name: u, user: ${user}}], contexts: [${context('c', ', user: u')}], current-context: c}`;

  it.each([
    ['', 'is no kubeconfig'],
    ['7', 'is no kubeconfig: it must have clusters, contexts and users'],
    ['\u{fffd}\u{fffd}\u0001', 'is no kubeconfig'],
    ['clusters:\n- [1', 'is no YAML (BAD_INDENT in line 2)'],
    ['&a [*a, *a]', 'it has aliases'],
    [`${'['.repeat(50_000)}`, 'is no YAML'],
    ['{contexts: []}', 'current-context is not set; choose by --kube-context (contexts is empty)'],
    [
      `{contexts: [${context('c')}], current-context: c}`,
      'names the cluster "c", and clusters has no such entry',
    ],
    [
      `{contexts: [${context('c', ', user: u')}], clusters: [${cluster('c')}], current-context: c}`,
      'names the user "u"',
    ],
    ['{contexts: {}, current-context: c}', 'contexts must be a list'],
    ['{contexts: [{name: c, context: {}}], current-context: c}', 'contexts[c].context.cluster is missing'],
    [
      `{contexts: [${context('c')}], clusters: [{name: c, cluster: {server: 7}}], current-context: c}`,
      'clusters[c].cluster.server must be text',
    ],
    [
      `{contexts: [${context('c')}], clusters: [{name: c, cluster: {server: "https://u:p@h"}}], current-context: c}`,
      'clusters[c].cluster.server must be a URL such as',
    ],
    [
      `{contexts: [${context('c')}], clusters: [{name: c, cluster: {server: "https://h", proxy-url: "http://p"}}], current-context: c}`,
      'clusters[c].cluster.proxy-url is not supported',
    ],
    [
      `{contexts: [${context('c')}], clusters: [{name: c, cluster: {server: "https://h", insecure-skip-tls-verify: 1}}], current-context: c}`,
      'insecure-skip-tls-verify must be true or false',
    ],
    [USER('{username: a, password: s3cret}'), 'users[u].user.username is not supported'],
    [USER('{auth-provider: {name: gcp}}'), 'users[u].user.auth-provider is not supported'],
    [USER('{as: root, token: s3cret}'), 'users[u].user.as is not supported: nobody is impersonated'],
    [USER('{client-certificate: a}'), 'users[u].user.client-key is missing beside the other'],
    [USER('{client-key-data: "%%%"}'), 'users[u].user.client-key-data must be base64'],
    [
      USER('{exec: {apiVersion: client.authentication.k8s.io/v1alpha1, command: x}}'),
      'exec.apiVersion must be client.authentication.k8s.io/v1 or',
    ],
    [USER('{exec: {apiVersion: client.authentication.k8s.io/v1}}'), 'exec.command is missing'],
    [
      USER('{exec: {apiVersion: client.authentication.k8s.io/v1, command: x, interactiveMode: Always}}'),
      'asks a person',
    ],
    [
      USER('{exec: {apiVersion: client.authentication.k8s.io/v1, command: x, args: [1]}}'),
      'exec.args must be a list of texts',
    ],
    [
      USER('{exec: {apiVersion: client.authentication.k8s.io/v1, command: x, env: [{value: s3cret}]}}'),
      'exec.env[0].name is missing',
    ],
  ])('%s is refused with file and field', async (text, words) => {
    const path = folder.write('config', text);
    const message = await refusalOf(openCluster({ kubeconfig: path }, modules()));
    expect(message).toContain(path);
    expect(message).toContain(words);
    expect(message).not.toContain('s3cret');
  });

  it('that is not there, or has no end, is refused', async () => {
    expect(await refusalOf(openCluster({ kubeconfig: folder.path('x') }, modules()))).toContain(
      '/x: does not exist',
    );
    expect(await refusalOf(openCluster({ kubeconfig: '/dev/zero' }, modules()))).toContain('larger than');
    expect(await refusalOf(openCluster({}, modules({ KUBECONFIG: '/nowhere/a:/nowhere/b' })))).toContain(
      'none of these kubeconfig files is there',
    );
  });
});

describe('a credential plugin', () => {
  const API = 'client.authentication.k8s.io/v1';
  let server: FakeApiServer;
  let clock: FakeClock;

  beforeEach(async () => {
    server = await FakeApiServer.start();
    open.add(() => server.close());
    clock = new FakeClock();
  });

  /** Asks with a plugin that is a line of shell; gives what was shown, or the refusal. */
  async function asker(script: string, more = '', apiVersion: string = API): Promise<() => Promise<string>> {
    const path = server.file('plugin', script);
    const user = `{exec: {apiVersion: ${apiVersion}, command: sh, args: ["${path}"]${more}}}`;
    const environment = { PATH: '/usr/bin:/bin' };
    const api = await openCluster({ kubeconfig: server.kubeconfig(user) }, modules(environment, clock));
    open.add(() => api.close());
    return async () => {
      try {
        await api.get({ path: '/api/v1/pods', signal: new AbortController().signal });
        return server.requests.at(-1)?.authorization ?? 'nothing';
      } catch (error) {
        return error instanceof KubernetesError ? `${error.code}: ${error.message}` : String(error);
      }
    };
  }

  const credential = (status: string, apiVersion = API): string =>
    `echo '{"kind":"ExecCredential","apiVersion":"${apiVersion}","status":${status}}'`;

  it.each([API, 'client.authentication.k8s.io/v1beta1'])('of %s gives a token', async (apiVersion) => {
    const ask = await asker(credential('{"token":"t-1"}', apiVersion), '', apiVersion);
    expect(await ask()).toBe('Bearer t-1');
  });

  it('is run once for many requests, and again when its token expires or is not taken', async () => {
    const count = server.file('count', '');
    const expires = new Date(clock.wallMs() + 3_600_000).toISOString();
    const ask = await asker(
      `echo x >> ${count}; n=$(wc -l < ${count}); ${credential(`{"token":"t-'$n'","expirationTimestamp":"${expires}"}`)}`,
    );
    expect(await Promise.all([ask(), ask()])).toEqual(['Bearer t-1', 'Bearer t-1']);
    await clock.advanceMs(3_530_000);
    expect(await ask()).toBe('Bearer t-1');
    await clock.advanceMs(10_000);
    expect(await ask()).toBe('Bearer t-2');
    // The second one has a minute left: nine tenths of it are used.
    expect(await ask()).toBe('Bearer t-2');
    await clock.advanceMs(54_000);
    expect(await ask()).toBe('Bearer t-3');
    server.tokens = new Set(['t-4']);
    expect(await ask()).toBe('Bearer t-4');
  });

  it('gets what it asks for in its environment', async () => {
    const ask = await asker(
      `${credential(`{"token":"'"$GREETING-$(echo "$KUBERNETES_EXEC_INFO" | grep -c insecure-skip)"'"}`)}`,
      ', env: [{name: GREETING, value: hello}], provideClusterInfo: true',
    );
    expect(await ask()).toBe('Bearer hello-1');
  });

  it.each([
    ['echo oops >&2; exit 3', 'it ended with status 3; it says: oops; install it from example.com'],
    ['echo not json', 'what it writes is no JSON'],
    ['echo {}', `it must write an ExecCredential of ${API}`],
    [credential('{}'), 'neither a token nor clientCertificateData with clientKeyData'],
    [credential('{"token":"a b"}'), 'holds no token'],
    [credential('{"token":"s3cret","expirationTimestamp":"soon"}'), 'expirationTimestamp that is no time'],
    ['kill -9 $$', 'it was ended by SIGKILL'],
    ['head -c 2000000 /dev/zero', 'it wrote more than 1048576 bytes'],
  ])('that does `%s` is reported as it is', async (script, words) => {
    const message = await (await asker(script, ', installHint: "install it from example.com"'))();
    expect(message).toContain('no_configuration: the program "sh" (');
    expect(message).toContain('config: users[u].user.exec)');
    expect(message).toContain(words);
    expect(message).not.toContain('s3cret');
  });

  it('that takes long is waited for no longer than asked, and ended with the client', async () => {
    const ran = server.file('ran', '');
    const path = server.file('plugin', `echo $$ > ${ran}; exec sleep 60`);
    const user = `{exec: {apiVersion: ${API}, command: sh, args: ["${path}"]}}`;
    const api = await openCluster(
      { kubeconfig: server.kubeconfig(user) },
      modules({ PATH: '/usr/bin:/bin' }, clock),
    );
    const stop = new AbortController();
    const asking = api.get({ path: '/x', signal: stop.signal });
    let id = 0;
    while (id === 0) {
      await turns();
      id = Number(readFileSync(ran, 'utf8'));
    }
    const enough = new Error('enough');
    stop.abort(enough);
    await expect(asking).rejects.toBe(enough);
    await api.close();
    // Until the system has taken it away.
    while (existsSync(`/proc/${id}/exe`)) await turns();
    expect(clock.pendingTimers).toBe(0);
  });

  it('that is not there is named with its hint', async () => {
    const user = `{exec: {apiVersion: ${API}, command: no-such-program, installHint: get it}}`;
    const api = await openCluster({ kubeconfig: server.kubeconfig(user) }, modules());
    await expect(api.get({ path: '/x', signal: new AbortController().signal })).rejects.toThrow(
      'gives no credentials: it is not there; get it',
    );
  });
});
