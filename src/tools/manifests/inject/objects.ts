import type { OpenPodSite, PodSite } from '../pod-site.js';
import { YamlAccess } from '../yaml-access.js';
import { GRPC_PORT, type Written } from './containers.js';
import { customSelector } from './custom-kinds.js';

const LABELS: Written = { 'app.kubernetes.io/name': 'kv-accord' };

/** Names of Services are labels of DNS. */
const MAX_NAME_CHARS = 63;

/** The name of the objects that go with a workload; undefined where no Service can have it. */
export function objectName(site: PodSite): string | undefined {
  const name = `${site.isKnownKind ? site.name : templateName(site)}-kv-accord`;
  return name.length <= MAX_NAME_CHARS && /^[a-z][a-z0-9-]*$/.test(name) && site.name !== ''
    ? name
    : undefined;
}

/** Of an object with several pod specs each has a Service of its own. */
function templateName({ name, part }: PodSite): string {
  const full = part === undefined ? name : `${name}-${part}`;
  return full.replace(/[^a-zA-Z0-9]+/g, '-').toLowerCase();
}

/** A headless Service that lists the pods of a workload, ready or not: the gate waits for those that are not. */
export function workersService(site: PodSite, name: string, selector: Written): Written {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, ...inNamespace(site.namespace), labels: LABELS },
    spec: {
      clusterIP: 'None',
      publishNotReadyAddresses: true,
      selector,
      ports: [{ name: 'kva-grpc', port: GRPC_PORT, targetPort: GRPC_PORT }],
    },
  };
}

/** The labels by which a workload knows its pods; undefined when it has none. */
export function selectorOf(site: OpenPodSite): Written | undefined {
  if (site.kind === 'LeaderWorkerSet') {
    // The engine of a group answers at its leader.
    return {
      'leaderworkerset.sigs.k8s.io/name': site.name,
      'leaderworkerset.sigs.k8s.io/worker-index': '0',
    };
  }
  if (!site.isKnownKind) return customSelector(site);
  const access = new YamlAccess(site.open.document);
  const labels = access
    .textEntries(access.map(site.open.node, 'spec', 'selector', 'matchLabels'))
    .map(({ key, value }): [string, string] => [key.value, value.value]);
  const selector = labels.length > 0 ? labels : [...site.labels];
  return selector.length === 0 ? undefined : Object.fromEntries(selector);
}

/** Lets the frontends of a graph list its pods, and how many of them there are to be. */
export function graphAccess(
  site: PodSite,
  name: string,
  serviceAccounts: readonly string[],
  namespace: string,
): readonly Written[] {
  const metadata = { name, ...inNamespace(site.namespace), labels: LABELS };
  return [
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'Role',
      metadata,
      rules: [
        { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list', 'watch'] },
        {
          apiGroups: ['nvidia.com'],
          resources: ['dynamographdeployments'],
          verbs: ['get'],
          resourceNames: [site.name],
        },
      ],
    },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
      subjects: serviceAccounts.map((account) => ({
        kind: 'ServiceAccount',
        name: account,
        namespace: site.namespace ?? namespace,
      })),
    },
  ];
}

function inNamespace(namespace: string | undefined): Written {
  return namespace === undefined ? {} : { namespace };
}
