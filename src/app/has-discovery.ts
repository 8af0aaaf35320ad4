/** Where the workers of a fleet are found, as the operator wrote it. */
export interface WorkerPlaces {
  /** Targets of `--workers`: `HOST:PORT`, `dns:///NAME:PORT`, `k8s://…` and the like. */
  readonly workers: readonly string[];
  /** A file that lists sidecars. */
  readonly workersFile: string | undefined;
  /** A DynamoGraphDeployment, `[NAMESPACE/]NAME`. */
  readonly dynamoGraph: string | undefined;
  /** An InferencePool, `[NAMESPACE/]NAME`. */
  readonly pool?: string | undefined;
}

/** Whether discovery is to find workers; else there are only those that are read directly. */
export function hasDiscovery({ workers, workersFile, dynamoGraph, pool }: WorkerPlaces): boolean {
  const named = [workersFile, dynamoGraph, pool];
  return workers.length > 0 || named.some((place) => place !== undefined);
}
