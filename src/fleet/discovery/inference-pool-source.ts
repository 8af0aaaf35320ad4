import type { KubernetesError } from '../../edge/kubernetes/kubernetes-error.js';
import { ListWatch } from '../../edge/kubernetes/list-watch.js';
import { textAt } from '../../edge/kubernetes/read-json.js';
import { DiscoveryError } from './discovery-error.js';
import type { ExpectedCount } from './expected-count.js';
import {
  isPoolLeaving,
  POOL_V1,
  POOL_V1ALPHA2,
  type PoolSpec,
  type PoolVersion,
  readPool,
} from './inference-pool.js';
import { membersOfPool, readPoolPod } from './inference-pool-members.js';
import { KubernetesSource, type KubernetesSourceModules } from './kubernetes-source.js';
import { MAX_ENDPOINTS } from './limits.js';
import type { DiscoverySource, Endpoint, ExpectedWorkers } from './source.js';

export interface InferencePoolSourceOptions {
  readonly namespace: string;
  readonly pool: string;
  /** The port of a pod's first sidecar. */
  readonly sidecarPort: number;
  /** What the operator wrote, for messages. */
  readonly text: string;
  /** What a member is called whose pod has this name. */
  readonly nameOf: (pod: string) => string;
  /** Present under `--min-workers auto`. */
  readonly expected?: ExpectedCount;
}

/** What one version of the pool's kind has under the name: nothing known yet, no such pool, what is wrong with it, or the pool. */
type Found = undefined | 'absent' | { readonly problem: string } | PoolSpec;

/** The pods that are followed for one state of the pool. */
interface Following {
  /** What they follow from: another value wants another list. */
  readonly madeFrom: string;
  readonly stop: AbortController;
  readonly ended: Promise<void>;
}

/**
 * The pods of one `InferencePool`, followed together with the pool itself:
 * another selector, other ports, a pool that is deleted or made again. v1 is
 * read, and v1alpha2 where there is no such pool of v1, with a warning.
 */
export class InferencePoolSource implements DiscoverySource {
  readonly name: string;
  readonly isStatic = false;
  readonly #options: InferencePoolSourceOptions;
  readonly #modules: KubernetesSourceModules;

  constructor(options: InferencePoolSourceOptions, modules: KubernetesSourceModules) {
    this.name = options.text;
    this.#options = options;
    this.#modules = modules;
  }

