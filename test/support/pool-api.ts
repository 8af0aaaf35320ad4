/** The least of a Kubernetes API that an Endpoint Picker needs: one pool and its pods, which never change. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface PoolSketch {
  /** IP addresses of its pods. */
  readonly addresses: readonly string[];
  /** Ports of each pod: an endpoint each. */
  readonly ports: readonly number[];
  /** Priorities by the name of their `InferenceObjective`. Default none. */
  readonly priorities?: Readonly<Record<string, number>>;
}

/** Namespace and name of the pool. */
export const POOL = { namespace: 'default', name: 'pool' } as const;

const GROUP = 'inference.networking.k8s.io/v1';
const OBJECTIVES = 'inference.networking.x-k8s.io/v1alpha2';
const LABELS = { app: 'engine' };

/** A server of it. */
export interface PoolApi {
  /** A kubeconfig that leads to it. */
  readonly kubeconfig: string;
  stop(): Promise<void>;
}

/** Starts one on the loopback. */
export async function startPoolApi(sketch: PoolSketch): Promise<PoolApi> {
  const server = createServer((request, response) => answer(sketch, request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const named = (name: string, value: object): object => ({ name, ...value });
  return {
    // JSON is YAML.
    kubeconfig: JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'it',
      clusters: [named('it', { cluster: { server: `http://127.0.0.1:${port}` } })],
      users: [named('it', { user: {} })],
      contexts: [named('it', { context: { cluster: 'it', user: 'it', namespace: POOL.namespace } })],
    }),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function answer(sketch: PoolSketch, request: IncomingMessage, response: ServerResponse): void {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://api');
  const collection = collections(sketch).find(({ path }) => path === pathname);
  const body = collection === undefined ? discovery(pathname) : listOf(collection);
  if (body === undefined) {
    send(response, 404, {
      apiVersion: 'v1',
      kind: 'Status',
      status: 'Failure',
      reason: 'NotFound',
      code: 404,
    });
  } else if (collection === undefined || searchParams.get('watch') !== 'true') send(response, 200, body);
  else watch(collection, searchParams.get('sendInitialEvents') === 'true', response);
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

/** Says what there is where that is asked, and nothing more: nothing changes. */
function watch({ apiVersion, kind, items }: Collection, sendsItems: boolean, response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  const event = (type: string, object: object): void =>
    void response.write(`${JSON.stringify({ type, object })}\n`);
  if (sendsItems) {
    for (const item of items) event('ADDED', item);
    const annotations = { 'k8s.io/initial-events-end': 'true' };
    event('BOOKMARK', { apiVersion, kind, metadata: { resourceVersion: VERSION, annotations } });
  }
  response.flushHeaders();
}

const VERSION = '1';

interface Collection {
  readonly path: string;
  readonly apiVersion: string;
  readonly kind: string;
  readonly items: readonly object[];
}

function listOf({ apiVersion, kind, items }: Collection): object {
  return { apiVersion, kind: `${kind}List`, metadata: { resourceVersion: VERSION }, items };
}

function collections({ addresses, ports, priorities = {} }: PoolSketch): readonly Collection[] {
  const { namespace, name } = POOL;
  return [
    {
      path: `/api/v1/namespaces/${namespace}/pods`,
      apiVersion: 'v1',
      kind: 'Pod',
      items: addresses.map((podIP, at) => podOf(`engine-${at}`, podIP)),
    },
    {
      path: `/apis/${GROUP}/namespaces/${namespace}/inferencepools`,
      apiVersion: GROUP,
      kind: 'InferencePool',
      items: [
        {
          apiVersion: GROUP,
          kind: 'InferencePool',
          metadata: metadataOf(name),
          spec: {
            selector: { matchLabels: LABELS },
            targetPorts: ports.map((number) => ({ number })),
            endpointPickerRef: { name: 'picker', port: { number: 9002 } },
          },
        },
      ],
    },
    {
      path: `/apis/${OBJECTIVES}/namespaces/${namespace}/inferenceobjectives`,
      apiVersion: OBJECTIVES,
      kind: 'InferenceObjective',
      items: Object.entries(priorities).map(([objective, priority]) => ({
        apiVersion: OBJECTIVES,
        kind: 'InferenceObjective',
        metadata: metadataOf(objective),
        spec: { priority, poolRef: { name } },
      })),
    },
  ];
}

function podOf(name: string, podIP: string): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...metadataOf(name), labels: LABELS },
    spec: { containers: [{ name: 'engine', image: 'engine' }] },
    status: {
      phase: 'Running',
      podIP,
      podIPs: [{ ip: podIP }],
      conditions: [{ type: 'Ready', status: 'True' }],
    },
  };
}

function metadataOf(name: string): object {
  const { namespace } = POOL;
  return { name, namespace, uid: name, resourceVersion: VERSION, generation: 1 };
}

/** What clients ask to learn which kinds there are. */
function discovery(path: string): object | undefined {
  const resource = (name: string, kind: string): object => ({
    name,
    singularName: kind.toLowerCase(),
    namespaced: true,
    kind,
    verbs: ['get', 'list', 'watch'],
  });
  const [group] = GROUP.split('/');
  const version = { groupVersion: GROUP, version: 'v1' };
  const served = { name: group, versions: [version], preferredVersion: version };
  switch (path) {
    case '/api':
      return { kind: 'APIVersions', versions: ['v1'] };
    case '/apis':
      return { kind: 'APIGroupList', apiVersion: 'v1', groups: [served] };
    case '/api/v1':
      return { kind: 'APIResourceList', groupVersion: 'v1', resources: [resource('pods', 'Pod')] };
    case `/apis/${group}`:
      return { kind: 'APIGroup', apiVersion: 'v1', ...served };
    case `/apis/${GROUP}`:
      return {
        kind: 'APIResourceList',
        apiVersion: 'v1',
        groupVersion: GROUP,
        resources: [resource('inferencepools', 'InferencePool')],
      };
    default:
      return undefined;
  }
}
