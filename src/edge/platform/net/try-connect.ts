import { connect } from 'node:net';
import type { Clock } from '../clock.js';
import { describeError } from '../describe-error.js';
import { watchDeadline } from '../time/deadline.js';

/**
 * Connects over TCP and hangs up; nothing is sent. Resolves with why there was
 * no connection within `timeoutMs`, or undefined. Never rejects.
 */
export function tryConnect(
  place: { readonly host: string; readonly port: number },
  timeoutMs: number,
  modules: { readonly clock: Clock },
  signal?: AbortSignal,
): Promise<string | undefined> {
  if (signal?.aborted === true) return Promise.resolve('given up');
  return new Promise((resolve) => {
    const socket = connect(place);
    const finish = (why: string | undefined): void => {
      stopWatching();
      socket.removeAllListeners();
      // What goes wrong on a socket that is thrown away says nothing any more.
      socket.on('error', () => {});
      socket.destroy();
      resolve(why);
    };
    const stopWatching = watchDeadline({ timeoutMs, signal }, modules, (why) =>
      finish(why === 'timeout' ? `no connection within ${timeoutMs} ms` : 'given up'),
    );
    socket.once('connect', () => finish(undefined));
    socket.once('error', (error) => finish(describeError(error)));
  });
}
