import { describe, expect, it } from 'vitest';
import type { KubernetesApi } from '../../../../src/edge/kubernetes/api.js';
import { KubernetesError } from '../../../../src/edge/kubernetes/kubernetes-error.js';
import {
  ExpectedCount,
  type ExpectedCountOptions,
} from '../../../../src/fleet/discovery/kubernetes/expected-count.js';
import type { PodClue } from '../../../../src/fleet/discovery/kubernetes/pod-controllers.js';

const NS = '/namespaces/kv';
const LWS_LABEL = 'leaderworkerset.sigs.k8s.io';

/** A cluster that holds these objects by their paths; what is not there is 404, what is an error is thrown. */
function cluster(objects: Readonly<Record<string, unknown>>): { api: KubernetesApi; asked: string[] } {
  const asked: string[] = [];
  const api: KubernetesApi = {
    name: 'https://cluster',
    namespace: 'kv',
    get: async ({ path }) => {
      asked.push(path);
      const found = objects[path];
      if (found instanceof Error) throw found;
      if (found === undefined) throw new KubernetesError('not_found', `there is no ${path}`);
      return found;
    },
    watch: () => {
      throw new Error('nobody watches here');
    },
    close: async () => undefined,
  };
  return { api, asked };
}

function count(
  objects: Readonly<Record<string, unknown>>,
  pods: readonly PodClue[],
  options: Partial<ExpectedCountOptions> = {},
): Promise<unknown> {
  const counter = new ExpectedCount({ namespace: 'kv', ...options }, cluster(objects));
  return counter.count(pods, new AbortController().signal);
}

const owned = (name: string, kind?: string, by = 'worker-1', apiVersion = 'apps/v1'): PodClue => ({
  name,
  draining: false,
  isKnown: true,
  owner: kind === undefined ? undefined : { apiVersion, kind, name: by },
});

const unseen = (name: string): PodClue => ({ name, draining: false, isKnown: false });

const controlledBy = (kind: string, name: string, apiVersion = 'apps/v1'): object => ({
  metadata: {
    ownerReferences: [
      { apiVersion, kind, name },
      { apiVersion, kind, name, controller: true },
    ],
  },
});

const replicas = (count: number): object => ({ spec: { replicas: count } });

const DEPLOYMENT = {
  [`/apis/apps/v1${NS}/replicasets/worker-1`]: controlledBy('Deployment', 'worker'),
  [`/apis/apps/v1${NS}/replicasets/worker-2`]: controlledBy('Deployment', 'worker'),
  [`/apis/apps/v1${NS}/deployments/worker`]: replicas(8),
};

const forbidden = new KubernetesError('forbidden', 'the user x may not get replicasets. Add a rule.');

