import type { KubernetesApi } from '../../edge/kubernetes/api.js';
import type { KubernetesError } from '../../edge/kubernetes/kubernetes-error.js';
import { ListWatch } from '../../edge/kubernetes/list-watch.js';
import { textAt, valueAt } from '../../edge/kubernetes/read-json.js';
import type { Clock } from '../../edge/platform/clock.js';
import type { Logger } from '../../edge/platform/logger.js';
import type { Random } from '../../edge/platform/random.js';
import { type MetadataWorker, readWorkerMetadata } from '../../engines/dynamo/worker-metadata.js';
import { DiscoveryError } from './discovery-error.js';
import { MAX_ENDPOINTS } from './limits.js';
import type { DiscoverySource, Endpoint } from './source.js';

export interface DynamoKubernetesSourceOptions {
  readonly namespace: string;
  /** Labels of the workers' pods; undefined for all workers of the namespace. */
  readonly selector: string | undefined;
  /** What the operator wrote, for messages. */
  readonly text: string;
  /** What a member is called whose object, which is named like its pod, has this name. */
  readonly nameOf: (name: string) => string;
}

export interface DynamoKubernetesSourceModules {
  readonly api: KubernetesApi;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** A pod that the selector selects. */
interface SelectedPod {
  readonly name: string;
  readonly isTerminating: boolean;
}

/**
 * The workers that have registered a model with Dynamo on Kubernetes: each
 * keeps its model card in a `DynamoWorkerMetadata` object beside its pod, and
 * is known by that alone. The objects have no labels of their own, so that a
 * selector is one of pods, which have to be followed too then.
 */
export class DynamoKubernetesSource implements DiscoverySource {
  readonly name: string;
  readonly isStatic = false;
  readonly #options: DynamoKubernetesSourceOptions;
  readonly #modules: DynamoKubernetesSourceModules;

  constructor(options: DynamoKubernetesSourceOptions, modules: DynamoKubernetesSourceModules) {
    this.name = options.text;
    this.#options = options;
    this.#modules = modules;
  }

  async run(
    signal: AbortSignal,
    onList: (endpoints: readonly Endpoint[]) => void,
    onError: (error: Error) => void,
  ): Promise<void> {
    const { clock, logger } = this.#modules;
    const { namespace, selector, nameOf } = this.#options;
    const root = encodeURIComponent(namespace);
    let registered: readonly MetadataWorker[] | undefined;
    let selected: ReadonlyMap<string, SelectedPod> | undefined;
    const update = (): void => {
      if (registered === undefined || (selector !== undefined && selected === undefined)) return;
      onList(endpointsOf(registered, selected, nameOf));
    };
    const ends = {
      onError: (error: KubernetesError): void => onError(this.#explain(error)),
      onWell: (): void =>
        logger.info({ source: this.name }, `Discovery: ${this.name}: the cluster is followed again`),
    };
    const metadata = new ListWatch<readonly MetadataWorker[]>(
      {
        path: `/apis/nvidia.com/v1alpha1/namespaces/${root}/dynamoworkermetadatas`,
        keep: (object) => {
          const workers = readWorkerMetadata(object, clock.wallMs());
          return workers.length === 0 ? undefined : workers;
        },
        maxObjects: MAX_ENDPOINTS,
      },
      this.#modules,
    );
    const listening = [
      metadata.run(signal, {
        onSet: (objects) => {
          registered = objects.flat();
          update();
        },
        ...ends,
      }),
    ];
    if (selector !== undefined) {
      const pods = new ListWatch<SelectedPod>(
        { path: `/api/v1/namespaces/${root}/pods`, labelSelector: selector, keep: selectedPod },
        this.#modules,
      );
      listening.push(
        pods.run(signal, {
          onSet: (objects) => {
            selected = new Map(objects.map((pod) => [pod.name, pod]));
            update();
          },
          ...ends,
        }),
      );
    }
    await Promise.all(listening);
  }

  /** Where the kind is missing no worker has registered there, and no rule would fix it. */
  #explain(error: KubernetesError): DiscoveryError {
    const isMissing = error.code === 'not_found';
    const text = isMissing
      ? `${this.#modules.api.name} has no DynamoWorkerMetadata (nvidia.com/v1alpha1) in ${this.#options.namespace}: Dynamo's custom resources are not installed there, or its workers register elsewhere (DYN_DISCOVERY_BACKEND)`
      : error.message;
    return new DiscoveryError('lookup_failed', `${this.name}: ${text}`, { cause: error });
  }
}

function endpointsOf(
  registered: readonly MetadataWorker[],
  selected: ReadonlyMap<string, SelectedPod> | undefined,
  nameOf: (name: string) => string,
): readonly Endpoint[] {
  const endpoints = new Map<string, Endpoint>();
  for (const { name, pod, isTerminating, discovered } of registered) {
    const its = selected?.get(pod);
    if ((selected !== undefined && its === undefined) || endpoints.has(name)) continue;
    const draining = isTerminating || its?.isTerminating === true;
    endpoints.set(name, { target: nameOf(name), discovered, ...(draining ? { draining } : {}) });
  }
  return [...endpoints.values()].sort((one, other) => (one.target < other.target ? -1 : 1));
}

function selectedPod(object: unknown): SelectedPod | undefined {
  const name = textAt(object, 'metadata', 'name');
  const isTerminating = valueAt(object, 'metadata', 'deletionTimestamp') !== undefined;
  return name === undefined ? undefined : { name, isTerminating };
}
