import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../src/edge/platform/clock.js';
import { systemRandom } from '../../src/edge/platform/random.js';
import { createDiscoverySource } from '../../src/fleet/discovery/create-source.js';
import { openObjectives } from '../../src/fleet/discovery/inference-pool/open-objectives.js';
import type { Endpoint } from '../../src/fleet/discovery/source.js';
import { RecordingLogger } from '../support/recording-logger.js';
import { documentedRights } from './support/documented-rights.js';
import { forThisTest } from './support/for-this-test.js';
import { installGatewayCrds } from './support/gateway-crds.js';
import { type Kube, startKube } from './support/kube.js';
import { membersOf, ServiceAccount, startPodSidecar } from './support/kube-fleet.js';
import { PodPlay } from './support/kube-pods.js';
import { logLines, probe, startAggregatorWith } from './support/kv-accord.js';
import { lacks } from './support/peers.js';
import { PodNetwork, podNetworkMissing } from './support/pod-network.js';
import { until } from './support/until.js';

const NAMESPACE = 'inference';
const RIGHTS = documentedRights(
  '--pool',
  'pods of a pool',
  'pool of v1alpha2',
  'priorities of a pool',
  'that had them before',
);

/** A pool as a source follows it, in this process. */
interface FollowedPool {
  /** `TARGET@ADDRESS serves ADDRESS…`, `!` where it drains. */
  readonly members: () => readonly string[];
  readonly errors: readonly string[];
  readonly log: RecordingLogger;
}

