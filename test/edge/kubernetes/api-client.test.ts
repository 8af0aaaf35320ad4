import { createServer, type Server } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { createServer as createTcpServer } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { KubernetesApi } from '../../../src/edge/kubernetes/api.js';
import { KubernetesError } from '../../../src/edge/kubernetes/kubernetes-error.js';
import { openCluster } from '../../../src/edge/kubernetes/open-cluster.js';
import { type Clock, systemClock } from '../../../src/edge/platform/clock.js';
import { answer, FakeApiServer, refuse } from '../../support/fake-api-server.js';
import { FakeClock } from '../../support/fake-clock.js';
import { OpenThings } from '../../support/open-things.js';
import { RecordingLogger } from '../../support/recording-logger.js';
import { turns } from '../../support/turns.js';
import { TestAuthority, TestFolder } from '../rpc/certificates.js';

const PODS = '/api/v1/namespaces/kv/pods';
const SECRET = 's3cret-token';
const open = new OpenThings();
const logger = new RecordingLogger();
let server: FakeApiServer;

beforeEach(async () => {
  server = await FakeApiServer.start();
  open.add(() => server.close());
});

afterEach(() => open.close());

async function client(kubeconfig: string, clock: Clock = systemClock): Promise<KubernetesApi> {
  const api = await openCluster({ kubeconfig }, { clock, logger, environment: {} });
  open.add(() => api.close());
  return api;
}

function get(api: KubernetesApi, path = PODS, signal = new AbortController().signal): Promise<unknown> {
  return api.get({ path, signal });
}

async function refusalOf(asking: Promise<unknown>): Promise<string> {
  const error = await asking.then(
    () => new Error('nothing was refused'),
    (reason: unknown) => reason,
  );
  if (!(error instanceof KubernetesError)) throw error;
  expect(`${error.message} ${String(error.cause)}`).not.toContain(SECRET);
  return `${error.code}: ${error.message}`;
}

describe('what is asked', () => {
  it('is shown with a token, and comes back as an object', async () => {
    server.put(PODS, 'a');
    const api = await client(server.kubeconfig(`{token: ${SECRET}}`));
    expect(
      await api.get({
        path: PODS,
        query: { labelSelector: 'a in (b,c)' },
        signal: new AbortController().signal,
      }),
    ).toMatchObject({
      items: [{ metadata: { name: 'a' } }],
    });
    expect(server.requests).toEqual([
      { path: PODS, query: { labelSelector: 'a in (b,c)' }, authorization: `Bearer ${SECRET}` },
    ]);
    expect([api.name, api.namespace]).toEqual([server.url, 'kv']);
  });

  it('goes below the path of a server that has one', async () => {
    server.put('/k8s/clusters/c-1/api/v1/namespaces/kv/pods', 'a');
    const config = server.file(
      'rancher',
      `{clusters: [{name: c, cluster: {server: "${server.url}/k8s/clusters/c-1/"}}], contexts: [{name: x, context: {cluster: c}}], current-context: x}`,
    );
    expect(await get(await client(config))).toMatchObject({ items: [{ metadata: { name: 'a' } }] });
    expect(server.requests[0]?.authorization).toBeUndefined();
  });
});

describe('a token', () => {
  it('that was rotated is read again when the old one is not taken', async () => {
    const file = server.file('token', 'old\n');
    const api = await client(server.kubeconfig(`{tokenFile: token}`));
    server.tokens = new Set(['old']);
    await get(api);
    server.tokens = new Set(['new']);
    server.intercept = ({ authorization }) => {
      // It changes between the reading and the answer.
      if (authorization === 'Bearer old') server.file('token', 'new\n');
      return false;
    };
    await get(api);
    expect(server.requests.map(({ authorization }) => authorization)).toEqual([
      'Bearer old',
      'Bearer old',
      'Bearer new',
    ]);
    expect(file).toContain('token');
  });

  it('that is not accepted is reported with its source, and never shown', async () => {
    server.tokens = new Set();
    const file = server.file('token', SECRET);
    const api = await client(server.kubeconfig('{tokenFile: token}'));
    expect(await refusalOf(get(api))).toBe(
      `unauthorized: ${server.url}: the credentials are not taken (401). They come from ${file}; they may have expired, or be another cluster's`,
    );
    expect(server.requests).toHaveLength(1);
  });

  it.each([
    ['', 'is empty'],
    [`${SECRET}\n${SECRET}`, 'holds no token'],
    [`${SECRET}\u0000`, 'holds no token'],
  ])('file with %j in it is refused without a word of it', async (text, words) => {
    server.file('token', text);
    const api = await client(server.kubeconfig('{tokenFile: token}'));
    expect(await refusalOf(get(api))).toContain(words);
    expect(server.requests).toEqual([]);
  });

  it('file that is gone is named with its field', async () => {
    const api = await client(server.kubeconfig('{tokenFile: nowhere}'));
    expect(await refusalOf(get(api))).toMatch(
      /^no_configuration: .*\/nowhere \(.*config: users\[u\]\.user\.tokenFile\): does not exist$/,
    );
  });
});

