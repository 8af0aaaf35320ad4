import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { modelCard } from '../support/dynamo-folder.js';
import { type Kube, startKube } from './support/kube.js';
import { membersOf, ServiceAccount } from './support/kube-fleet.js';
import { PodPlay } from './support/kube-pods.js';
import { logLines, type Served, startAggregatorWith } from './support/kv-accord.js';
import { lacks } from './support/peers.js';
import { until } from './support/until.js';

const NAMESPACE = 'inference';
const GRAPH = { 'nvidia.com/dynamo-graph-deployment-name': 'chat' };
const SELECTOR = 'nvidia.com/dynamo-graph-deployment-name=chat';

/** The kind as Dynamo's chart defines it: whatever its workers write. */
const DEFINITION = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'dynamoworkermetadatas.nvidia.com' },
  spec: {
    group: 'nvidia.com',
    scope: 'Namespaced',
    names: {
      kind: 'DynamoWorkerMetadata',
      listKind: 'DynamoWorkerMetadataList',
      plural: 'dynamoworkermetadatas',
      singular: 'dynamoworkermetadata',
    },
    versions: [
      {
        name: 'v1alpha1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
};

const METADATA_RIGHTS = [
  { apiGroups: ['nvidia.com'], resources: ['dynamoworkermetadatas'], verbs: ['list', 'watch'] },
];
const POD_RIGHTS = [{ apiGroups: [''], resources: ['pods'], verbs: ['get', 'list', 'watch'] }];

describe.skipIf(lacks('kube', 'grpcurl'))("a Dynamo fleet in a cluster, known by its workers' cards", () => {
  let kube: Kube;
  let pods: PodPlay;
  let account: ServiceAccount;
  let everybody: Served;
  let graph: Served;

  beforeAll(async () => {
    kube = await startKube();
    pods = await PodPlay.on(kube);
    expect(await kube.kubectl(['create', 'namespace', NAMESPACE])).toMatchObject({ status: 0 });
    // What the controller of service accounts would make, which pods may not be without.
    await ServiceAccount.make(kube, NAMESPACE, 'default');
    account = await ServiceAccount.make(kube, NAMESPACE, 'frontend');
  });
  afterAll(async () => {
    for (const served of [everybody, graph]) await served?.program.stop();
    await kube?.stop();
  });

  function follow(name: string, target: string): Promise<Served> {
    const flags = ['--workers', target, '--kubeconfig', account.kubeconfig, '--settle', '500ms'];
    return startAggregatorWith(name, flags);
  }

  /** Pods, and the objects that their workers write beside them: all together, lest one is agreed on before the next. */
  async function workers(
    sizes: Readonly<Record<string, number>>,
    labels: Readonly<Record<string, string>>,
  ): Promise<void> {
    for (const name of Object.keys(sizes)) await pods.create({ namespace: NAMESPACE, name, labels });
    await register(sizes);
  }

  async function register(sizes: Readonly<Record<string, number>>): Promise<void> {
    const objects = Object.entries(sizes).map(async ([name, size]) => {
      const path = `/api/v1/namespaces/${NAMESPACE}/pods/${name}`;
      const { uid } = (await kube.ask<{ metadata: { uid: string } }>('GET', path)).metadata;
      const card: unknown = JSON.parse(modelCard({ size }));
      return {
        apiVersion: 'nvidia.com/v1alpha1',
        kind: 'DynamoWorkerMetadata',
        metadata: {
          name,
          namespace: NAMESPACE,
          ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name, uid, controller: true }],
        },
        spec: { data: { endpoints: {}, model_cards: { 'dynamo/backend/generate/2a': card } } },
      };
    });
    await kube.apply(await Promise.all(objects));
  }

  function members(served: Served, expected: Readonly<Record<string, string>>): Promise<unknown> {
    return until(`the members ${JSON.stringify(expected)}`, async () => {
      const found = await membersOf(served);
      return JSON.stringify(found) === JSON.stringify(expected);
    });
  }

  function saying(served: Served, words: string): Promise<unknown> {
    return until(words, () => logLines(served.program).some(({ msg }) => msg.includes(words)));
  }

  it('is reported in words while the account may not read, and while the kind is not there', async () => {
    everybody = await follow('everybody', `dynamo-k8s://${NAMESPACE}`);
    await saying(everybody, `the user ${account.user} may not list dynamoworkermetadatas`);
    await account.allow(METADATA_RIGHTS);
    await saying(everybody, `has no DynamoWorkerMetadata (nvidia.com/v1alpha1) in ${NAMESPACE}`);
    await kube.apply([DEFINITION]);
  });

  it('is agreed on by its cards, and followed as workers come, change and go', async () => {
    await until('the kind', async () => {
      const path = `/apis/nvidia.com/v1alpha1/namespaces/${NAMESPACE}/dynamoworkermetadatas`;
      return (await kube.request('GET', path)).status === 200;
    });
    await workers({ 'worker-0': 32, 'worker-1': 16 }, GRAPH);
    await until('a conflict', () =>
      logLines(everybody.program).some(({ msg }) => msg.includes('disagree on the KV block size')),
    );
    await register({ 'worker-1': 32 });
    await members(everybody, { 'worker-0': 'conforming', 'worker-1': 'conforming' });
    await workers({ stranger: 64 }, {});
    await members(everybody, {
      stranger: 'dissenting',
      'worker-0': 'conforming',
      'worker-1': 'conforming',
    });
  });

  it('is the part of a namespace whose pods a selector names, and drains as they end', async () => {
    graph = await follow('graph', `dynamo-k8s://${NAMESPACE}?selector=${SELECTOR}`);
    await saying(graph, `the user ${account.user} may not list pods`);
    await account.allow([...METADATA_RIGHTS, ...POD_RIGHTS]);
    await members(graph, { 'worker-0': 'conforming', 'worker-1': 'conforming' });
    await pods.run({ namespace: NAMESPACE, name: 'worker-1' }, '10.0.0.1');
    await pods.terminate({ namespace: NAMESPACE, name: 'worker-1' });
    await members(graph, { 'worker-0': 'conforming', 'worker-1': 'draining' });
    await pods.finish({ namespace: NAMESPACE, name: 'worker-1' });
    await members(graph, { 'worker-0': 'conforming' });
  });
});
