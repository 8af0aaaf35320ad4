import { stringify } from 'yaml';
import type { KubernetesApi } from '../../edge/kubernetes/api.js';
import { KubernetesError } from '../../edge/kubernetes/kubernetes-error.js';
import { listAll } from '../../edge/kubernetes/list-all.js';
import { asRecord, listAt, textAt, valueAt } from '../../edge/kubernetes/read-json.js';
import { isJsonObject, type JsonObject } from '../../edge/platform/data/json-object.js';
import type { ManifestFile } from './manifest-files.js';

/** What can hold a worker, a frontend or their settings, with where the API has it. */
const SOURCES: readonly { readonly kind: string; readonly apiVersion: string; readonly plural: string }[] = [
  { kind: 'DynamoGraphDeployment', apiVersion: 'nvidia.com/v1beta1', plural: 'dynamographdeployments' },
  { kind: 'DynamoGraphDeployment', apiVersion: 'nvidia.com/v1alpha1', plural: 'dynamographdeployments' },
  { kind: 'LeaderWorkerSet', apiVersion: 'leaderworkerset.x-k8s.io/v1', plural: 'leaderworkersets' },
  { kind: 'InferencePool', apiVersion: 'inference.networking.k8s.io/v1', plural: 'inferencepools' },
  {
    kind: 'InferencePool',
    apiVersion: 'inference.networking.x-k8s.io/v1alpha2',
    plural: 'inferencepools',
  },
  { kind: 'Deployment', apiVersion: 'apps/v1', plural: 'deployments' },
  { kind: 'StatefulSet', apiVersion: 'apps/v1', plural: 'statefulsets' },
  { kind: 'DaemonSet', apiVersion: 'apps/v1', plural: 'daemonsets' },
  { kind: 'Pod', apiVersion: 'v1', plural: 'pods' },
  { kind: 'ConfigMap', apiVersion: 'v1', plural: 'configmaps' },
];

/**
 * The workloads and ConfigMaps of a namespace as texts, each named
 * `cluster:KIND/NAMESPACE/NAME`. What a controller made is left out: its owner
 * says the same. Kinds that the cluster does not know are left out, kinds that
 * may not be read are passed to `onRefused`; when none may be read, the first
 * refusal is thrown, and so is a namespace that is not there.
 */
export async function readClusterManifests(
  api: KubernetesApi,
  namespace: string,
  signal: AbortSignal,
  onRefused: (error: KubernetesError) => void,
): Promise<readonly ManifestFile[]> {
  const files = new Map<string, ManifestFile>();
  const refusals: KubernetesError[] = [];
  let hasRead = false;
  for (const source of SOURCES) {
    try {
      const { kind, apiVersion, plural } = source;
      const objects = await listAll(api, pathOf(apiVersion, namespace, plural), signal);
      hasRead = true;
      for (const object of objects) {
        const name = textAt(object, 'metadata', 'name');
        if (!isJsonObject(object) || name === undefined || isMadeByController(object)) continue;
        const file = `cluster:${kind}/${namespace}/${name}`;
        // Both versions of a graph are views of one object: the newer one is looked at.
        if (!files.has(file)) files.set(file, { file, text: textOf({ apiVersion, kind, ...object }) });
      }
    } catch (error) {
      if (!(error instanceof KubernetesError)) throw error;
      if (error.code === 'not_found') continue;
      if (error.code !== 'forbidden') throw error;
      refusals.push(error);
    }
  }
  const [first] = refusals;
  if (first !== undefined && !hasRead) throw first;
  if (files.size === 0) await expectNamespace(api, namespace, signal);
  // Two versions of one kind are refused in the same words.
  const reported = new Set<string>();
  for (const refusal of refusals) {
    if (!reported.has(refusal.message)) onRefused(refusal);
    reported.add(refusal.message);
  }
  return [...files.values()];
}

/** A list of what is in a namespace that is not there is empty, and no error. */
async function expectNamespace(api: KubernetesApi, namespace: string, signal: AbortSignal): Promise<void> {
  try {
    await api.get({ path: `/api/v1/namespaces/${encodeURIComponent(namespace)}`, signal });
  } catch (error) {
    if (!(error instanceof KubernetesError)) throw error;
    if (error.code === 'not_found')
      throw new KubernetesError('not_found', `${api.name}: there is no namespace ${namespace}`);
    // An account that may list workloads in a namespace need not be allowed to look at the namespace itself.
    if (error.code !== 'forbidden') throw error;
  }
}

function pathOf(apiVersion: string, namespace: string, plural: string): string {
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  return `${root}/namespaces/${encodeURIComponent(namespace)}/${plural}`;
}

function isMadeByController(object: JsonObject): boolean {
  return listAt(object, 'metadata', 'ownerReferences').some((owner) => valueAt(owner, 'controller') === true);
}

/** As a person would have written it: without what the server added. */
function textOf(object: JsonObject): string {
  const { status: _, metadata, apiVersion, kind, ...body } = object;
  const { managedFields: _fields, annotations: _annotations, ...kept } = asRecord(metadata) ?? {};
  return stringify({ apiVersion, kind, metadata: kept, ...body }, { aliasDuplicateObjects: false });
}
