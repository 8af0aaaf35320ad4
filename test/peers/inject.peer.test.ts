import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { execPath } from 'node:process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { asNode, type Node, nodesOf, objectsOf, podTemplatesOf } from '../deploy/manifests.js';
import { installGatewayCrds } from './support/gateway-crds.js';
import { type Kube, startKube } from './support/kube.js';
import { lacks, peerPath } from './support/peers.js';
import { type Outcome, run } from './support/run.js';
import { scratchFolder } from './support/scratch.js';
import { OPEN_CRDS, SMALL_CRDS } from './support/small-crds.js';

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const OURS = fileURLToPath(new URL('../fixtures/manifests/inject/', import.meta.url));

/** The manifests that Dynamo ships. */
const SHIPPED = lacks('dynamo')
  ? ''
  : peerPath('dynamo', 'lib/python3.11/site-packages/dynamo/profiler/templates/dgd');

/** Every manifest with the name that it gets in a folder of its own. */
const MANIFESTS: readonly [string, string][] = [
  ...readdirSync(OURS).map((name): [string, string] => [name, join(OURS, name)]),
  ...shipped().map((path): [string, string] => [`dynamo-${path.replaceAll('/', '-')}`, join(SHIPPED, path)]),
];

const WAYS: readonly (readonly string[])[] = [
  ['--insecure'],
  ['--insecure', '--gate=exec', '--sidecar-kind=container'],
  ['--tls-secret=kv-accord-tls'],
  ['--tls-secret=kv-accord-tls', '--gate=exec'],
];

describe('manifests with what inject adds', () => {
  test.each(WAYS.map((way) => way.join(' ')))('come back byte for byte from %s', async (words) => {
    const way = words.split(' ');
    const folder = join(scratchFolder(), way.join(''));
    mkdirSync(folder);
    for (const [name, path] of MANIFESTS) cpSync(path, join(folder, name));
    const texts = (): readonly string[] =>
      MANIFESTS.map(([name]) => readFileSync(join(folder, name), 'utf8'));
    const before = texts();
    expect((await inject(...way, folder)).status).toBe(1);
    expect(texts()).toEqual(before);
    expect(await inject(...way, '--write', folder)).toMatchObject({ status: 0, stdout: '' });
    for (const [index, text] of texts().entries()) expect(text).not.toBe(before[index]);
    expect(await inject(...way, folder)).toMatchObject({ status: 0, stdout: '' });
    expect(await inject('--remove', '--write', folder)).toMatchObject({ status: 0 });
    expect(texts()).toEqual(before);
  });
});

describe.skipIf(lacks('kube'))('a real API server', () => {
  let kube: Kube;

  beforeAll(async () => {
    kube = await startKube();
    await kube.apply([...SMALL_CRDS, ...OPEN_CRDS, LEADER_WORKER_SETS]);
    await installGatewayCrds(kube, 'inferencepools-v1');
    for (const name of ['models', 'restricted', 'serving']) await kube.apply([namespace(name)]);
  });
  afterAll(() => kube.stop());

  /** What the server says against objects; empty when it takes them. */
  async function complaintsOf(objects: readonly Node[], inNamespace: string): Promise<string> {
    const stdin = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects });
    const { stderr } = await kube.kubectl(['apply', '--dry-run=server', '-n', inNamespace, '-f', '-'], stdin);
    return stderr;
  }

  test.each(MANIFESTS)('takes %s', async (name, path) => {
    const stdin = readFileSync(path, 'utf8');
    const texts = await Promise.all(WAYS.map((way) => inject(...way, '--write', '-', { stdin })));
    expect(texts.map(({ status }) => status)).toEqual(WAYS.map(() => 0));
    const placed = texts.flatMap(({ stdout }) => objectsOf(name, stdout));
    const objects = placed.map(({ object }) => object);
    // Those that name no namespace go into the one that RoleBindings are made for.
    const namespaceOf = (object: Node): unknown => asNode(object['metadata'])?.['namespace'] ?? 'default';
    for (const one of new Set(objects.map(namespaceOf)))
      expect(
        await complaintsOf(
          objects.filter((object) => namespaceOf(object) === one),
          String(one),
        ),
      ).toBe('');
    // A StormService has a template of a set of roles, which is none of a pod.
    const specs = [...placed.flatMap(podTemplatesOf), ...objects.flatMap(groupTemplates)]
      .map(({ spec }) => spec)
      .filter((spec) => asNode(spec)?.['containers'] !== undefined);
    expect(await complaintsOf(specs.map(pod), 'default')).toBe('');
    // What is added may stand in a namespace for restricted pods; what was there is its owner's.
    expect(await complaintsOf(specs.map(onlyOurs).map(pod), 'restricted')).toBe('');
  });

  test('the rights that a graph is given are those of discovery, and no more', async () => {
    const { stdout } = await inject('--insecure', '--write', '-', {
      stdin: readFileSync(join(OURS, 'graph-v1alpha1.yaml'), 'utf8'),
    });
    const rights = objectsOf('graph', stdout).filter(({ object }) => /^Role/.test(String(object['kind'])));
    expect(rights).toHaveLength(2);
    await kube.apply(rights.map(({ object }) => object));
    const may = async (...what: readonly string[]): Promise<string> => {
      const account = 'system:serviceaccount:serving:chat-k8s-service-discovery';
      const { stdout: answer } = await kube.kubectl([
        'auth',
        'can-i',
        ...what,
        '-n',
        'serving',
        '--as',
        account,
      ]);
      return answer.trim();
    };
    for (const verb of ['get', 'list', 'watch']) expect(await may(verb, 'pods')).toBe('yes');
    expect(await may('get', 'dynamographdeployments.nvidia.com/chat')).toBe('yes');
    expect(await may('get', 'dynamographdeployments.nvidia.com/other')).toBe('no');
    for (const what of ['secrets', 'configmaps']) expect(await may('get', what)).toBe('no');
    expect(await may('delete', 'pods')).toBe('no');
  });
});

