/** Workers with series of their own, in all groups together; a fleet of more is looked at by its API. */
const MAX_WORKER_SERIES = 500;

/** What the rest is counted under. */
const OTHERS = 'others';

/** Names of the labels of a worker's series, for a metric's definition. */
export const WORKER_LABEL_NAMES = ['group', 'worker_id', 'worker'] as const;

/** The labels of one worker: its served model, its id (empty where none is known) and its address. */
export type WorkerLabels = Readonly<Record<(typeof WORKER_LABEL_NAMES)[number], string>>;

/**
 * Labels for one reading of a metric: the first 500 workers that are asked for have labels of their own, all others share
 * `others` in their group. Values are to be added, never set.
 */
export function boundedWorkerLabels(): (group: string, workerId: string, worker: string) => WorkerLabels {
  const named = new Set<string>();
  return (group, workerId, worker) => {
    const key = `${group}\n${worker}`;
    const isNamed = named.has(key) || named.size < MAX_WORKER_SERIES;
    if (!isNamed) return { group, worker_id: OTHERS, worker: OTHERS };
    named.add(key);
    return { group, worker_id: workerId, worker };
  };
}
