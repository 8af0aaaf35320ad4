/** Metrics that say how busy an engine is, and whether it has a prefix cache. */
export interface LoadMetrics {
  /** Pages in the Prometheus text format that are harmless to read, the usual one first. */
  readonly pages: readonly string[];
  /** Names of the gauge of requests that run, the first that is there counts. */
  readonly running: readonly string[];
  /** Names of the gauge of requests that wait. */
  readonly waiting: readonly string[];
  /** Counters and gauges that change while it computes, and not because a request has come, on one harmless page. */
  readonly work?: { readonly page: string; readonly names: readonly string[] };
  /** Counter of prompt tokens that were found in the cache. */
  readonly cachedTokens?: string;
  /** Counters of prompt tokens that it did not compute, because it held them or received them from another engine, on one harmless page. */
  readonly notComputed?: {
    readonly page: string;
    readonly name: string;
    readonly label: string;
    readonly values: readonly string[];
  };
  /** A label that is `True` or `False` as the engine has a prefix cache or not. */
  readonly cachingLabel?: { readonly family: string; readonly label: string };
  /** A page whose first match of `isOff` is `true` or `false` as the engine has no prefix cache, or has one. */
  readonly cachingPage?: { readonly path: string; readonly isOff: RegExp };
}
