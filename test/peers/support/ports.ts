import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';

/** A port on the loopback that nobody listened on a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** `count` free ports in a row, for programs that take the next one as well. */
export async function freePortRange(count: number): Promise<number> {
  for (;;) {
    const first = await freePort();
    if (first + count > 65_535) continue;
    const rest = await Promise.all(Array.from({ length: count - 1 }, (_, i) => isFree(first + i + 1)));
    if (rest.every(Boolean)) return first;
  }
}

/** Whether something accepts connections there. */
export function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  const listening = new Promise<boolean>((resolve) => {
    server.once('listening', () => resolve(true)).once('error', () => resolve(false));
  });
  server.listen(port, '127.0.0.1');
  const free = await listening;
  if (free) {
    server.close();
    await once(server, 'close');
  }
  return free;
}
