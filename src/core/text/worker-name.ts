/** A worker by its own name, and by its address in discovery. */
export interface NamedWorker {
  /** Empty where none is known. */
  readonly workerId: string;
  readonly target: string;
}

/**
 * The one name of a worker for people: `worker-a (10.0.0.1:50061)`, its `worker_id` and then its address in discovery; the
 * address alone where no worker id is known, or where both are the same.
 */
export function workerName(worker: NamedWorker): string {
  const { workerId, target } = worker;
  return workerId === '' || workerId === target ? target : `${workerId} (${target})`;
}
