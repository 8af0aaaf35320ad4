import type { ExpectedCount } from '../kubernetes/expected-count.js';
import { KubernetesSource, type KubernetesSourceModules } from '../kubernetes/kubernetes-source.js';
import { MAX_ENDPOINTS } from '../limits.js';
import type { Endpoint, ExpectedWorkers } from '../source.js';
import type { PoolSpec } from './inference-pool.js';
import { membersOfPool, readPoolPod } from './inference-pool-members.js';

export interface PoolPodsOptions {
  /** What the operator wrote, for messages. */
  readonly text: string;
  readonly namespace: string;
  /** What the pool is called in messages. */
  readonly asked: string;
  /** The port of a pod's first sidecar. */
  readonly sidecarPort: number;
  /** What a member is called whose pod has this name. */
  readonly nameOf: (pod: string) => string;
  /** Present under `--min-workers auto`. */
  readonly expected?: ExpectedCount;
}

/** Who follows the pods of a pool. */
export interface PoolPodsListener {
  onList(endpoints: readonly Endpoint[], expected?: ExpectedWorkers): void;
  onError(error: Error): void;
  /** One of the two threw. */
  onFailure(error: unknown): void;
}

/** The pods that are followed for one state of the pool. */
interface Following {
  /** What they follow from: another value wants another list. */
  readonly madeFrom: string;
  readonly stop: AbortController;
  readonly ended: Promise<void>;
}

/** The pods of a pool, whose selector and ports may become others. */
export class PoolPods {
  readonly #options: PoolPodsOptions;
  readonly #modules: KubernetesSourceModules;
  readonly #signal: AbortSignal;
  readonly #listener: PoolPodsListener;
  #following: Following | undefined;
  #last: { readonly endpoints: readonly Endpoint[]; readonly expected?: ExpectedWorkers } | undefined;

  /** All that is followed ends with `signal`. */
  constructor(
    options: PoolPodsOptions,
    modules: KubernetesSourceModules,
    signal: AbortSignal,
    listener: PoolPodsListener,
  ) {
    this.#options = options;
    this.#modules = modules;
    this.#signal = signal;
    this.#listener = listener;
  }

  /** Nothing is followed any more; never rejects. */
  get ended(): Promise<void> {
    return this.#following?.ended ?? Promise.resolve();
  }

  /** Follows the pods of this pool from here on; of none where it is undefined. */
  follow(spec: PoolSpec | undefined): void {
    const madeFrom = JSON.stringify(spec ?? null);
    const previous = this.#following;
    if (previous?.madeFrom === madeFrom) {
      // The end of a failure of the pool's own watch is to be seen too.
      if (this.#last !== undefined) this.#listener.onList(this.#last.endpoints, this.#last.expected);
      return;
    }
    previous?.stop.abort();
    const stop = new AbortController();
    const signal = AbortSignal.any([this.#signal, stop.signal]);
    const ended = spec === undefined ? previous?.ended : this.#run(spec, previous, signal);
    this.#following = { madeFrom, stop, ended: Promise.resolve(ended).catch(this.#listener.onFailure) };
    if (spec === undefined) this.#list([]);
  }

  #list(endpoints: readonly Endpoint[], expected?: ExpectedWorkers): void {
    this.#last = { endpoints, ...(expected === undefined ? {} : { expected }) };
    this.#listener.onList(endpoints, expected);
  }

  async #run(spec: PoolSpec, previous: Following | undefined, signal: AbortSignal): Promise<void> {
    // One after the other: a late list of the old selector must not replace one of the new.
    await previous?.ended;
    const { text, namespace, asked, sidecarPort, nameOf, expected } = this.#options;
    const how = { ...spec, sidecarPort, nameOf, asked };
    await new KubernetesSource(
      {
        name: text,
        collection: {
          path: `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`,
          labelSelector: spec.selector,
          keep: (pod) => readPoolPod(pod, how),
          maxObjects: MAX_ENDPOINTS,
        },
        membersOf: (pods) => membersOfPool(pods, how),
        ...(expected === undefined ? {} : { expected }),
      },
      this.#modules,
    ).run(
      signal,
      (...given) => {
        if (!signal.aborted) this.#list(...given);
      },
      (error) => {
        if (!signal.aborted) this.#listener.onError(error);
      },
    );
  }
}
