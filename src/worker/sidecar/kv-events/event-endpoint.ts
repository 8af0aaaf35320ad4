const TCP_ENDPOINT = /^(@?)tcp:\/\/(\[[0-9a-fA-F:.]+\]|[^\s:/@[\]]+):(\d{1,5})$/;
const IPC_ENDPOINT = /^@?ipc:\/\/[^\s@]+$/;

/**
 * Whether `text` names a ZMQ socket: `tcp://HOST:PORT` or `ipc://PATH`, with an
 * `@` in front where it is to be bound. Every address (`*`) can only be bound.
 */
export function isEventEndpoint(text: string): boolean {
  if (IPC_ENDPOINT.test(text)) return true;
  const [, bind, host, port] = TCP_ENDPOINT.exec(text) ?? [];
  if (host === undefined || Number(port) < 1 || Number(port) > 65_535) return false;
  return host !== '*' || bind === '@';
}
