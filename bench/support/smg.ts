import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { freePort, ServerProcess } from './server-process.js';

/** What the peer is called, and where `test/peers/install` puts it. */
const NAME = 'smg 1.13.0';
const FOLDER = 'smg-1.13.0';

/** The program, or why there is none. */
export function findSmg(isQuick: boolean): { readonly program?: string; readonly says: string } {
  if (isQuick) return { says: `${NAME} not run: a short run has no peers` };
  const cache = process.env['KV_ACCORD_PEER_CACHE'] ?? join(homedir(), '.cache', 'kv-accord');
  const program = join(cache, 'peers', FOLDER, 'bin', 'smg');
  if (existsSync(program)) return { program, says: NAME };
  return { says: `${NAME} not run: node test/peers/install/install.mjs smg installs it` };
}

/** Starts it over workers, taken in turn; resolves when it has found all of them well. */
export async function startSmg(
  program: string,
  urls: readonly string[],
): Promise<{ readonly process: ServerProcess; readonly port: number }> {
  const port = await freePort();
  const metricsPort = await freePort();
  const started = new ServerProcess(program, [
    'launch',
    ...['--host', '127.0.0.1', '--port', String(port)],
    ...['--worker-urls', ...urls],
    ...['--policy', 'round_robin', '--backend', 'vllm', '--log-level', 'warn'],
    // It listens everywhere by default.
    ...['--prometheus-host', '127.0.0.1', '--prometheus-port', String(metricsPort)],
  ]);
  await started.ready(`http://127.0.0.1:${port}/workers`, (body) => {
    return (body.match(/"status":\s*"ready"/g) ?? []).length === urls.length;
  });
  return { process: started, port };
}
