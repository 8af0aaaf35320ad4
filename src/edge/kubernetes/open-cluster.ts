import type { Clock } from '../platform/clock.js';
import { explainSystemError, findPathProblem, readTextFile } from '../platform/files/file.js';
import type { Logger } from '../platform/logger.js';
import type { Environment } from '../platform/processes/environment.js';
import { runProgram } from '../platform/processes/run-program.js';
import type { StreamingApi } from './api.js';
import { ApiClient } from './api-client.js';
import type { ClusterAccess } from './cluster-access.js';
import { readKubeconfig } from './kubeconfig.js';
import { KubernetesError } from './kubernetes-error.js';
import { ContentLogin } from './login.js';

export interface OpenClusterOptions {
  /** `--kubeconfig`: this file and no other place is looked at. */
  readonly kubeconfig?: string | undefined;
  /** `--kube-context`: default is the kubeconfig's `current-context`. */
  readonly context?: string | undefined;
  /** Where a pod finds its service account. Default `/var/run/secrets/kubernetes.io/serviceaccount`. */
  readonly serviceAccountFolder?: string;
}

export interface OpenClusterModules {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Of it are read KUBECONFIG, KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT and HOME; credential plugins get all. */
  readonly environment: Environment;
}

/** Where the kubelet mounts it in every pod that does not forbid it. */
const SERVICE_ACCOUNT_FOLDER = '/var/run/secrets/kubernetes.io/serviceaccount';

/**
 * Finds the API server: `--kubeconfig`, else the files in KUBECONFIG, else this
 * pod's service account, else `~/.kube/config`. Only files are read; nothing is
 * asked before the first `get` or `watch`, and nothing is open until then.
 * Rejects with a `KubernetesError` (`no_configuration`) that names file and field.
 */
export async function openCluster(
  options: OpenClusterOptions,
  modules: OpenClusterModules,
): Promise<StreamingApi> {
  const access = await findAccess(options, modules);
  const { server, skipsVerification } = access;
  if (skipsVerification) {
    modules.logger.warn(
      { server: server.origin },
      `The certificate of the Kubernetes API server ${server.origin} is NOT verified (insecure-skip-tls-verify): anyone between here and there can read the credentials and invent workers. Set certificate-authority-data instead.`,
    );
  }
  if (server.protocol === 'http:') {
    modules.logger.warn(
      { server: server.origin },
      `The Kubernetes API server ${server.origin} is asked in plaintext: anyone between here and there can read the credentials and invent workers.`,
    );
  }
  return new ApiClient(access, modules);
}

function findAccess(options: OpenClusterOptions, modules: OpenClusterModules): Promise<ClusterAccess> {
  const { kubeconfig, context } = options;
  const { environment } = modules;
  const files = (environment['KUBECONFIG'] ?? '').split(':').filter((path) => path !== '');
  const its = { ...modules, runProgram };
  if (kubeconfig !== undefined) return readKubeconfig([kubeconfig], context, its);
  if (files.length > 0) return readKubeconfig(files, context, its);
  const { KUBERNETES_SERVICE_HOST: host, HOME: home } = environment;
  // A context is a kubeconfig's: an operator who names one does not mean the pod's own account.
  if (host !== undefined && host !== '' && context === undefined)
    return readServiceAccount(options, environment, host);
  const path = home === undefined ? undefined : `${home}/.kube/config`;
  if (path !== undefined && findPathProblem(path, 'file') !== 'does not exist')
    return readKubeconfig([path], context, its);
  return Promise.reject(
    new KubernetesError(
      'no_configuration',
      `no Kubernetes API server is known: there is no --kubeconfig, KUBECONFIG is not set, this is no pod (KUBERNETES_SERVICE_HOST is not set), and ${path ?? '~/.kube/config'} does not exist`,
    ),
  );
}

async function readServiceAccount(
  options: OpenClusterOptions,
  environment: Environment,
  host: string,
): Promise<ClusterAccess> {
  const folder = options.serviceAccountFolder ?? SERVICE_ACCOUNT_FOLDER;
  const token = `${folder}/token`;
  const problem = findPathProblem(token, 'file');
  if (problem !== undefined) {
    throw new KubernetesError(
      'no_configuration',
      `${token} ${problem}: this pod has no service account token; leave automountServiceAccountToken out (or true), or give --kubeconfig`,
    );
  }
  const port = environment['KUBERNETES_SERVICE_PORT'] ?? '443';
  const url = `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
  if (!URL.canParse(url))
    throw new KubernetesError(
      'no_configuration',
      'KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT make no address',
    );
  return {
    server: new URL(url),
    namespace: await readNamespace(`${folder}/namespace`),
    ca: { file: `${folder}/ca.crt`, from: "the service account's CA" },
    serverName: undefined,
    skipsVerification: false,
    login: new ContentLogin({ token: { file: token, from: 'the service account' } }),
  };
}

async function readNamespace(path: string): Promise<string> {
  try {
    const text = (await readTextFile(path, 1024)).trim();
    return text === '' ? 'default' : text;
  } catch (error) {
    throw new KubernetesError('no_configuration', `${path}: ${explainSystemError(error)}`, { cause: error });
  }
}
