import { peerPath } from './peers.js';
import { run } from './run.js';

/** What a kubelet would make of a pod's `grpc:` probe, in its own words, such as `success service healthy`. */
export async function kubeletProbe(port: number, service = ''): Promise<string> {
  const { stdout } = await run(peerPath('kubelet-probe'), ['127.0.0.1', String(port), service, '5s']);
  return stdout.trim();
}
