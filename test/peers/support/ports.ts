import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';

/**
 * Below the range from which the system takes ports for outgoing connections,
 * so that none of those gets in between; and Dynamo's system port must be
 * below 32,768.
 */
const FIRST_PORT = 20_000;
const LAST_PORT = 32_000;

/** A port on the loopback that nobody listened on a moment ago. */
export function freePort(): Promise<number> {
  return freePortRange(1);
}

/** The first of `count` free ports in a row, for programs that take the next one as well. */
export async function freePortRange(count: number): Promise<number> {
  for (;;) {
    const first = randomInt(FIRST_PORT, LAST_PORT);
    const free = await Promise.all(Array.from({ length: count }, (_, i) => isFree(first + i)));
    if (free.every(Boolean)) return first;
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
