import type { KubernetesError } from '../../../edge/kubernetes/kubernetes-error.js';
import { ListWatch } from '../../../edge/kubernetes/list-watch.js';
import { textAt } from '../../../edge/kubernetes/read-json.js';
import { DiscoveryError } from '../discovery-error.js';
import type { KubernetesSourceModules } from '../kubernetes/kubernetes-source.js';
import type { DiscoverySource, Endpoint, ExpectedWorkers } from '../source.js';
import {
  isPoolLeaving,
  POOL_V1,
  POOL_V1ALPHA2,
  type PoolSpec,
  type PoolVersion,
  readPool,
} from './inference-pool.js';
import { PoolPods, type PoolPodsListener, type PoolPodsOptions } from './inference-pool-pods.js';

export interface InferencePoolSourceOptions extends Omit<PoolPodsOptions, 'asked'> {
  readonly pool: string;
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

  run(
    signal: AbortSignal,
    onList: (endpoints: readonly Endpoint[], expected?: ExpectedWorkers) => void,
    onError: (error: Error) => void,
  ): Promise<void> {
    return new PoolRun(this.#options, this.#modules, signal, { onList, onError }).run();
  }
}

/** What one version of the pool's kind has under the name: no such pool, what is wrong with it, or the pool. */
type Found = 'absent' | { readonly problem: string } | PoolSpec;

/** One run of a source. */
class PoolRun {
  readonly #options: InferencePoolSourceOptions;
  readonly #modules: KubernetesSourceModules;
  readonly #onError: (error: Error) => void;
  readonly #pods: PoolPods;
  /** What the pool is called in messages. */
  readonly #asked: string;
  /** Aborts where a listener throws. */
  readonly #end = new AbortController();
  /** Aborts with the run, too. */
  readonly #signal: AbortSignal;
  #failure: unknown;
  /** Undefined while nothing is known of it. */
  #v1: Found | undefined;
  /** The same of v1alpha2, which is asked for while v1 has no such pool. */
  #alpha: Found | undefined;
  /** Why v1alpha2 may not be read; undefined where it may. */
  #alphaRefusal: string | undefined;
  #alphaStop: AbortController | undefined;
  #alphaEnded: Promise<unknown> = Promise.resolve();
  /** The problem that was reported last; empty for none. */
  #reported = '';
  #hasWarned = false;

  constructor(
    options: InferencePoolSourceOptions,
    modules: KubernetesSourceModules,
    signal: AbortSignal,
    { onList, onError }: Pick<PoolPodsListener, 'onList' | 'onError'>,
  ) {
    this.#options = options;
    this.#modules = modules;
    this.#onError = onError;
    this.#asked = `InferencePool ${options.namespace}/${options.pool}`;
    this.#signal = AbortSignal.any([signal, this.#end.signal]);
    this.#pods = new PoolPods({ ...options, asked: this.#asked }, modules, this.#signal, {
      onList,
      onError,
      onFailure: this.#fail,
    });
  }

  /** Rejects with what a listener threw. */
  async run(): Promise<void> {
    await this.#watchV1().catch(this.#fail);
    await Promise.all([this.#alphaEnded, this.#pods.ended]);
    if (this.#failure !== undefined) throw this.#failure;
  }

  readonly #fail = (error: unknown): void => {
    this.#failure ??= error;
    this.#end.abort();
  };

  #watchV1(): Promise<void> {
    return this.#watch(POOL_V1, this.#signal, (found) => {
      this.#v1 = found;
      this.#decide();
    });
  }

  #watchAlpha(until: AbortSignal): Promise<void> {
    return this.#watch(POOL_V1ALPHA2, until, (found) => {
      this.#alpha = found;
      this.#decide();
    });
  }

  async #watch(of: PoolVersion, until: AbortSignal, onFound: (found: Found) => void): Promise<void> {
    const found = (value: Found): void => {
      if (!until.aborted) onFound(value);
    };
    await this.#listWatch(of).run(until, {
      onSet: ([pool]) => {
        if (of === POOL_V1ALPHA2) this.#alphaRefusal = undefined;
        found(pool ?? 'absent');
      },
      onError: (error) => {
        // A kind that is not there has no such pool; and a version that is not asked for need not be allowed.
        const isRefused = of === POOL_V1ALPHA2 && error.code === 'forbidden';
        if (isRefused) this.#alphaRefusal = error.message;
        if (isRefused || error.code === 'not_found') found('absent');
        else this.#onError(this.#fault(error.message, error));
      },
    });
  }

  #listWatch({ group, version }: PoolVersion): ListWatch<Found> {
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

  /** Goes by v1 where it has the pool, and else by v1alpha2. */
  #decide(): void {
    if (this.#v1 !== 'absent') {
      this.#alphaStop?.abort();
      this.#alphaStop = undefined;
      this.#alpha = undefined;
      if (this.#v1 !== undefined) this.#take(this.#v1);
      return;
    }
    if (this.#alphaStop === undefined) {
      this.#alphaStop = new AbortController();
      const until = AbortSignal.any([this.#signal, this.#alphaStop.signal]);
      this.#alphaEnded = Promise.all([this.#alphaEnded, this.#watchAlpha(until).catch(this.#fail)]);
      return;
    }
    if (this.#alpha === undefined) return;
    if (this.#alpha !== 'absent') this.#warnOfAlpha();
    this.#take(this.#alpha);
  }

  #take(found: Found): void {
    if (found === 'absent') {
      this.#report(this.#absentMessage());
      this.#pods.follow(undefined);
    } else if ('problem' in found) {
      // The last list stays: what the pool says now cannot be meant.
      this.#report(found.problem);
    } else {
      this.#report('');
      this.#pods.follow(found);
    }
  }

  /** Says what is wrong with the pool, once; empty for nothing. */
  #report(problem: string): void {
    if (problem !== this.#reported && problem !== '') this.#onError(this.#fault(problem));
    this.#reported = problem;
  }

  #fault(problem: string, cause?: KubernetesError): DiscoveryError {
    const { text } = this.#options;
    return new DiscoveryError('lookup_failed', `${text}: ${problem}`, cause === undefined ? {} : { cause });
  }

  #warnOfAlpha(): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    const { text } = this.#options;
    this.#modules.logger.warn(
      { source: text },
      `Discovery: ${text}: the ${this.#asked} is one of ${POOL_V1ALPHA2.group}/${POOL_V1ALPHA2.version}, which gateways no longer serve; write it as ${POOL_V1.group}/${POOL_V1.version}`,
    );
  }

  #absentMessage(): string {
    const none = `${this.#modules.api.name} has no ${this.#asked} (${POOL_V1.group}/${POOL_V1.version}`;
    const older = `${POOL_V1ALPHA2.group}/${POOL_V1ALPHA2.version}`;
    const check =
      'check its name and the namespace, and that the custom resources of the Gateway API Inference Extension are installed';
    return this.#alphaRefusal === undefined
      ? `${none}, nor ${older}); ${check}`
      : `${none}); ${check}; whether there is one of ${older} is not known: ${this.#alphaRefusal}`;
  }
}