describe('the workers that are expected', () => {
  it('are the replicas of the Deployment, whichever of its ReplicaSets the pods are of', async () => {
    expect(
      await count(DEPLOYMENT, [owned('a', 'ReplicaSet', 'worker-1'), owned('b', 'ReplicaSet', 'worker-2')]),
    ).toEqual({ expected: { count: 8, origin: 'Deployment worker' }, problems: [] });
  });

  it.each([
    ['StatefulSet', 'apps/v1', `/apis/apps/v1${NS}/statefulsets/o`, replicas(3), 3],
    ['StatefulSet', 'apps/v1', `/apis/apps/v1${NS}/statefulsets/o`, { spec: {} }, 1],
    ['ReplicaSet', 'apps/v1', `/apis/apps/v1${NS}/replicasets/o`, replicas(4), 4],
    ['DaemonSet', 'apps/v1', `/apis/apps/v1${NS}/daemonsets/o`, { status: { desiredNumberScheduled: 5 } }, 5],
    ['Job', 'batch/v1', `/apis/batch/v1${NS}/jobs/o`, { spec: { parallelism: 2 } }, 2],
    ['PodClique', 'grove.io/v1alpha1', `/apis/grove.io/v1alpha1${NS}/podcliques/o`, replicas(6), 6],
    ['ReplicationController', 'v1', `/api/v1${NS}/replicationcontrollers/o`, replicas(7), 7],
  ])('of a %s are what it asks for', async (kind, apiVersion, path, object, expected) => {
    expect(await count({ [path]: object }, [owned('a', kind, 'o', apiVersion)])).toEqual({
      expected: { count: expected, origin: `${kind} o` },
      problems: [],
    });
  });

  const LWS = {
    [`/apis/leaderworkerset.x-k8s.io/v1${NS}/leaderworkersets/big`]: {
      spec: { replicas: 2, leaderWorkerTemplate: { size: 4 } },
    },
  };
  const inGroup = (index: string): PodClue => ({
    ...owned(`big-0-${index}`, 'StatefulSet', 'big-0'),
    leaderWorkerSet: { name: 'big', index },
  });

  it('of a LeaderWorkerSet are all pods of its groups, or the leaders where they alone are listed', async () => {
    expect(await count(LWS, [inGroup('0'), inGroup('1')])).toMatchObject({
      expected: { count: 8, origin: 'LeaderWorkerSet big' },
    });
    expect(await count(LWS, [inGroup('0')])).toMatchObject({ expected: { count: 2 } });
    // All pods are selected, but the groups have only begun.
    expect(await count(LWS, [inGroup('0')], { leadersOnly: false })).toMatchObject({
      expected: { count: 8 },
    });
    // A group is ready, and of its pods the leader alone is selected, by a label of its own.
    const [[path, object] = ['', {}]] = Object.entries(LWS);
    const ready = { [path]: { ...object, status: { readyReplicas: 1 } } };
    expect(await count(ready, [inGroup('0')], { leadersOnly: false })).toMatchObject({
      expected: { count: 2 },
    });
    expect(await count(ready, [inGroup('0'), inGroup('2')], { leadersOnly: false })).toMatchObject({
      expected: { count: 8 },
    });
  });

  it('of a graph are the replicas of its engines, in both versions of the resource', async () => {
    const at = (version: string): string => `/apis/nvidia.com/${version}${NS}/dynamographdeployments/llama`;
    const newest = {
      spec: {
        components: [
          { name: 'Frontend', type: 'frontend', replicas: 3 },
          { name: 'prefill', type: 'prefill', replicas: 2, multinode: { nodeCount: 2 } },
          { name: 'decode', type: 'decode' },
        ],
      },
    };
    expect(await count({ [at('v1beta1')]: newest }, [], { graph: 'llama' })).toEqual({
      expected: { count: 5, origin: 'DynamoGraphDeployment llama' },
      problems: [],
    });
    const old = {
      spec: {
        services: { Frontend: { componentType: 'frontend' }, W: { componentType: 'worker', replicas: 4 } },
      },
    };
    expect(await count({ [at('v1alpha1')]: old }, [], { graph: 'llama' })).toMatchObject({
      expected: { count: 4 },
    });
    // Without the right to read it the pods' own workloads tell.
    const closed = { [at('v1beta1')]: forbidden, ...DEPLOYMENT };
    expect(await count(closed, [owned('a', 'ReplicaSet')], { graph: 'llama' })).toMatchObject({
      expected: { count: 8, origin: 'Deployment worker' },
      problems: [expect.stringContaining('the user x may not get')],
    });
  });

  it('of several workloads are all of theirs; pods of their own count as listed, those that end do not', async () => {
    const objects = { ...DEPLOYMENT, [`/apis/apps/v1${NS}/statefulsets/s`]: replicas(2) };
    expect(
      await count(objects, [
        owned('a', 'ReplicaSet'),
        owned('b', 'StatefulSet', 's'),
        owned('c'),
        { ...owned('d'), draining: true },
      ]),
    ).toEqual({
      expected: { count: 11, origin: 'Deployment worker, StatefulSet s, the others as listed' },
      problems: [],
    });
  });

  it('behind endpoints are found by one pod of each workload', async () => {
    const { api, asked } = cluster({
      ...DEPLOYMENT,
      [`/api/v1${NS}/pods/worker-1-aaaaa`]: {
        metadata: {
          name: 'worker-1-aaaaa',
          ...(controlledBy('ReplicaSet', 'worker-1') as { metadata: object }).metadata,
        },
      },
    });
    const counter = new ExpectedCount({ namespace: 'kv' }, { api });
    const pods = ['aaaaa', 'bbbbb', 'ccccc'].map((end) => unseen(`worker-1-${end}`));
    const signal = new AbortController().signal;
    expect(await counter.count(pods, signal)).toMatchObject({ expected: { count: 8 } });
    expect(asked).toEqual([
      `/api/v1${NS}/pods/worker-1-aaaaa`,
      `/apis/apps/v1${NS}/replicasets/worker-1`,
      `/apis/apps/v1${NS}/deployments/worker`,
    ]);
    // Only what can change is asked again.
    await counter.count(pods, signal);
    expect(asked.slice(3)).toEqual([`/apis/apps/v1${NS}/deployments/worker`]);
  });

  it('that is unknown is the number that is listed, and the reason is logged', async () => {
    const closed = { [`/apis/apps/v1${NS}/replicasets/worker-1`]: forbidden };
    expect(await count(closed, [owned('a', 'ReplicaSet'), owned('b', 'ReplicaSet')])).toEqual({
      expected: { count: 2, origin: 'as many as are listed' },
      problems: [
        '--min-workers auto: the user x may not get replicasets. Add a rule. The workers that are listed are counted in its place.',
      ],
    });
    expect(await count({ [`/api/v1${NS}/pods/w-0`]: forbidden }, [unseen('w-0')])).toMatchObject({
      expected: { count: 1 },
      problems: [expect.stringContaining('may not get')],
    });
  });

  it('stand as they were while the cluster gives no answer, and are not known before its first one', async () => {
    const objects: Record<string, unknown> = { ...DEPLOYMENT };
    const path = `/apis/apps/v1${NS}/deployments/worker`;
    const away = new KubernetesError('unreachable', 'https://cluster: cannot be reached');
    const { api } = cluster(objects);
    const counter = new ExpectedCount({ namespace: 'kv' }, { api });
    const ask = (): Promise<unknown> =>
      counter.count([owned('a', 'ReplicaSet')], new AbortController().signal);
    objects[path] = away;
    const problems = [
      '--min-workers auto: https://cluster: cannot be reached. What was expected last still counts.',
    ];
    expect(await ask()).toEqual({ expected: undefined, problems });
    objects[path] = replicas(8);
    expect(await ask()).toEqual({ expected: { count: 8, origin: 'Deployment worker' }, problems: [] });
    objects[path] = away;
    expect(await ask()).toEqual({ expected: { count: 8, origin: 'Deployment worker' }, problems });
  });

  it('of a controller that is gone, or names no number, are as many as are listed', async () => {
    expect(await count({}, [owned('a', 'ReplicaSet'), unseen('x-0')])).toEqual({
      expected: { count: 2, origin: 'as many as are listed' },
      problems: [],
    });
    const odd = { [`/apis/apps/v1${NS}/daemonsets/worker-1`]: {} };
    expect(await count(odd, [owned('a', 'DaemonSet')])).toMatchObject({
      expected: { count: 1 },
      problems: [expect.stringContaining('DaemonSet worker-1 does not tell how many pods it is to have')],
    });
  });

  it('of a kind from elsewhere that states no number are as many as are listed, whatever it is called', async () => {
    const pods = ['a', 'b'].map((name) => owned(name, 'RayCluster', 'o', 'ray.io/v1'));
    expect(await count({ [`/apis/ray.io/v1${NS}/rayclusters/o`]: { spec: {} } }, pods)).toEqual({
      expected: { count: 2, origin: 'as many as are listed' },
      problems: [expect.stringContaining('RayCluster o does not tell how many pods it is to have')],
    });
    for (const kind of ['constructor', '__proto__', 'toString']) {
      const path = `/apis/x/v1${NS}/${kind.toLowerCase()}s/o`;
      expect(await count({ [path]: replicas(3) }, [owned('a', kind, 'o', 'x/v1')])).toMatchObject({
        expected: { count: 3 },
      });
    }
  });

  it('of a Job are no more than are to succeed', async () => {
    const job = { [`/apis/batch/v1${NS}/jobs/o`]: { spec: { parallelism: 8, completions: 3 } } };
    expect(await count(job, [owned('a', 'Job', 'o', 'batch/v1')])).toMatchObject({ expected: { count: 3 } });
  });

  it('of many workloads are asked for by no more questions than there are workloads', async () => {
    const objects: Record<string, unknown> = {};
    const pods: PodClue[] = [];
    for (let index = 0; index < 90; index += 1) {
      objects[`/apis/apps/v1${NS}/replicasets/r-${index}`] = controlledBy('Deployment', `d-${index}`);
      objects[`/apis/apps/v1${NS}/deployments/d-${index}`] = replicas(1);
      pods.push(owned(`p-${index}`, 'ReplicaSet', `r-${index}`));
    }
    const { api, asked } = cluster(objects);
    const counter = new ExpectedCount({ namespace: 'kv' }, { api });
    const { signal } = new AbortController();
    await counter.count(pods, signal);
    expect(asked).toHaveLength(180);
    // What no pod leads to any more is forgotten, the rest is not.
    await counter.count(pods.slice(1), signal);
    expect(asked).toHaveLength(180 + 89);
    await counter.count(pods, signal);
    expect(asked).toHaveLength(180 + 89 + 91);
  });

  it('are sought to an end, also where controllers stand in a circle', async () => {
    const circle = {
      [`/apis/apps/v1${NS}/replicasets/a`]: controlledBy('ReplicaSet', 'b'),
      [`/apis/apps/v1${NS}/replicasets/b`]: controlledBy('ReplicaSet', 'a'),
    };
    expect(await count(circle, [owned('x', 'ReplicaSet', 'a')])).toMatchObject({ expected: { count: 1 } });
  });

  it('are asked of 200 objects at most in one round', async () => {
    const { api, asked } = cluster({});
    const pods = Array.from({ length: 300 }, (_, index) =>
      owned(`p-${index}`, 'Job', `j-${index}`, 'batch/v1'),
    );
    const outcome = await new ExpectedCount({ namespace: 'kv' }, { api }).count(
      pods,
      new AbortController().signal,
    );
    expect(asked).toHaveLength(200);
    expect(outcome).toMatchObject({
      expected: { count: 300 },
      problems: [expect.stringContaining('the pods have more than 200 controllers')],
    });
  });

  it('of pods with the label of a LeaderWorkerSet need no look at what is between', async () => {
    const { api, asked } = cluster({
      ...LWS,
      [`/api/v1${NS}/pods/big-0`]: {
        metadata: {
          name: 'big-0',
          labels: { [`${LWS_LABEL}/name`]: 'big', [`${LWS_LABEL}/worker-index`]: '0' },
        },
      },
    });
    const counter = new ExpectedCount({ namespace: 'kv' }, { api });
    expect(
      await counter.count([unseen('big-0'), unseen('big-1')], new AbortController().signal),
    ).toMatchObject({
      expected: { count: 2, origin: 'LeaderWorkerSet big' },
    });
    expect(asked).toHaveLength(2);
  });
});
