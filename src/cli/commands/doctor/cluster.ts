import { KubernetesError } from '../../../edge/kubernetes/kubernetes-error.js';
import type { EvidencePart } from '../../../tools/doctor/evidence.js';
import { notRead } from '../../../tools/doctor/gather/outcomes.js';
import type { ManifestFile } from '../../shared/manifest-files.js';
import type { DoctorContext, DoctorSettings } from './context.js';
import { LogProgress } from './progress.js';

/** What a namespace gave: its pods' logs and its objects' manifests. */
export interface NamespaceEvidence {
  readonly parts: readonly EvidencePart[];
  readonly files: readonly ManifestFile[];
}

/** Reads a namespace with the caller's rights. What may not be read is among the parts. */
export async function gatherNamespace(
  namespace: string,
  settings: DoctorSettings,
  { clock, logger, environment, signal, stderr }: DoctorContext,
): Promise<NamespaceEvidence> {
  // Undici and a YAML writer are loaded only where a cluster is asked.
  const { openCluster } = await import('../../../edge/kubernetes/open-cluster.js');
  const { readClusterManifests } = await import('../../shared/cluster-manifests.js');
  const { gatherPods } = await import('../../../tools/doctor/gather/cluster.js');
  const name = `namespace ${namespace}`;
  const { kubeconfig, kubeContext, sinceMs, logTail } = settings;
  const progress = new LogProgress(stderr, clock);
  const failed: EvidencePart[] = [];
  try {
    const api = await openCluster({ kubeconfig, context: kubeContext }, { clock, logger, environment });
    try {
      const files = await readClusterManifests(api, namespace, signal, ({ message }) =>
        failed.push(notRead('cluster', `${name}, workloads`, message)),
      ).catch((error: unknown) => {
        if (!(error instanceof KubernetesError)) throw error;
        failed.push(notRead('cluster', `${name}, workloads`, error.message));
        return [];
      });
      const { onProgress } = progress;
      const options = {
        namespace,
        sinceSeconds: Math.max(1, Math.ceil(sinceMs / 1_000)),
        tailLines: logTail,
      };
      const pods = await gatherPods(options, { api, clock, signal, onProgress });
      return { parts: [...pods, ...failed], files };
    } finally {
      progress.clear();
      await api.close();
    }
  } catch (error) {
    if (!(error instanceof KubernetesError)) throw error;
    return { parts: [...failed, notRead('cluster', name, error.message)], files: [] };
  }
}
