import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import {
  type Node,
  nodesOf,
  objectsOf,
  podTemplatesOf,
  repositoryFile,
  textsOf,
} from '../deploy/manifests.js';
import { freePort } from '../support/ports.js';
import { forThisTest } from './support/for-this-test.js';
import { installGatewayCrds } from './support/gateway-crds.js';
import { helm } from './support/helm.js';
import { type Kube, startKube } from './support/kube.js';
import { ServiceAccount, startPodSidecar } from './support/kube-fleet.js';
import { type PodName, PodPlay } from './support/kube-pods.js';
import { logLines, startKvAccord } from './support/kv-accord.js';
import { lacks, peerPath } from './support/peers.js';
import { PodNetwork, podNetworkMissing } from './support/pod-network.js';
import type { Program } from './support/program.js';
import { run } from './support/run.js';
import { scratchFolder } from './support/scratch.js';
import { SMALL_CRDS } from './support/small-crds.js';
import { until } from './support/until.js';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Opens as soon as one worker is there. */
const EXAMPLE = 'the example for vLLM';

/** What is installed, with the two workers of the example. */
const cases: readonly (readonly [string, (namespace: string) => Promise<string>])[] = [
  [EXAMPLE, () => kustomize('deploy/examples/vllm')],
  [
    'frontend and workers by their own overlays, found among the pods',
    async () =>
      `${await kustomize('deploy/kustomize/overlays/frontend-pods')}\n---\n${await kustomize('deploy/kustomize/overlays/workers')}`,
  ],
  ...(lacks('helm')
    ? []
    : ([
        [
          'the chart, which counts the workers behind a Service',
          (namespace: string) => chartWith(namespace, { min: 'auto' }),
        ],
        [
          'the chart, which counts pods',
          (namespace: string) => chartWith(namespace, { min: 'auto', find: 'pods' }),
        ],
        ['the chart, which counts the workers of a graph', graph],
      ] as const)),
];

