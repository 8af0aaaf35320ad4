import type { Document, Scalar, YAMLMap } from 'yaml';

/** A text in a manifest with the place where it stands: half open offsets into the file's text. */
export interface Placed<T = string> {
  readonly value: T;
  readonly start: number;
  readonly end: number;
}

/** A scalar of a manifest: its place is that of the YAML node, quotes and block header included. */
export interface PlacedText extends Placed {
  readonly node: Scalar;
}

/** An environment variable of a container, or of a Dynamo component. */
export interface EnvEntry {
  readonly name: string;
  /** Undefined for `valueFrom`, whose value is not in the manifest. */
  readonly value: PlacedText | undefined;
  readonly node: YAMLMap;
}

/** A container as a manifest has it. Lists that are absent are empty; their nodes say where one would go. */
export interface ContainerSite {
  readonly name: string;
  readonly image: PlacedText | undefined;
  readonly command: readonly PlacedText[];
  readonly args: readonly PlacedText[];
  /** What its Dynamo component gives it (`envs`), then the container's own variables: of one name the last counts. */
  readonly env: readonly EnvEntry[];
  readonly node: YAMLMap;
  /** Which list it is in; `model` is the one container of a KServe predictor that its runtime completes. */
  readonly list: 'containers' | 'initContainers' | 'mainContainer' | 'model';
}

/**
 * One pod template: of a workload, of the leader or the workers of a
 * LeaderWorkerSet, of one component of a DynamoGraphDeployment, or a pod spec
 * found inside an object of any other kind.
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
  /** The mapping that stands for the pod spec: `template.spec`, `extraPodSpec` or `podTemplate.spec`; undefined where a component has none yet. */
  readonly spec: YAMLMap | undefined;
  /** The mapping that the site is about: the object, or the component. */
  readonly node: YAMLMap;
  /** What the component of a graph gives to its main container: the variables of the whole graph, then its `envs`. */
  readonly componentEnv: readonly EnvEntry[];
  /** A component's `dynamoNamespace`, or the label that the operator would set. */
  readonly dynamoNamespace: string | undefined;
  /** The document that the site is in. */
  readonly document: Document.Parsed;
  /** The object that the site is in: all components of a graph have the same. */
  readonly object: YAMLMap;
  /** The name of the site as its key or `name` field has it, for findings about all of it. */
  readonly at: Placed;
}
