import { parseAddress } from '../platform/address.js';

/**
 * The address of an engine as this host reaches it. A sidecar asks its engine
 * over loopback and reports that address; from another host the engine is where
 * the sidecar is. `target` is the worker's name in discovery: the sidecar's
 * `HOST:PORT`.
 */
export function reachableUrl(reported: string, target: string): string {
  const url = new URL(reported);
  if (isLoopback(url.hostname)) {
    const sidecar = parseAddress(target);
    const host = sidecar?.type === 'tcp' ? sidecar.host : undefined;
    if (host !== undefined && !isLoopback(host)) url.hostname = host.includes(':') ? `[${host}]` : host;
  }
  return url.href.replace(/\/+$/, '');
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host);
}
