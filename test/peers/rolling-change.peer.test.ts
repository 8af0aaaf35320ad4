import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { documentedRights } from './support/documented-rights.js';
import { forThisTest } from './support/for-this-test.js';
import { type Kube, startKube } from './support/kube.js';
import { ServiceAccount } from './support/kube-fleet.js';
import { PodPlay } from './support/kube-pods.js';
import { logLines, probe, type Served, startAggregatorWith } from './support/kv-accord.js';
import { lacks } from './support/peers.js';
import { BLOCK_SIZE, PlayedKubelet } from './support/played-kubelet.js';
import { PodNetwork, podNetworkMissing } from './support/pod-network.js';
import { until } from './support/until.js';

const NAMESPACE = 'inference';
const REPLICAS = 6;
const OFFERED = /^kv_accord_group_workers\{group="tiny",state="offered"\} (\d+)$/m;

/** How long a fleet of twelve sidecars may take on a machine that is busy. */
const WAIT = { timeoutMs: 150_000 };

/** Looks at an aggregator all the time, and keeps the fewest workers that it offered. */
class OfferedWatch {
  fewest = Number.POSITIVE_INFINITY;
  readonly #looking: Promise<void>;
  #isOver = false;

  constructor(served: Served) {
    this.#looking = this.#look(served);
  }

  async stop(): Promise<number> {
    this.#isOver = true;
    await this.#looking;
    return this.fewest;
  }

  async #look(served: Served): Promise<void> {
    while (!this.#isOver) {
      this.fewest = Math.min(this.fewest, await offeredBy(served));
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

async function offeredBy(served: Served): Promise<number> {
  return Number(OFFERED.exec((await probe(served, '/metrics')).body)?.[1] ?? 0);
}

describe.skipIf(lacks('kube', 'grpcurl') || podNetworkMissing() !== undefined)(
  'a rolling change of block size, with the controller of a real cluster',
  () => {
    let kube: Kube;
    let network: PodNetwork;
    let pods: PodPlay;
    let account: ServiceAccount;
    let firstAddress = 1;

    beforeAll(async () => {
      network = await PodNetwork.start();
      kube = await startKube({
        controllers: ['endpointslice-controller', 'deployment-controller', 'replicaset-controller'],
      });
      pods = await PodPlay.on(kube);
      expect(await kube.kubectl(['create', 'namespace', NAMESPACE])).toMatchObject({ status: 0 });
      account = await ServiceAccount.make(kube, NAMESPACE, 'frontend');
      await account.allow(documentedRights('k8s://NAMESPACE/SERVICE'));
    });
    afterAll(async () => {
      await kube?.stop();
      await network?.stop();
    });

    /** The Deployment of docs/kubernetes.md with a Service over its pods. */
    async function apply(app: string, size: number, path: string): Promise<void> {
      const labels = { app };
      await kube.apply([
        {
          apiVersion: 'v1',
          kind: 'Service',
          metadata: { name: app, namespace: NAMESPACE },
          spec: { clusterIP: 'None', selector: labels, ports: [{ name: 'sidecar', port: 50061 }] },
        },
        {
          apiVersion: 'apps/v1',
          kind: 'Deployment',
          metadata: { name: app, namespace: NAMESPACE },
          spec: {
            replicas: REPLICAS,
            strategy: { rollingUpdate: { maxSurge: '100%', maxUnavailable: 1 } },
            selector: { matchLabels: labels },
            template: {
              metadata: { labels },
              spec: {
                containers: [
                  {
                    name: 'engine',
                    image: 'example/engine:1',
                    env: [{ name: BLOCK_SIZE, value: String(size) }],
                  },
                  {
                    name: 'kv-accord-sidecar',
                    image: 'example/kv-accord:1',
                    readinessProbe: { httpGet: { path, port: 9464 }, periodSeconds: 2 },
                  },
                ],
              },
            },
          },
        },
      ]);
    }

    async function sizesOf(app: string): Promise<Record<string, number>> {
      const counts: Record<string, number> = {};
      for (const pod of await pods.of(NAMESPACE, app)) {
        const size = pod.spec.containers.flatMap(({ env = [] }) => env)[0]?.value ?? '';
        counts[size] = (counts[size] ?? 0) + 1;
      }
      return counts;
    }

    /** Rolls six workers from 32 to 64; comes back with the fewest that were offered meanwhile. */
    async function roll(app: string, path: string): Promise<{ fewest: number; served: Served }> {
      const kubelet = new PlayedKubelet({ namespace: NAMESPACE, app, firstAddress }, { network, pods });
      firstAddress += 50;
      onTestFinished(() => kubelet.stop());
      kubelet.start();
      await apply(app, 32, path);
      const target = `k8s://${NAMESPACE}/${app}:50061`;
      const served = forThisTest(
        await startAggregatorWith('aggregator', [
          ...['--insecure', '--settle', '2s', '--kubeconfig', account.kubeconfig, '--workers', target],
          ...['--min-workers', String(REPLICAS)],
        ]),
      );
      const needs = [served.program];
      const isWhole = async (): Promise<boolean> =>
        (await offeredBy(served)) === REPLICAS && kubelet.ready === REPLICAS;
      await until('six workers of 32 to be offered and Ready', isWhole, { ...WAIT, needs });

      const watch = new OfferedWatch(served);
      await apply(app, 64, path);
      await until(
        'six workers of 64 alone',
        async () => {
          const sizes = await sizesOf(app);
          return sizes['32'] === undefined && sizes['64'] === REPLICAS && isWhole();
        },
        { ...WAIT, needs },
      );
      const fewest = await watch.stop();
      console.log(`${path}: at least ${fewest} of ${REPLICAS} workers were offered during the change`);
      return { fewest, served };
    }

    it('keeps five of six workers offered when Ready follows /readyz?offered', async () => {
      const { fewest, served } = await roll('recipe', '/readyz?offered');
      expect(fewest).toBeGreaterThanOrEqual(REPLICAS - 1);
      const log = logLines(served.program);
      expect(log.filter(({ code }) => code === 'new_epoch')).toHaveLength(1);
      // One line for the change, not one for each worker of the new size.
      expect(log.filter(({ level }) => level === 'error')).toHaveLength(1);
    });
  },
);
