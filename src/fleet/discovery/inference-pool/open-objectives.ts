import { openCluster } from '../../../edge/kubernetes/open-cluster.js';
import type { Clock } from '../../../edge/platform/clock.js';
import type { Logger } from '../../../edge/platform/logger.js';
import type { Environment } from '../../../edge/platform/processes/environment.js';
import type { Random } from '../../../edge/platform/random.js';
import { parsePoolSetting } from '../kubernetes/parse-cluster-target.js';
import { InferenceObjectives } from './inference-objectives.js';

export interface OpenObjectivesOptions {
  /** What `--pool` gave. */
  readonly pool: string;
  /** What `--kubeconfig` and `--kube-context` gave. */
  readonly kubeconfig?: string | undefined;
  readonly kubeContext?: string | undefined;
}

export interface OpenObjectivesModules {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly environment: Environment;
}

/** Priorities that are followed until they are closed. */
export interface OpenObjectives {
  readonly objectives: InferenceObjectives;
  /** Ends the watches and their connections. */
  close(): Promise<void>;
}

/**
 * Follows the `InferenceObjective` objects of a pool over a client of their
 * own. Rejects with a `DiscoveryError` for a wrong name, and with a
 * `KubernetesError` where no API server is configured.
 */
export async function openObjectives(
  { pool: text, kubeconfig, kubeContext }: OpenObjectivesOptions,
  modules: OpenObjectivesModules,
): Promise<OpenObjectives> {
  const { namespace, pool } = parsePoolSetting(text);
  const api = await openCluster({ kubeconfig, context: kubeContext }, modules);
  const objectives = new InferenceObjectives(
    { namespace: namespace ?? api.namespace, pool },
    { ...modules, api },
  );
  const abort = new AbortController();
  const ended = objectives.run(abort.signal);
  return {
    objectives,
    close: async () => {
      abort.abort();
      await ended;
      await api.close();
    },
  };
}
