import { wrongTarget } from '../wrong-target.js';

/** Workers that a Kubernetes API server knows of. */
export type ClusterTarget =
  /** The EndpointSlices of a Service. */
  | {
      readonly type: 'kubernetes-service';
      /** Undefined for the namespace of this pod or of the kubeconfig's context. */
      readonly namespace: string | undefined;
      readonly service: string;
      /** The sidecar's port, or the name that the Service gives it. */
      readonly port: number | string;
      readonly text: string;
    }
  /** Pods by their labels. */
  | {
      readonly type: 'kubernetes-pods';
      readonly namespace: string | undefined;
      /** A label selector as the API server reads it. */
      readonly selector: string;
      /** The sidecar's port. */
      readonly port: number;
      /** The DynamoGraphDeployment that the pods are of, where that is how they were named. */
      readonly graph?: string;
      readonly text: string;
    }
  | PoolTarget
  /** Model cards in DynamoWorkerMetadata objects. */
  | {
      readonly type: 'dynamo-kubernetes';
      readonly namespace: string | undefined;
      /** Undefined for all of the namespace. */
      readonly selector: string | undefined;
      readonly text: string;
    };

/** The pods of an InferencePool. */
export interface PoolTarget {
  readonly type: 'inference-pool';
  readonly namespace: string | undefined;
  readonly pool: string;
  /** The port of a pod's first sidecar. */
  readonly port: number;
  readonly text: string;
}

/** Where sidecars listen by default; what a selector of pods assumes. */
const SIDECAR_PORT = 50_061;

const SERVICE_FORM = 'k8s://NAMESPACE/SERVICE:PORT';
const PODS_FORM = 'k8s://NAMESPACE?selector=LABEL=VALUE[&port=N]';
const DYNAMO_FORM = 'dynamo-k8s://NAMESPACE[?selector=LABEL=VALUE]';
const POOL_FORM = 'pool://NAMESPACE/NAME[?port=N]';
const POOL_SETTING_FORM = 'NAME or NAMESPACE/NAME of an InferencePool';
const GRAPH_FORM = 'NAME or NAMESPACE/NAME of a DynamoGraphDeployment';

/** What the operator of Dynamo labels the pods of a graph's engines with. */
const GRAPH_LABEL = 'nvidia.com/dynamo-graph-deployment-name';
const ENGINE_PODS = 'nvidia.com/dynamo-component-type in (worker,prefill,decode)';

