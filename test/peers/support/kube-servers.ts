import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { freePort } from '../../support/ports.js';
import type { KubeKeys } from './kube-credentials.js';
import { peerPath } from './peers.js';
import { Program } from './program.js';
import { scratchFolder } from './scratch.js';
import { until } from './until.js';

/** A server that answers. */
interface Serving {
  readonly program: Program;
  readonly url: string;
}

/** What an API server needs. */
export interface ApiServerOptions {
  readonly keys: KubeKeys;
  readonly etcdUrl: string;
  readonly flags: readonly string[];
  /** By default a free one. */
  readonly port?: number;
}

/** Starts an etcd on the loopback with nothing in it. */
export async function startEtcd(): Promise<Serving> {
  const url = `http://127.0.0.1:${await freePort()}`;
  const peerUrl = `http://127.0.0.1:${await freePort()}`;
  const program = new Program({
    name: 'etcd',
    command: [
      ...[peerPath('kube', 'etcd'), '--name', 'test', '--log-level', 'warn', '--unsafe-no-fsync'],
      ...['--data-dir', mkdtempSync(join(scratchFolder(), 'etcd-'))],
      ...['--listen-client-urls', url, '--advertise-client-urls', url],
      ...['--listen-peer-urls', peerUrl, '--initial-advertise-peer-urls', peerUrl],
      ...['--initial-cluster', `test=${peerUrl}`],
    ],
  });
  await answers(program, `${url}/health`);
  return { program, url };
}

/** Starts an API server on the loopback, with RBAC. */
export async function startApiServer(options: ApiServerOptions): Promise<Serving> {
  const { keys, etcdUrl, flags, port = await freePort() } = options;
  const url = `https://127.0.0.1:${port}`;
  const program = new Program({
    name: 'kube-apiserver',
    command: [
      ...[peerPath('kube', 'kube-apiserver'), '--etcd-servers', etcdUrl],
      ...['--bind-address', '127.0.0.1', '--secure-port', String(port)],
      // It refuses to advertise a loopback address.
      ...['--advertise-address', '127.0.0.1', '--endpoint-reconciler-type', 'none'],
      ...['--tls-cert-file', keys.serverCertFile, '--tls-private-key-file', keys.serverKeyFile],
      ...['--token-auth-file', keys.tokensFile, '--authorization-mode', 'RBAC'],
      ...['--service-account-issuer', 'https://kubernetes.default.svc'],
      ...['--service-account-key-file', keys.serviceAccountKeyFile],
      ...['--service-account-signing-key-file', keys.serviceAccountKeyFile],
      ...['--service-cluster-ip-range', '10.96.0.0/16', '--allow-privileged=true', '--profiling=false'],
      // It refuses every pod in a namespace that has no "default" account yet, which a controller makes.
      ...['--disable-admission-plugins', 'ServiceAccount'],
      ...flags,
    ],
  });
  await answers(program, `${url}/readyz`, keys.caPem);
  return { program, url };
}

/** Starts kube-controller-manager with these controllers alone; a caller waits for what they make. */
export function startControllers(kubeconfig: string, names: readonly string[]): Program {
  return new Program({
    name: 'kube-controller-manager',
    command: [
      ...[peerPath('kube', 'kube-controller-manager'), '--kubeconfig', kubeconfig],
      ...['--leader-elect=false', '--secure-port', '0', '--controllers', names.join(',')],
    ],
  });
}

async function answers(program: Program, url: string, ca?: string): Promise<void> {
  const agent = new Agent(ca === undefined ? {} : { connect: { ca } });
  try {
    await until(
      `${program.name} to be ready`,
      async () => {
        const { statusCode, body } = await request(url, { dispatcher: agent, headersTimeout: 2_000 });
        await body.dump();
        return statusCode === 200;
      },
      { needs: [program], pollMs: 100 },
    );
  } catch (error) {
    await program.kill();
    throw error;
  } finally {
    await agent.destroy();
  }
}
