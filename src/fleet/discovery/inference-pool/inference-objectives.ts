import type { KubernetesApi } from '../../../edge/kubernetes/api.js';
import { ListWatch, type ListWatchModules } from '../../../edge/kubernetes/list-watch.js';
import { integerAt, textAt } from '../../../edge/kubernetes/read-json.js';
import type { Logger } from '../../../edge/platform/logger.js';

/** Priority of a request that names no objective, or one that states none. */
const DEFAULT_PRIORITY = 0;

/** Objectives that are followed: one for each use of a model, not for each request. */
const MAX_OBJECTIVES = 10_000;

/**
 * Where objectives are: llm-d's group since the Inference Extension 1.6 left
 * the kind to it, and the group before. An objective of the first one wins.
 */
const GROUPS: readonly string[] = ['llm-d.ai', 'inference.networking.x-k8s.io'];

interface Objective {
  readonly name: string;
  readonly priority: number;
}

export interface InferenceObjectivesOptions {
  readonly namespace: string;
  /** The pool that an objective must name. */
  readonly pool: string;
}

export interface InferenceObjectivesModules extends ListWatchModules {
  readonly api: KubernetesApi;
  readonly logger: Logger;
}

/**
 * The priorities that `InferenceObjective` objects give to requests of one
 * pool, kept true. Without the kind, the right to read it or the API server,
 * every request has `DEFAULT_PRIORITY`, or what was known last.
 */
export class InferenceObjectives {
  readonly #options: InferenceObjectivesOptions;
  readonly #modules: InferenceObjectivesModules;
  /** By group, in the order of `GROUPS`. */
  readonly #found: ReadonlyMap<string, number>[] = GROUPS.map(() => new Map());

  constructor(options: InferenceObjectivesOptions, modules: InferenceObjectivesModules) {
    this.#options = options;
    this.#modules = modules;
  }

  /** The priority of requests that name this objective; higher is more important, and less than 0 is allowed. */
  priorityOf(name: string | undefined): number {
    if (name === undefined) return DEFAULT_PRIORITY;
    for (const priorities of this.#found) {
      const priority = priorities.get(name);
      if (priority !== undefined) return priority;
    }
    return DEFAULT_PRIORITY;
  }

  /** Follows them until `signal` aborts. Never rejects by itself. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(GROUPS.map((group, index) => this.#follow(group, index, signal)));
  }

  async #follow(group: string, index: number, signal: AbortSignal): Promise<void> {
    const { namespace, pool } = this.#options;
    const { logger } = this.#modules;
    const objectives = new ListWatch<Objective>(
      {
        path: `/apis/${group}/v1alpha2/namespaces/${encodeURIComponent(namespace)}/inferenceobjectives`,
        keep: (object) => readObjective(object, pool),
        maxObjects: MAX_OBJECTIVES,
      },
      this.#modules,
    );
    await objectives.run(signal, {
      onSet: (found) => {
        this.#found[index] = new Map(found.map(({ name, priority }) => [name, priority]));
      },
      onError: (error) => {
        // The kind is optional, and each cluster has it in one group at most.
        if (error.code === 'not_found') this.#found[index] = new Map();
        else
          logger.warn(
            { group },
            `Priorities of the InferencePool ${namespace}/${pool} cannot be read; those that were known before still count: ${error.message}`,
          );
      },
      onWell: () =>
        logger.info({ group }, `Priorities of the InferencePool ${namespace}/${pool} are followed again`),
    });
  }
}

/** Reads an objective of the pool; undefined for one of another pool. */
function readObjective(object: unknown, pool: string): Objective | undefined {
  const name = textAt(object, 'metadata', 'name');
  if (name === undefined || textAt(object, 'spec', 'poolRef', 'name') !== pool) return undefined;
  return { name, priority: integerAt(object, 'spec', 'priority') ?? DEFAULT_PRIORITY };
}
