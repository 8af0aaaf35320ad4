import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { documentedRights } from './support/documented-rights.js';
import { forThisTest } from './support/for-this-test.js';
import { type Kube, startKube } from './support/kube.js';
import { membersOf, ServiceAccount, startPodSidecar } from './support/kube-fleet.js';
import { type PodName, PodPlay } from './support/kube-pods.js';
import { logLines, probe, type Served, startAggregatorWith, startKvAccord } from './support/kv-accord.js';
import { lacks } from './support/peers.js';
import { PodNetwork, podNetworkMissing } from './support/pod-network.js';
import { until } from './support/until.js';

const NAMESPACE = 'inference';
const GRAPH_LABELS = {
  'nvidia.com/dynamo-graph-deployment-name': 'chat',
  'nvidia.com/dynamo-component-type': 'worker',
};

/** Plaintext beyond this machine, and no longer a wait than a test needs. */
const QUICK = ['--insecure', '--settle', '500ms'];

/** What each way to find workers needs, and no more. */
const SERVICE_RIGHTS = documentedRights('k8s://NAMESPACE/SERVICE');
const POD_RIGHTS = documentedRights('k8s://NAMESPACE?selector');
const COUNTING_RIGHTS = documentedRights('behind a Service', 'Deployment');

describe.skipIf(lacks('kube', 'grpcurl') || podNetworkMissing() !== undefined)(
  'a fleet in a cluster with a real API server',
  () => {
    let kube: Kube;
    let network: PodNetwork;
    let pods: PodPlay;
    let account: ServiceAccount;
    let nextAddress = 1;

    beforeAll(async () => {
      network = await PodNetwork.start();
      kube = await startKube({
        controllers: ['endpointslice-controller', 'deployment-controller', 'replicaset-controller'],
      });
      pods = await PodPlay.on(kube);
      expect(await kube.kubectl(['create', 'namespace', NAMESPACE])).toMatchObject({ status: 0 });
      account = await ServiceAccount.make(kube, NAMESPACE, 'frontend');
    });
    afterAll(async () => {
      await kube?.stop();
      await network?.stop();
    });

    /** A headless Service over the pods with the label `app: NAME`. */
    async function service(name: string): Promise<void> {
      await kube.apply([
        {
          apiVersion: 'v1',
          kind: 'Service',
          metadata: { name, namespace: NAMESPACE },
          spec: {
            clusterIP: 'None',
            selector: { app: name },
            ports: [{ name: 'sidecar', port: 50061, targetPort: 50061 }],
          },
        },
      ]);
    }

    /** A Deployment whose pods have the label `app: NAME`; resolves with them, which nobody runs yet. */
    async function deployment(name: string, replicas: number): Promise<PodName[]> {
      await kube.apply([
        {
          apiVersion: 'apps/v1',
          kind: 'Deployment',
          metadata: { name, namespace: NAMESPACE },
          spec: {
            replicas,
            selector: { matchLabels: { app: name } },
            template: {
              metadata: { labels: { app: name } },
              spec: { containers: [{ name: 'engine', image: 'example/engine:1' }] },
            },
          },
        },
      ]);
      return until('the pods of the Deployment', async () => {
        const unbound = await pods.unbound(NAMESPACE);
        return unbound.length === replicas && unbound;
      });
    }

    /** A pod that runs, with a sidecar in it that answers. */
    async function worker(name: string, labels: Readonly<Record<string, string>>): Promise<string> {
      const address = network.address(nextAddress++);
      forThisTest(await startPodSidecar(network, address));
      await pods.create({ namespace: NAMESPACE, name, labels });
      await pods.run({ namespace: NAMESPACE, name }, address);
      return address;
    }

    async function aggregator(...flags: readonly string[]): Promise<Served> {
      return forThisTest(
        await startAggregatorWith('aggregator', [...QUICK, '--kubeconfig', account.kubeconfig, ...flags]),
      );
    }

    /** Waits until the fleet of an aggregator is as given. */
    async function becomes(served: Served, members: Readonly<Record<string, string>>): Promise<void> {
      let last: unknown;
      try {
        await until(
          `the members to be ${JSON.stringify(members)}`,
          async () => {
            last = await membersOf(served);
            expect(last).toEqual(members);
            return true;
          },
          { needs: [served.program], timeoutMs: 30_000 },
        );
      } catch (error) {
        throw new Error(`the members were ${JSON.stringify(last)}`, { cause: error });
      }
    }

    async function isOpen(served: Served): Promise<boolean> {
      return (await probe(served, '/readyz')).status === 200;
    }

    it('is followed through a Service: pods come, are not ready, are ready, end and are gone', async () => {
      await account.allow(SERVICE_RIGHTS);
      await service('followed');
      await worker('followed-0', { app: 'followed' });
      const served = await aggregator('--workers', `k8s://${NAMESPACE}/followed:50061`);
      await becomes(served, { 'followed-0': 'conforming' });
      await until('the gate to open', () => isOpen(served));

      await worker('followed-1', { app: 'followed' });
      await becomes(served, { 'followed-0': 'conforming', 'followed-1': 'conforming' });

      const last = { namespace: NAMESPACE, name: 'followed-2' };
      const address = network.address(nextAddress++);
      await pods.create({ ...last, labels: { app: 'followed' } });
      await pods.run(last, address, { ready: false });
      await becomes(served, {
        'followed-0': 'conforming',
        'followed-1': 'conforming',
        'followed-2': 'discovered',
      });
      forThisTest(await startPodSidecar(network, address));
      await pods.setReady(last, true);
      await becomes(served, {
        'followed-0': 'conforming',
        'followed-1': 'conforming',
        'followed-2': 'conforming',
      });

      await pods.terminate(last);
      await becomes(served, {
        'followed-0': 'conforming',
        'followed-1': 'conforming',
        'followed-2': 'draining',
      });
      await pods.finish(last);
      await becomes(served, { 'followed-0': 'conforming', 'followed-1': 'conforming' });
      expect(await isOpen(served)).toBe(true);
      expect(logLines(served.program).filter(({ level }) => level === 'error')).toEqual([]);
    });

    it('is not agreed before the pod that is not ready yet has reported', async () => {
      await account.allow(SERVICE_RIGHTS);
      await service('starting');
      await worker('starting-0', { app: 'starting' });
      const late = { namespace: NAMESPACE, name: 'starting-1' };
      const address = network.address(nextAddress++);
      await pods.create({ ...late, labels: { app: 'starting' } });
      await pods.run(late, address, { ready: false });
      const served = await aggregator('--workers', `k8s://${NAMESPACE}/starting:sidecar`);
      await becomes(served, { 'starting-0': 'reported', 'starting-1': 'discovered' });
      const why = await probe(served, '/readyz?verbose');
      expect(why.status).toBe(503);
      expect(why.body).toContain('waiting for 1 of 2 workers: starting-1');
      forThisTest(await startPodSidecar(network, address));
      await becomes(served, { 'starting-0': 'conforming', 'starting-1': 'conforming' });
      expect(await isOpen(served)).toBe(true);
    });

    it('is found by the labels of its pods, with no Service', async () => {
      await account.allow(POD_RIGHTS);
      await worker('labelled-0', { app: 'labelled', tier: 'decode' });
      await worker('labelled-1', { app: 'labelled', tier: 'prefill' });
      await worker('labelled-2', { app: 'labelled', tier: 'test' });
      const served = await aggregator(
        '--workers',
        `k8s://${NAMESPACE}?selector=app=labelled,tier in (decode,prefill)`,
      );
      await becomes(served, { 'labelled-0': 'conforming', 'labelled-1': 'conforming' });
      const last = { namespace: NAMESPACE, name: 'labelled-1' };
      await pods.setReady(last, false);
      await pods.terminate(last);
      await becomes(served, { 'labelled-0': 'conforming', 'labelled-1': 'draining' });
      await pods.finish(last);
      await becomes(served, { 'labelled-0': 'conforming' });
      const relabelled = ['label', 'pod', 'labelled-2', '-n', NAMESPACE, '--overwrite', 'tier=decode'];
      expect(await kube.kubectl(relabelled)).toMatchObject({ status: 0 });
      await becomes(served, { 'labelled-0': 'conforming', 'labelled-2': 'conforming' });
    });

    it('is found by the name of its DynamoGraphDeployment, without the frontend of it', async () => {
      await account.allow(POD_RIGHTS);
      await worker('chat-worker', GRAPH_LABELS);
      await worker('chat-prefill', { ...GRAPH_LABELS, 'nvidia.com/dynamo-component-type': 'prefill' });
      const frontend = { namespace: NAMESPACE, name: 'chat-frontend' };
      await pods.create({
        ...frontend,
        labels: { ...GRAPH_LABELS, 'nvidia.com/dynamo-component-type': 'frontend' },
      });
      await pods.run(frontend, network.address(nextAddress++));
      const served = await aggregator('--dynamo-graph', `${NAMESPACE}/chat`);
      await becomes(served, { 'chat-worker': 'conforming', 'chat-prefill': 'conforming' });
    });

    it('is found from within a pod by its service account alone, in the namespace of the pod', async () => {
      await account.allow(SERVICE_RIGHTS);
      await service('own');
      await worker('own-0', { app: 'own' });
      const served = forThisTest(
        await startAggregatorWith('aggregator', [...QUICK, '--workers', 'k8s:///own:50061'], account.pod),
      );
      await becomes(served, { 'own-0': 'conforming' });
    });

    it('is as large as its Deployment says before anything is agreed with --min-workers auto', async () => {
      await account.allow([...SERVICE_RIGHTS, ...COUNTING_RIGHTS]);
      await service('counted');
      const made = await deployment('counted', 8);
      const addresses = made.map(() => network.address(nextAddress++));
      const start = async (index: number): Promise<void> => {
        forThisTest(await startPodSidecar(network, addresses[index] ?? ''));
        await pods.run(made[index] ?? { namespace: NAMESPACE, name: '' }, addresses[index] ?? '');
      };
      await start(0);
      const flags = ['--workers', `k8s://${NAMESPACE}/counted:50061`, '--min-workers', 'auto'];
      const served = await aggregator(...flags);
      for (let index = 1; index < 7; index += 1) await start(index);
      await becomes(served, Object.fromEntries(made.slice(0, 7).map(({ name }) => [name, 'reported'])));
      const why = await probe(served, '/readyz?verbose');
      expect(why.status).toBe(503);
      expect(why.body).toContain('7 workers reported, 8 workers are expected');
      expect(why.body).toContain('counted');
      await start(7);
      await becomes(served, Object.fromEntries(made.map(({ name }) => [name, 'conforming'])));
      await until('the gate to open', () => isOpen(served));

      const scale = ['scale', 'deployment', 'counted', '-n', NAMESPACE, '--replicas=0'];
      expect(await kube.kubectl(scale)).toMatchObject({ status: 0 });
      await becomes(served, Object.fromEntries(made.map(({ name }) => [name, 'draining'])));
      for (const pod of made) await pods.finish(pod);
      await becomes(served, {});
    });

    it('serves through a rolling update of its Deployment, and is as many all the time', async () => {
      await account.allow([...SERVICE_RIGHTS, ...COUNTING_RIGHTS]);
      await service('rolling');
      const start = async (pod: PodName): Promise<void> => {
        const address = network.address(nextAddress++);
        forThisTest(await startPodSidecar(network, address));
        await pods.run(pod, address);
      };
      const old = await deployment('rolling', 2);
      for (const pod of old) await start(pod);
      const served = await aggregator(
        ...['--workers', `k8s://${NAMESPACE}/rolling:50061`, '--min-workers', 'auto'],
      );
      await becomes(served, Object.fromEntries(old.map(({ name }) => [name, 'conforming'])));

      const restart = ['rollout', 'restart', 'deployment', 'rolling', '-n', NAMESPACE];
      expect(await kube.kubectl(restart)).toMatchObject({ status: 0 });
      const fresh: PodName[] = [];
      // One more than it is to have, then one old less, and so on.
      for (const _ of old) {
        const [next] = await until('the next pod', async () => {
          const unbound = await pods.unbound(NAMESPACE);
          return unbound.length === 1 && unbound;
        });
        if (next === undefined) throw new Error('there is no next pod');
        await start(next);
        fresh.push(next);
        const ending = await until('an old pod to end', async () => {
          const members = Object.entries(await membersOf(served));
          return members.find(([, state]) => state === 'draining')?.[0];
        });
        expect(old.map(({ name }) => name)).toContain(ending);
        expect(await isOpen(served)).toBe(true);
        await pods.finish({ namespace: NAMESPACE, name: ending });
        await until('it to be gone', async () => !(ending in (await membersOf(served))));
      }
      await becomes(served, Object.fromEntries(fresh.map(({ name }) => [name, 'conforming'])));
      expect(await isOpen(served)).toBe(true);
      const log = logLines(served.program);
      expect(log.filter(({ code }) => code === 'agreed')).toHaveLength(1);
      expect(log.filter(({ level }) => level !== 'info')).toEqual([]);
    });

    it('opens partial beside a pod that is never scheduled and one whose engine never comes up', async () => {
      await account.allow([...POD_RIGHTS, ...COUNTING_RIGHTS]);
      const made = await deployment('drained', 4);
      const [first, second, stuck, unscheduled] = made.map(({ name }) => name).sort();
      for (const name of [first, second]) {
        const address = network.address(nextAddress++);
        forThisTest(await startPodSidecar(network, address));
        await pods.run({ namespace: NAMESPACE, name: String(name) }, address);
      }
      const stuckPod = { namespace: NAMESPACE, name: String(stuck) };
      await pods.run(stuckPod, network.address(nextAddress++), { ready: false });
      const served = await aggregator(
        ...['--workers', `k8s://${NAMESPACE}?selector=app%3Ddrained`, '--min-workers', 'auto'],
        ...['--collect-timeout', '3s'],
      );
      await until('the gate to open', () => isOpen(served));
      const partial = logLines(served.program).filter(({ code }) => code === 'partial');
      expect(partial).toHaveLength(1);
      expect(String(partial[0]?.msg)).toContain('without 2 workers that had not reported');
      expect(String(partial[0]?.msg)).toContain(String(unscheduled));
      expect(String(partial[0]?.msg)).toContain(String(stuck));
      // Its engine comes up after all.
      forThisTest(await startPodSidecar(network, network.address(nextAddress - 1)));
      await becomes(served, {
        [String(first)]: 'conforming',
        [String(second)]: 'conforming',
        [String(stuck)]: 'conforming',
        [String(unscheduled)]: 'discovered',
      });
    });

    it('is waited for by wait, and its value is handed on by exec', async () => {
      await account.allow(SERVICE_RIGHTS);
      await service('awaited');
      await worker('awaited-0', { app: 'awaited' });
      const flags = [...QUICK, '--kubeconfig', account.kubeconfig];
      const target = ['--workers', `k8s://${NAMESPACE}/awaited:50061`, '--timeout', '30s'];
      const wait = forThisTest(startKvAccord('wait', ['wait', ...flags, ...target]));
      expect(await wait.ended, wait.log).toBe(0);
      expect(wait.log).toContain('32');
      const command = ['echo', 'blocks of {tokens_per_block}'];
      const exec = forThisTest(startKvAccord('exec', ['exec', ...flags, ...target, '--', ...command]));
      expect(await exec.ended, exec.log).toBe(0);
      expect(exec.log).toContain('blocks of 32\n');
    });
  },
);
