import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { TestAuthority } from '../../edge/rpc/certificates.js';
import { scratchFolder } from './scratch.js';

/** All that a new API server is given to know itself and others by. Files lie in one folder. */
export interface KubeKeys {
  readonly caPem: string;
  readonly serverCertFile: string;
  readonly serverKeyFile: string;
  /** Signs the tokens of service accounts. */
  readonly serviceAccountKeyFile: string;
  /** Names the administrator by a token. */
  readonly tokensFile: string;
  readonly adminToken: string;
}

/** Where a kubeconfig leads to. */
export interface Place {
  readonly server?: string;
  readonly caPem?: string;
  readonly namespace?: string;
}

/** Makes an authority, a certificate for the loopback, a key for tokens and an administrator. */
export async function makeKubeKeys(): Promise<KubeKeys> {
  const folder = mkdtempSync(join(scratchFolder(), 'kube-keys-'));
  const write = (name: string, text: string): string => {
    const path = join(folder, name);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  };
  const authority = await TestAuthority.create('kube authority');
  const server = await authority.issue({
    name: 'kube-apiserver',
    hosts: ['127.0.0.1', '::1', 'localhost', 'kubernetes.default.svc'],
  });
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const adminToken = randomBytes(24).toString('hex');
  return {
    caPem: authority.pem,
    serverCertFile: write('server.crt', server.cert),
    serverKeyFile: write('server.key', server.key),
    serviceAccountKeyFile: write('sa.key', privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()),
    tokensFile: write('tokens.csv', `${adminToken},admin,admin,system:masters\n`),
    adminToken,
  };
}

let written = 0;

/** Writes a kubeconfig of one cluster and one user; `user` is as in its `users` list. JSON is YAML too. */
export function writeKubeconfig(
  name: string,
  place: Place & { readonly server: string; readonly caPem: string },
  user: object,
): string {
  written += 1;
  const path = join(scratchFolder(), `kubeconfig-${written}-${name}`);
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: 'test',
        cluster: {
          server: place.server,
          'certificate-authority-data': Buffer.from(place.caPem).toString('base64'),
        },
      },
    ],
    users: [{ name, user }],
    contexts: [
      { name: 'test', context: { cluster: 'test', user: name, namespace: place.namespace ?? 'default' } },
    ],
    'current-context': 'test',
  };
  writeFileSync(path, JSON.stringify(config, undefined, 2), { mode: 0o600 });
  return path;
}
