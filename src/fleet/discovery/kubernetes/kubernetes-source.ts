import type { KubernetesApi } from '../../../edge/kubernetes/api.js';
import { ListWatch, type ListWatchOptions } from '../../../edge/kubernetes/list-watch.js';
import { type Clock, sleep } from '../../../edge/platform/clock.js';
import type { Logger } from '../../../edge/platform/logger.js';
import type { Random } from '../../../edge/platform/random.js';
import { watchDeadline, withDeadline } from '../../../edge/platform/time/deadline.js';
import { DiscoveryError } from '../discovery-error.js';
import { MAX_ENDPOINTS } from '../limits.js';
import type { DiscoverySource, Endpoint, ExpectedWorkers } from '../source.js';
import type { ExpectedCount } from './expected-count.js';
import type { PodClue } from './pod-controllers.js';

/** What the objects of a cluster come to. */
export interface ClusterMembers {
  readonly endpoints: readonly Endpoint[];
  /** What is wrong with some of them, or that there are none: reported when it is new. */
  readonly problems: readonly string[];
  /** Their pods, to find the workloads by. */
  readonly pods: readonly PodClue[];
  /** Members of one pod. Default 1. */
  readonly perPod?: number;
}

export interface KubernetesSourceOptions<T> {
  /** What the operator wrote. */
  readonly name: string;
  readonly collection: ListWatchOptions<T>;
  readonly membersOf: (objects: readonly T[]) => ClusterMembers;
  /** Present under `--min-workers auto`. */
  readonly expected?: ExpectedCount;
}

export interface KubernetesSourceModules {
  readonly api: KubernetesApi;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** Between two looks at what workloads are to have, while their pods stand still. */
const LOOK_AGAIN_MS = 15_000;

/**
 * From one look to the next at least: thousands of pods that start one after
 * the other must not become as many questions, by every frontend there is.
 */
const MIN_BETWEEN_MS = 250;

/** How long who is there waits for how many there are to be: a server may answer the one and not the other. */
const COUNT_TIMEOUT_MS = 10_000;

const UNCOUNTED = {
  problems: [
    `--min-workers auto: the cluster has not answered within ${COUNT_TIMEOUT_MS / 1_000} s. What was expected last still counts.`,
  ],
};

/** Members out of one collection of a cluster, followed by a watch. */
export class KubernetesSource<T> implements DiscoverySource {
  readonly name: string;
  readonly isStatic = false;
  readonly #options: KubernetesSourceOptions<T>;
  readonly #modules: KubernetesSourceModules;
  /** Problems that were reported and still exist. */
  #reported = new Set<string>();

  constructor(options: KubernetesSourceOptions<T>, modules: KubernetesSourceModules) {
    this.name = options.name;
    this.#options = options;
    this.#modules = modules;
  }

  async run(
    signal: AbortSignal,
    onList: (endpoints: readonly Endpoint[], expected?: ExpectedWorkers) => void,
    onError: (error: Error) => void,
  ): Promise<void> {
    const { collection, membersOf, expected } = this.#options;
    const listWatch = new ListWatch(collection, this.#modules);
    const { logger } = this.#modules;
    const ends = {
      onError: (error: Error): void => onError(this.#fault(error.message, error)),
      // A server that starts refuses for a moment what it allows: a log that ends with that would mislead.
      onWell: (): void =>
        logger.info({ source: this.name }, `Discovery: ${this.name}: the cluster is followed again`),
    };
    if (expected === undefined) {
      const onSet = (objects: readonly T[]): void => {
        const { endpoints, problems } = membersOf(objects);
        this.#reportProblems([...problems, ...tooMany(endpoints)], onError);
        if (endpoints.length <= MAX_ENDPOINTS) onList(endpoints);
      };
      return listWatch.run(signal, { onSet, ...ends });
    }
    const latest = new Latest<ClusterMembers>();
    const onSet = (objects: readonly T[]): void => latest.set(membersOf(objects));
    await Promise.all([
      listWatch.run(signal, { onSet, ...ends }),
      this.#count(expected, latest, signal, onList, onError),
    ]);
  }

  /** Hands each list on together with the number that is expected then, and looks again from time to time. */
  async #count(
    counter: ExpectedCount,
    latest: Latest<ClusterMembers>,
    signal: AbortSignal,
    onList: (endpoints: readonly Endpoint[], expected?: ExpectedWorkers) => void,
    onError: (error: Error) => void,
  ): Promise<void> {
    const { clock } = this.#modules;
    let listed: ClusterMembers | undefined;
    let reported = '';
    let expected: ExpectedWorkers | undefined;
    while (!signal.aborted) {
      const members = await latest.next(clock, LOOK_AGAIN_MS, signal);
      if (members === undefined || signal.aborted) continue;
      if (members.endpoints.length > MAX_ENDPOINTS) {
        this.#reportProblems(tooMany(members.endpoints), onError);
        continue;
      }
      const pause = sleep(clock, MIN_BETWEEN_MS, signal);
      const outcome = await withDeadline({ timeoutMs: COUNT_TIMEOUT_MS, signal }, { clock }, (bounded) =>
        counter.count(members.pods, bounded),
      );
      if (signal.aborted) return;
      const { problems } = outcome ?? UNCOUNTED;
      if (outcome !== undefined) expected = inMembers(outcome.expected, members);
      const counted = JSON.stringify(expected);
      this.#reportProblems([...members.problems, ...problems], onError);
      if (members !== listed || counted !== reported) onList(members.endpoints, expected);
      listed = members;
      reported = counted;
      await pause;
    }
  }

  #reportProblems(problems: readonly string[], onError: (error: Error) => void): void {
    for (const problem of problems) if (!this.#reported.has(problem)) onError(this.#fault(problem));
    this.#reported = new Set(problems);
  }

  #fault(problem: string, cause?: Error): DiscoveryError {
    return new DiscoveryError(
      'lookup_failed',
      `${this.name}: ${problem}`,
      cause === undefined ? {} : { cause },
    );
  }
}

/** What workloads expect is pods; what is counted against it is members. */
function inMembers(
  expected: ExpectedWorkers | undefined,
  { perPod = 1 }: ClusterMembers,
): ExpectedWorkers | undefined {
  return expected === undefined ? undefined : { ...expected, count: expected.count * perPod };
}

function tooMany({ length }: readonly Endpoint[]): string[] {
  if (length <= MAX_ENDPOINTS) return [];
  return [`${length} workers are found, at most ${MAX_ENDPOINTS} are allowed; the last list stays`];
}

/** The newest of several values, for one who takes them when there is time. */
class Latest<V> {
  #value: V | undefined;
  #isNew = false;
  #wake: (() => void) | undefined;

  set(value: V): void {
    this.#value = value;
    this.#isNew = true;
    this.#wake?.();
  }

  /** The value as soon as it is new, or after `atMostMs` the one that there is; undefined while there is none. */
  async next(clock: Clock, atMostMs: number, signal: AbortSignal): Promise<V | undefined> {
    if (!this.#isNew && !signal.aborted) {
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          stopWatching();
          this.#wake = undefined;
          resolve();
        };
        const stopWatching = watchDeadline({ timeoutMs: atMostMs, signal }, { clock }, wake);
        this.#wake = wake;
      });
    }
    this.#isNew = false;
    return this.#value;
  }
}