/** Runs the built program as a user would. */
function inject(...args: readonly (string | { readonly stdin: string })[]): Promise<Outcome> {
  const words = args.filter((arg) => typeof arg === 'string');
  const options = args.find((arg) => typeof arg !== 'string') ?? {};
  return run(execPath, [MAIN, 'inject', ...words], options);
}

function shipped(): readonly string[] {
  if (SHIPPED === '' || !existsSync(SHIPPED)) return [];
  return readdirSync(SHIPPED, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.yaml'));
}

function pod(spec: Node, index: number): Node {
  // Dynamo's operator gives an image where a component has none.
  const containers = nodesOf(spec['containers']).map((container) => ({
    image: 'of-the-operator',
    ...container,
  }));
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name: `pod-${index}` }, spec: { ...spec, containers } };
}

/** The pod with nothing in it but what was added, and a container beside it that may be restricted. */
function onlyOurs(spec: Node): Node {
  const isOurs = ({ name }: Node): boolean => /^kv-accord/.test(String(name));
  const plain = {
    name: 'plain',
    image: 'plain',
    securityContext: {
      allowPrivilegeEscalation: false,
      runAsNonRoot: true,
      capabilities: { drop: ['ALL'] },
      seccompProfile: { type: 'RuntimeDefault' },
    },
  };
  return {
    initContainers: nodesOf(spec['initContainers']).filter(isOurs),
    containers: [plain, ...nodesOf(spec['containers']).filter(isOurs)],
    volumes: nodesOf(spec['volumes']).filter(isOurs),
  };
}

/** The two templates of a LeaderWorkerSet. */
function groupTemplates(object: Node): readonly { readonly spec: Node }[] {
  const group = asNode(asNode(object['spec'])?.['leaderWorkerTemplate']) ?? {};
  return ['leaderTemplate', 'workerTemplate'].flatMap((name) => {
    const spec = asNode(asNode(group[name])?.['spec']);
    return spec === undefined ? [] : [{ spec }];
  });
}

function namespace(name: string): object {
  const labels = name === 'restricted' ? { 'pod-security.kubernetes.io/enforce': 'restricted' } : {};
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } };
}

/** Its frame alone: the pods in it are looked at as pods. */
const LEADER_WORKER_SETS = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'leaderworkersets.leaderworkerset.x-k8s.io' },
  spec: {
    group: 'leaderworkerset.x-k8s.io',
    scope: 'Namespaced',
    names: { kind: 'LeaderWorkerSet', plural: 'leaderworkersets', singular: 'leaderworkerset' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: { spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
          },
        },
      },
    ],
  },
};
