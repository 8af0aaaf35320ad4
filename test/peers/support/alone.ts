import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** Nobody else's, and below those that `freePort` chooses: a server that listens there is alone. */
const PORT = 19_999;
const LOOK_MS = 500;

/**
 * Waits until no other test file of this machine holds what there is once only, the ports that commands take by default
 * and the store of images. Call the result to let the next one in; the end of the process does so too.
 */
export async function alone(): Promise<() => Promise<void>> {
  for (;;) {
    const server = createServer((socket) => socket.destroy());
    const held = new Promise<boolean>((resolve) => {
      server.once('listening', () => resolve(true)).once('error', () => resolve(false));
    });
    server.listen(PORT, '127.0.0.1');
    if (await held) {
      return async () => {
        server.close();
        await once(server, 'close');
      };
    }
    await sleep(LOOK_MS);
  }
}
