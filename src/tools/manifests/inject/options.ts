/** How what is injected talks to each other. */
export type Transport =
  | { readonly type: 'plaintext' }
  | {
      readonly type: 'tls';
      /** A Secret with `tls.crt`, `tls.key` and `ca.crt`, in the namespace of the pods. */
      readonly secret: string;
      /** The name that the workers' certificates have in common. */
      readonly certificateName: string;
    };

/** What `kv-accord inject` was asked to add. */
export interface InjectOptions {
  /** Of kv-accord, for all containers that are added. */
  readonly image: string;
  /** `native`: an init container that stays; `container`: an ordinary one beside the engine. */
  readonly sidecarKind: 'native' | 'container';
  /** Gives the sidecar a readiness probe, so that a pod is Ready only once its worker is offered. */
  readonly readyWhenOffered: boolean;
  /** `wait`: an init container; `exec`: the frontend runs under `kv-accord exec`; `none`: no gate. */
  readonly gate: 'wait' | 'exec' | 'none';
  readonly transport: Transport;
  /** Targets for the gate; empty to take the workers of the manifests. */
  readonly workers: readonly string[];
  /** Undefined to count those of the manifests. */
  readonly minWorkers: number | 'auto' | undefined;
  /** The namespace of objects that name none, where one has to be written down. */
  readonly namespace: string;
  /** Workloads, components of graphs, or `WORKLOAD/PART`, that are workers or frontends whatever they run. */
  readonly workerNames: readonly string[];
  readonly frontendNames: readonly string[];
}
