import type { Document, Scalar, YAMLMap } from 'yaml';

/** A text in a manifest with the place where it stands: half open offsets into the file's text. */
export interface Placed<T = string> {
  readonly value: T;
  readonly start: number;
  readonly end: number;
}

/** A scalar of a manifest: its place is that of the YAML node, quotes and block header included. */
export interface PlacedText extends Placed {
  /** How it is written: plain, in quotes, or as a block. */
  readonly type: Scalar['type'];
}

/** An environment variable of a container, or of a Dynamo component. */
export interface EnvEntry extends Placed<PlacedText | undefined> {
  readonly name: string;
  /** Undefined for `valueFrom`, whose value is not in the manifest. */
  readonly value: PlacedText | undefined;
  /** The key of a ConfigMap that has the value. */
  readonly key?: { readonly configMap: string; readonly key: string };
  /** Whether it is the address of its own pod. */
  readonly isPodAddress?: boolean;
}

/** Where a container gets variables from by `envFrom`: a ConfigMap or a Secret. */
export interface EnvSource {
  readonly configMap: string | undefined;
  readonly secret: string | undefined;
  readonly prefix: string;
}

/** A volume as a container sees it. */
export interface Mount {
  readonly at: string;
  readonly volume: string | undefined;
  readonly subPath: string;
}

/** The ConfigMaps of a volume, in their order; one with `items` has those keys alone, each at its path. */
export interface Volume {
  readonly name: string | undefined;
  readonly configMaps: readonly {
    readonly name: string;
    readonly items: readonly { readonly key: string | undefined; readonly path: string | undefined }[];
  }[];
}

/** Where items can be added to a list under one key of a mapping, as far as nothing else changes by it. */
export interface ListPlace {
  /** Whether the mapping has the key itself. */
  readonly isThere: boolean;
  /** The `name`s of the items that stand there. */
  readonly names: readonly string[];
  /** Undefined where other places share the list by an anchor, where a merged one would be hidden, and where there is no place. */
  readonly way: ListWay | undefined;
}

/** How they are added. Offsets into the text of the file. */
export interface ListWay {
  readonly how: /** Behind the last item of a list that begins at `start`; that item ends at `end`, where there is one. */
    | 'behind-items'
    /** The same of a list in brackets. */
    | 'in-brackets'
    /** As a list under a new key, behind the brace in front of a mapping; `end` is there where it has other entries. */
    | 'in-braces'
    /** The same behind an entry that is on one line, from the start of its key to the end of its value. */
    | 'behind-entry'
    /** The same in front of the first key. */
    | 'in-front';
  readonly start: number;
  readonly end: number | undefined;
}

/** A container as a manifest has it. Lists that are absent are empty. */
export interface ContainerSite {
  readonly name: string;
  readonly image: PlacedText | undefined;
  /** The folder in which its command runs, where it is not that of the image. */
  readonly workingDir?: PlacedText | undefined;
  readonly command: readonly PlacedText[];
  readonly args: readonly PlacedText[];
  /** What its Dynamo component gives it (`envs`), then the container's own variables: of one name the last counts. */
  readonly env: readonly EnvEntry[];
  readonly envFrom: readonly EnvSource[];
  readonly mounts: readonly Mount[];
  /** Its `containerPort`s as they are written. */
  readonly ports: readonly string[];
  /** `restartPolicy: Always` makes a sidecar of an init container. */
  readonly restartsAlways: boolean;
  /** What its startup probe asks for. */
  readonly startupProbe: { readonly service?: PlacedText; readonly path?: PlacedText } | undefined;
  /** Where items of its lists would go. */
  readonly places: Readonly<Record<'env' | 'args' | 'command', ListPlace>>;
  /** Which list it is in; `model` is the one container of a KServe predictor that its runtime completes. */
  readonly list: 'containers' | 'initContainers' | 'mainContainer' | 'model';
}

/** An object of a file, for comparisons: each object has one. */
export interface ObjectIdentity {
  readonly kind: string | undefined;
}

