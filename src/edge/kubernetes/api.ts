/** What to ask the API server for. */
export interface ApiRequest {
  /** Such as `/apis/discovery.k8s.io/v1/namespaces/inference/endpointslices`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/**
 * One Kubernetes API server, as the user that the configuration names. Only
 * reads: the product never writes to a cluster. Every call rejects with a
 * `KubernetesError`, or with the signal's reason when it aborts.
 */
export interface KubernetesApi {
  /** For messages: `https://10.0.0.1:443`. */
  readonly name: string;
  /** The namespace of this pod or of the current context; `default` when neither says one. */
  readonly namespace: string;
  /** One JSON object, bounded in size and time. */
  get(request: ApiRequest): Promise<unknown>;
  /** The objects of a watch as they come, each bounded in size; ends when the server ends it in order. */
  watch(request: ApiRequest): AsyncIterable<unknown>;
  /** Ends every connection. */
  close(): Promise<void>;
}

/** The same for those who read more than objects. */
export interface StreamingApi extends KubernetesApi {
  /**
   * An answer as it comes, such as a container's log: at most `maxBytes` of it,
   * then it ends. What has come and waits to be taken is bounded as well.
   */
  bytes(request: ApiRequest, maxBytes: number): AsyncIterable<Buffer>;
}
