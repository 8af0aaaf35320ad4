/** One worker's sidecar as discovery lists it. */
export interface Endpoint {
  /** Stable name of the member, unique in the fleet: what people see. */
  readonly target: string;
  /** Where to dial its sidecar: `HOST:PORT`, `[::1]:PORT` or `unix:/path`. */
  readonly address: string;
  /** True while the platform is taking it away (a terminating pod). */
  readonly draining?: boolean;
}

/**
 * Finds the sidecars of a fleet. To add a source is to add one file here, to
 * name its target form in `parse-target.ts`, and to make it in `create-source.ts`.
 */
export interface DiscoverySource {
  /** What it was made from, such as `dns:///workers:50061`. */
  readonly name: string;
  /** True when the list never changes: agreement then need not wait for it to settle (A3). */
  readonly isStatic: boolean;
  /**
   * Runs until `signal` aborts. Calls `onList` with the full list at once and
   * at every change; calls `onError` when a round failed, keeps the last list,
   * and tries again.
   */
  run(
    signal: AbortSignal,
    onList: (endpoints: readonly Endpoint[]) => void,
    onError: (error: Error) => void,
  ): Promise<void>;
}