describe.skipIf(lacks('kube'))('an InferencePool on a real API server', () => {
  let kube: Kube;
  let pods: PodPlay;
  let account: ServiceAccount;

  beforeAll(async () => {
    kube = await startKube();
    await installGatewayCrds(
      kube,
      ...(['inferencepools-v1', 'inferencepools-v1alpha2', 'inferenceobjectives-v1alpha2'] as const),
    );
    pods = await PodPlay.on(kube);
    expect(await kube.kubectl(['create', 'namespace', NAMESPACE])).toMatchObject({ status: 0 });
    account = await ServiceAccount.make(kube, NAMESPACE, 'epp');
    await account.allow(RIGHTS);
  });
  afterAll(() => kube?.stop());

  /** Makes or changes a pool of v1. */
  async function pool(name: string, app: string, ...ports: readonly number[]): Promise<void> {
    await kube.apply([
      {
        apiVersion: 'inference.networking.k8s.io/v1',
        kind: 'InferencePool',
        metadata: { name, namespace: NAMESPACE },
        spec: {
          selector: { matchLabels: { app } },
          targetPorts: ports.map((number) => ({ number })),
          endpointPickerRef: { name: 'kv-accord-epp', port: { number: 9002 }, failureMode: 'FailClose' },
        },
      },
    ]);
  }

  async function pod(name: string, app: string, ip: string): Promise<void> {
    await pods.create({ namespace: NAMESPACE, name, labels: { app } });
    await pods.run({ namespace: NAMESPACE, name }, ip);
  }

  async function follow(name: string): Promise<FollowedPool> {
    const log = new RecordingLogger();
    const modules = { clock: systemClock, random: systemRandom, logger: log, environment: {} };
    const source = await createDiscoverySource(
      { workers: [], pool: `${NAMESPACE}/${name}`, kubeconfig: account.kubeconfig },
      { ...modules, resolver: { lookupAll: async () => [] } },
    );
    const errors: string[] = [];
    const abort = new AbortController();
    let last: readonly Endpoint[] = [];
    const ended = source.run(
      abort.signal,
      (endpoints) => {
        last = endpoints;
      },
      ({ message }) => errors.push(message),
    );
    onTestFinished(async () => {
      abort.abort();
      await ended;
    });
    const members = (): string[] =>
      last.map(({ target, address = '', serves = [], draining }) =>
        [`${target}@${address}${draining === true ? '!' : ''}`, ...serves.map((at) => at.address)].join(' '),
      );
    return { members, errors, log };
  }

  async function becomes(followed: FollowedPool, ...members: readonly string[]): Promise<void> {
    let last: readonly string[] = [];
    try {
      await until(
        `the pool to have ${members.join(', ')}`,
        async () => {
          last = followed.members();
          return JSON.stringify(last) === JSON.stringify(members);
        },
        { timeoutMs: 30_000 },
      );
    } catch (error) {
      throw new Error(`the pool had ${last.join(', ')}; errors: ${followed.errors.join('; ')}`, {
        cause: error,
      });
    }
  }

  it('is followed: pods come, drain, go and are relabelled, ports and selector change, beside another pool', async () => {
    await pool('one', 'one', 8000);
    await pool('two', 'two', 8000);
    await pod('one-0', 'one', '192.0.2.1');
    const one = await follow('one');
    const two = await follow('two');
    await becomes(one, 'one-0@192.0.2.1:50061 192.0.2.1:8000');
    await pod('one-1', 'one', '192.0.2.2');
    await becomes(one, 'one-0@192.0.2.1:50061 192.0.2.1:8000', 'one-1@192.0.2.2:50061 192.0.2.2:8000');

    await pods.terminate({ namespace: NAMESPACE, name: 'one-1' });
    await becomes(one, 'one-0@192.0.2.1:50061 192.0.2.1:8000', 'one-1@192.0.2.2:50061! 192.0.2.2:8000');
    await pods.finish({ namespace: NAMESPACE, name: 'one-1' });
    await becomes(one, 'one-0@192.0.2.1:50061 192.0.2.1:8000');

    const relabel = ['label', 'pod', 'one-0', '-n', NAMESPACE, '--overwrite', 'app=two'];
    expect(await kube.kubectl(relabel)).toMatchObject({ status: 0 });
    await becomes(one);
    await becomes(two, 'one-0@192.0.2.1:50061 192.0.2.1:8000');

    await pool('two', 'two', 9000, 9001);
    await becomes(two, 'one-0@192.0.2.1:50061 192.0.2.1:9000 192.0.2.1:9001');
    await pool('one', 'two', 8000);
    await becomes(one, 'one-0@192.0.2.1:50061 192.0.2.1:8000');
    expect(two.errors.filter((message) => !message.includes('no pods have the labels'))).toEqual([]);
  });

  it('is followed after the API server ended and came again, and after the pool was deleted', async () => {
    await pool('again', 'again', 8000);
    await pod('again-0', 'again', '192.0.2.11');
    const followed = await follow('again');
    await becomes(followed, 'again-0@192.0.2.11:50061 192.0.2.11:8000');
    await kube.endGently();
    await kube.startAgain();
    await pool('again', 'again', 9000);
    await becomes(followed, 'again-0@192.0.2.11:50061 192.0.2.11:9000');
    const remove = ['delete', 'inferencepools.inference.networking.k8s.io', 'again', '-n', NAMESPACE];
    expect(await kube.kubectl(remove)).toMatchObject({ status: 0 });
    await becomes(followed);
    expect(followed.errors.join('\n')).toContain(`has no InferencePool ${NAMESPACE}/again`);
    await pool('again', 'again', 8000);
    await becomes(followed, 'again-0@192.0.2.11:50061 192.0.2.11:8000');
  });

  it('of v1alpha2 is read with a warning, and one that may not be read says which rule to add', async () => {
    await kube.apply([
      {
        apiVersion: 'inference.networking.x-k8s.io/v1alpha2',
        kind: 'InferencePool',
        metadata: { name: 'old', namespace: NAMESPACE },
        spec: { selector: { app: 'old' }, targetPortNumber: 8080, extensionRef: { name: 'epp' } },
      },
    ]);
    await pod('old-0', 'old', '192.0.2.21');
    const followed = await follow('old');
    await becomes(followed, 'old-0@192.0.2.21:50061 192.0.2.21:8080');
    expect(followed.log.messages('warn').join()).toContain(
      'is one of inference.networking.x-k8s.io/v1alpha2',
    );

    await account.allow([]);
    try {
      const refused = await follow('old');
      await until('the refusal', async () => refused.errors.length > 0);
      expect(refused.errors[0]).toContain(
        '- {apiGroups: ["inference.networking.k8s.io"], resources: ["inferencepools"], verbs: ["list", "watch"]}',
      );
    } finally {
      await account.allow(RIGHTS);
    }
  });

  it('has the priorities of its objectives, as they change', async () => {
    const objective = (priority: number): Promise<string> =>
      kube.apply([
        {
          apiVersion: 'inference.networking.x-k8s.io/v1alpha2',
          kind: 'InferenceObjective',
          metadata: { name: 'batch', namespace: NAMESPACE },
          spec: { priority, poolRef: { name: 'one' } },
        },
      ]);
    await objective(-5);
    const log = new RecordingLogger();
    const opened = await openObjectives(
      { pool: `${NAMESPACE}/one`, kubeconfig: account.kubeconfig },
      { clock: systemClock, random: systemRandom, logger: log, environment: {} },
    );
    onTestFinished(() => opened.close());
    await until('the priority', async () => opened.objectives.priorityOf('batch') === -5);
    await objective(7);
    await until('the other priority', async () => opened.objectives.priorityOf('batch') === 7);
    expect(log.messages()).toEqual([]);
  });

  it.skipIf(lacks('grpcurl') || podNetworkMissing() !== undefined)(
    'is the fleet of an aggregator, in which a pod without a sidecar is a member without a report',
    async () => {
      const network = await PodNetwork.start();
      onTestFinished(() => network.stop());
      await pool('fleet', 'fleet', 8000);
      forThisTest(await startPodSidecar(network, network.address(1)));
      await pod('fleet-0', 'fleet', network.address(1));
      await pod('fleet-1', 'fleet', network.address(2));
      const flags = ['--insecure', '--settle', '500ms', '--kubeconfig', account.kubeconfig];
      const served = forThisTest(
        await startAggregatorWith('aggregator', [...flags, '--pool', `${NAMESPACE}/fleet`]),
      );
      const become = (members: object): Promise<unknown> =>
        until(
          JSON.stringify(members),
          async () => JSON.stringify(await membersOf(served)) === JSON.stringify(members),
          { needs: [served.program], timeoutMs: 30_000 },
        );
      await become({ 'fleet-0': 'reported', 'fleet-1': 'discovered' });
      expect((await probe(served, '/readyz?verbose')).body).toContain('waiting for 1 of 2 workers: fleet-1');
      forThisTest(await startPodSidecar(network, network.address(2)));
      await become({ 'fleet-0': 'conforming', 'fleet-1': 'conforming' });
      expect((await probe(served, '/readyz')).status).toBe(200);
      expect(logLines(served.program).filter(({ level }) => level === 'error')).toEqual([]);
    },
  );
});