describe('a refusal', () => {
  const FORBIDDEN =
    'endpointslices.discovery.k8s.io is forbidden: User "system:serviceaccount:kv:frontend" cannot list resource "endpointslices" in API group "discovery.k8s.io" in the namespace "kv"';

  it.each([
    [
      '/apis/discovery.k8s.io/v1/namespaces/kv/endpointslices',
      'the user system:serviceaccount:kv:frontend may not list endpointslices (discovery.k8s.io) in the namespace kv (403). Add to a Role in the namespace kv that is bound to it: - {apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs: ["list", "watch"]}.',
    ],
    [
      '/apis/apps/v1/namespaces/kv/deployments/worker',
      'may not get deployments/worker (apps) in the namespace kv (403). Add to a Role in the namespace kv that is bound to it: - {apiGroups: ["apps"], resources: ["deployments"], verbs: ["get"]}.',
    ],
    [
      '/api/v1/pods',
      'may not list pods in all namespaces (403). Add to a ClusterRole that is bound to it: - {apiGroups: [""], resources: ["pods"], verbs: ["list", "watch"]}.',
    ],
    ['/version', 'may not read /version (403)'],
  ])('of %s names the verb, the resource and the rule to add', async (path, words) => {
    server.intercept = (_request, response) => {
      refuse(response, 403, FORBIDDEN);
      return true;
    };
    expect(await refusalOf(get(await client(server.kubeconfig()), path))).toContain(words);
  });

  it('of a watch names the watch', async () => {
    server.intercept = (_request, response) => {
      refuse(response, 403, FORBIDDEN.replace('list', 'watch'));
      return true;
    };
    const api = await client(server.kubeconfig());
    const watching = api.watch({ path: PODS, signal: new AbortController().signal })[Symbol.asyncIterator]();
    expect(await refusalOf(watching.next())).toContain('may not watch pods in the namespace kv');
  });

  it('that is none of RBAC repeats the server, and one of nobody says so', async () => {
    const words = [
      'admission webhook denies it',
      'pods is forbidden: User "system:anonymous" cannot list resource "pods"',
    ];
    server.intercept = (_request, response) => {
      refuse(response, 403, words.shift() ?? '');
      return true;
    };
    const api = await client(server.kubeconfig());
    expect(await refusalOf(get(api))).toContain('The server says: admission webhook denies it');
    expect(await refusalOf(get(api))).toContain('Nobody is known by the credentials');
  });

  it.each([
    [404, 'not_found', 'there is no pods in the namespace kv (404): words'],
    [410, 'expired', 'too old to go on from (410): words'],
    [429, 'refused', `answers ${PODS} with status 429: words`],
    [500, 'refused', 'with status 500: words'],
  ])('with status %i is %s', async (status, code, text) => {
    server.intercept = (_request, response) => {
      refuse(response, status, 'words');
      return true;
    };
    const message = await refusalOf(get(await client(server.kubeconfig())));
    expect(message).toContain(`${code}: ${server.url}: `);
    expect(message).toContain(text);
  });

  it('without a status object, or endless, is reported all the same', async () => {
    server.intercept = (_request, response) => {
      response.writeHead(502);
      response.end('<html>'.repeat(100_000));
      return true;
    };
    expect(await refusalOf(get(await client(server.kubeconfig())))).toBe(
      `refused: ${server.url}: answers ${PODS} with status 502`,
    );
  });
});

