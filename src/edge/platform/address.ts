/** A TCP socket's place, or a Unix domain socket's. */
export type Address =
  | {
      readonly type: 'tcp';
      /** Host name or IP address, IPv6 without its brackets. */
      readonly host: string;
      /** 0 to 65535; 0 picks a free port where it listens. */
      readonly port: number;
      /** The canonical form: `HOST:PORT` or `[::1]:PORT`. */
      readonly text: string;
    }
  | {
      readonly type: 'unix';
      readonly path: string;
      /** `unix:/path`. */
      readonly text: string;
    };

/** What `parseAddress` takes, for messages. */
export const ADDRESS_FORMS = 'HOST:PORT, [::1]:PORT or unix:/path';

/** Longest path of a Unix domain socket on Linux (`sun_path` less its final zero). */
const MAX_UNIX_PATH_BYTES = 107;

/** Longest name in DNS. */
const MAX_HOST_LENGTH = 253;

/** Reads `HOST:PORT`, `[::1]:PORT` or `unix:/path`; undefined when it is none of them. */
export function parseAddress(text: string): Address | undefined {
  if (text.startsWith('unix:')) {
    // gRPC also writes unix:///path.
    const path = text.slice('unix:'.length).replace(/^\/\/(?=\/)/, '');
    if (!path.startsWith('/') || path.endsWith('/') || path.includes('\0')) return undefined;
    if (Buffer.byteLength(path) > MAX_UNIX_PATH_BYTES) return undefined;
    return { type: 'unix', path, text: `unix:${path}` };
  }
  const match = /^(?:\[([0-9A-Fa-f:.]+(?:%[\w.-]+)?)\]|([A-Za-z0-9._-]+)):(\d{1,5})$/.exec(text);
  if (match === null) return undefined;
  const [, v6, name, portText] = match;
  const host = v6 ?? name ?? '';
  const port = Number(portText);
  if (port > 65535 || host.length > MAX_HOST_LENGTH) return undefined;
  if (v6 !== undefined && !v6.includes(':')) return undefined;
  return { type: 'tcp', host, port, text: formatTcp(host, port) };
}

/** `HOST:PORT`, with brackets around an IPv6 address. */
export function formatTcp(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/**
 * Whether only this machine can reach it: a Unix socket, `localhost`,
 * 127.0.0.0/8 or ::1. Names other than `localhost` are never taken for it.
 */
export function isLoopback(address: Address): boolean {
  if (address.type === 'unix') return true;
  const host = address.host.toLowerCase();
  return host === 'localhost' || host === '::1' || /^(?:::ffff:)?127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host);
}