/** `k8s://…`: a Service when there is a path, else pods by their labels. */
export function parseKubernetesTarget(text: string): ClusterTarget {
  const form = `must be ${SERVICE_FORM} or ${PODS_FORM}; without NAMESPACE (k8s:///SERVICE:PORT, k8s://?selector=…) it is this pod's own`;
  const [, namespaceText = '', path, query] =
    /^k8s:\/\/([^/?#]*)(?:\/([^?#]*))?(?:\?(.*))?$/is.exec(text) ?? [];
  const namespace = namespaceOf(text, namespaceText);
  if (path === undefined && query !== undefined) return podsTarget(text, namespace, query);
  if (path === undefined || query !== undefined) throw wrongTarget(text, form);
  const [, service, portText] = /^([^:/]+):([^:/]+)$/.exec(path) ?? [];
  if (service === undefined || portText === undefined) throw wrongTarget(text, form);
  if (!isLabelName(service)) throw wrongTarget(text, `must name its Service by ${LABEL_NAME_FORM}`);
  const port = /^\d+$/.test(portText) ? portNumber(text, portText) : portText;
  if (typeof port === 'string' && !isLabelName(port))
    throw wrongTarget(text, 'must have a port from 1 to 65535, or the name of a port of the Service');
  return {
    type: 'kubernetes-service',
    namespace,
    service,
    port,
    text: `k8s://${namespace ?? ''}/${service}:${port}`,
  };
}

/** `dynamo-k8s://NAMESPACE[?selector=…]`. */
export function parseDynamoKubernetesTarget(text: string): ClusterTarget {
  const match = /^dynamo-k8s:\/\/([^/?#]*)(?:\?(.*))?$/is.exec(text);
  if (match === null) throw wrongTarget(text, `must be ${DYNAMO_FORM}`);
  const namespace = namespaceOf(text, match[1] ?? '');
  const { selector } = parametersOf(text, match[2] ?? '', ['selector'], DYNAMO_FORM);
  const query = selector === undefined ? '' : `?selector=${selector}`;
  return { type: 'dynamo-kubernetes', namespace, selector, text: `dynamo-k8s://${namespace ?? ''}${query}` };
}

/** `[NAMESPACE/]NAME` of a DynamoGraphDeployment: the pods of its engines, as Dynamo's operator labels them. */
export function parseGraphTarget(text: string): ClusterTarget {
  const [, namespaceText = '', graph = ''] = /^(?:([^/]+)\/)?([^/]+)$/.exec(text) ?? [];
  if (!isLabelName(graph)) throw wrongTarget(text, `must be ${GRAPH_FORM}`);
  const namespace = namespaceOf(text, namespaceText);
  return {
    type: 'kubernetes-pods',
    namespace,
    selector: `${GRAPH_LABEL}=${graph},${ENGINE_PODS}`,
    port: SIDECAR_PORT,
    graph,
    text: `DynamoGraphDeployment ${namespace === undefined ? '' : `${namespace}/`}${graph}`,
  };
}

/** `pool://NAMESPACE/NAME[?port=N]`; without NAMESPACE (`pool:///NAME`) it is this pod's own. */
export function parsePoolTarget(text: string): PoolTarget {
  const match = /^pool:\/\/([^/?#]*)\/([^/?#]*)(?:\?(.*))?$/is.exec(text);
  if (match === null) throw wrongTarget(text, `must be ${POOL_FORM}`);
  const [, namespace = '', pool = '', query = ''] = match;
  const { port } = parametersOf(text, query, ['port'], POOL_FORM);
  return poolTarget(text, namespace, pool, port === undefined ? SIDECAR_PORT : portNumber(text, port));
}

/** `[NAMESPACE/]NAME` of an InferencePool, as `--pool` has it; the form of a target is taken too. */
export function parsePoolSetting(text: string): PoolTarget {
  if (/^pool:\/\//i.test(text)) return parsePoolTarget(text);
  const [, namespace = '', pool] = /^(?:([^/]+)\/)?([^/]+)$/.exec(text) ?? [];
  if (pool === undefined) throw wrongTarget(text, `must be ${POOL_SETTING_FORM}`);
  return poolTarget(text, namespace, pool, SIDECAR_PORT);
}

function poolTarget(text: string, namespaceText: string, pool: string, port: number): PoolTarget {
  if (!isSubdomain(pool)) throw wrongTarget(text, `must be ${POOL_SETTING_FORM}`);
  const namespace = namespaceOf(text, namespaceText);
  const ending = port === SIDECAR_PORT ? '' : `?port=${port}`;
  return {
    type: 'inference-pool',
    namespace,
    pool,
    port,
    text: `pool://${namespace ?? ''}/${pool}${ending}`,
  };
}

function podsTarget(text: string, namespace: string | undefined, query: string): ClusterTarget {
  const parameters = parametersOf(text, query, ['selector', 'port'], PODS_FORM);
  const { selector } = parameters;
  if (selector === undefined) throw wrongTarget(text, `must have a selector: ${PODS_FORM}`);
  const port = parameters.port === undefined ? SIDECAR_PORT : portNumber(text, parameters.port);
  const ending = port === SIDECAR_PORT ? '' : `&port=${port}`;
  return {
    type: 'kubernetes-pods',
    namespace,
    selector,
    port,
    text: `k8s://${namespace ?? ''}?selector=${selector}${ending}`,
  };
}

/** What label selectors are made of; which requirements there are is the API server's to judge. */
const SELECTOR = /^[A-Za-z0-9_./\-=!,() ]+$/;

function parametersOf<Name extends 'selector' | 'port'>(
  text: string,
  query: string,
  names: readonly Name[],
  form: string,
): Partial<Record<Name, string>> {
  const found: Partial<Record<Name, string>> = {};
  if (query === '') return found;
  for (const part of query.split('&')) {
    const name = names.find((known) => part.startsWith(`${known}=`));
    if (name === undefined) throw wrongTarget(text, `must be ${form}`);
    if (found[name] !== undefined) throw wrongTarget(text, `must have ${name}= once`);
    found[name] = decode(text, part.slice(name.length + 1)).trim();
  }
  const selector = 'selector' in found ? String(found.selector) : undefined;
  if (selector !== undefined && !SELECTOR.test(selector))
    throw wrongTarget(text, 'must have a label selector such as app=worker,tier in (decode,prefill)');
  return found;
}

/** People write a selector as it is, programs encode it for a URL. */
function decode(text: string, value: string): string {
  try {
    return decodeURIComponent(value.replaceAll('+', ' '));
  } catch {
    // A `URIError`, which does not name the sign that is wrong.
    throw wrongTarget(text, 'must have two hexadecimal digits after each % of its selector');
  }
}

function namespaceOf(text: string, namespace: string): string | undefined {
  if (namespace === '') return undefined;
  if (!isLabelName(namespace)) throw wrongTarget(text, `must name its namespace by ${LABEL_NAME_FORM}`);
  return namespace;
}

const LABEL_NAME_FORM = 'at most 63 lower-case letters, digits and hyphens';

/** RFC 1123, as Kubernetes names namespaces, Services and ports. */
function isLabelName(text: string): boolean {
  return /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/.test(text);
}

/** RFC 1123, as Kubernetes names custom resources. */
function isSubdomain(text: string): boolean {
  return text.length <= 253 && text.split('..').every(isLabelName);
}

function portNumber(text: string, digits: string): number {
  const port = Number(digits);
  if (/^\d{1,5}$/.test(digits) && port >= 1 && port <= 65_535) return port;
  throw wrongTarget(text, 'must have a port from 1 to 65535');
}
