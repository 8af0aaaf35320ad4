import { readWorkerUrls } from '../../app/worker-urls.js';
import { readKeyHost } from '../../frontend/engine-access/key-host.js';

/** What is said of the engines behind a frontend: where they are, and which of them may be shown a key. */
interface EngineSettings {
  readonly workerUrls: readonly string[];
  readonly engineKeyHosts: readonly string[];
}

/** Throws what `reject` makes of the first item that cannot be used. */
export function checkEngineSettings(
  { workerUrls, engineKeyHosts }: EngineSettings,
  reject: (setting: 'worker-urls' | 'engine-key-hosts', allowed: string, part: string) => Error,
): void {
  const urls = readWorkerUrls(workerUrls);
  if ('allowed' in urls) throw reject('worker-urls', urls.allowed, urls.part);
  const wrongHost = engineKeyHosts.find((host) => readKeyHost(host) === undefined);
  if (wrongHost !== undefined)
    throw reject(
      'engine-key-hosts',
      'host names, *.DOMAIN, IP addresses or networks such as 10.0.0.0/8',
      wrongHost,
    );
}
