import type { Kube, KubeObject } from './kube.js';

/** Who a pod is. */
export interface PodName {
  readonly namespace: string;
  readonly name: string;
}

/** A pod that a test makes itself, without a workload. */
export interface PodSpec extends PodName {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** A pod as the API has it, as far as the tests look at it. */
export interface Pod extends KubeObject {
  readonly spec: {
    readonly nodeName?: string;
    readonly containers: readonly {
      readonly env?: readonly { readonly name: string; readonly value: string }[];
      readonly readinessProbe?: { readonly httpGet: { readonly path: string; readonly port: number } };
    }[];
  };
  readonly metadata: KubeObject['metadata'] & { readonly deletionTimestamp?: string };
}

/**
 * Plays the scheduler and the kubelet of a cluster with one node: pods get an
 * address, become ready and not ready, and are gone after their end, when a
 * test says so.
 */
export class PodPlay {
  readonly #kube: Kube;
  readonly #node: string;

  private constructor(kube: Kube, node: string) {
    this.#kube = kube;
    this.#node = node;
  }

  /** Makes the node: without it the EndpointSlice controller leaves a Service as it was, and says so in its log alone. */
  static async on(kube: Kube, node = 'node-1'): Promise<PodPlay> {
    await kube.ask('POST', '/api/v1/nodes', {
      metadata: { name: node, labels: { 'topology.kubernetes.io/zone': 'zone-a' } },
    });
    return new PodPlay(kube, node);
  }

  /** Makes a pod, which nobody runs yet. */
  async create({ namespace, name, labels, annotations = {} }: PodSpec): Promise<void> {
    await this.#kube.ask('POST', `/api/v1/namespaces/${namespace}/pods`, {
      metadata: { name, labels, annotations },
      spec: { containers: [{ name: 'main', image: 'example/image:1' }] },
    });
  }

  /** Binds a pod to the node and lets it run at an address. */
  async run(pod: PodName, ip: string, options: { readonly ready?: boolean } = {}): Promise<void> {
    await this.#kube.ask('POST', `${pathOf(pod)}/binding`, {
      metadata: { name: pod.name },
      target: { apiVersion: 'v1', kind: 'Node', name: this.#node },
    });
    await this.#patchStatus(pod, {
      phase: 'Running',
      podIP: ip,
      podIPs: [{ ip }],
      conditions: [condition(options.ready ?? true)],
    });
  }

  async setReady(pod: PodName, ready: boolean): Promise<void> {
    await this.#patchStatus(pod, { conditions: [condition(ready)] });
  }

  /** Asks for the end of a pod; it is terminating until `finish`. */
  async terminate(pod: PodName): Promise<void> {
    await this.#kube.ask('DELETE', `${pathOf(pod)}?gracePeriodSeconds=300`);
  }

  /** The end of a pod, terminating or not. */
  async finish(pod: PodName): Promise<void> {
    await this.#kube.ask('DELETE', `${pathOf(pod)}?gracePeriodSeconds=0`);
  }

  /** The pods of a namespace with this label `app`, terminating ones too. */
  async of(namespace: string, app: string): Promise<readonly Pod[]> {
    const path = `/api/v1/namespaces/${namespace}/pods?labelSelector=app%3D${app}`;
    return (await this.#kube.ask<{ items: readonly Pod[] }>('GET', path)).items;
  }

  /** The pods of a namespace that were not bound yet, such as those that a workload has made. */
  async unbound(namespace: string): Promise<PodName[]> {
    const { items } = await this.#kube.ask<{ items: readonly Pod[] }>(
      'GET',
      `/api/v1/namespaces/${namespace}/pods?fieldSelector=spec.nodeName=`,
    );
    return items
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .map(({ metadata }) => ({ namespace, name: metadata.name }));
  }

  #patchStatus(pod: PodName, status: object): Promise<unknown> {
    return this.#kube.ask('PATCH', `${pathOf(pod)}/status`, { status });
  }
}

function condition(ready: boolean): object {
  return { type: 'Ready', status: ready ? 'True' : 'False', lastTransitionTime: new Date().toISOString() };
}

function pathOf({ namespace, name }: PodName): string {
  return `/api/v1/namespaces/${namespace}/pods/${name}`;
}