describe('an answer', () => {
  it('that is no JSON is refused', async () => {
    server.intercept = (_request, response) => {
      response.end('nonsense');
      return true;
    };
    expect(await refusalOf(get(await client(server.kubeconfig())))).toBe(
      `bad_answer: ${server.url}: answers ${PODS} with something that is no JSON`,
    );
  });

  it('that is endless is broken off', async () => {
    server.intercept = (_request, response) => {
      const more = (): void => {
        while (response.write(Buffer.alloc(1024 * 1024)) && !response.destroyed);
        response.once('drain', more);
      };
      more();
      return true;
    };
    expect(await refusalOf(get(await client(server.kubeconfig())))).toMatch(/more than 67108864 bytes/);
  });

  it('that does not come is waited for 30 s, and one that does not end for 60 s', async () => {
    const clock = new FakeClock();
    const api = await client(server.kubeconfig(), clock);
    server.isMute = true;
    const first = refusalOf(get(api));
    await server.changes.until(() => server.requests.length === 1);
    await clock.advanceMs(30_000);
    expect(await first).toBe(`unreachable: ${server.url}: cannot be reached: no answer within 30 s`);
    server.isMute = false;
    server.intercept = (_request, response) => {
      response.write('{');
      return true;
    };
    const second = refusalOf(get(api));
    await server.changes.until(() => server.requests.length === 2);
    while (clock.pendingTimers > 1) await turns();
    await clock.advanceMs(60_000);
    expect(await second).toBe(`unreachable: ${server.url}: no whole answer within 60 s`);
    expect(clock.pendingTimers).toBe(0);
  });

  it('is no longer waited for when nobody wants it', async () => {
    server.isMute = true;
    const api = await client(server.kubeconfig());
    const stop = new AbortController();
    const asking = get(api, PODS, stop.signal);
    await server.changes.until(() => server.requests.length === 1);
    stop.abort(new Error('enough'));
    await expect(asking).rejects.toThrow('enough');
    await expect(get(api, PODS, stop.signal)).rejects.toThrow('enough');
    expect(server.requests).toHaveLength(1);
  });

  it('that is cut into pieces is put together, objects of a watch as well', async () => {
    const events = [
      { type: 'ADDED', object: { text: 'ü€😀'.repeat(50) } },
      { type: 'DELETED', object: {} },
    ];
    server.intercept = (_request, response) => {
      const bytes = Buffer.from(`\n${events.map((event) => JSON.stringify(event)).join('\n')}\n`);
      const next = (at: number): void => {
        if (at >= bytes.length) response.end();
        else response.write(bytes.subarray(at, at + 7), () => next(at + 7));
      };
      next(0);
      return true;
    };
    const api = await client(server.kubeconfig());
    const seen: unknown[] = [];
    for await (const event of api.watch({ path: PODS, signal: new AbortController().signal }))
      seen.push(event);
    expect(seen).toEqual(events);
  });
});

describe('a server', () => {
  it('that does not run, and one that speaks no HTTP, are reported as what they are', async () => {
    const config = server.kubeconfig();
    await server.stop();
    expect(await refusalOf(get(await client(config)))).toContain(
      `unreachable: ${server.url}: cannot be reached: connect ECONNREFUSED`,
    );
    await server.restart();
    const tcp = createTcpServer((socket) => socket.resume().end('SSH-2.0-OpenSSH\r\n'));
    await new Promise<void>((resolve) => tcp.listen(0, '127.0.0.1', resolve));
    open.add(() => new Promise((resolve) => tcp.close(resolve)));
    const { port } = tcp.address() as AddressInfo;
    const other = server.file(
      'ssh',
      `{clusters: [{name: c, cluster: {server: "http://127.0.0.1:${port}"}}], contexts: [{name: x, context: {cluster: c}}], current-context: x}`,
    );
    expect(await refusalOf(get(await client(other)))).toContain('bad_answer: ');
  });

  it('that takes a connection and says nothing is left immediately when the client is closed', async () => {
    let taken: (socket: Socket) => void;
    const first = new Promise<Socket>((resolve) => {
      taken = resolve;
    });
    const tcp = createTcpServer((socket) => taken(socket));
    await new Promise<void>((resolve) => tcp.listen(0, '127.0.0.1', resolve));
    open.add(() => new Promise((resolve) => tcp.close(resolve)));
    const { port } = tcp.address() as AddressInfo;
    const config = server.file(
      'silent',
      `{clusters: [{name: c, cluster: {server: "https://127.0.0.1:${port}"}}], contexts: [{name: x, context: {cluster: c}}], current-context: x}`,
    );
    const api = await client(config);
    const refusal = refusalOf(get(api));
    const socket = await first;
    const gone = new Promise((resolve) =>
      socket
        .resume()
        .once('error', () => undefined)
        .once('close', resolve),
    );
    await api.close();
    await gone;
    expect(await refusal).toContain('unreachable: ');
  });
});

