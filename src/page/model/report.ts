/**
 * What the page reads of a worker's report: kvaccord.v1 in the JSON form of Protocol Buffers, in which 64-bit numbers
 * are texts, and what is empty or not known is absent.
 */

/** A GPU, or a slice of one. */
export interface GpuJson {
  readonly uuid?: string;
  readonly index?: number;
  readonly productName?: string;
  readonly memoryBytes?: string;
  readonly pciBusId?: string;
  readonly numaNode?: number;
  readonly cpuAffinity?: string;
  readonly migProfile?: string;
  readonly fabricClusterUuid?: string;
  readonly fabricCliqueId?: string;
  readonly parentUuid?: string;
  readonly pcieRoot?: string;
}

/** A pair of devices: GPUs by UUID, NICs by name. */
export interface LinkJson {
  readonly a?: string;
  readonly b?: string;
  readonly kind?: string;
  readonly laneCount?: number;
}

/** What a worker runs on. */
export interface TopologyJson {
  readonly gpus?: readonly GpuJson[];
  readonly links?: readonly LinkJson[];
  readonly nics?: readonly {
    readonly name?: string;
    readonly pciBusId?: string;
    readonly numaNode?: number;
  }[];
  readonly numaNodes?: readonly { readonly index?: number; readonly cpus?: string }[];
  readonly driverVersion?: string;
  readonly cudaVersion?: string;
  readonly placement?: {
    readonly nodeName?: string;
    readonly zone?: string;
    readonly rack?: string;
    readonly topologyDomains?: Readonly<Record<string, string>>;
  };
  readonly notes?: readonly string[];
}

/** Where a value came from. */
export interface EvidenceJson {
  readonly field?: string;
  readonly source?: string;
  readonly origin?: string;
  readonly raw?: string;
  readonly observedAt?: string;
}

/** A sidecar's report. */
export interface ReportJson {
  readonly workerId?: string;
  readonly instanceId?: string;
  readonly revision?: string;
  readonly observedAt?: string;
  readonly sidecarVersion?: string;
  readonly engine?: {
    readonly kind?: string;
    readonly version?: string;
    readonly state?: string;
    readonly role?: string;
    readonly servingAddresses?: readonly { readonly protocol?: string; readonly address?: string }[];
    readonly apis?: readonly string[];
  };
  readonly model?: {
    readonly servedNames?: readonly string[];
    readonly root?: string;
    readonly revision?: string;
    readonly maxModelLen?: number;
    readonly loraAdapters?: readonly string[];
  };
  readonly contract?: {
    readonly tokensPerBlock?: number;
    readonly hashAlgorithm?: string;
    readonly hashSeed?: string;
  };
  readonly blockSizes?: readonly {
    readonly kind?: string;
    readonly sizeTokens?: number;
    readonly groupIndex?: number;
  }[];
  readonly evidence?: readonly EvidenceJson[];
  readonly conflicts?: readonly {
    readonly field?: string;
    readonly keptValue?: string;
    readonly keptSource?: string;
    readonly otherValue?: string;
    readonly otherSource?: string;
    readonly otherOrigin?: string;
  }[];
  readonly parallelism?: Readonly<Record<string, number>>;
  readonly capacity?: {
    readonly totalKvBlocks?: string;
    readonly maxRunningRequests?: string;
    readonly maxBatchedTokens?: string;
    readonly kvCacheSizeTokens?: string;
    readonly kvTiers?: readonly string[];
    readonly prefixCaching?: boolean;
  };
  readonly kvEventSources?: readonly {
    readonly dataParallelRank?: number;
    readonly transport?: string;
    readonly endpoint?: string;
    readonly replayEndpoint?: string;
  }[];
  readonly topology?: TopologyJson;
  readonly completeness?: { readonly state?: string; readonly reasons?: readonly string[] };
  readonly digest?: string;
  readonly warnings?: readonly string[];
  readonly probes?: readonly {
    readonly probe?: string;
    readonly origin?: string;
    readonly answered?: boolean;
    readonly factCount?: number;
    readonly error?: string;
  }[];
  readonly canary?: { readonly state?: string; readonly reason?: string };
}

/** `NVLINK` of `LINK_KIND_NVLINK`: the word of a value of an enum, for people in lower case with spaces. */
export function enumWord(value: string | undefined, prefix: string): string {
  if (value === undefined) return '';
  return (value.startsWith(prefix) ? value.slice(prefix.length) : value).toLowerCase().replaceAll('_', ' ');
}
