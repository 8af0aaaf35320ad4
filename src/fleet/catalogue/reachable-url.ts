import { isLoopback, parseAddress } from '../../edge/platform/address.js';

/**
 * The address of an engine as this host reaches it, without a slash at the end:
 * what `/v1/…` is appended to, so a path before that stays. Undefined where
 * there is none.
 *
 * A sidecar asks its engine over loopback and reports that address; from
 * another host the engine is where the sidecar is. `target` is the worker's
 * name in discovery: the sidecar's `HOST:PORT`, or a Unix socket, which is on
 * this host and so is the engine.
 */
export function reachableUrl(reported: string, target: string): string | undefined {
  if (!URL.canParse(reported)) return undefined;
  const url = new URL(reported);
  const sidecar = parseAddress(target);
  if (isOnOwnHost(url.hostname) && sidecar?.type === 'tcp' && !isLoopback(sidecar)) {
    const host = sidecar.host.includes(':') ? `[${sidecar.host}]` : sidecar.host;
    if (isOnOwnHost(host)) return withoutSlash(url);
    const before = url.hostname;
    url.hostname = host;
    // A host that no URL can hold, such as an IPv6 address with a zone, leaves it as it was: nothing here is there.
    if (url.hostname === before) return undefined;
  }
  return withoutSlash(url);
}

/** Whether a URL's host, in the form that URLs give it, is the host of the client that asks: loopback, or any address. */
function isOnOwnHost(host: string): boolean {
  return (
    host === '0.0.0.0' ||
    host === '[::]' ||
    host === '[::1]' ||
    /^127\.\d+\.\d+\.\d+$/.test(host) ||
    /^\[::ffff:7f[0-9a-f]{2}:[0-9a-f]{1,4}\]$/.test(host) ||
    /^(?:.+\.)?localhost\.?$/.test(host)
  );
}

function withoutSlash(url: URL): string {
  return url.href.replace(/\/+$/, '');
}
