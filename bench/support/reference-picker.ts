import { existsSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { POOL, startPoolApi } from '../../test/support/pool-api.js';
import { freePort, ServerProcess } from './server-process.js';

/** Where `test/peers/install` puts `cmd/epp` of the Gateway API Inference Extension. */
const EPP = join(
  process.env['KV_ACCORD_PEER_CACHE'] ?? join(homedir(), '.cache', 'kv-accord'),
  'peers/reference-pickers-1/epp',
);

/** A picker that runs. */
export interface RunningPicker {
  readonly port: number;
  readonly pid: number;
  stop(): Promise<void>;
}

/** Starts the reference picker over engines on the loopback, with its defaults; undefined where it is not installed. */
export async function startReferencePicker(
  folder: string,
  engines: readonly number[],
): Promise<RunningPicker | undefined> {
  if (!existsSync(EPP)) return undefined;
  const api = await startPoolApi({ addresses: ['127.0.0.1'], ports: engines });
  const kubeconfig = join(folder, 'kubeconfig.json');
  writeFileSync(kubeconfig, api.kubeconfig);
  const [port, healthPort, metricsPort] = [await freePort(), await freePort(), await freePort()];
  const epp = new ServerProcess(
    EPP,
    [
      ...['--pool-name', POOL.name, '--pool-namespace', POOL.namespace],
      ...['--grpc-port', String(port), '--grpc-health-port', String(healthPort)],
      ...['--metrics-port', String(metricsPort), '--metrics-endpoint-auth=false'],
      ...['--tracing=false', '--enable-pprof=false', '--zap-log-level', 'error'],
    ],
    { KUBECONFIG: kubeconfig },
  );
  // Its own count of the pods that it may choose.
  const isReady = (page: string): boolean =>
    new RegExp(`^inference_pool_ready_pods\\{.*\\} ${engines.length}$`, 'm').test(page);
  await epp.ready(`http://127.0.0.1:${metricsPort}/metrics`, isReady);
  return {
    port,
    pid: epp.pid,
    stop: async () => {
      await epp.stop();
      await api.stop();
    },
  };
}
