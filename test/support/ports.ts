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

/** So many processes of one run have ports of their own: an engine listens on its ports long after they were chosen. */
const PARTS = 8;
const PORTS_PER_PART = (LAST_PORT - FIRST_PORT) / PARTS;
/** Vitest numbers its workers from 1; its main process has none. */
const PART = Number(process.env['VITEST_POOL_ID'] ?? 0) % PARTS;
const chosen = new Set<number>();

/** A port on the loopback that nobody listened on a moment ago, and that this process has not chosen before. */
export function freePort(): Promise<number> {
  return freePortRange(1);
}

/** The first of `count` free ports in a row, for programs that take the next one as well. */
export async function freePortRange(count: number): Promise<number> {
  for (;;) {
    const first = FIRST_PORT + PART * PORTS_PER_PART + randomInt(PORTS_PER_PART - count);
    const ports = Array.from({ length: count }, (_, i) => first + i);
    if (ports.some((port) => chosen.has(port))) continue;
    for (const port of ports) chosen.add(port);
    if ((await Promise.all(ports.map(isFree))).every(Boolean)) return first;
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
