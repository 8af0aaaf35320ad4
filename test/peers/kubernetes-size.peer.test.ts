import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { documentedRights } from './support/documented-rights.js';
import { forThisTest } from './support/for-this-test.js';
import { type Kube, startKube } from './support/kube.js';
import { membersOf, ServiceAccount, startPodSidecar } from './support/kube-fleet.js';
import { PodPlay } from './support/kube-pods.js';
import { logLines, type Served, startAggregatorWith } from './support/kv-accord.js';
import { lacks } from './support/peers.js';
import { PodNetwork, podNetworkMissing } from './support/pod-network.js';
import { until } from './support/until.js';

const NAMESPACE = 'inference';
const PODS = 2_000;
/** One sidecar stands in for those of all pods of a network, and takes no more than 1,000 watches. */
const PODS_PER_NETWORK = 700;
/** Requests of the test to the API server at a time. */
const AT_A_TIME = 16;

const RIGHTS = documentedRights('k8s://NAMESPACE/SERVICE', 'k8s://NAMESPACE?selector');

describe.skipIf(lacks('kube', 'grpcurl') || podNetworkMissing() !== undefined)(
  `a Service of ${PODS} pods`,
  () => {
    let kube: Kube;
    const networks: PodNetwork[] = [];
    let pods: PodPlay;
    let account: ServiceAccount;
    const names = Array.from({ length: PODS }, (_, index) => `worker-${index}`);

    beforeAll(async () => {
      for (let pod = 0; pod < PODS; pod += PODS_PER_NETWORK) networks.push(await PodNetwork.start());
      kube = await startKube({ controllers: ['endpointslice-controller'] });
      pods = await PodPlay.on(kube);
      expect(await kube.kubectl(['create', 'namespace', NAMESPACE])).toMatchObject({ status: 0 });
      account = await ServiceAccount.make(kube, NAMESPACE, 'frontend');
      await account.allow(RIGHTS);
      await kube.apply([
        {
          apiVersion: 'v1',
          kind: 'Service',
          metadata: { name: 'workers', namespace: NAMESPACE },
          spec: { clusterIP: 'None', selector: { app: 'worker' }, ports: [{ port: 50061 }] },
        },
      ]);
      await each(names, async (name, index) => {
        await pods.create({ namespace: NAMESPACE, name, labels: { app: 'worker' } });
        await pods.run({ namespace: NAMESPACE, name }, addressOf(index));
      });
      await until('all pods in the EndpointSlices', async () => {
        const { items } = await kube.ask<{ items: { endpoints: unknown[] }[] }>(
          'GET',
          `/apis/discovery.k8s.io/v1/namespaces/${NAMESPACE}/endpointslices`,
        );
        return items.reduce((sum, { endpoints }) => sum + endpoints.length, 0) === PODS;
      });
    });
    afterAll(async () => {
      await kube?.stop();
      for (const network of networks) await network.stop();
    });

    function addressOf(pod: number): string {
      const network = networks[Math.floor(pod / PODS_PER_NETWORK)];
      return network?.address((pod % PODS_PER_NETWORK) + 1) ?? '';
    }

    it.each([
      { how: 'by its EndpointSlices', target: `k8s://${NAMESPACE}/workers:50061` },
      { how: 'by its pods', target: `k8s://${NAMESPACE}?selector=app=worker` },
    ])(
      'is found $how, agreed and followed',
      async ({ how, target }) => {
        // One that listens on every address of the network stands in for all.
        for (const network of networks)
          forThisTest(await startPodSidecar(network, '0.0.0.0', 32, network.address(1)));
        const startedMs = performance.now();
        const flags = ['--insecure', '--settle', '500ms', '--workers', target];
        const served = forThisTest(
          await startAggregatorWith('aggregator', [...flags, '--kubeconfig', account.kubeconfig]),
        );
        const all = async (count: number): Promise<boolean> => {
          const states = Object.values(await membersOf(served));
          return states.length === count && states.every((state) => state === 'conforming');
        };
        await until(`${PODS} members that conform`, () => all(PODS), {
          needs: [served.program],
          timeoutMs: 120_000,
        });
        const agreedMs = performance.now() - startedMs;

        const tenth = names.filter((_, index) => index % 10 === 0);
        const wentMs = performance.now();
        await each(tenth, (name) => pods.finish({ namespace: NAMESPACE, name }));
        const deletedMs = performance.now();
        await until('those that are gone to be gone', () => all(PODS - tenth.length), {
          needs: [served.program],
        });
        const followedMs = performance.now();
        console.log(
          `${PODS} pods ${how}: agreed ${seconds(agreedMs)} after the start, ${memory(served)}; ` +
            `${tenth.length} deleted in ${seconds(deletedMs - wentMs)}, gone ${seconds(followedMs - deletedMs)} later`,
        );
        expect(logLines(served.program).filter(({ level }) => level === 'error')).toEqual([]);
        await each(tenth, async (name) => {
          await pods.create({ namespace: NAMESPACE, name, labels: { app: 'worker' } });
          await pods.run({ namespace: NAMESPACE, name }, addressOf(names.indexOf(name)));
        });
        await until('all to be back', () => all(PODS), { needs: [served.program] });
      },
      300_000,
    );
  },
);

/** Does something with each, several at a time. */
async function each(
  names: readonly string[],
  act: (name: string, index: number) => Promise<void>,
): Promise<void> {
  const waiting = [...names.entries()];
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await act(next[1], next[0]);
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, work));
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}

/** The memory that the process has now, and the most that it ever had. */
function memory({ program }: Served): string {
  const status = readFileSync(`/proc/${program.pid}/status`, 'utf8');
  const mebibytes = (field: string): number =>
    Math.round(Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1_024);
  return `${mebibytes('VmRSS')} MiB (at most ${mebibytes('VmHWM')} MiB)`;
}
