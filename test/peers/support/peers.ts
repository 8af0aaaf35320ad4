import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import peers from '../install/peers.json' with { type: 'json' };

/** The programs of others that tests can ask for. */
export type PeerName =
  | 'grpcurl'
  | 'python-client'
  | 'kubelet-probe'
  | 'vllm'
  | 'nixl'
  | 'sglang'
  | 'dynamo'
  | 'kube'
  | 'kubeconform'
  | 'helm'
  | 'prometheus'
  | 'hadolint'
  | 'image-tools'
  | 'chat-templates'
  | 'smg'
  | 'agent-clients'
  | 'vllm-router'
  | 'envoy'
  | 'reference-pickers'
  | 'otelcol'
  | 'chromium'
  | 'grafana-schema';

/** The folder that `install/install.mjs` fills and later runs reuse. */
const PEER_CACHE: string = join(
  process.env['KV_ACCORD_PEER_CACHE'] ?? join(homedir(), '.cache', 'kv-accord'),
  'peers',
);

/** The folder or file of an installed program. */
export function peerPath(name: PeerName, ...below: readonly string[]): string {
  const peer = peers.find((candidate) => candidate.name === name);
  if (peer === undefined) throw new Error(`install/peers.json does not know ${name}`);
  return join(PEER_CACHE, peer.target, ...below);
}

/** Why a program cannot be talked to here, or undefined when it is installed. */
function peerMissing(name: PeerName): string | undefined {
  const peer = peers.find((candidate) => candidate.name === name);
  const path = peerPath(name);
  const stamp = join(dirname(path), `.${basename(path)}.installed`);
  if (existsSync(stamp) && readFileSync(stamp, 'utf8').trim() === peer?.recipe) return undefined;
  return problems()[name] ?? 'not installed; npm run test:peers does that';
}

/**
 * True when a test that needs all of these must be skipped; the reasons are
 * printed after the run.
 */
export function lacks(...names: readonly PeerName[]): boolean {
  return names.some((name) => peerMissing(name) !== undefined);
}

/** What is not here, as `name: reason` lines. */
export function missingPeers(): string[] {
  return (peers as readonly { name: PeerName }[]).flatMap(({ name }) => {
    const reason = peerMissing(name);
    return reason === undefined ? [] : [`${name}: not run: ${reason}`];
  });
}

/** What the last installation could not do. */
function problems(): Record<string, string> {
  const file = join(PEER_CACHE, 'problems.json');
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
}
