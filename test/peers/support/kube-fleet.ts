import { mkdirSync, mkdtempSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { grpcurl } from './grpcurl.js';
import type { Kube } from './kube.js';
import { type Served, type Surroundings, startKvAccord } from './kv-accord.js';
import type { PodNetwork } from './pod-network.js';
import type { Program } from './program.js';
import { scratchFolder } from './scratch.js';
import { until } from './until.js';

/** Where the kubelet mounts a pod's service account. */
const SERVICE_ACCOUNT_FOLDER = '/var/run/secrets/kubernetes.io/serviceaccount';

const SIDECAR_PORT = 50_061;

/** A service account in the cluster, and what a pod has of it. */
export class ServiceAccount {
  readonly namespace: string;
  readonly name: string;
  /** Laid out as the kubelet does: `token`, `ca.crt`, `namespace`. */
  readonly folder: string;
  readonly #kube: Kube;

  private constructor(kube: Kube, namespace: string, name: string) {
    this.namespace = namespace;
    this.name = name;
    this.folder = mkdtempSync(join(scratchFolder(), `account-${name}-`));
    this.#kube = kube;
  }

  /** Makes the account and a first token; it may do nothing until a role is bound to it. */
  static async make(kube: Kube, namespace: string, name: string): Promise<ServiceAccount> {
    await kube.apply([{ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace } }]);
    const account = new ServiceAccount(kube, namespace, name);
    await account.rotate();
    return account;
  }

  /** As RBAC calls it. */
  get user(): string {
    return `system:serviceaccount:${this.namespace}:${this.name}`;
  }

  /** A kubeconfig that reads the token's file. */
  get kubeconfig(): string {
    return this.#kube.writeKubeconfig(
      this.name,
      { tokenFile: join(this.folder, 'token') },
      { namespace: this.namespace },
    );
  }

  /** Puts a new token in the place of the old one, as the kubelet does some time before the old one expires. */
  async rotate(): Promise<void> {
    const { status, stdout, stderr } = await this.#kube.kubectl([
      ...['create', 'token', this.name, '--namespace', this.namespace],
    ]);
    if (status !== 0) throw new Error(stderr);
    this.#write('token', stdout.trim());
    this.#write('namespace', this.namespace);
    this.#write('ca.crt', this.#kube.caPem);
  }

  /** All tokens that the account has are worth nothing from now on, as when each had expired; `rotate` gives a new one. */
  async invalidate(): Promise<void> {
    const path = `/api/v1/namespaces/${this.namespace}/serviceaccounts`;
    await this.#kube.ask('DELETE', `${path}/${this.name}`);
    await this.#kube.ask('POST', path, { metadata: { name: this.name } });
  }

  /** Lets the account do this in its namespace; replaces what it was allowed before. */
  async allow(rules: readonly object[]): Promise<void> {
    const metadata = { name: this.name, namespace: this.namespace };
    await this.#kube.apply([
      { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', metadata, rules },
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'RoleBinding',
        metadata,
        subjects: [{ kind: 'ServiceAccount', name: this.name, namespace: this.namespace }],
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: this.name },
      },
    ]);
  }

  /** What a container with this account has around it: the variables and the mounted folder. */
  get pod(): Surroundings {
    const { hostname, port } = new URL(this.#kube.url);
    const mount = [
      'mount -t tmpfs tmpfs /run',
      'mkdir -p /run/secrets/kubernetes.io',
      `ln -s "$1" /run/secrets/kubernetes.io/serviceaccount`,
      `test -e ${SERVICE_ACCOUNT_FOLDER}/token`,
      'shift',
      'exec "$@"',
    ].join(' && ');
    return {
      env: { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port },
      // Mounts of a namespace of its own are nobody else's, and go with it.
      inside: (command) => ['unshare', '--mount', 'sh', '-c', mount, 'sh', this.folder, ...command],
    };
  }

  /** Nobody ever reads half a file. */
  #write(name: string, text: string): void {
    mkdirSync(this.folder, { recursive: true });
    const path = join(this.folder, name);
    writeFileSync(`${path}.new`, text, { mode: 0o600 });
    renameSync(`${path}.new`, path);
  }
}

/**
 * Starts the sidecar of a pod whose engine has blocks of `tokensPerBlock`, and
 * waits until it answers. On 0.0.0.0 it is the sidecar of all pods; `asked` is
 * then one of their addresses.
 */
export async function startPodSidecar(
  network: PodNetwork,
  address: string,
  tokensPerBlock = 32,
  asked: string = address,
): Promise<Program> {
  const program = startKvAccord(
    `sidecar-${address}`,
    [
      ...['sidecar', '--engine', 'none', '--tokens-per-block', String(tokensPerBlock), '--model', 'm'],
      ...['--worker-id', address, '--insecure'],
      ...['--listen', `${address}:${SIDECAR_PORT}`, '--http-listen', `${address}:9464`],
    ],
    {},
    (command) => network.inside(command),
  );
  try {
    await until(
      `the sidecar at ${address}`,
      async () => (await fetch(`http://${asked}:9464/livez`, { signal: AbortSignal.timeout(2_000) })).ok,
      { needs: [program] },
    );
  } catch (error) {
    await program.stop();
    throw error;
  }
  return program;
}

interface ListedWorkers {
  readonly workers?: readonly { readonly member: { readonly target: string; readonly state: string } }[];
  readonly nextPageToken?: string;
}

/** The members of an aggregator's fleet, name by name, with their states, such as `conforming`. */
export async function membersOf({ grpcPort }: Served): Promise<Record<string, string>> {
  const members: Record<string, string> = {};
  let page = '';
  do {
    const request = `-d=${JSON.stringify({ page_token: page })}`;
    const { status, stdout, stderr } = await grpcurl(grpcPort, request, 'kvaccord.v1.Fleet/ListWorkers');
    if (status !== 0) throw new Error(stderr);
    const { workers = [], nextPageToken = '' } = JSON.parse(stdout) as ListedWorkers;
    for (const { member } of workers)
      members[member.target] = member.state.replace('MEMBER_STATE_', '').toLowerCase();
    page = nextPageToken;
  } while (page !== '');
  return members;
}