/**
 * One pod template: of a workload, of the leader or the workers of a
 * LeaderWorkerSet, of one component of a DynamoGraphDeployment, or a pod spec
 * found inside an object of any other kind. It holds facts and places alone: the YAML that it was read of
 * takes a multiple of the memory.
 */
export interface PodSite {
  /** As the object says it: `Deployment`, `DynamoGraphDeployment`, `RoleBasedGroup`… */
  readonly kind: string;
  /** Whether the kind is read by its own rules. Otherwise its pod spec was found by its form. */
  readonly isKnownKind: boolean;
  /** Where the pod spec stands in the object: `spec.roles[prefill].template.spec`; empty for kinds with rules of their own. */
  readonly path: string;
  /** Whether its pods only follow those of another template of the object, in which the engine answers. */
  readonly isFollower: boolean;
  /** `nvidia.com/v1alpha1`. */
  readonly apiVersion: string;
  /** The object's name; empty when it has none (`generateName`). */
  readonly name: string;
  /** Undefined when the manifest leaves it to the person who applies it. */
  readonly namespace: string | undefined;
  /** Which template of the object: the component of a graph, `leader` or `worker` of a LeaderWorkerSet. */
  readonly part: string | undefined;
  /** A component's `componentType` (v1alpha1) or `type` (v1beta1): `frontend`, `worker`, `prefill`, `decode`… */
  readonly componentType: Placed | undefined;
  readonly labels: ReadonlyMap<string, string>;
  readonly replicas: number | undefined;
  readonly initContainers: readonly ContainerSite[];
  readonly containers: readonly ContainerSite[];
  /** The volumes that have ConfigMaps. */
  readonly volumes: readonly Volume[];
  readonly isOnHostNetwork: boolean;
  /** Whether something decides on which nodes its pods may be: `affinity`, `nodeSelector`, `nodeName`, `topologySpreadConstraints`. */
  readonly hasPlacement: boolean;
  /** What the component of a graph gives to its main container: the variables of the whole graph, then its `envs`. */
  readonly componentEnv: readonly EnvEntry[];
  /** Where items of a component's `envs` would go. */
  readonly envsPlace: ListPlace;
  /** The types of the plugins in a component's `eppConfig`. */
  readonly pickerPlugins: readonly string[];
  /** A component's `dynamoNamespace`, or the label that the operator would set. */
  readonly dynamoNamespace: string | undefined;
  /** The object that the site is in: all components of a graph have the same. */
  readonly object: ObjectIdentity;
  /** Whether the object asks for a picker: `spec.router.scheduler`. */
  readonly hasScheduler: boolean;
  /** Whether it takes the rest of what it says from an object of another name, as an LLMInferenceService from its `baseRefs`. */
  readonly hasBase: boolean;
  /** The name of the site as its key or `name` field has it, for findings about all of it. */
  readonly at: Placed;
}

/** A container with the mapping that it was read of. */
export interface OpenContainer extends ContainerSite {
  readonly node: YAMLMap;
}

/** A pod template with the YAML that it was read of, to be changed there. */
export interface OpenPodSite extends PodSite {
  readonly initContainers: readonly OpenContainer[];
  readonly containers: readonly OpenContainer[];
  readonly open: {
    /** The mapping that stands for the pod spec: `template.spec`, `extraPodSpec` or `podTemplate.spec`; undefined where a component has none yet. */
    readonly spec: YAMLMap | undefined;
    /** The mapping that the site is about: the object, or the component. */
    readonly node: YAMLMap;
    /** The document that the site is in. */
    readonly document: Document.Parsed;
    readonly object: YAMLMap;
  };
}

/** A pod template without the YAML that it was read of, which is free again. */
export function closed({ open: _open, ...site }: OpenPodSite): PodSite {
  const without = ({ node: _node, ...container }: OpenContainer): ContainerSite => container;
  return {
    ...site,
    initContainers: site.initContainers.map(without),
    containers: site.containers.map(without),
  };
}
