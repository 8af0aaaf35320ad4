import { type Document, isMap, type YAMLMap } from 'yaml';
import { findPodSpecs } from './find-pod-specs.js';
import { listPlaceIn, NO_PLACE } from './list-place.js';
import type { ObjectIdentity, OpenPodSite, PodSite } from './pod-site.js';
import { readContainers, readEnv, readVolumes } from './read-containers.js';
import type { SourceFile } from './source-file.js';
import { placeOfNode, YamlAccess } from './yaml-access.js';

/** Objects and pod templates that are read of one file: no document within the bounds of the parser has as many. */
const MAX_SITES = 100_000;

/** A `kind: List` may hold lists, and no more than that. */
const MAX_LIST_DEPTH = 3;

/** Workloads whose pods come of `spec.template`. */
const TEMPLATE_KINDS: readonly string[] = ['Deployment', 'StatefulSet', 'DaemonSet', 'Job'];

/** Kinds that describe other objects, or that hold text: a pod spec in them is none. */
const WITHOUT_PODS: readonly string[] = ['CustomResourceDefinition', 'ConfigMap', 'Secret', 'Kustomization'];

/** What decides on which nodes pods may be. */
const PLACING = ['affinity', 'nodeSelector', 'nodeName', 'topologySpreadConstraints'] as const;

const identities = new WeakMap<YAMLMap, ObjectIdentity>();

/** Stands for an object, without its YAML. */
export function identityOf(access: YamlAccess, object: YAMLMap): ObjectIdentity {
  const known = identities.get(object) ?? { kind: access.text(object, 'kind')?.value };
  identities.set(object, known);
  return known;
}

/** All pod templates of a file, in the order in which they stand there. */
export function readPodSites(file: SourceFile): readonly OpenPodSite[] {
  const sites: OpenPodSite[] = [];
  for (const node of readObjects(file)) {
    if (sites.length >= MAX_SITES) {
      break;
    }
    sites.push(...podSitesOf(node).slice(0, MAX_SITES - sites.length));
  }
  return sites;
}

/** One Kubernetes object of a file. */
export interface ObjectNode {
  readonly access: YamlAccess;
  readonly object: YAMLMap;
  readonly document: Document.Parsed;
}

/** The objects of a file; lists are opened. */
export function readObjects(file: SourceFile): readonly ObjectNode[] {
  const objects: ObjectNode[] = [];
  for (const document of file.documents) {
    const access = new YamlAccess(document);
    if (isMap(document.contents)) {
      collect(access, document.contents, document, 0, objects);
    }
  }
  return objects;
}

function collect(
  access: YamlAccess,
  object: YAMLMap,
  document: Document.Parsed,
  depth: number,
  into: ObjectNode[],
): void {
  if (into.length >= MAX_SITES) {
    return;
  }
  if (access.text(object, 'kind')?.value.endsWith('List') && depth < MAX_LIST_DEPTH) {
    for (const item of access.maps(object, 'items')) {
      collect(access, item, document, depth + 1, into);
    }
    return;
  }
  into.push({ access, object, document });
}

/** The pod templates of one object. */
export function podSitesOf(node: ObjectNode): readonly OpenPodSite[] {
  const { access, object } = node;
  const kind = access.text(object, 'kind')?.value;
  const spec = access.map(object, 'spec');
  if (kind === 'Pod') {
    return [templateSite(node, kind, object, undefined, undefined)];
  }
  if (kind === 'LeaderWorkerSet') {
    const template = access.map(spec, 'leaderWorkerTemplate');
    const replicas = access.number(spec, 'replicas');
    const size = access.number(template, 'size');
    return (['leader', 'worker'] as const).flatMap((part) => {
      const pod = access.map(template, `${part}Template`);
      const count =
        part === 'leader' || size === undefined ? replicas : (replicas ?? 1) * Math.max(0, size - 1);
      return pod === undefined ? [] : [templateSite(node, kind, pod, part, count)];
    });
  }
  if (kind === 'DynamoGraphDeployment') {
    return graphSites(node);
  }
  if (kind === undefined || WITHOUT_PODS.includes(kind)) {
    return [];
  }
  if (TEMPLATE_KINDS.includes(kind)) {
    const template = access.map(spec, 'template');
    const count = access.number(spec, kind === 'Job' ? 'parallelism' : 'replicas');
    return template === undefined ? [] : [templateSite(node, kind, template, undefined, count)];
  }
  return otherSites(node, kind, spec);
}

/** The pod specs inside an object of any other kind. */
function otherSites(node: ObjectNode, kind: string, root: YAMLMap | undefined): readonly OpenPodSite[] {
  const { access } = node;
  if (root === undefined) {
    return [];
  }
  return findPodSpecs(access, root, 'spec').map(
    ({ spec, metadata, part, path, replicas, isFollower, named: item }) => {
      const site = siteOf(node, { kind, spec, labels: readLabels(access, metadata), part, replicas });
      const at = access.text(item, 'name') ?? site.at;
      return { ...site, isKnownKind: false, path, isFollower, at };
    },
  );
}

