import { join } from 'node:path';
import { Agent, request } from 'undici';
import { type KubeKeys, makeKubeKeys, type Place, writeKubeconfig } from './kube-credentials.js';
import { type ApiServerOptions, startApiServer, startControllers, startEtcd } from './kube-servers.js';
import { peerPath } from './peers.js';
import type { Program } from './program.js';
import { type Outcome, run } from './run.js';
import { scratchFolder } from './scratch.js';

/** What to start. */
export interface KubeOptions {
  /** Controllers of kube-controller-manager, such as `endpointslice-controller`; none by default. */
  readonly controllers?: readonly string[];
  /** Further flags of kube-apiserver. */
  readonly apiServerFlags?: readonly string[];
}

/** An object as the API has it. */
export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly [field: string]: unknown;
  };
  readonly [field: string]: unknown;
}

/** An answer of the API. */
export interface KubeAnswer {
  readonly status: number;
  readonly body: unknown;
}

/**
 * Starts a real API server with an etcd of its own, fresh keys and RBAC, and
 * waits until it is ready, which takes about 5 s. There is no scheduler and no
 * kubelet: nothing acts on what it stores except the controllers asked for.
 * Everything ends with `stop()`, and with the test run.
 */
export async function startKube(options: KubeOptions = {}): Promise<Kube> {
  const keys = await makeKubeKeys();
  const etcd = await startEtcd();
  try {
    const server = { keys, etcdUrl: etcd.url, flags: options.apiServerFlags ?? [] };
    const api = await startApiServer(server);
    const kube = new Kube({ keys, etcd: etcd.program, api: api.program, url: api.url, server });
    await kube.runControllers(options.controllers ?? []);
    return kube;
  } catch (error) {
    await etcd.program.kill();
    throw error;
  }
}

/** A running API server, and its administrator. */
export class Kube {
  /** `https://127.0.0.1:PORT`. */
  readonly url: string;
  /** The authority that signed the server's certificate. */
  readonly caPem: string;
  /** The administrator's kubeconfig, as a file. */
  readonly kubeconfig: string;
  readonly #keys: KubeKeys;
  readonly #server: ApiServerOptions;
  readonly #etcd: Program;
  readonly #agent: Agent;
  #api: Program;
  #controllers: Program | undefined;
  #isFrozen = false;

  constructor(parts: {
    readonly keys: KubeKeys;
    readonly etcd: Program;
    readonly api: Program;
    readonly url: string;
    readonly server: ApiServerOptions;
  }) {
    this.url = parts.url;
    this.#keys = parts.keys;
    this.#server = parts.server;
    this.#etcd = parts.etcd;
    this.#api = parts.api;
    this.#agent = new Agent({ connect: { ca: parts.keys.caPem } });
    this.caPem = parts.keys.caPem;
    this.kubeconfig = this.writeKubeconfig('admin', { token: parts.keys.adminToken });
  }

  /** What must live for this to be of any use; see `until`. */
  get programs(): readonly Program[] {
    return [this.#etcd, this.#api, ...(this.#controllers === undefined ? [] : [this.#controllers])];
  }

  /** Runs the kubectl of the same version as the administrator, or as whom `kubeconfig` names. */
  kubectl(args: readonly string[], stdin?: string, kubeconfig: string = this.kubeconfig): Promise<Outcome> {
    return run(peerPath('kube', 'kubectl'), args, {
      ...(stdin === undefined ? {} : { stdin }),
      // Its cache of what the server has must not outlive the server.
      env: { KUBECONFIG: kubeconfig, KUBECACHEDIR: join(scratchFolder(), 'kubectl-cache') },
    });
  }

  /** `kubectl apply` of YAML or objects; rejects when the server refuses one. */
  async apply(manifests: string | readonly object[]): Promise<string> {
    const text =
      typeof manifests === 'string'
        ? manifests
        : JSON.stringify({ apiVersion: 'v1', kind: 'List', items: manifests });
    const { status, stdout, stderr } = await this.kubectl(['apply', '-f', '-'], text);
    if (status !== 0) throw new Error(`kubectl apply: ${stderr}`);
    return stdout;
  }

  /** One request as the administrator, for what is done too often for a process each. */
  async request(
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: string,
    body?: object,
  ): Promise<KubeAnswer> {
    const answer = await request(`${this.url}${path}`, {
      method,
      dispatcher: this.#agent,
      headersTimeout: 20_000,
      bodyTimeout: 20_000,
      headers: {
        authorization: `Bearer ${this.#keys.adminToken}`,
        'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
      },
      body: body === undefined ? null : JSON.stringify(body),
    });
    return { status: answer.statusCode, body: await answer.body.json() };
  }

  /** Like `request`, but an answer that is no success rejects. */
  async ask<Answer = unknown>(...args: Parameters<Kube['request']>): Promise<Answer> {
    const { status, body } = await this.request(...args);
    if (status >= 300) throw new Error(`${args[0]} ${args[1]}: ${status} ${JSON.stringify(body)}`);
    return body as Answer;
  }

  /** A kubeconfig for a user of one's own, as a file; `place` may name another address or a wrong authority. */
  writeKubeconfig(name: string, user: object, place: Place = {}): string {
    return writeKubeconfig(name, { server: this.url, caPem: this.#keys.caPem, ...place }, user);
  }

  /** Runs these controllers as well as none of those before. */
  async runControllers(names: readonly string[]): Promise<void> {
    await this.#controllers?.kill();
    this.#controllers = names.length === 0 ? undefined : startControllers(this.kubeconfig, names);
  }

  /** The connections stay open and nothing comes any more, as with a machine that hangs. */
  freeze(): void {
    this.#signal('SIGSTOP');
    this.#isFrozen = true;
  }

  /** The end of `freeze`: all that was held back comes. */
  thaw(): void {
    if (this.#isFrozen) this.#signal('SIGCONT');
    this.#isFrozen = false;
  }

  /** The server is gone immediately and its connections break; etcd keeps what it holds. */
  async crash(): Promise<void> {
    await this.#api.kill();
  }

  /** The server ends as in a rolling update: after a signal, and when its watches have ended; see `--shutdown-watch-termination-grace-period`. */
  async endGently(): Promise<void> {
    await this.#api.stop();
  }

  /** Starts the server again after its end, on the same port, with further flags or others. */
  async startAgain(flags: readonly string[] = this.#server.flags): Promise<void> {
    const port = Number(new URL(this.url).port);
    const { program } = await startApiServer({ ...this.#server, flags, port });
    this.#api = program;
    this.#isFrozen = false;
  }

  /** Ends everything; there is nothing to save, and an open watch would hold the server for a minute. */
  async stop(): Promise<void> {
    await this.#agent.destroy();
    await this.#controllers?.kill();
    await this.#api.kill();
    await this.#etcd.kill();
  }

  #signal(name: NodeJS.Signals): void {
    const { pid } = this.#api;
    if (pid === undefined) throw new Error('the API server does not run');
    process.kill(pid, name);
  }
}