  async run(
    signal: AbortSignal,
    onList: (endpoints: readonly Endpoint[], expected?: ExpectedWorkers) => void,
    onError: (error: Error) => void,
  ): Promise<void> {
    const { logger } = this.#modules;
    const state: { v1: Found; alpha: Found } = { v1: undefined, alpha: undefined };
    /** Aborts with the run, or where a listener throws. */
    const end = new AbortController();
    const all = AbortSignal.any([signal, end.signal]);
    let failure: unknown;
    let alphaStop: AbortController | undefined;
    let alphaEnded: Promise<unknown> = Promise.resolve();
    let following: Following | undefined;
    let last: { readonly endpoints: readonly Endpoint[]; readonly expected?: ExpectedWorkers } | undefined;
    let reported = '';
    let hasWarned = false;

    const list = (endpoints: readonly Endpoint[], expected?: ExpectedWorkers): void => {
      last = { endpoints, ...(expected === undefined ? {} : { expected }) };
      onList(endpoints, expected);
    };
    const fail = (error: unknown): void => {
      failure ??= error;
      end.abort();
    };
    const problem = (text: string): void => {
      if (text !== reported && text !== '')
        onError(new DiscoveryError('lookup_failed', `${this.name}: ${text}`));
      reported = text;
    };
    const follow = (spec: PoolSpec | undefined): void => {
      const madeFrom = JSON.stringify(spec ?? null);
      if (following?.madeFrom === madeFrom) {
        // The end of a failure of the pool's own watch is to be seen too.
        if (last !== undefined) onList(last.endpoints, last.expected);
        return;
      }
      const previous = following;
      previous?.stop.abort();
      const stop = new AbortController();
      const either = AbortSignal.any([all, stop.signal]);
      const ended =
        spec === undefined ? previous?.ended : this.#followPods(spec, previous, either, list, onError);
      following = { madeFrom, stop, ended: Promise.resolve(ended).catch(fail) };
      if (spec === undefined) list([]);
    };
    const decide = (): void => {
      const { v1, alpha } = state;
      if (v1 !== 'absent' && alphaStop !== undefined) {
        alphaStop.abort();
        alphaStop = undefined;
        state.alpha = undefined;
      }
      if (v1 === undefined) return;
      if (v1 !== 'absent') {
        take(v1);
        return;
      }
      if (alphaStop === undefined) {
        alphaStop = new AbortController();
        const until = AbortSignal.any([all, alphaStop.signal]);
        alphaEnded = Promise.all([alphaEnded, watch(POOL_V1ALPHA2, 'alpha', until).catch(fail)]);
        return;
      }
      if (alpha === undefined) return;
      if (alpha !== 'absent' && !hasWarned) {
        hasWarned = true;
        logger.warn({ source: this.name }, `Discovery: ${this.name}: ${this.#alphaMessage()}`);
      }
      take(alpha);
    };
    const take = (found: Exclude<Found, undefined>): void => {
      if (found === 'absent') {
        problem(this.#absentMessage());
        follow(undefined);
      } else if ('problem' in found) {
        // The last list stays: what the pool says now cannot be meant.
        problem(found.problem);
      } else {
        problem('');
        follow(found);
      }
    };
    const watch = async (of: PoolVersion, which: 'v1' | 'alpha', until: AbortSignal): Promise<void> => {
      const found = (value: Exclude<Found, undefined>): void => {
        if (until.aborted) return;
        state[which] = value;
        decide();
      };
      await this.#poolWatch(of).run(until, {
        onSet: ([pool]) => found(pool ?? 'absent'),
        onError: (error) => {
          // A kind that is not there has no such pool; and a version that is not asked for need not be allowed.
          if (error.code === 'not_found' || (which === 'alpha' && error.code === 'forbidden'))
            found('absent');
          else onError(this.#fault(error));
        },
      });
    };
    await watch(POOL_V1, 'v1', all).catch(fail);
    await Promise.all([alphaEnded, following?.ended]);
    if (failure !== undefined) throw failure;
  }

  #poolWatch({ group, version }: PoolVersion): ListWatch<Exclude<Found, undefined>> {
    const { namespace, pool } = this.#options;
    return new ListWatch(
      {
        path: `/apis/${group}/${version}/namespaces/${encodeURIComponent(namespace)}/inferencepools`,
        fieldSelector: `metadata.name=${pool}`,
        keep: (object) => {
          if (textAt(object, 'metadata', 'name') !== pool || isPoolLeaving(object)) return undefined;
          const spec = readPool(object);
          return typeof spec === 'string' ? { problem: `the ${this.#asked} cannot be used: ${spec}` } : spec;
        },
      },
      this.#modules,
    );
  }

  async #followPods(
    spec: PoolSpec,
    previous: Following | undefined,
    signal: AbortSignal,
    onList: (endpoints: readonly Endpoint[], expected?: ExpectedWorkers) => void,
    onError: (error: Error) => void,
  ): Promise<void> {
    // One after the other: a late list of the old selector must not replace one of the new.
    await previous?.ended;
    const { namespace, sidecarPort, nameOf, expected } = this.#options;
    const how = { ...spec, sidecarPort, nameOf, asked: this.#asked };
    await new KubernetesSource(
      {
        name: this.name,
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
        if (!signal.aborted) onList(...given);
      },
      (error) => {
        if (!signal.aborted) onError(error);
      },
    );
  }

  get #asked(): string {
    return `InferencePool ${this.#options.namespace}/${this.#options.pool}`;
  }

  #fault(error: KubernetesError): DiscoveryError {
    return new DiscoveryError('lookup_failed', `${this.name}: ${error.message}`, { cause: error });
  }

  #absentMessage(): string {
    return `${this.#modules.api.name} has no ${this.#asked} (${POOL_V1.group}/${POOL_V1.version}, nor ${POOL_V1ALPHA2.group}/${POOL_V1ALPHA2.version}); check its name and the namespace, and that the custom resources of the Gateway API Inference Extension are installed`;
  }

  #alphaMessage(): string {
    return `the ${this.#asked} is one of ${POOL_V1ALPHA2.group}/${POOL_V1ALPHA2.version}, which gateways no longer serve; write it as ${POOL_V1.group}/${POOL_V1.version}`;
  }
}