/** A pod template as workloads have it: `metadata` and `spec`. */
function templateSite(
  node: ObjectNode,
  kind: string,
  template: YAMLMap,
  part: string | undefined,
  replicas: number | undefined,
): OpenPodSite {
  const { access } = node;
  const spec = access.map(template, 'spec');
  return siteOf(node, {
    kind,
    spec,
    labels: readLabels(access, access.map(template, 'metadata')),
    part,
    replicas,
  });
}

/** A site of a kind with rules of its own; where `own` says nothing, the object is one workload. */
function siteOf(
  { access, object, document }: ObjectNode,
  {
    spec,
    node = object,
    ...own
  }: Pick<PodSite, 'kind' | 'labels' | 'part' | 'replicas'> &
    Pick<OpenPodSite['open'], 'spec'> &
    Partial<Pick<OpenPodSite['open'], 'node'>> &
    Partial<PodSite>,
): OpenPodSite {
  const { labels, componentEnv = [] } = own;
  const metadata = access.map(object, 'metadata');
  const name = access.text(metadata, 'name');
  return {
    isKnownKind: true,
    path: '',
    isFollower: false,
    apiVersion: access.text(object, 'apiVersion')?.value ?? '',
    name: name?.value ?? '',
    namespace: access.text(metadata, 'namespace')?.value,
    componentType: undefined,
    volumes: readVolumes(access, spec),
    isOnHostNetwork: access.text(spec, 'hostNetwork')?.value === 'true',
    hasPlacement: PLACING.some((key) => access.get(spec, key) !== undefined),
    componentEnv,
    envsPlace: NO_PLACE,
    pickerPlugins: [],
    dynamoNamespace: labels.get('nvidia.com/dynamo-namespace'),
    object: identityOf(access, object),
    hasScheduler: access.map(object, 'spec', 'router', 'scheduler') !== undefined,
    hasBase: hasBase(access, object),
    at: name ?? start(object),
    ...own,
    ...readContainers(access, spec, componentEnv),
    open: { spec, node, document, object },
  };
}

/** KServe's own presets apply to each object, and set no variable that is known here. */
function hasBase(access: YamlAccess, object: YAMLMap): boolean {
  const bases = access.maps(access.map(object, 'spec'), 'baseRefs');
  return bases.some((base) => access.text(base, 'name')?.value.startsWith('kserve-config-') !== true);
}

/** The components of a DynamoGraphDeployment: `spec.services` of v1alpha1, `spec.components` of v1beta1. */
function graphSites(node: ObjectNode): readonly OpenPodSite[] {
  const { access, object } = node;
  const spec = access.map(object, 'spec');
  const shared = [...readEnv(access, spec, 'envs'), ...readEnv(access, spec, 'env')];
  const componentSite = (
    map: YAMLMap,
    own: Pick<PodSite, 'labels' | 'part' | 'componentType' | 'at'> & Pick<OpenPodSite['open'], 'spec'>,
  ): OpenPodSite =>
    siteOf(node, {
      ...own,
      kind: 'DynamoGraphDeployment',
      replicas: access.number(map, 'replicas'),
      componentEnv: [...shared, ...readEnv(access, map, 'envs')],
      envsPlace: listPlaceIn(access, map, 'envs'),
      pickerPlugins: access
        .maps(access.map(map, 'eppConfig', 'config'), 'plugins')
        .flatMap((plugin) => access.text(plugin, 'type')?.value ?? []),
      dynamoNamespace: access.text(map, 'dynamoNamespace')?.value,
      node: map,
    });
  const services = access.mapEntries(access.map(spec, 'services')).flatMap(({ key, map }) => {
    if (map === undefined) {
      return [];
    }
    const metadata = access.map(map, 'extraPodMetadata');
    return componentSite(map, {
      part: key.value,
      componentType: access.text(map, 'componentType'),
      labels: new Map([...readLabels(access, metadata), ...readLabels(access, map)]),
      spec: access.map(map, 'extraPodSpec'),
      at: key,
    });
  });
  const components = access.maps(spec, 'components').map((map) => {
    const template = access.map(map, 'podTemplate');
    const name = access.text(map, 'name');
    return componentSite(map, {
      part: name?.value ?? '',
      componentType: access.text(map, 'type') ?? access.text(map, 'componentType'),
      labels: readLabels(access, access.map(template, 'metadata')),
      spec: access.map(template, 'spec'),
      at: name ?? start(map),
    });
  });
  return [...services, ...components];
}

function readLabels(access: YamlAccess, metadata: YAMLMap | undefined): ReadonlyMap<string, string> {
  return new Map(
    access.textEntries(access.map(metadata, 'labels')).map(({ key, value }) => [key.value, value.value]),
  );
}

/** A stand-in for a name that is absent: the place of the mapping that should have it. */
function start(map: YAMLMap): { value: string; start: number; end: number } {
  const { start: at } = placeOfNode(map);
  return { value: '', start: at, end: at };
}
