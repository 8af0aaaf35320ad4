import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { POOL, type PoolSketch, startPoolApi } from '../../support/pool-api.js';
import { freePort } from '../../support/ports.js';
import { peerPath } from './peers.js';
import { Program } from './program.js';
import { scratchFolder } from './scratch.js';
import { until } from './until.js';

/** The full picker of the Gateway API Inference Extension, and the small one that came after it. */
export type ReferencePicker = 'epp' | 'lwepp';

/**
 * Starts a reference picker in plaintext over a pool, until the current test is over. It is ready when `isReady` says so of
 * its port; returns the port.
 */
export async function startReferencePicker(
  name: ReferencePicker,
  pool: PoolSketch,
  isReady: (port: number) => Promise<boolean>,
): Promise<number> {
  const api = await startPoolApi(pool);
  onTestFinished(() => api.stop());
  const kubeconfig = join(scratchFolder(), `${name}-kubeconfig.json`);
  writeFileSync(kubeconfig, api.kubeconfig);
  const port = await freePort();
  const program = new Program({
    name,
    command: [
      peerPath('reference-pickers', name),
      ...['--pool-name', POOL.name, '--pool-namespace', POOL.namespace, '--secure-serving=false'],
      ...['--grpc-port', String(port), '--grpc-health-port', String(await freePort())],
      ...['--metrics-port', String(await freePort())],
      ...(name === 'epp' ? ['--tracing=false', '--enable-pprof=false', '--metrics-endpoint-auth=false'] : []),
    ],
    env: { KUBECONFIG: kubeconfig },
  });
  onTestFinished(async () => void (await program.stop()));
  await until(`${name} to have its endpoints`, () => isReady(port), { needs: [program] });
  return port;
}