describe.skipIf(lacks('kube') || podNetworkMissing() !== undefined)('what is installed in a cluster', () => {
  let kube: Kube;
  let network: PodNetwork;
  let play: PodPlay;
  let nextAddress = 1;

  beforeAll(async () => {
    network = await PodNetwork.start();
    kube = await startKube({
      controllers: ['endpointslice-controller', 'deployment-controller', 'replicaset-controller'],
    });
    await kube.apply(SMALL_CRDS);
    await installGatewayCrds(kube, 'inferencepools-v1', 'httproutes');
    play = await PodPlay.on(kube);
  });
  afterAll(async () => {
    await kube?.stop();
    await network?.stop();
  });

  test.each(cases)(
    '%s: all pods are let in, and the frontend finds its workers by the rights that it has',
    async (name, make) => {
      const namespace = `case-${nextAddress}`;
      await kube.apply([
        {
          apiVersion: 'v1',
          kind: 'Namespace',
          metadata: { name: namespace, labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } },
        },
      ]);
      const manifest = await make(namespace);
      expect(await kube.kubectl(['apply', '-n', namespace, '-f', '-'], manifest)).toMatchObject({
        status: 0,
        stderr: '',
      });
      const [first, second] = await until('the controllers to make the pods', async () => {
        const made = await play.unbound(namespace);
        const workers = made.filter((pod) => pod.name.startsWith('vllm-'));
        return made.length === 4 && workers.length === 2 ? workers : undefined;
      });
      if (first === undefined || second === undefined) throw new Error('there are two');

      await runWorker(first);
      const { program, ask } = await runFrontend(namespace, manifest);
      const untilOpen = (): Promise<unknown> =>
        until('the gate to open', async () => (await ask()).includes('[+]gate:m open: 32 tokens per block'), {
          needs: [program],
        });
      if (name === EXAMPLE) await untilOpen();
      else {
        const oneOfTwo = /1 worker reported|waiting for 1 of 2 workers/;
        await until('one of two workers to be waited for', async () => oneOfTwo.test(await ask()), {
          needs: [program],
        });
      }
      await runWorker(second);
      await untilOpen();
      expect(logLines(program).filter(({ msg }) => /forbidden|may not/i.test(msg))).toEqual([]);
    },
  );

  /** Plays the kubelet for a worker: its sidecar serves at the address that the pod gets. */
  async function runWorker(pod: PodName): Promise<void> {
    const address = network.address(nextAddress++);
    forThisTest(await startPodSidecar(network, address));
    await play.run(pod, address);
  }

  /** Runs the frontend's own container, as it is in the manifest but for the ports, with the rights of its account. */
  async function runFrontend(
    namespace: string,
    manifest: string,
  ): Promise<{ readonly program: Program; readonly ask: () => Promise<string> }> {
    const spec = objectsOf('rendered', manifest)
      .filter(({ object }) => object['kind'] === 'Deployment')
      .flatMap(podTemplatesOf)
      .find(({ labels }) => labels['app.kubernetes.io/component'] === 'frontend')?.spec;
    const [container] = nodesOf(spec?.['containers']);
    const account = await ServiceAccount.make(kube, namespace, String(spec?.['serviceAccountName']));
    const httpPort = await freePort();
    const ports: Readonly<Record<string, string>> = {
      'http-host': '127.0.0.1',
      'http-port': String(httpPort),
      listen: `127.0.0.1:${await freePort()}`,
      'http-listen': `127.0.0.1:${await freePort()}`,
    };
    const args = textsOf(container?.['args']).map((flag) =>
      flag.replace(/^--([a-z-]+)=.*$/, (all, name: string) =>
        ports[name] === undefined ? all : `--${name}=${ports[name]}`,
      ),
    );
    const env = Object.fromEntries(
      nodesOf(container?.['env']).map(({ name, value }) => [String(name), String(value)]),
    );
    const { pod } = account;
    const program = forThisTest(startKvAccord('frontend', args, { ...env, ...pod.env }, pod.inside));
    const ask = async (): Promise<string> => {
      const signal = AbortSignal.timeout(5_000);
      return (await fetch(`http://127.0.0.1:${httpPort}/readyz?verbose`, { signal })).text();
    };
    return { program, ask };
  }
});

async function kustomize(folder: string): Promise<string> {
  const { status, stdout, stderr } = await run(peerPath('kube', 'kubectl'), [
    'kustomize',
    join(root, folder),
  ]);
  expect([status, stderr]).toEqual([0, '']);
  return stdout;
}

/** The chart for a graph of Dynamo, the graph, and a Deployment as its operator makes one for the workers. */
async function graph(namespace: string): Promise<string> {
  const labels = ['graph-deployment-name: vllm-agg', 'component-type: worker'];
  const lines = labels.map((label) => `        nvidia.com/dynamo-${label}\n`).join('');
  const manifest = await chartWith(namespace, { min: 'auto', find: 'graph', graph: 'vllm-agg' });
  const workers = manifest.replace(/^ {8}kv-accord\/worker: "true"\n/m, (own) => own + lines);
  expect(workers).not.toBe(manifest);
  return `${workers}\n---\n${repositoryFile('deploy/examples/dynamo/v1beta1/vllm-agg.yaml')}`;
}

/** The chart with these values for its workers, and the workers of the example. */
async function chartWith(namespace: string, workers: Node): Promise<string> {
  const file = join(mkdtempSync(join(scratchFolder(), 'values-')), 'values.yaml');
  writeFileSync(file, stringify({ workers }));
  const args = ['template', 'test', join(root, 'deploy/helm/kv-accord'), '--namespace', namespace];
  const { status, stdout, stderr } = await helm([...args, '--values', file]);
  expect([status, stderr]).toEqual([0, '']);
  return `${stdout}\n---\n${await kustomize('deploy/kustomize/overlays/workers')}`;
}