describe('TLS', () => {
  let authority: TestAuthority;
  let folder: TestFolder;
  let https: Server;
  const sockets = new Set<Socket>();
  let subjects: string[];

  beforeEach(async () => {
    authority = await TestAuthority.create();
    folder = new TestFolder();
    subjects = [];
    const { cert, key } = await authority.issue({ hosts: ['api.cluster'] });
    https = createServer(
      { cert, key, ca: authority.pem, requestCert: true, rejectUnauthorized: false },
      (request, response) => {
        const { subject } = (request.socket as TLSSocket).getPeerCertificate();
        subjects.push(subject === undefined ? 'nobody' : String(subject.CN));
        answer(response, {});
      },
    );
    https.on('connection', (socket: Socket) => sockets.add(socket));
    await new Promise<void>((resolve) => https.listen(0, '127.0.0.1', resolve));
    open.add(async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => https.close(resolve));
    });
  });

  function config(cluster: string, user = '{}'): string {
    const { port } = https.address() as AddressInfo;
    return folder.write(
      'config',
      `clusters: [{name: c, cluster: {server: "https://127.0.0.1:${port}", ${cluster}}}]
users: [{name: u, user: ${user}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`,
    );
  }

  const base64 = (text: string): string => Buffer.from(text).toString('base64');

  it('looks at the authority, from the file or the field, and at the name that is asked for', async () => {
    folder.write('ca.crt', authority.pem);
    await get(await client(config('certificate-authority: ca.crt, tls-server-name: api.cluster')));
    await get(
      await client(
        config(`certificate-authority-data: ${base64(authority.pem)}, tls-server-name: api.cluster`),
      ),
    );
    expect(subjects).toEqual(['nobody', 'nobody']);
    expect(
      await refusalOf(get(await client(config(`certificate-authority-data: ${base64(authority.pem)}`)))),
    ).toContain('its certificate has another name: set tls-server-name where that is right');
    const other = await TestAuthority.create('another');
    expect(
      await refusalOf(get(await client(config(`certificate-authority-data: ${base64(other.pem)}`)))),
    ).toMatch(
      /its certificate is not signed by .*config: clusters\[c\]\.cluster\.certificate-authority-data$/,
    );
    expect(await refusalOf(get(await client(config('tls-server-name: api.cluster'))))).toContain(
      'not signed by a public authority, and no certificate-authority is set',
    );
  });

  it('is not looked at when that is asked for, and this is said loudly', async () => {
    await get(await client(config('insecure-skip-tls-verify: true')));
    expect(logger.messages('warn').at(-1)).toContain('is NOT verified (insecure-skip-tls-verify)');
  });

  it('shows a certificate of ours, and the next one once its file has changed', async () => {
    const user = '{client-certificate: me.crt, client-key: me.key}';
    const write = async (name: string): Promise<void> => {
      const { cert, key } = await authority.issue({ name });
      folder.write('me.crt', cert);
      folder.write('me.key', key);
    };
    await write('first');
    folder.write('ca.crt', authority.pem);
    const api = await client(config('certificate-authority: ca.crt, tls-server-name: api.cluster', user));
    await get(api);
    await get(api);
    await write('second');
    await get(api);
    expect(subjects).toEqual(['first', 'first', 'second']);
  });
});
